"""A hook of mkdocs. Programs that write pages stand in this folder, and are no pages. Each method has a page."""

import pathlib
import re

METHOD = "explanation/methods/METHOD.md"


def on_config(config):
    root = pathlib.Path(config["config_file_path"]).parent
    methods = re.findall(r"^METHOD\((\w+)\)", (root / "src/methods/all_methods.inc").read_text(), re.MULTILINE)
    names = [method.replace("_", "-") for method in methods]
    config["nav"] = with_pages(config["nav"], [{name: METHOD.replace("METHOD", name)} for name in names])
    return config


def with_pages(nav, pages):
    """`nav` with `pages` in the place of METHOD."""
    if isinstance(nav, dict):
        return {title: with_pages(entry, pages) for title, entry in nav.items()}
    if not isinstance(nav, list):
        return nav
    entries = []
    for entry in nav:
        entries += pages if entry == METHOD else [with_pages(entry, pages)]
    return entries


def on_files(files, config):
    for file in list(files):
        if file.src_path.startswith("generator/"):
            files.remove(file)
    return files
