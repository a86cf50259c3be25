#!/usr/bin/python3
"""Test accuracy where rows are few, and how far `auto` is behind the best. launch/accuracy --small starts this; its head says
what may be set.

    small_table.py     docs/experiments/small.md, from the sets in build/data, the quickstart's, and sets that dpreduce draws
"""
import os
import subprocess
import sys
from dataclasses import dataclass
from glob import glob

import numpy as np

from accuracy_table import (AUTO, DELTA, NOTES, ROOT, SETS, Figures, numbers, percent, rows_of_spreads, stated_variables, table,
                            write_page)
from published_methods import PUBLISHED
from runs import RunFailed, Runner, Set

TOLD = f"{AUTO} --expected-rows"  # and n
METHODS = [f"--method {method}" for method in (
    "auto", "fc", "mean", "mean --center dp", "coinpress", "fisher --center dp", "gd", "gd --center dp", "adam",
    "adam --center dp", "global-adapt", "newton --center dp", "ls", "ls --center dp", "ls --shared-gram --center dp", "fc-one-step", "fedavg")]
DRAWN = {  # options of synth; for each set, 4,000 of the rows are kept back to test on
    "collapsed64": "--dim 64 --classes 5 --separation 3",
    "collapsed512": "--dim 512 --classes 20 --separation 8",
    "spread64": "--dim 64 --classes 10 --separation 2",
    "imbalanced64": "--dim 64 --classes 10 --separation 3 --imbalance-ratio 50",
}
DRAWN_ROWS = 24000
TEST_ROWS = 4000
CHANCE = 1.2  # a cell counts where its best is above so many times chance
PUBLISHED_VALUES = 700000
KINDS = {"real features": lambda name: name not in DRAWN, "drawn, collapsed": lambda name: name.startswith("collapsed"),
         "drawn, others": lambda name: name in DRAWN and not name.startswith("collapsed"), "all": lambda name: True}


def synth(name):
    return f"synth --kind gaussian-mixture --rows {DRAWN_ROWS} {DRAWN[name]} --seed 1"


def folder_of(name):
    """Makes the set where it is not there yet."""
    build = f"{ROOT}/build"
    if name in DRAWN:
        folder = f"{build}/accuracy/{name}"
        subprocess.run([f"{build}/release/dpreduce", *synth(name).split(), "--out", folder, "--overwrite"], check=True,
                       stdout=subprocess.DEVNULL)
    elif name == "scattering":
        folder = f"{ROOT}/data/fashion_mnist"
        encoder = f"{build}/release/examples/fashion_mnist/fashion_mnist_features"
        subprocess.run([encoder, folder], check=True, stdout=sys.stderr)
    else:
        folder = f"{build}/data/{name}"
        subprocess.run([f"{ROOT}/bench/accuracy/build-data", f"{build}/data", name], check=True, stdout=sys.stderr)
    return folder


class SmallSet:
    """A set in an order of its own: its first n rows are the subset of n rows."""

    def __init__(self, name):
        folder = folder_of(name)
        load = lambda part: np.concatenate([np.load(file) for file in sorted(glob(f"{folder}/{part}*.npy"))])
        shuffled = lambda rows: np.random.RandomState(1).permutation(rows)
        self.name, self.x, self.y = name, load("train_x"), load("train_y")
        self.order = shuffled(len(self.y))
        if name in DRAWN:  # test rows like training rows: those of synth are of equal classes
            self.order, test = np.split(self.order, [len(self.y) - TEST_ROWS])
            self.test = self.x[test], self.y[test]
        else:
            test_x, test_y = load("test_x"), load("test_y")
            test = shuffled(len(test_y))[:TEST_ROWS]
            self.test = test_x[test], test_y[test]
        self.classes = int(self.y.max()) + 1
        self.chance = np.bincount(self.test[1]).max() / len(self.test[1])

    def first(self, rows):
        folder = f"{ROOT}/build/accuracy/{self.name}-{rows}"
        os.makedirs(folder, exist_ok=True)
        chosen = self.order[:rows]
        for part, (x, y) in {"train": (self.x[chosen], self.y[chosen]), "test": self.test}.items():
            np.save(f"{folder}/{part}_x.npy", x.astype(np.float32))
            np.save(f"{folder}/{part}_y.npy", y)
        return Set.at(folder, self.classes)

    def sizes(self):
        words = os.environ.get("SIZES", "200 500 1000 2000 5000 10000 all").split()
        sizes = {len(self.order) if word == "all" else int(word) for word in words}
        return sorted(size for size in sizes if size <= len(self.order))

    def title(self):
        made = f"`dpreduce {synth(self.name)}`.\n" if self.name in DRAWN else ""
        counts = np.bincount(self.y[self.order], minlength=self.classes)
        return (f"{made}{len(self.order)} training and {len(self.test[1])} test rows, d = {self.x.shape[1]}; {self.classes} "
                f"classes, of {counts.min()} to {counts.max()} rows.\n"
                f"The commonest class is {percent(self.chance)} % of the test rows.")


@dataclass
class Cell:
    """How far `auto` is behind the best of our methods at one size and epsilon, in points."""

    name: str
    rows: int
    epsilon: float
    regret: float
    regret_told: float  # of `auto --expected-rows`
    best: str
    counts: bool

    def text(self):
        by = f"{self.regret:.1f} ({self.best})" if self.regret > 0 else "0"
        return by if self.counts else f"*{by}*"


def best_name(named, epsilon):
    return max(named, key=lambda name: named[name][epsilon].median)


def measured(runner, data, rows, epsilons, seeds, methods, most_published):
    """The cells of one size, how far `auto` is ahead of the papers' best, and the table of all methods."""
    figures = Figures(runner, f"{data.name}, {rows} rows", data.first(rows), epsilons, seeds, DELTA)
    own = {f"`{method.removeprefix('--method ')}`": figures.own(method) for method in methods}
    of_papers = [(method, figures.published(method)) for method in PUBLISHED if rows <= most_published]
    published = {f"{method.name} [^{NOTES.index(method.note) + 1}]": spreads for method, spreads in of_papers}
    guaranteed = {method.name: spreads for method, spreads in of_papers if not method.note.startswith("No valid")}
    auto, told, cells, ahead = own["`auto`"], figures.own(f"{TOLD} {rows}"), [], []
    for e in epsilons:
        best = best_name(own, e)
        top = own[best][e].median
        regret, regret_told = 100 * (top - auto[e].median), 100 * max(top - told[e].median, 0.0)
        cells.append(Cell(data.name, rows, e, regret, regret_told, best, top > CHANCE * data.chance))
        if guaranteed:
            best = best_name(guaranteed, e)
            ahead.append(f"{100 * (auto[e].median - guaranteed[best][e].median):+.1f} ({best})")
    return cells, ahead, table(["epsilon", *map(str, epsilons)], rows_of_spreads(
        {**own, "`auto --expected-rows`": told, **published}, epsilons))


def summary(cells):
    lines = []
    for kind, holds in KINDS.items():
        all_cells = [cell for cell in cells if holds(cell.name)]
        counted = [cell for cell in all_cells if cell.counts]
        if not counted:
            continue
        worst = max(counted, key=lambda cell: cell.regret)
        told = [cell.regret_told for cell in counted]
        lines.append([kind, str(len(counted)), str(len(all_cells) - len(counted)),
                      f"{np.mean([cell.regret for cell in counted]):.2f}", f"{worst.regret:.1f}",
                      f"{worst.name}, n = {worst.rows}, epsilon {worst.epsilon}: {worst.best}", f"{np.mean(told):.2f}",
                      f"{max(told):.1f}"])
    return table(["", "cells", "left out", "mean", "worst", "where, and the best there", "mean, told n", "worst, told n"], lines)


def write_document():
    epsilons, seeds = numbers("EPSILONS", "0.1 0.3 1 3 8"), numbers("SEEDS", "1 2 3 4 5 6 7 8 9")
    methods = [line for line in os.environ.get("METHODS", "\n".join(METHODS)).splitlines() if line]
    most_published = numbers("PUBLISHED", "2000")[0]
    if AUTO not in methods:
        raise RunFailed(f"METHODS must have the line {AUTO}: the others are compared with it")
    runner = Runner(ROOT, int(os.environ.get("JOBS", os.cpu_count())))
    head = ["n", *(f"epsilon {e}" for e in epsilons)]
    cells, regrets, everything = [], [], []
    for name in os.environ.get("SETS", " ".join(["scattering", *SETS, *DRAWN])).split():
        data = SmallSet(name)
        regret_lines, ahead_lines = [], []
        for rows in data.sizes():
            of_size, ahead, methods_table = measured(runner, data, rows, epsilons, seeds, methods, most_published)
            cells += of_size
            regret_lines.append([str(rows), *(cell.text() for cell in of_size)])
            if ahead:
                ahead_lines.append([str(rows), *ahead])
            everything += [f"### {name}, n = {rows}", methods_table]
        regrets += [f"### {name}", data.title(), table(head, regret_lines)]
        if ahead_lines:
            regrets += ["`auto` ahead of the best of the papers' methods that have a guarantee:", table(head, ahead_lines)]
    write_page("small", "experiments/small", runner, seeds, command="\n".join(f"    {line}" for line in " ".join(
        [*stated_variables("SIZES", "PUBLISHED", "METHODS"), "launch/accuracy --small"]).splitlines()),
        test_rows=TEST_ROWS, most_published=most_published, chance=CHANCE, summary=summary(cells), regrets="\n\n".join(regrets),
        everything="\n\n".join(everything))


if __name__ == "__main__":
    try:
        write_document()
    except RunFailed as failure:
        sys.exit(f"launch/accuracy: {failure}")
