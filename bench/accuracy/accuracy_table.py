#!/usr/bin/python3
"""Test accuracy of methods at several epsilons. launch/accuracy starts this; its head says what may be set.

    accuracy_table.py write                        docs/experiments/accuracy.md, from the sets in build/data
    accuracy_table.py print DATA CLASSES DELTA     one table of dpreduce's methods on any set
"""
import os
import sys
from string import Template

from published_methods import PUBLISHED, RIDGES
from runs import RunFailed, Runner, Set, best_of, settings_of

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(f"{ROOT}/bench")
from page_part import build_id, table, write_part, write_whole  # noqa: E402
DELTA = 1e-5
# Of docs/experiments/accuracy.md, with their epsilons, unless SETS and EPSILONS say otherwise.
SETS = {"fmnist768": "0.1 0.5 1 2 8", "debshort": "0.1 1 8", "glyphs62": "0.1 1 8", "teams45": "0.1 1 8",
        "libraries2": "0.1 1 8"}

AUTO = "--method auto"
METHODS = [AUTO, "--method adam --center dp", "--method gd --center dp",
           "--method newton --center dp", "--method ls --center dp", "--method ls --shared-gram --center dp",
           "--method fisher --center dp", "--method mean --center dp", "--method mean"]

GRID_OF_AUTO = {"--rounds": [10, 20, 40], "--gram-share": [0.05, 0.1, 0.2, 0.4]}  # options: values

NOTES = list(dict.fromkeys(method.note for method in PUBLISHED))


def numbers(name, default):
    return [float(word) if "." in word or "e" in word else int(word) for word in os.environ.get(name, default).split()]


def stated_variables(*further):
    """What was set to make the table smaller, as a shell would be told."""
    return [f'{name}="{os.environ[name]}"' for name in ("EPSILONS", "SEEDS", "SETS", *further) if name in os.environ]


def write_page(template, page, runner, seeds, part=None, **values):
    """docs/PAGE.md, or its part of that name, of bench/accuracy/TEMPLATE.md, and what all pages of runs state."""
    with open(f"{ROOT}/bench/accuracy/{template}.md") as f:
        document = Template(f.read()).substitute(
            build=build_id(), delta=f"{DELTA:g}".replace("e-0", "e-"), seed_count=len(seeds), seeds=", ".join(map(str, seeds)),
            minutes=f"{sum(entry['seconds'] for entry in runner.results.used()) / 60:.0f}",
            notes="\n".join(f"[^{i}]: {note}" for i, note in enumerate(NOTES, 1)
                            if any(f"[^{i}]" in str(value) for value in values.values())), **values)
    path = f"{ROOT}/docs/{page}.md"
    if part:
        write_part(path, part, document)
    else:
        write_whole(path, document)
    print(path)


def percent(accuracy):
    return f"{100 * accuracy:.1f}"


def cell(spread, best=None):
    median = percent(spread.median)
    return f"{'**' + median + '**' if best == median else median} ({percent(spread.low)} to {percent(spread.high)})"


def with_options(method, setting):
    return " ".join([method, *(f"{option} {value}" for option, value in setting.items())])


class Figures:
    """All runs on one set."""

    def __init__(self, runner, name, data, epsilons, seeds, delta):
        self.runner, self.name, self.data = runner, name, data
        self.epsilons, self.seeds, self.delta = epsilons, seeds, delta

    def say(self, method, epsilon):
        return f"{self.name}, {method}, epsilon {epsilon}"

    def own(self, method):
        """{epsilon: Spread} of dpreduce with these options."""
        task = lambda epsilon, seed: self.runner.own(self.data, method, epsilon, self.delta, seed)
        return self.runner.spreads(f"{self.name}, {method}", self.epsilons, self.seeds, task)

    def tuned_auto(self):
        """{epsilon: Spread} of the best setting of GRID_OF_AUTO, by the test set."""
        def best(epsilon):
            run = lambda setting, seed: self.runner.own(self.data, with_options(AUTO, setting), epsilon, self.delta, seed)
            return best_of(self.runner, self.say(AUTO, epsilon), settings_of(GRID_OF_AUTO), self.seeds, run)
        return {epsilon: best(epsilon) for epsilon in self.epsilons}

    def published(self, method):
        """{epsilon: Spread} of the best setting of the method's grid, by the test set."""
        def best(epsilon):
            run = lambda setting, seed: self.runner.published(self.data, method, setting, epsilon, self.delta, seed)
            return best_of(self.runner, self.say(method.name, epsilon), settings_of(method.grid), self.seeds, run)
        return {epsilon: best(epsilon) for epsilon in self.epsilons}


def rows_of_spreads(named, epsilons):
    best = {e: percent(max(spreads[e].median for spreads in named.values())) for e in epsilons}
    return [[name, *(cell(spreads[e], best[e]) for e in epsilons)] for name, spreads in named.items()]


def print_table(folder, classes, delta):
    epsilons, seeds = numbers("EPSILONS", "0.1 0.5 1 2 8"), numbers("SEEDS", "1 2 3 4 5")
    methods = [line for line in os.environ.get("METHODS", "\n".join(METHODS)).splitlines() if line]
    runner = Runner(ROOT, int(os.environ.get("JOBS", os.cpu_count())))
    figures = Figures(runner, os.path.basename(folder), Set.at(folder, classes), epsilons, seeds, delta)
    named = {f"`{method}`": figures.own(method) for method in methods}
    print(table(["options", *map(str, epsilons)], rows_of_spreads(named, epsilons)))


# ---- docs/experiments/accuracy.md ----------------------------------------------------------------------------------------------


def ahead(first, second, epsilons):
    """By how many points `first` is ahead of `second` at each epsilon, as text."""
    return ", ".join(f"{100 * (first[e].median - second[e].median):+.1f} at {e}" for e in epsilons)


def best_median(named, epsilons):
    return {e: max((spreads[e] for spreads in named.values()), key=lambda spread: spread.median) for e in epsilons}


def setting_text(setting):
    return ", ".join(f"{name.lstrip('-')} {value}" for name, value in setting.items()) or "-"


def grid_text(grid):
    return "; ".join(f"{name.lstrip('-')} {', '.join(map(str, values))}" for name, values in grid.items()) or "-"


def tuned_part(figures, untuned):
    """`auto` as it is, the best of its grid, and what that is."""
    epsilons, tuned = figures.epsilons, figures.tuned_auto()
    lines = [[f"`{AUTO}`", *(cell(untuned[e]) for e in epsilons)],
             ["best of its grid", *(cell(tuned[e]) for e in epsilons)],
             ["its setting", *(setting_text(tuned[e].setting) for e in epsilons)]]
    return ["**Untuned, and the best of a grid.** `auto` with every setting of a grid tried and the best chosen on the test\nset: "
            "what it costs to choose without looking. Such a choice is not private.",
            table(["epsilon", *map(str, epsilons)], lines)]


def section(figures):
    about, epsilons = figures.data.about, figures.epsilons
    head = ["epsilon", *map(str, epsilons)]
    own = {f"`{method}`": figures.own(method) for method in METHODS}
    published = {f"{method.name} [^{NOTES.index(method.note) + 1}]": figures.published(method) for method in PUBLISHED}
    rows = rows_of_spreads({**own, **published}, epsilons)
    rows[len(own):len(own)] = [["*as published, tuned on the test set:*", *[""] * len(epsilons)]]
    distance = ahead(own[f"`{AUTO}`"], best_median(published, epsilons), epsilons)
    chosen = [[name.split(" [^")[0], *(setting_text(spreads[e].setting) for e in epsilons)]
              for name, spreads in published.items()]
    parts = [
        f"## {figures.name}: {about['title']}",
        f"{about['rows']} training and {about['test_rows']} test rows, d = {about['features']}; {about['classes']} classes, "
        f"of {about['rarest_class']} to {about['commonest_class']} rows.\nWithout privacy and centering the nearest class "
        f"direction is right on {percent(about['nearest_direction_accuracy'])} %.",
        table(head, rows),
        f"`--method auto` against the best published method, in points: {distance}.",
        "What the test set chose for the published methods:",
        table(head, chosen),
    ]
    return parts + tuned_part(figures, own[f"`{AUTO}`"])


def write_document():
    seeds = numbers("SEEDS", "1 2 3 4 5")
    runner = Runner(ROOT, int(os.environ.get("JOBS", os.cpu_count())))
    sections = []
    for name in os.environ.get("SETS", " ".join(SETS)).split():
        data = Set.at(f"{ROOT}/build/data/{name}")
        sections += section(Figures(runner, name, data, numbers("EPSILONS", SETS[name]), seeds, DELTA))
    grids = [table(["published method", "grid"], [[method.name, grid_text(method.grid)] for method in PUBLISHED]),
             f"and for DP-LS and DP-Newton ridge {', '.join(map(str, RIDGES))}. lambda = ridge (1 + alpha) for DP-LS,\n"
             "ridge for DP-Newton and DP-FC; eta = speed * ridge for DP-FC, movement / T for DP-Adam, movement / (T n) for "
             f"NoisyGD.\nGradients are clipped to 1. The grid of `{AUTO}`: {grid_text(GRID_OF_AUTO)}."]
    write_page("document", "experiments/accuracy", runner, seeds, sections="\n\n".join(sections), grids="\n\n".join(grids),
               command=" ".join([*stated_variables(), "launch/accuracy"]))


if __name__ == "__main__":
    try:
        if sys.argv[1] == "print":
            print_table(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
        else:
            write_document()
    except RunFailed as failure:
        sys.exit(f"launch/accuracy: {failure}")
