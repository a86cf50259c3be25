#!/usr/bin/python3
"""Figures of dpreduce and of its peers, measured on this machine, as a part of docs/explanation/comparison.md. launch/peers starts this.

    peers_page.py PAGE BUILD FOLDER     FOLDER has the peers' repositories

Each cell is a process of its own (peers.py) on one thread. SEEDS (5) fits a cell, of which images have at most three; EPSILONS (0.3 1 3 10);
SCALE makes smaller sets, and TABLES leaves some out: classes, numbers, accountants. Cells that are there are kept in build/peers (KEPT).
"""
import hashlib
import json
import os
import statistics
import subprocess
import sys

from measured_machine import PROGRAM, machine
from page_part import ROOT, table, write_part, write_whole
from peers import CLASSES, COMPOSED, DELTA, NUMBERS, OF_ACCOUNTANTS, OF_CLASSES, OF_NUMBERS, REPOSITORIES

SEEDS = int(os.environ.get("SEEDS", 5))
EPSILONS = [float(word) for word in os.environ.get("EPSILONS", "0.3 1 3 10").split()]
KEPT = os.path.abspath(os.environ.get("KEPT", os.path.join(ROOT, "build/peers")))
TABLES = os.environ.get("TABLES", "classes numbers accountants").split()
PART = """Written by `launch/peers`. Built from {build}. Every figure comes from that command.

Machine: {machine}. Each cell is a process on one thread. CPU seconds are the least of its fits, and MiB the most memory of the
process, with Python, NumPy, what a peer imports, and the rows. Fits have fresh noise.

The peers, at these commits:

{commits}

They run here on Debian's NumPy and scikit-learn. Release 0.6.6 of diffprivlib asks for NumPy 2 and scikit-learn 1.4, whose
logistic loss is a mean over rows. The comparison scales the loss of an older one to that, or the noise would be too little for
it. For dp_accounting Python's `logging` takes the place of absl's. Opacus is started without PyTorch.

Promises are not alike. All figures but diffprivlib's are at delta {delta:g}. **Of diffprivlib the promise is epsilon alone,
delta 0**: a stronger one at the same epsilon, for which it must add more noise.
{tables}"""
OF_A_CLASS = """
### Classes

Test accuracy, median of {seeds} fits ({few} of images), least and largest in parentheses; CPU seconds and MiB at the
largest epsilon. Settings are each project's defaults. diffprivlib's logistic regression gets rows of length 1, its other models a
public range that is close about the values. The rows of 1,296 features
are the first images of Fashion-MNIST, as scattering features.
dpreduce is `fit(X, y, classes=K, epsilon=..., delta=...)`.
"""
OF_A_NUMBER = """
### Numbers

R^2 on 10,000 test rows, and the mean absolute error of coefficients, medians of {seeds} fits; CPU seconds and MiB at the
largest epsilon. Features lie evenly between -1 and 1, numbers are X b + .5 e; all get the same public ranges. BinAgg gets the mu of
the budget. A dash: `auto` has scaled rows to one length, and there are no coefficients.

What was read in the sources: BinAgg's default rescales noised counts to the exact number of rows, which is public then.
Two reports of diffprivlib's linear regression are open [^diffprivlib-reports]: it centers rows by two slices of the budget where it
counts one, and takes one end of a range for both in one place. So its promise may be weaker than told.
"""
OF_A_COUNT = """
### Accountants

Epsilon at delta {delta:g} of Gaussian noise, for records that come or go, and CPU seconds. A lower figure is no better than a higher one unless it
holds: Opacus warns that its GDP accountant can underestimate, and it stands below the others here with sampled rounds.
"""


def kept_at(folder, cell):
    """Where the cell's figures are kept, so that an interrupted page goes on: by what they depend on."""
    with open(os.path.join(ROOT, "bench/peers.py"), encoding="utf-8") as file:
        depends = json.dumps([cell, commits(folder), os.environ.get("BUILD_ID", ""), os.environ.get("SCALE", "1"), file.read()], sort_keys=True)
    return os.path.join(KEPT, hashlib.sha256(depends.encode()).hexdigest() + ".json")


def cell_of(folder, **cell):
    path = kept_at(folder, cell)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    done = subprocess.run([sys.executable, os.path.join(ROOT, "bench/peers.py"), folder, json.dumps(cell)], capture_output=True, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    if done.returncode != 0:
        sys.exit(f"{cell}: {done.stderr}")
    print(cell, done.stdout.strip(), file=sys.stderr)
    os.makedirs(KEPT, exist_ok=True)
    write_whole(path, done.stdout)
    return json.loads(done.stdout)


def spread(cell, name, form="{:.3f}"):
    values = [figures[name] for figures in cell["figures"]]
    shown = [form.format(value) if value > -1 else "below -1" for value in (statistics.median(values), min(values), max(values))]
    return shown[0] if shown[1] == shown[2] else f"{shown[0]} ({shown[1]} to {shown[2]})"


def cost(cell):
    return [f"{cell['seconds']:.2g}", f"{cell['mib']:.0f}"]


def table_of(name, rows):
    """One set's: methods by epsilons."""
    return f"\n**{name}**\n\n" + table(["epsilon", *(f"{epsilon:g}" for epsilon in EPSILONS), "seconds", "MiB"], rows) + "\n"


def classes(folder):
    text = OF_A_CLASS.format(seeds=SEEDS, few=min(SEEDS, 3))
    for name in CLASSES:
        rows = []
        for method in OF_CLASSES:
            seeds = SEEDS if name != list(CLASSES)[-1] else min(SEEDS, 3)
            cells = [cell_of(folder, task="classes", set=name, method=method, epsilon=epsilon, seeds=seeds) for epsilon in EPSILONS]
            rows.append([method, *(spread(cell, "accuracy") for cell in cells), *cost(cells[-1])])
        text += table_of(name, rows)
    return text


def numbers(folder):
    text = OF_A_NUMBER.format(seeds=SEEDS)
    for name in NUMBERS:
        rows = []
        for method in OF_NUMBERS:
            epsilons = EPSILONS if "not private" not in method else EPSILONS[-1:]
            cells = [cell_of(folder, task="numbers", set=name, method=method, epsilon=epsilon, seeds=SEEDS) for epsilon in epsilons]
            told = []
            for cell in cells:
                r2 = statistics.median(figures["r2"] for figures in cell["figures"])
                errors = [figures["error"] for figures in cell["figures"] if figures["error"] is not None]
                error = f"{statistics.median(errors):.3f}" if len(errors) == len(cell["figures"]) else "-"
                told.append(f"{r2:.3f}, {error}" if r2 > -1 else f"below -1, {error}")
            rows.append([method, *(told if len(told) > 1 else told * len(EPSILONS)), *cost(cells[-1])])
        text += table_of(name, rows)
    return text


def accountants(folder):
    rows = []
    for method in OF_ACCOUNTANTS:
        cells = [cell_of(folder, task="accountants", set=name, method=method, seeds=3) for name in COMPOSED]
        rows.append([method, *(f"{cell['figures'][0]['epsilon']:.5f} ({cell['seconds']:.1g})" for cell in cells)])
    return OF_A_COUNT.format(delta=DELTA) + "\n" + table(["", *COMPOSED], rows) + "\n"


def commits(folder):
    """Throws where a repository is missing, with what brings it."""
    lines = []
    for name, (address, _) in REPOSITORIES.items():
        path = os.path.join(folder, name)
        if not os.path.exists(path):
            sys.exit(f"{path} is missing: git clone {address} {path}")
        commit, date = subprocess.run(["git", "-C", path, "log", "-1", "--format=%H %cs"], check=True, capture_output=True, text=True).stdout.split()
        lines.append(f"- [{address.removeprefix('https://github.com/')}]({address}/tree/{commit}), `{commit[:12]}` of {date}")
    return "\n".join(lines)


def main(page, build, folder):
    os.environ["BUILD_ID"] = build
    told = commits(folder)
    makers = {"classes": classes, "numbers": numbers, "accountants": accountants}
    tables = "".join(makers[name](folder) for name in TABLES)
    write_part(page, "peers", PART.format(build=build, machine=machine(PROGRAM), commits=told, delta=DELTA, tables=tables))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2], os.path.abspath(sys.argv[3]))
