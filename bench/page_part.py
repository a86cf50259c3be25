#!/usr/bin/python3
"""A part of a page that a program writes, between marks of its name. What else the page holds stays. Below, what writers share.

    page_part.py PAGE NAME     the part's text comes from standard input
"""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def build_id():
    return subprocess.run([f"{ROOT}/launch/build-id"], check=True, capture_output=True, text=True).stdout.strip()


def table(head, lines):
    """In Markdown."""
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in [head, ["---"] * len(head), *lines])


def write_whole(path, text):
    """The file becomes the text, or stays what it was."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


def write_part(page, name, text):
    """A page that is not there becomes the part alone."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before, after = "", ""
    if os.path.exists(page):
        with open(page, encoding="utf-8") as file:
            before, found, rest = file.read().partition(begin)
        _, closed, after = rest.partition(end)
        if not (found and closed):
            sys.exit(f"{page}: there are no marks of {name}")
    write_whole(page, f"{before}{begin}\n{text.strip()}\n\n{end}{after}")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write_part(*sys.argv[1:], sys.stdin.read())
