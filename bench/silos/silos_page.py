#!/usr/bin/python3
"""Writes the parts of docs/experiments/silos.md from what launch/simulate-silos has left. launch/silo-tables and
launch/network-tables start this.

    silos_page.py rows DATA OUT COUNT          the first COUNT training rows of DATA, and its test rows, to OUT
    silos_page.py write PAGE BUILD PLAIN SECURE    PLAIN and SECURE are folders with a silos.json
    silos_page.py network PAGE BUILD FIGURES MS=FOLDER...   FIGURES are those of the tests' stories, a JSON object a line
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
from page_part import table, write_part  # noqa: E402


def rows(data, out, count):
    import numpy

    os.makedirs(out, exist_ok=True)
    for name in ("train_x", "train_y", "test_x", "test_y"):
        array = numpy.load(os.path.join(data, name + ".npy"), mmap_mode="r")
        numpy.save(os.path.join(out, name + ".npy"), array[:int(count)] if name.startswith("train") else array)


def load(folder):
    with open(os.path.join(folder, "silos.json"), encoding="utf-8") as file:
        return json.load(file)


def accuracies(runs):
    """Partitions by methods."""
    methods = list(dict.fromkeys(run["method"] for run in runs))
    lines = []
    for partition in dict.fromkeys(run["partition"] for run in runs):
        of = {run["method"]: run for run in runs if run["partition"] == partition}
        lines.append([f"`{partition}`", *(f"{of[method]['accuracy']:.3f}" for method in methods)])
    for title, text in [("model beside that of the pooled rows", lambda run: run["model"]),
                        ("rounds (sums and answers)", lambda run: str(run["rounds"])),
                        ("MB a silo, both ways", lambda run: f"{run['bytes_per_silo'] / 1e6:.2f}"),
                        ("network by the model, seconds", lambda run: f"{run['network_seconds']:.2f}")]:
        first = [next(run for run in runs if run["method"] == method) for method in methods]
        lines.append([title, *map(text, first)])
    return table(["partition", *(f"`{method}`" for method in methods)], lines)


def costs(runs):
    """What silos behind a coordinator exchange."""
    lines = [[f"`{run['method']}`", f"{run['accuracy']:.3f}", run["model"], f"{run['bytes_per_silo'] / 1e6:.2f}",
              str(run["round_trips"]), f"{run['network_seconds']:.2f}"] for run in runs]
    return table(["method", "accuracy", "model", "MB a silo", "round trips", "network by the model, seconds"], lines)


WHY = {  # a kind of message is waited for
    "hello": "keys of the run: everybody's go to everybody",
    "number": "the largest number of features",
    "plan": "all must have planned the same noise before anybody masks",
    "status": "a phase of a party's own work has ended well, or the run ends for all before the next one",
    "advertise": "keys of an attempt at a sum",
    "shares": "shares of each silo's secrets, for the others to hold",
    "consent": "signatures on who takes part, and on who is summed",
    "masked": "the statistics",
    "reveal": "what takes the masks off",
}


def delays(runs):
    """Seconds and bytes by round trip, beside what the line allows."""
    head = ["method", "round trip, ms", "MB a silo", "with TLS", "waits", "seconds", "limit of the line, s", "limit / seconds"]
    text = []
    for method in dict.fromkeys(run["method"] for run in runs[0]):
        for trip, rows in runs.items():
            run = next(run for run in rows if run["method"] == method)
            share = f"{run['network_seconds'] / run['seconds']:.0%}" if trip else "-"
            text.append([f"`{method}`", str(trip), f"{run['bytes_per_silo'] / 1e6:.2f}", f"{run['wire_bytes_per_silo'] / 1e6:.2f}",
                         str(run["round_trips"]), f"{run['seconds']:.2f}", f"{run['network_seconds']:.2f}", share])
    return table(head, text)


def waits(runs):
    methods = {run["method"]: run["waits"] for run in runs}
    kinds = [kind for kind in WHY if any(kind in waited for waited in methods.values())]
    left_out = {kind for waited in methods.values() for kind in waited} - set(kinds)
    if left_out:
        sys.exit(f"silos_page.py: nothing says why {left_out} are waited for")
    text = [[f"`{kind}`", *(str(waited.get(kind, 0)) for waited in methods.values()), WHY[kind]] for kind in kinds]
    return table(["message", *(f"`{method}`" for method in methods), "why"], text)


def matrix(figures):
    with open(figures, encoding="utf-8") as file:
        stories = [json.loads(line) for line in file]
    text = []
    for story in stories:
        outcomes = ", ".join(f"{word}: {count}" for word, count in story["outcomes"].items())
        text.append([story["stories"], str(story["runs"]), outcomes, f"{story['seconds']:.0f}", f"{story['longest']:.1f}",
                     f"{story['peak_mib']:.0f}"])
    return table(["what happens", "runs", "how they end", "seconds in all", "longest run, s", "peak memory, MiB"], text)


def network(page, build, figures, *folders):
    runs = {int(trip): load(folder) for trip, folder in (folder.split("=", 1) for folder in folders)}
    fill(page, "launch/network-tables", "network.md", {"@BUILD@": build, "@CORES@": str(os.cpu_count()), "@DELAYS@": delays(runs),
                                                      "@WAITS@": waits(runs[0]), "@MATRIX@": matrix(figures)})


def write(page, build, plain, secure):
    fill(page, "launch/silo-tables", "silos.md", {"@BUILD@": build, "@PLAIN@": accuracies(load(plain)), "@SECURE@": costs(load(secure))})


def fill(page, part, template, values):
    with open(os.path.join(HERE, template), encoding="utf-8") as file:
        text = file.read()
    for name, value in values.items():
        text = text.replace(name, value)
    write_part(page, part, text)


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] == "rows":
        rows(*sys.argv[2:])
    elif len(sys.argv) == 6 and sys.argv[1] == "write":
        write(*sys.argv[2:])
    elif len(sys.argv) > 5 and sys.argv[1] == "network":
        network(*sys.argv[2:])
    else:
        sys.exit(__doc__)
