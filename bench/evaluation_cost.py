#!/usr/bin/python3
"""CPU seconds of `evaluate --private` beside those of `evaluate` of the same rows. launch/private-evaluation starts this.

    evaluation_cost.py FOLDER     prints Markdown; rows are drawn in FOLDER, and deleted

ROWS (1,000,000), DIM (768) and CLASSES (1,000) say how large it is; REPEATS (4): evaluations of a kind, in turn, of which the least counts.
Each runs on one core: other work on the machine makes it slower, never faster.
"""
import os
import resource
import shutil
import subprocess
import sys

import numpy as np

from measured_machine import PROGRAM
from page_part import table

ROWS, DIM, CLASSES, REPEATS = (int(os.environ.get(name, usual)) for name, usual in
                               (("ROWS", 1_000_000), ("DIM", 768), ("CLASSES", 1000), ("REPEATS", 4)))
FITTED = 20_000  # rows of the model that is evaluated
BUDGET = "--private --epsilon 1 --delta 1e-6"
WAYS = {"`evaluate`": "", "`evaluate --private`": BUDGET}


def draw(folder):
    generator = np.random.default_rng(1)
    labels = generator.integers(0, CLASSES, ROWS).astype(np.int32)
    centers = generator.standard_normal((CLASSES, DIM), dtype=np.float32) * 0.15
    x = np.lib.format.open_memmap(f"{folder}/x.npy", mode="w+", dtype=np.float16, shape=(ROWS, DIM))
    for first in range(0, ROWS, 50_000):
        part = labels[first:first + 50_000]
        x[first:first + len(part)] = centers[part] + generator.standard_normal((len(part), DIM), dtype=np.float32)
    np.save(f"{folder}/y.npy", labels)
    np.save(f"{folder}/few_x.npy", x[:FITTED])
    np.save(f"{folder}/few_y.npy", labels[:FITTED])


def run(folder, words):
    """CPU seconds of the program on one core."""
    core = min(os.sched_getaffinity(0))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([PROGRAM, *words.split()], check=True, cwd=folder, stdout=subprocess.DEVNULL,
                   preexec_fn=lambda: os.sched_setaffinity(0, {core}))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    folder = sys.argv[1]
    os.makedirs(folder)
    try:
        draw(folder)
        run(folder, f"fit --train-x few_x.npy --train-y few_y.npy --classes {CLASSES} --method mean --epsilon 8 --delta 1e-6 --quiet")
        least = {}
        for turn in range(REPEATS):
            for number, (way, options) in list(enumerate(WAYS.items()))[::-1 if turn % 2 else 1]:
                ledger = f" --ledger {turn}-{number}.jsonl" if options else ""
                seconds = run(folder, f"evaluate --model model.safetensors --test-x x.npy --test-y y.npy {options}{ledger}")
                least[way] = min(seconds, least.get(way, seconds))
    finally:
        shutil.rmtree(folder)
    print(f"{ROWS:,} rows of {DIM} float16 features, {CLASSES:,} classes: CPU seconds of the whole command on one core, the least of {REPEATS} in turn.\n")
    plain = least["`evaluate`"]
    print(table(["command", "CPU seconds", "times `evaluate`"],
                [[way, f"{seconds:.1f}", f"{seconds / plain:.3f}"] for way, seconds in least.items()]))


if __name__ == "__main__":
    main()
