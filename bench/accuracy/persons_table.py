#!/usr/bin/python3
"""Test accuracy with persons as the unit. launch/persons starts this; its head says what may be set.

    persons_table.py write     its part of docs/explanation/persons.md, from the sets in build/data and one that dpreduce draws
"""
import hashlib
import json
import os
import subprocess
import sys

import numpy as np

from accuracy_table import DELTA, ROOT, cell, numbers, percent, stated_variables, table, write_page
from published_methods import bisect
from regression_methods import delta_of, mu_of
from runs import RunFailed, Runner, Set, sha256

METHOD = "--method auto"
BOUNDS = (1, 2, 5, 10)
DRAWN = "synth --kind gaussian-mixture --rows 30000 --test-rows 10000 --dim 64 --classes 10 --separation 0.5 --spread 0.18 --seed 1"
ROWS_OF_DRAWN = 10
MOST_CLASSES = 10  # of a set: so many runs are made in a modest time


def epsilon_of_rows(epsilon, delta, rows):
    """The epsilon that a row may cost where a person with so many rows is to cost `epsilon`: mu is divided by them."""
    mu = mu_of(epsilon, delta)
    return float(f"{bisect(lambda e: delta_of(mu / rows, e) < delta, 0, epsilon):.6g}")


def drawn():
    """The set that dpreduce draws: ten rows a person, of any classes."""
    folder = f"{ROOT}/build/persons/drawn-{hashlib.sha256(DRAWN.encode()).hexdigest()[:8]}"
    if not os.path.exists(folder + "/train_person.npy"):
        subprocess.run([f"{ROOT}/build/release/dpreduce", *DRAWN.split(), "--out", folder, "--overwrite"], check=True,
                       stdout=subprocess.DEVNULL)
        rows = len(np.load(folder + "/train_y.npy"))
        np.save(folder + "/train_person.npy", np.random.RandomState(1).permutation(rows) // ROWS_OF_DRAWN)
    return folder


def cut(folder, classes):
    """The rows of a set's so many commonest classes."""
    part = f"{ROOT}/build/persons/{os.path.basename(folder)}-of-{classes}-classes"
    if not os.path.exists(part + "/train_person.npy"):
        os.makedirs(part, exist_ok=True)
        commonest = np.argsort(-np.bincount(np.load(folder + "/train_y.npy")), kind="stable")[:classes]
        for side, names in (("test", ["x"]), ("train", ["x", "person"])):
            y = np.load(f"{folder}/{side}_y.npy")
            rows = np.flatnonzero(np.isin(y, commonest))
            place = np.zeros(y.max() + 1, np.int64)
            for at, label in enumerate(commonest):
                if label <= y.max():
                    place[label] = at
            np.save(f"{part}/{side}_y.npy", place[y[rows]])
            for name in names:
                np.save(f"{part}/{side}_{name}.npy", np.load(f"{folder}/{side}_{name}.npy", mmap_mode="r")[rows])
    return part


class PersonSet:
    """A set, and parts of it with at most some rows of each person."""

    def __init__(self, name, title, folder, classes):
        self.name, self.title, self.folder, self.classes = name, title, folder, classes
        self.persons = np.load(folder + "/train_person.npy")
        self.rows_of = np.unique(self.persons, return_counts=True)[1]
        self.whole = self.at(folder, "")

    def at(self, folder, part):
        """Without persons where `part` is one."""
        names = ["train_x", "train_y", "test_x", "test_y"] + ([] if part else ["train_person"])
        digests = "".join(sha256(f"{folder}/{name}.npy") for name in names)
        return Set(folder, {"classes": self.classes, "sha256": hashlib.sha256(digests.encode()).hexdigest()})

    def kept(self, most):
        """min(m, most) rows of each person, drawn once."""
        folder = f"{ROOT}/build/persons/{self.name}-{most}"
        os.makedirs(folder, exist_ok=True)
        order = np.random.RandomState(2).permutation(len(self.persons))
        seen, places = {}, []
        for row in order:
            count = seen.get(self.persons[row], 0)
            if count < most:
                seen[self.persons[row]] = count + 1
                places.append(row)
        for name in ("train_x", "train_y"):
            np.save(f"{folder}/{name}.npy", np.load(f"{self.folder}/{name}.npy", mmap_mode="r")[np.array(places)])
        for name in ("test_x", "test_y"):
            if os.path.lexists(f"{folder}/{name}.npy"):
                os.remove(f"{folder}/{name}.npy")
            os.symlink(f"{self.folder}/{name}.npy", f"{folder}/{name}.npy")
        return self.at(folder, "kept")


def sets():
    wanted = os.environ.get("SETS", "drawn maintainers movielens").split()
    for name in wanted:
        if name == "drawn":
            title = f"`{DRAWN}`, {ROWS_OF_DRAWN} rows a person"
            yield PersonSet(name, title, drawn(), 10)
            continue
        folder = f"{ROOT}/build/data/{name}"
        with open(folder + "/about.json") as f:
            about = json.load(f)
        if about["classes"] <= MOST_CLASSES:
            yield PersonSet(name, about["title"], folder, about["classes"])
        else:
            title = f"{about['title']}, of the {MOST_CLASSES} commonest classes"
            yield PersonSet(name, title, cut(folder, MOST_CLASSES), MOST_CLASSES)


def all_rows(bound):
    return f"all rows, B = {bound}"


class Figures:
    def __init__(self, runner, data, epsilons, seeds):
        self.runner, self.data, self.epsilons, self.seeds = runner, data, epsilons, seeds

    def spreads(self, of, options, what, rows=1):
        """{epsilon: Spread}, epsilon of a person."""
        task = lambda epsilon, seed: self.runner.own(of, options, epsilon_of_rows(epsilon, DELTA, rows), DELTA, seed)
        return self.runner.spreads(f"{self.data.name}, {what}", self.epsilons, self.seeds, task)

    def all(self):
        persons = f"--train-person {self.data.folder}/train_person.npy"
        named = {}
        for bound in BOUNDS:
            name = "one row a person" if bound == 1 else f"{bound} rows a person, mu / {bound}"
            named[name] = self.spreads(self.data.kept(bound), METHOD, name, bound)
        for bound in BOUNDS:
            named[all_rows(bound)] = self.spreads(self.data.whole, f"{METHOD} {persons} --rows-per-person {bound}", f"B = {bound}")
        return named


def section(figures):
    data, epsilons = figures.data, figures.epsilons
    named = figures.all()
    best = {e: percent(max(spreads[e].median for spreads in named.values())) for e in epsilons}
    rows = [[name, *(cell(spreads[e], best[e]) for e in epsilons)] for name, spreads in named.items()]
    medians = lambda names, e: max(100 * named[name][e].median for name in names)
    ours = [all_rows(bound) for bound in BOUNDS]
    kept = [name for name in named if "mu /" in name]
    at_one = lambda e: 100 * named[ours[0]][e].median
    difference = lambda first, second: ", ".join(f"{first(e) - second(e):+.1f} at {e}" for e in epsilons)
    one_row = lambda e: 100 * named["one row a person"][e].median
    sizes = data.rows_of
    text = [
        f"### {data.name}",
        f"{data.title}. {len(data.persons)} training rows of {len(sizes)} persons, who have {int(np.median(sizes))} rows in the "
        f"median, {sizes.min()} to {sizes.max()}; {data.classes} classes.",
        table(["trained on", *(f"epsilon {e}" for e in epsilons)], rows),
        "Medians, in points:\n",
        f"- all rows with B = 1 ahead of one row a person: {difference(at_one, one_row)}",
        f"- the best B ahead of the best number of rows kept: {difference(lambda e: medians(ours, e), lambda e: medians(kept, e))}",
        f"- B = 1 behind the best B: {difference(lambda e: medians(ours, e), at_one)}",
    ]
    return "\n\n".join(text[:3]) + "\n\n" + text[3] + "\n".join(["", *text[4:]])


def write_document():
    epsilons, seeds = numbers("EPSILONS", "0.5 1 8"), numbers("SEEDS", "1 2 3 4 5")
    runner = Runner(ROOT, int(os.environ.get("JOBS", os.cpu_count())))
    sections = [section(Figures(runner, data, epsilons, seeds)) for data in sets()]
    write_page("persons", "explanation/persons", runner, seeds, part="launch/persons", method=METHOD, sections="\n\n".join(sections),
               command=" ".join([*stated_variables(), "launch/persons"]))


if __name__ == "__main__":
    try:
        write_document()
    except RunFailed as failure:
        sys.exit(f"launch/persons: {failure}")
