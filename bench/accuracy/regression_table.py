#!/usr/bin/python3
"""R^2 of regression beside published methods, corrected. launch/regression starts this; its head says what may be set.

    regression_table.py write     docs/experiments/regression.md, from the sets in build/data
"""
import hashlib
import os
import sys

import numpy as np

from accuracy_table import DELTA, ROOT, numbers, setting_text, stated_variables, table, write_page
from regression_methods import CEILING, METHODS, TUNED
from runs import RunFailed, Runner, Set, best_of, settings_of, sha256

TUNED_ON = ["diamonds", "ames", "insteval", "lending", "heavy"]
HELD_BACK = ["cps1988", "chicago"]
DRAWN = ["few", "even", "offset", "alike", "tails", "factors"]
OURS = ["--method auto", "--method ls"]
SPOILED_SHARE, SPOILED_BY = 0.01, 1000


def figure(r2):
    return f"{r2:.3f}" if r2 > -1 else "below -1"


def cell(spread, best=None):
    median = figure(spread.median)
    return f"{'**' + median + '**' if best == median else median} ({figure(spread.low)} to {figure(spread.high)})"


def spoiled(data):
    """The set with one training target in a hundred, drawn once, multiplied by 1,000."""
    folder = f"{ROOT}/build/regression/{os.path.basename(data.folder)}-spoiled"
    os.makedirs(folder, exist_ok=True)
    y = np.load(data.file("train_y"))
    y[np.random.RandomState(3).rand(len(y)) < SPOILED_SHARE] *= SPOILED_BY
    np.save(f"{folder}/train_y.npy", y)
    for name in ("train_x", "test_x", "test_y", "train_person"):
        link = f"{folder}/{name}.npy"
        if os.path.exists(data.file(name)) and not os.path.lexists(link):
            os.symlink(data.file(name), link)
    digest = hashlib.sha256((data.about["sha256"] + sha256(f"{folder}/train_y.npy")).encode()).hexdigest()
    return Set(folder, {**data.about, "sha256": digest})


class Figures:
    """All runs on one set."""

    def __init__(self, runner, name, epsilons, seeds):
        self.runner, self.name, self.epsilons, self.seeds = runner, name, epsilons, seeds
        self.data = Set.at(f"{ROOT}/build/data/{name}")

    def ours(self, method, data=None):
        """{epsilon: Spread} of dpreduce with these options."""
        data = data or self.data
        options = method + (f" --train-person {data.file('train_person')}" if "persons" in data.about else "")
        task = lambda epsilon, seed: self.runner.own(data, options, epsilon, DELTA, seed)
        return self.runner.spreads(f"{self.name}, {method}", self.epsilons, self.seeds, task)

    def without_noise(self, method):
        persons = f" --train-person {self.data.file('train_person')}" if "persons" in self.data.about else ""
        task = self.runner.own(self.data, method + persons, None, None, None)
        self.runner.make([task], f"{self.name}, {method}, without noise")
        return self.runner.accuracies(task)[0][1]

    def corrected(self, method):
        """{epsilon: Spread} of the best setting of the method's grid, by the test rows."""
        def best(epsilon):
            run = lambda setting, seed: self.runner.published(self.data, method, setting, epsilon, DELTA, seed)
            return best_of(self.runner, f"{self.name}, {method.name}", settings_of(method.grid), self.seeds, run)
        return {epsilon: best(epsilon) for epsilon in self.epsilons}

    def ceiling(self):
        task = self.runner.published(self.data, CEILING, {}, 1, DELTA, 0)
        self.runner.make([task], f"{self.name}, {CEILING.name}")
        return max(r2 for _, r2 in self.runner.accuracies(task))


class Section:
    def __init__(self, figures):
        self.figures = figures
        self.ceiling = figures.ceiling()
        self.ours = {method: figures.ours(method) for method in OURS}
        self.exact = figures.without_noise(OURS[0])
        self.corrected = {method.name: figures.corrected(method) for method in METHODS
                          if method.knows_persons or "persons" not in figures.data.about}
        self.spoiled = figures.ours(OURS[0], spoiled(figures.data))

    def ahead(self, name, epsilon):
        """By how much `auto` is ahead of a corrected method."""
        return self.ours[OURS[0]][epsilon].median - self.corrected[name][epsilon].median

    def fall(self, epsilon):
        """What the spoiled targets cost."""
        return self.ours[OURS[0]][epsilon].median - self.spoiled[epsilon].median

    def text(self):
        about, epsilons = self.figures.data.about, self.figures.epsilons
        named = {**{f"`{method}`": spreads for method, spreads in self.ours.items()}, **self.corrected}
        best = {e: figure(max(spreads[e].median for spreads in named.values())) for e in epsilons}
        rows = [[name, *(cell(spreads[e], best[e]) for e in epsilons)] for name, spreads in named.items()]
        rows.append([f"`{OURS[0]}`, one target in a hundred times 1,000", *(cell(self.spoiled[e]) for e in epsilons)])
        sizes = f"{about['rows']} training and {about['test_rows']} test rows, d = {about['features']}"
        if "persons" in about:
            sizes += f"; the unit is the person: {about['persons']} in training rows"
        tuned = self.corrected[TUNED.name]
        chosen = "; ".join(f"at {e} {setting_text(tuned[e].setting)}" for e in epsilons)
        return "\n\n".join([
            f"### {self.figures.name}: {about['title']}",
            f"{sizes}. Least squares without privacy, with the best ridge for the test rows: {self.ceiling:.4f}. "
            f"`{OURS[0]} --non-private`: {self.exact:.4f}.",
            table(["epsilon", *map(str, epsilons)], rows),
            f"What the test rows chose for BoostedAdaSSP: {chosen}."])


def summary(sections, epsilons):
    """In how many sets `auto` is ahead, by how much, and the largest fall by spoiled targets."""
    rows = []
    for method in METHODS:
        for e in epsilons:
            ahead = [s.ahead(method.name, e) for s in sections if method.name in s.corrected]
            if not ahead:
                continue
            rows.append([method.name, str(e), f"{sum(d > 0 for d in ahead)} of {len(ahead)}",
                         f"{sum(d >= -0.02 for d in ahead)} of {len(ahead)}", f"{min(ahead):+.3f}",
                         f"{sorted(ahead)[len(ahead) // 2]:+.3f}"])
    beside = table([f"`{OURS[0]}` beside", "epsilon", "ahead on", "within .02 or ahead on", "least difference", "median"], rows)
    falls = ", ".join(f"{max(s.fall(e) for s in sections):.3f} at {e}" for e in epsilons)
    exact = ", ".join(f"{s.figures.name} {s.exact - s.ceiling:+.4f}" for s in sections)
    return f"{beside}\n\nLargest fall of R^2 by spoiled targets: {falls}.\n\nWithout noise, beside least squares: {exact}."


def write_document():
    epsilons, seeds = numbers("EPSILONS", "0.3 1 3"), numbers("SEEDS", "1 2 3 4 5")
    runner = Runner(ROOT, int(os.environ.get("JOBS", os.cpu_count())))
    wanted = os.environ.get("SETS", " ".join(TUNED_ON + HELD_BACK + DRAWN)).split()
    sections = {name: Section(Figures(runner, name, epsilons, seeds)) for name in wanted}
    part = lambda names: "\n\n".join(sections[name].text() for name in names if name in sections)
    write_page("regression", "experiments/regression", runner, seeds, summary=summary(list(sections.values()), epsilons),
               tuned=part(TUNED_ON), held_back=part(HELD_BACK), drawn=part(DRAWN),
               command=" ".join([*stated_variables(), "launch/regression"]))


if __name__ == "__main__":
    try:
        write_document()
    except RunFailed as failure:
        sys.exit(f"launch/regression: {failure}")
