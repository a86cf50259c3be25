#!/usr/bin/python3
"""Writes docs/experiments/silos.md from what launch/simulate-silos has left. launch/silo-tables starts this.

    silos_page.py rows DATA OUT COUNT          the first COUNT training rows of DATA, and its test rows, to OUT
    silos_page.py write PAGE BUILD PLAIN SECURE    PLAIN and SECURE are folders with a silos.json
"""
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def rows(data, out, count):
    import numpy

    os.makedirs(out, exist_ok=True)
    for name in ("train_x", "train_y", "test_x", "test_y"):
        array = numpy.load(os.path.join(data, name + ".npy"), mmap_mode="r")
        numpy.save(os.path.join(out, name + ".npy"), array[:int(count)] if name.startswith("train") else array)


def load(folder):
    with open(os.path.join(folder, "silos.json"), encoding="utf-8") as file:
        return json.load(file)


def table(head, lines):
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *lines])


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


def write(page, build, plain, secure):
    with open(os.path.join(HERE, "silos.md"), encoding="utf-8") as file:
        text = file.read()
    for name, value in [("@BUILD@", build), ("@PLAIN@", accuracies(load(plain))), ("@SECURE@", costs(load(secure)))]:
        text = text.replace(name, value)
    with open(page + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(page + ".new", page)


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] == "rows":
        rows(*sys.argv[2:])
    elif len(sys.argv) == 6 and sys.argv[1] == "write":
        write(*sys.argv[2:])
    else:
        sys.exit(__doc__)
