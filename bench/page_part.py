#!/usr/bin/python3
"""A part of a page that a program writes, between marks of its name. What else the page holds stays.

    page_part.py PAGE NAME     the part's text comes from standard input
"""
import os
import sys


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
    with open(page + ".new", "w", encoding="utf-8") as file:
        file.write(f"{before}{begin}\n{text.strip()}\n\n{end}{after}")
    os.replace(page + ".new", page)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write_part(*sys.argv[1:], sys.stdin.read())
