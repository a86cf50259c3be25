#!/usr/bin/python3
"""Measures the parts of dpreduce on this machine and writes docs/experiments/performance.md. launch/performance starts this.

    performance_page.py PAGE BUILD

DPREDUCE names the program; BEFORE an earlier build of it, whose rounds are measured in turn with this one's; ROWS, DIM, CLASSES and COUNT make smaller measurements. Each figure is the fastest of REPEATS (5) calls, each of which is a median of three: other work on
the machine makes a call slower, never faster.
"""
import json
import os
import subprocess
import sys

from measured_machine import machine_with_load

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAM = os.environ.get("DPREDUCE", os.path.join(ROOT, "build/release/dpreduce"))
REPEATS, ROWS, DIM, CLASSES, COUNT = (int(os.environ.get(name, usual)) for name, usual in [
    ("REPEATS", 5), ("ROWS", 8192), ("DIM", 1664), ("CLASSES", 1000), ("COUNT", 16_777_216)])
BEFORE = os.environ.get("BEFORE")
KEPT_ROWS, KEPT_DIM = (60_000, 1296) if DIM == 1664 else (ROWS, DIM)
PAGE = """# Speed: what the parts of a run take

Written by `launch/performance`. Built from {build}. Every figure comes from that command.

Machine: {machine}. Each figure is the fastest of {repeats} calls, since other work on the machine makes a call slower, never faster: where the load is above 1, the machine can do better. [What a run costs](../explanation/cost.md) has the model behind
the figures.

## Exact integer products

Gram matrices of {rows} rows on one core, in multiply-adds a second (`dpreduce bench gram`). Each counts `n d (d + 1) / 2`.

{gram}

A training round of {rows} rows of {dim} features in {classes} classes (`dpreduce bench round`): exact scores, residuals and gradient.

{round}

Rounds of {kept_rows} rows of {kept_dim} features on one thread, by the number of classes. Beside each: how many times a plain read of the same bytes takes that long, and the share of the rate of Gram matrices,
both measured in the same run; then the parts, in milliseconds. With few classes the read is the limit, with many the Gram rate.{before}

{rounds_by_classes}

## Noise and sums

Exactly rounded Gaussian samples, on one core (`dpreduce bench noise`):

{noise}

A sum of 64-bit words over two ranks of this machine (`dpreduce bench reduce`): {reduce} GB/s.

## More measurements

    launch/scaling OUT 1 2 4                       # strong and weak scaling; OUT/scaling.csv, OUT/scaling.svg
    launch/scaling OUT --simulate 16,64,256        # whole fits on simulated ranks; OUT/fits.csv, OUT/fits.svg
    launch/scale-imagenet DIR                      # the whole shape of ImageNet, from .npy to model; phases, memory of each rank
    bench/compare --rows 8192 --dim 1664           # beside NumPy, scikit-learn and daal4py
    build/release/bench/kernels_benchmark          # each kernel on each shape
    build/release/bench/silos_benchmark            # masks and frames of silos
"""


def bench(name, *options, ranks=1, program=PROGRAM):
    """The JSON of the fastest of REPEATS calls."""
    command = [program] if ranks == 1 else [os.path.join(ROOT, "launch/local"), str(ranks)]
    calls = []
    for _ in range(REPEATS):
        done = subprocess.run([*command, "bench", name, *map(str, options), "--format", "json"], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"launch/performance: bench {name}: exit {done.returncode}: {done.stderr.strip()}")
        calls.append(json.loads(done.stdout))
    return min(calls, key=lambda told: told["seconds"])


def table(head, *lines):
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in [head, ["---"] * len(head), *lines])


def grams():
    dims = sorted({64, 128, 256, 512, 1024, DIM, 2048, 4096}) if DIM > 1000 else [DIM]
    rates = [f"{bench('gram', '--rows', ROWS, '--dim', dim, '--threads', 1)['gmac_per_second']:.0f}" for dim in dims]
    return table(["d", *dims], ["GMAC/s", *rates])


def rounds():
    options = ["--rows", ROWS, "--dim", DIM, "--classes", CLASSES]
    ways = [("one rank, one thread", bench("round", *options, "--threads", 1)),
            ("one rank, two threads", bench("round", *options, "--threads", 2)),
            ("two ranks, one thread each", bench("round", *options, "--threads", 1, ranks=2))]
    alone = ways[0][1]["gmac_per_second"]
    return table(["", "GMAC/s", "times one thread"],
                 *([way, f"{told['gmac_per_second']:.0f}", f"{told['gmac_per_second'] / alone:.2f}"] for way, told in ways))


def rounds_by_classes():
    lines = []
    for classes in (2, 10, 16, 50, 100, 300, 1000) if DIM == 1664 else (CLASSES,):
        options = ["--rows", KEPT_ROWS, "--dim", KEPT_DIM, "--classes", classes, "--threads", 1, "--repeats", 5]
        before = [f"{bench('round', *options, program=BEFORE)['seconds'] * 1e3:.0f}"] if BEFORE else []
        told = bench("round", *options)
        parts = [f"{told[part + '_seconds'] * 1e3:.1f}" for part in ("scores", "residuals", "outer_product", "packing")]
        lines.append([classes, *before, f"{told['seconds'] * 1e3:.0f}", f"{told['gmac_per_second']:.0f}", f"{told['times_read']:.1f}", f"{told['share_of_gram']:.2f}", *parts])
    head = ["classes", *(["ms before"] if BEFORE else []), "ms a round", "GMAC/s", "times a read", "share of Gram", "scores", "residuals", "R^T Q", "packing"]
    return table(head, *lines)


def noises():
    sigmas = (12, 20, 40)
    rates = [bench("noise", "--sigma", 2**sigma, "--count", COUNT, "--threads", 1)["samples_per_second"] for sigma in sigmas]
    return table(["sigma", *(f"2^{sigma}" for sigma in sigmas)], ["million samples/s", *(f"{rate / 1e6:.0f}" for rate in rates)])


def version(program):
    return os.environ.get("BEFORE_ID") or subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip()


def main(page, build):
    told = machine_with_load()
    reduced = bench("reduce", "--elements", COUNT, ranks=2)["gigabytes_per_second"]
    text = PAGE.format(build=build, machine=told, repeats=REPEATS, rows=ROWS, dim=DIM, classes=CLASSES, gram=grams(), round=rounds(), kept_rows=KEPT_ROWS, kept_dim=KEPT_DIM, rounds_by_classes=rounds_by_classes(),
                       before=f" `ms before` is an earlier build's, {version(BEFORE)}, in turn with this one's." if BEFORE else "", noise=noises(),
                       reduce=f"{reduced:.1f}")
    with open(page + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(page + ".new", page)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
