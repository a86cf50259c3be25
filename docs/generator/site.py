"""A hook of mkdocs. Programs that write pages stand in this folder, and are no pages. Files of the repository's root that
readers of the site look for are pages."""

import pathlib
import re

import yaml
from mkdocs.structure.files import File

OF_ROOT = {"changelog.md": "CHANGELOG.md", "security.md": "SECURITY.md", "contributing.md": "CONTRIBUTING.md"}
LANGUAGES = {".txt": "cmake", ".cpp": "cpp"}


def on_files(files, config):
    for file in list(files):
        if file.src_path.startswith("generator/"):
            files.remove(file)
    for name in OF_ROOT:
        files.append(File(name, config["docs_dir"], config["site_dir"], config["use_directory_urls"]))
    return files


def on_page_read_source(page, config):
    root = pathlib.Path(config["config_file_path"]).parent
    if page.file.src_path == "bibliography.md":
        return (root / "docs/bibliography.md").read_text() + citation(root)
    name = OF_ROOT.get(page.file.src_path)
    return None if name is None else from_docs((root / name).read_text())


def on_page_markdown(text, page, config, files):
    """Shows files of the repository where a page has a line `<!-- show: PATH -->`."""
    root = pathlib.Path(config["config_file_path"]).parent

    def shown(line):
        path = root / line[1]
        return f"`{path.name}`:\n\n```{LANGUAGES[path.suffix]}\n{path.read_text()}```\n"

    return re.sub(r"^<!-- show: (\S+) -->$", shown, text, flags=re.MULTILINE)


def from_docs(text):
    """Markdown of the root, with links as they are from docs/."""
    text = text.replace("](docs/", "](")
    for page, name in OF_ROOT.items():
        text = text.replace(f"]({name}", f"]({page}")
    return text


def citation(root):
    """How to cite the program, of CITATION.cff."""
    cited = yaml.safe_load((root / "CITATION.cff").read_text())
    authors = " and ".join(f"{{{author['name']}}}" for author in cited["authors"])
    return f"""
## This program

```bibtex
@software{{dpreduce,
  author = {{{authors}}},
  title = {{{{{cited["title"]}}}}},
  license = {{{cited["license"]}}},
  version = {{as dpreduce --version prints it}}
}}
```
"""
