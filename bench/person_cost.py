#!/usr/bin/python3
"""CPU seconds of fits whose unit is a person, beside the same fits of rows. launch/person-cost starts this; its head says what may be set.

    person_cost.py PAGE BUILD FOLDER     writes its part of PAGE; data sets are drawn in FOLDER, and deleted

Every fit has one thread, one rank and a seed. The ways of a method are measured in turn, REPEATS times or, where a fit takes less than
SHORT seconds, four times as often: a small difference of short times needs more of them. The least of each counts: other work on the
machine makes a fit slower, never faster.
"""
import os
import shutil
import subprocess
import sys

import numpy as np

from measured_machine import PROGRAM, machine_with_load
from page_part import table, write_part

REPEATS = int(os.environ.get("REPEATS", 3))
SHORT = 2.0
SHAPES = os.environ.get("SHAPES", "small imagenet").split()
BOUND = 2
FIT = "dpreduce fit --epsilon 1 --delta 1e-6 --threads 1 --seed 1"
WAYS = ["no persons", "persons"]
# Rows as they are drawn lie in any order; --sorted: a copy whose rows are sorted by person.
DRAWN = {
    "small": {"rows": 60_000, "classes": 10, "persons": "--rows-per-person 10", "sorted": True,
              "methods": ["mean", "adam --rounds 10", "ls --shared-gram", "ls", "fc"]},
    "imagenet": {"rows": 1_281_167, "classes": 1000, "persons": "--rows-per-person 13 --separation 1 --spread 0.05", "sorted": False,
                 "methods": ["mean", "ls --shared-gram", "fc --rounds 2"]},
}
DIM = int(os.environ.get("DIM", 768))
PART = """## What persons cost

Written by `launch/person-cost`. Built from {build}. Every figure comes from that command.

Machine: {machine}. CPU seconds of a whole fit, from start to model, on one thread: the least of {repeats} in turn, or of
{short_repeats} where every fit of a line takes less than {short:g} s. In brackets: times
the fit without persons on the same files. Each fit is
`{fit}`, with persons also `--rows-per-person {bound}`.

Sizes of persons have a long tail (`synth --rows-per-person`). Rows are in random order, so that a person's rows are all over the file, or are
sorted by person.

{tables}
"""


def draw(options, is_sorted, folder):
    subprocess.run([PROGRAM, *options.split(), "--overwrite", "--out", folder + "/drawn"], check=True, stdout=subprocess.DEVNULL)
    if not is_sorted:
        return
    order = np.argsort(np.load(folder + "/drawn/train_person.npy"), kind="stable")
    os.makedirs(folder + "/sorted")
    for name in ("x", "y", "person"):
        np.save(f"{folder}/sorted/train_{name}.npy", np.load(f"{folder}/drawn/train_{name}.npy", mmap_mode="r")[order])


def cpu_seconds(folder, data, method, way, classes):
    """Of one fit, with all of its start and end."""
    files = f"{folder}/{data}/train_"
    command = [PROGRAM, "fit", "--train-x", files + "x.npy", "--train-y", files + "y.npy", "--classes", str(classes), "--method",
               *method.split(), "--epsilon", "1", "--delta", "1e-6", "--threads", "1", "--seed", "1", "--quiet", "--overwrite",
               "--ledger", folder + "/ledger.jsonl", "--out", folder + "/model.safetensors", "--report", folder + "/report.json"]
    if way != "no persons":
        command += ["--train-person", files + "person.npy", "--rows-per-person", str(BOUND)]
    if os.path.exists(folder + "/ledger.jsonl"):
        os.remove(folder + "/ledger.jsonl")
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"launch/person-cost: exit {os.waitstatus_to_exitcode(status)} of {' '.join(command)}")
    return used.ru_utime + used.ru_stime


def section(shape, folder):
    about = DRAWN[shape]
    rows, classes = int(os.environ.get("ROWS", about["rows"])), about["classes"]
    options = f"synth --kind gaussian-mixture --rows {rows} --test-rows 10 --dim {DIM} --classes {classes} {about['persons']} --seed 1"
    draw(options, about["sorted"], folder)
    columns = [(data, way) for data in (["drawn", "sorted"] if about["sorted"] else ["drawn"]) for way in WAYS]
    lines = []
    for method in about["methods"]:
        least = {}
        turn, turns = 0, REPEATS
        while turn < turns:
            for data, way in columns:
                seconds = cpu_seconds(folder, data, method, way, classes)
                least[data, way] = min(seconds, least.get((data, way), seconds))
            turn += 1
            turns = 4 * REPEATS if max(least.values()) < SHORT else REPEATS
        cells = [f"{least[data, way]:.2f}" + ("" if way == WAYS[0] else f" ({least[data, way] / least[data, WAYS[0]]:.2f})")
                 for data, way in columns]
        lines.append([f"`{method}`", *cells])
        print(shape, *lines[-1], flush=True)
    head = ["", *(f"{way}, {'any order' if data == 'drawn' else 'sorted'}" for data, way in columns)]
    return f"### {rows:,} x {DIM}, {classes} classes\n\n`{options}`\n\n{table(head, lines)}"


def main(page, build, folder):
    told = machine_with_load(PROGRAM)
    os.makedirs(folder)
    try:
        tables = []
        for shape in SHAPES:
            work = f"{folder}/{shape}"
            os.makedirs(work)
            tables.append(section(shape, work))
            shutil.rmtree(work)
    finally:
        shutil.rmtree(folder)
    write_part(page, "launch/person-cost", PART.format(build=build, machine=told, repeats=REPEATS, short_repeats=4 * REPEATS, short=SHORT, fit=FIT, bound=BOUND, tables="\n\n".join(tables)))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
