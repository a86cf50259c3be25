#!/usr/bin/python3
"""The picture of accuracy against epsilon, from the figures of docs/experiments/accuracy.md and no others.

    accuracy_picture.py DOCS            writes DOCS/assets/accuracy.svg
    accuracy_picture.py --check DOCS    exits with 1 where it differs

A panel a set: `--method auto` with its range over seeds, and at each epsilon the best of the published methods.
"""
import math
import os
import re
import sys

AUTO = "`--method auto`"
WIDTH, PANEL_HEIGHT, COLUMNS = 330, 245, 2
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 60, 46  # around the axes of a panel
LEGEND = 58

STYLE = """
    .back { fill: #ffffff } text { fill: #24292f; font: 13px sans-serif } .small { font-size: 12px } .title { font-weight: bold }
    .axis { stroke: #57606a; fill: none } .grid { stroke: #d0d7de; fill: none }
    .ours { stroke: #1f5fbf; fill: none; stroke-width: 2.5 } .range { stroke: #1f5fbf; stroke-width: 1.5 } .dot { fill: #1f5fbf }
    .ours-text { fill: #1f5fbf } .theirs { stroke: #b3261e; fill: none; stroke-width: 2; stroke-dasharray: 6 4 }
    @media (prefers-color-scheme: dark) {
      .back { fill: #1e2129 } text { fill: #e6e6e6 } .axis { stroke: #a8adb8 } .grid { stroke: #3a3f4b }
      .ours { stroke: #82b1ff } .range { stroke: #82b1ff } .dot { fill: #82b1ff } .ours-text { fill: #82b1ff } .theirs { stroke: #ff8a80 }
    }"""


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def figures(cell):
    """(median, lowest, highest) of `**83.5** (83.0 to 83.7)`."""
    return tuple(float(word) for word in re.fullmatch(r"\*{0,2}([\d.]+)\*{0,2} \(([\d.]+) to ([\d.]+)\)", cell).groups())


def sets(page):
    """[(title, what it is, epsilons, ours, best published)] of the first table of each section that compares methods."""
    found = []
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        table = re.search(r"^\| epsilon \|.*?(?=\n\n)", section, re.MULTILINE | re.DOTALL)
        if table is None:
            continue
        rows = [cells(line) for line in table[0].splitlines()]
        ours = next(row[1:] for row in rows if row[0] == AUTO)
        published = [[figures(cell)[0] for cell in row[1:]] for row in rows if row[0].startswith("[")]
        title = re.sub(r"^\w+: |,[^,]* features$", "", section.splitlines()[0]).replace("Debian package", "Package")
        rows_told, classes = re.search(r"^(\d+) training .*?(\d+) classes", section, re.MULTILINE).groups()
        found.append((title, f"% right of test rows; {classes} classes, {int(rows_told):,} rows", [float(word) for word in rows[0][1:]], [figures(cell) for cell in ours],
                      [max(column) for column in zip(*published)]))
    return found


def panel(place, title, told, epsilons, ours, theirs):
    left, top = place % COLUMNS * WIDTH + LEFT, place // COLUMNS * PANEL_HEIGHT + TOP
    width, height = WIDTH - LEFT - RIGHT, PANEL_HEIGHT - TOP - BOTTOM
    values = [value for triple in ours for value in triple] + theirs
    step = 5 if max(values) - min(values) < 20 else 10
    low, high = step * math.floor((min(values) - 1) / step), step * math.ceil((max(values) + 1) / step)

    def at(epsilon, accuracy):
        share = math.log(epsilon / epsilons[0]) / math.log(epsilons[-1] / epsilons[0])
        return left + 14 + share * (width - 28), top + height * (high - accuracy) / (high - low)

    def line(kind, heights):
        points = " L".join(f"{x:.1f} {y:.1f}" for x, y in map(at, epsilons, heights))
        return f'  <path class="{kind}" d="M{points}"/>'

    parts = [f'  <text class="title" x="{left}" y="{top - 33}">{title}</text>', f'  <text class="small" x="{left}" y="{top - 16}">{told}</text>',
             f'  <text class="small" x="{left + width / 2:.1f}" y="{top + height + 32}" text-anchor="middle">epsilon</text>']
    for accuracy in range(low, high + 1, step):
        y = at(epsilons[0], accuracy)[1]
        parts += [f'  <path class="{"axis" if accuracy == low else "grid"}" d="M{left} {y:.1f} H{left + width}"/>',
                  f'  <text class="small" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{accuracy}</text>']
    for epsilon in epsilons:
        parts.append(f'  <text class="small" x="{at(epsilon, low)[0]:.1f}" y="{top + height + 17}" text-anchor="middle">{epsilon:g}</text>')
    parts.append(line("theirs", theirs))
    parts.append(line("ours", [median for median, _, _ in ours]))
    for epsilon, (median, lowest, highest) in zip(epsilons, ours):
        (x, y), (_, bottom), (_, ceiling) = at(epsilon, median), at(epsilon, lowest), at(epsilon, highest)
        parts += [f'  <path class="range" d="M{x:.1f} {bottom:.1f} V{ceiling:.1f}"/>', f'  <circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3"/>',
                  f'  <text class="small ours-text" x="{x:.1f}" y="{min(y, ceiling) - 8:.1f}" text-anchor="middle">{median:.1f}</text>']
    return parts


def picture(page):
    panels, seeds = sets(page), re.search(r"median over (\d+) seeds", page)[1]
    width, below = WIDTH * COLUMNS, PANEL_HEIGHT * math.ceil(len(panels) / COLUMNS)
    told = "Test accuracy in per cent over epsilon: dpreduce untuned, and the best of the published methods tuned on the test set"
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{below + LEGEND}" viewBox="0 0 {width} {below + LEGEND}" role="img" aria-label="{told}">',
             "  <!-- written by docs/generator/accuracy_picture.py -->", f"  <style>{STYLE}\n  </style>",
             f'  <rect class="back" width="{width}" height="{below + LEGEND}" rx="8"/>']
    for place, content in enumerate(panels):
        parts += panel(place, *content)
    parts += [f'  <path class="ours" d="M{LEFT} {below + 11} h30"/>',
              f'  <text x="{LEFT + 40}" y="{below + 15}">dpreduce, every option left at its default: median and range of {seeds} seeds</text>',
              f'  <path class="theirs" d="M{LEFT} {below + 34} h30"/>',
              f'  <text x="{LEFT + 40}" y="{below + 38}">the best of the published methods, each tuned on the test set</text>', "</svg>", ""]
    return "\n".join(parts)


def main(arguments):
    is_check = arguments[:1] == ["--check"]
    if len(arguments) != 1 + is_check:
        sys.exit(__doc__)
    with open(os.path.join(arguments[-1], "experiments/accuracy.md"), encoding="utf-8") as file:
        text = picture(file.read())
    path, now = os.path.join(arguments[-1], "assets/accuracy.svg"), None
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            now = file.read()
    if now == text:
        return 0
    if is_check:
        print(f"{path} is out of date: docs/generator/accuracy_picture.py docs writes it anew")
        return 1
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
