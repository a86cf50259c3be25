// Groups of options are closed on narrow screens, where all of them together are a hundred screens long.
for (const group of document.querySelectorAll("details.options")) group.open = matchMedia("(min-width: 60em)").matches;
// A page that is read from a folder cannot load the index of the search.
document.documentElement.classList.toggle("from-folder", location.protocol === "file:");
