#!/usr/bin/python3
"""How often intervals of coefficients of numbers hold, and how wide they are beside BinAgg's. launch/number-coverage starts this.

    number_coverage.py PROGRAM SEEDS     the tables of its part of docs/experiments/intervals.md, to standard output
"""
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from multiprocessing import Pool

import numpy as np

sys.path.append(f"{os.path.dirname(os.path.abspath(__file__))}/accuracy")
from regression_methods import Rows, sums_of_bins, weighted_by_bins  # noqa: E402

NORMAL95 = 1.959963984540054
POPULATION = 400000  # rows that the population's line is of, where the model is wrong


@dataclass
class Case:
    name: str
    rows: int
    columns: int
    mu: float
    kind: str = "even"


CASES = [
    *(Case("uniform columns", n, d, mu) for n, d, mu in (
        (500, 5, 3), (2000, 5, 0.5), (2000, 5, 3), (10000, 10, 0.3), (10000, 10, 1), (20000, 20, 1))),
    *(Case("each column .9 like the one before", n, 10, mu, "alike") for n, mu in ((10000, 3), (50000, 1))),
    *(Case("rows of t(3), longer ones clipped", n, 5, mu, "tails") for n, mu in ((10000, 1), (50000, 1))),
    *(Case("one number is a square", n, 5, mu, "square") for n, mu in ((2000, 1), (20000, 1))),
    *(Case("noise grows with the first column", n, 5, mu, "uneven") for n, mu in ((2000, 1), (20000, 1))),
]


def drawn(case, rows, random):
    """(columns from -1 to 1, targets)"""
    x = random.uniform(-1, 1, (rows, case.columns))
    if case.kind == "alike":
        x = random.standard_normal((rows, case.columns))
        for column in range(1, case.columns):
            x[:, column] = 0.9 * x[:, column - 1] + np.sqrt(0.19) * x[:, column]
        x = np.clip(x / 4, -1, 1)
    if case.kind == "tails":
        x = np.clip(random.standard_t(3, (rows, case.columns)) / 10, -1, 1)
    slopes = np.cos(np.arange(case.columns))
    noise = random.standard_normal(rows)
    if case.kind == "uneven":
        noise *= 0.2 + 1.6 * np.abs(x[:, 0])
    y = x @ slopes + 0.5 * noise
    if case.kind == "square":
        y += x[:, 0] ** 2 + x[:, 0]
    return x, y


def line_of(x, y):
    """Least squares with a constant, last."""
    with_constant = np.c_[x, np.ones(len(x))]
    return np.linalg.lstsq(with_constant, y, rcond=None)[0]


def intervals(program, x, y, reach, case, seed, folder):
    """(what `refit --intervals` tells, or None; kappa; rows as they are clipped)"""
    np.save(f"{folder}/x.npy", x.astype(np.float32))
    np.save(f"{folder}/y.npy", y)
    run = lambda *words: subprocess.run([program, *map(str, words)], cwd=folder, check=True, capture_output=True, text=True).stdout
    # Uniform rows of many columns are of nearly one length. By default they are scaled to one, and have no raw coefficients.
    length = () if case.kind == "tails" else ("--normalize", "none", "--clip", math.sqrt(case.columns))
    said = run("release", "--statistics", "gram", "--train-x", "x.npy", "--targets", "y.npy",
               f"--target-range={-reach},{reach}", "--feature-range=-1,1", *length, "--mu", case.mu, "--seed", seed, "--threads", 1,
               "--out", "g.safetensors", "--overwrite", "--ledger", f"{seed}.jsonl")
    chosen = re.search(r"clipped to length (\S+),", said)
    lengths = np.linalg.norm(x, axis=1, keepdims=True)
    clipped = x * np.minimum(1, float(chosen[1]) / lengths) if chosen else x
    run("refit", "g.safetensors", "--lambda", "0.01", "--intervals", "i.json", "--out", "m.safetensors", "--overwrite")
    with open(f"{folder}/i.json") as file:
        told = json.load(file)
    return (told["weights"][0] if told["weights"] else None), told["kappa"], clipped


def by_bins(x, y, reach, mu, random):
    """(coefficients, deviations) of BinAgg: its sandwich, of bins.    [lin2025], Theorem 4.2"""
    weights, sums, of_y, noise = sums_of_bins(Rows.of(x, y), y / reach, mu, random)
    theta = weighted_by_bins(weights, sums, of_y, noise)
    bins, dim = sums.shape
    scores = weights[:, None] * (sums * (of_y - sums @ theta)[:, None] + noise * theta)
    inverse = np.linalg.pinv((sums.T @ (weights[:, None] * sums)) / bins - np.diag((weights[:, None] * noise).mean(axis=0)))
    variances = np.diag(inverse @ scores.T @ scores @ inverse) / (bins * max(bins - dim, 1))
    return reach * theta, reach * np.sqrt(np.maximum(variances, 0))


def seed_of(task):
    """What one seed shows."""
    program, case, reach, truth, seed = task
    random = np.random.default_rng([seed, case.rows, case.columns])
    x, y = drawn(case, case.rows, random)
    of_bins, deviations = by_bins(x, y, reach, case.mu, random)
    shown = {"bins": np.abs(of_bins - truth)[:-1] <= NORMAL95 * deviations[:-1], "width of bins": 2 * NORMAL95 * deviations[:-1]}
    with tempfile.TemporaryDirectory() as folder:
        told, kappa, clipped = intervals(program, x, y, reach, case, seed, folder)
    shown["kappa"] = np.inf if kappa is None else kappa
    if told is not None:
        inside = lambda ends, value: (np.array(ends["low"]) <= value) & (value <= np.array(ends["high"]))
        shown |= {"rows": inside(told, line_of(clipped, y)), "population": inside(told["population"], truth),
                  "width": np.subtract(told["population"]["high"], told["population"]["low"])[:-1]}
    return shown


def row_of(program, case, seeds, pool):
    _, far = drawn(case, 100000, np.random.default_rng(1))
    reach = float(np.ceil(np.abs(far).max()))
    truth = line_of(*drawn(case, POPULATION, np.random.default_rng(2)))
    shown = pool.map(seed_of, [(program, case, reach, truth, seed) for seed in range(1, seeds + 1)])
    of = lambda name: [own[name] for own in shown if name in own]
    share = lambda name: f"{100 * np.mean(of(name)):.1f} %" if of(name) else ""
    width = lambda name: f"{np.median(of(name)):.3f}" if of(name) else ""
    worst = f"{100 * np.mean(of('population'), axis=0).min():.1f} %" if of("population") else ""
    return [case.name, str(case.rows), str(case.columns), str(case.mu), f"{np.median(of('kappa')):.3f}",
            f"{100 * len(of('rows')) / seeds:.0f} %", share("rows"), share("population"), worst, width("width"),
            share("bins"), width("width of bins")]


def main():
    program, seeds = os.path.abspath(sys.argv[1]), int(sys.argv[2])
    head = ["data", "n", "d", "mu", "kappa", "given", "these rows", "population", "worst", "width", "BinAgg holds", "its width"]
    print("| " + " | ".join(head) + " |\n" + "|" + " --- |" * len(head), flush=True)
    with Pool() as pool:
        for case in CASES:
            print("| " + " | ".join(row_of(program, case, seeds, pool)) + " |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main()
