#!/usr/bin/python3
"""The pictures of mu-GDP and the table of what an attacker achieves, computed from the formulas of those pages.

    attacker.py DOCS            writes DOCS/assets/mu-gdp-*.svg and the table in DOCS/explanation/attacker.md
    attacker.py --check DOCS    exits with 1 where they differ from what it would write

    Phi the standard normal distribution function, mu that of (epsilon, delta):
    delta(mu, epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu)      [dong2022], Corollary 1
    found(alpha) = Phi(Phi^-1(alpha) + mu)        right from even odds = Phi(mu / 2)      [dong2022], (6)
"""
import math
import os
import sys
from statistics import NormalDist

BEGIN = "<!-- attacker: written by docs/generator/attacker.py -->\n"
END = "<!-- attacker: end -->\n"
DELTA = 1e-6
EPSILONS = (0.1, 0.5, 1, 2, 4, 8)
NORMAL = NormalDist()


def log_phi(x):
    """log Phi(x), also far out."""
    if x > -30:
        return math.log(0.5 * math.erfc(-x / math.sqrt(2)))
    return -0.5 * x * x - math.log(-x * math.sqrt(2 * math.pi)) + math.log1p(-1 / (x * x))


def delta_of(mu, epsilon):
    return math.exp(log_phi(mu / 2 - epsilon / mu)) - math.exp(epsilon + log_phi(-mu / 2 - epsilon / mu))


def bisected(is_below, low, high):
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if is_below(middle) else (low, middle)
    return low


def mu_of(epsilon, delta):
    return bisected(lambda mu: delta_of(mu, epsilon) < delta, 1e-6, 50)


def epsilon_of(mu, delta):
    return bisected(lambda epsilon: delta_of(mu, epsilon) > delta, 0, 2000)


def found(mu, alpha):
    return NORMAL.cdf(NORMAL.inv_cdf(alpha) + mu)


def table():
    lines = [f"At delta = {DELTA:g}".replace("e-0", "e-") + ":", "",
             "| epsilon | mu | found at 0.1 % false alarms | at 1 % | right, from even odds | epsilon of 2 records | of 10 |",
             "|---|---|---|---|---|---|---|"]
    for epsilon in EPSILONS:
        mu = mu_of(epsilon, DELTA)
        cells = [f"{epsilon:g}", f"{mu:.4f}", f"{100 * found(mu, 0.001):.3g} %", f"{100 * found(mu, 0.01):.3g} %",
                 f"{100 * NORMAL.cdf(mu / 2):.1f} %", f"{epsilon_of(2 * mu, DELTA):.3g}", f"{epsilon_of(10 * mu, DELTA):.3g}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


# ---- the pictures, on a background of their own, so that they read on light and dark pages ----

STYLE = """
    .back { fill: #ffffff } text { fill: #24292f; font: 14px sans-serif } .small { font-size: 12px } .axis { stroke: #57606a; fill: none }
    .in { stroke: #b3261e; fill: none; stroke-width: 2.5 } .out { stroke: #1f5fbf; fill: none; stroke-width: 2.5 }
    .in-text { fill: #b3261e } .out-text { fill: #1f5fbf } .curve { stroke: #24292f; fill: none; stroke-width: 2 } .guess { stroke: #57606a; stroke-dasharray: 5 4 }
    .false { fill: #1f5fbf; fill-opacity: 0.25 } .missed { fill: #b3261e; fill-opacity: 0.25 }
    @media (prefers-color-scheme: dark) {
      .back { fill: #1e2129 } text { fill: #e6e6e6 } .axis { stroke: #a8adb8 } .in { stroke: #ff8a80 } .out { stroke: #82b1ff } .in-text { fill: #ff8a80 } .out-text { fill: #82b1ff }
      .curve { stroke: #e6e6e6 } .guess { stroke: #a8adb8 } .false { fill: #82b1ff } .missed { fill: #ff8a80 }
    }"""


def path(points, kind, closed=False):
    words = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'  <path class="{kind}" d="M{words}{" Z" if closed else ""}"/>'


def bells():
    mu, left, width, base, height = 1.5, 15, 330, 250, 480

    def at(x, y):
        return left + (x + 3) / 7.5 * width, base - y * height

    def curve(middle, low, high):
        return [at(low + (high - low) * i / 60, NORMAL.pdf(low + (high - low) * i / 60 - middle)) for i in range(61)]

    line = mu / 2
    parts = [path([at(line, 0), *curve(0, line, 4.5), at(4.5, 0)], "false", True),
             path([at(-3, 0), *curve(mu, -3, line), at(line, 0)], "missed", True),
             path(curve(0, -3, 4.5), "out"), path(curve(mu, -3, 4.5), "in"),
             path([at(-3, 0), at(4.5, 0)], "axis"), path([at(line, 0), at(line, 0.43)], "guess")]
    (zero, _), (one, low), (cut, top) = at(0, 0), at(mu, 0), at(line, 0.43)
    parts += [path([(zero, low + 12), (one, low + 12)], "axis"),
              f'  <text x="{(zero + one) / 2:.1f}" y="{low + 28:.1f}" text-anchor="middle">mu</text>',
              f'  <text x="{zero - 72:.1f}" y="70" class="out-text" text-anchor="middle">record out</text>',
              f'  <text x="{one + 72:.1f}" y="70" class="in-text" text-anchor="middle">record in</text>',
              f'  <text x="{cut:.1f}" y="{top - 6:.1f}" text-anchor="middle" class="small">says "out" | says "in"</text>']
    return parts


def trade_offs():
    left, side, base = 80, 210, 250

    def at(alpha, beta):
        return left + alpha * side, base - beta * side

    parts = [path([at(0, 1), at(0, 0), at(1, 0)], "axis")]
    for mu in (0, 1, 2, 4):
        points = [at(alpha, 1 - found(mu, alpha)) for alpha in [1e-6 + (1 - 2e-6) * (i / 200) ** 3 for i in range(201)]]
        parts.append(path(points, "guess" if mu == 0 else "curve"))
        tag = bisected(lambda alpha: 1 - found(mu, alpha) > alpha, 1e-6, 0.5)  # where both errors are equal
        x, y = at(tag, tag)
        parts.append(f'  <text x="{x + 5:.1f}" y="{y - 5:.1f}" class="small">mu {mu:g}</text>')
    parts += [f'  <text x="{left + side / 2:.1f}" y="{base + 24}" text-anchor="middle">false alarms</text>',
              f'  <text x="{left - 12}" y="{base - side / 2:.1f}" text-anchor="middle" transform="rotate(-90 {left - 12} {base - side / 2:.1f})">missed records</text>',
              f'  <text x="{left - 4}" y="{base + 14}" text-anchor="end" class="small">0</text>',
              f'  <text x="{left + side}" y="{base + 14}" text-anchor="middle" class="small">1</text>']
    return parts


def picture(parts, told):
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="360" height="290" viewBox="0 0 360 290" role="img" aria-label="{told}">',
                      "  <!-- written by docs/generator/attacker.py -->", f"  <style>{STYLE}\n  </style>",
                      '  <rect class="back" width="360" height="290" rx="8"/>', *parts, "</svg>", ""])


def files(docs):
    page = os.path.join(docs, "explanation/mu-gdp.md")
    with open(page, encoding="utf-8") as file:
        text = file.read()
    if BEGIN not in text or END not in text:
        sys.exit(f"{page}: the lines between which the table stands are gone")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    return {page: f"{before}{BEGIN}\n{table()}\n\n{END}{after}",
            os.path.join(docs, "assets/mu-gdp-worlds.svg"): picture(bells(), "Two bell curves whose middles are mu apart"),
            os.path.join(docs, "assets/mu-gdp-errors.svg"): picture(trade_offs(), "Missed records over false alarms, for several mu")}


def main(arguments):
    is_check = arguments[:1] == ["--check"]
    if len(arguments) != 1 + is_check:
        sys.exit(__doc__)
    is_current = True
    for path_of, text in files(arguments[-1]).items():
        now = None
        if os.path.exists(path_of):
            with open(path_of, encoding="utf-8") as file:
                now = file.read()
        if now == text:
            continue
        is_current = False
        if is_check:
            print(f"{path_of} is out of date: docs/generator/attacker.py docs writes it anew")
        else:
            os.makedirs(os.path.dirname(path_of), exist_ok=True)
            with open(path_of, "w", encoding="utf-8") as file:
                file.write(text)
    return 0 if is_current or not is_check else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
