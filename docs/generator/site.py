"""A hook of mkdocs. Programs that write pages stand in this folder, and are no pages. Files of the repository's root that
readers of the site look for are pages."""

import pathlib

import yaml
from mkdocs.structure.files import File

OF_ROOT = {"changelog.md": "CHANGELOG.md", "security.md": "SECURITY.md", "contributing.md": "CONTRIBUTING.md"}


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
