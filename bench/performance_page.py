#!/usr/bin/python3
"""Measures the parts of dpreduce on this machine and writes its part of docs/explanation/cost.md. launch/performance starts this.

    performance_page.py PAGE BUILD     writes its part of PAGE

DPREDUCE names the program, beside which lies bench/dpreduce_bench; BEFORE an earlier build of both, whose rounds and fits are measured in turn with this one's; ROWS, DIM, CLASSES and COUNT make smaller measurements. Each figure is the fastest of REPEATS (5) calls, each of which is a median of three: other work on
the machine makes a call slower, never faster. FEATURES (data/fashion_mnist) has the rows of whole fits, of which there are FITS (15) of each kind.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from measured_machine import PROGRAM, bench_beside, machine_with_load
from page_part import ROOT, table, write_part

REPEATS, ROWS, DIM, CLASSES, COUNT = (int(os.environ.get(name, usual)) for name, usual in [
    ("REPEATS", 5), ("ROWS", 8192), ("DIM", 1664), ("CLASSES", 1000), ("COUNT", 16_777_216)])
BEFORE = os.path.abspath(os.environ["BEFORE"]) if "BEFORE" in os.environ else None
FEATURES, FITS = os.path.abspath(os.environ.get("FEATURES", os.path.join(ROOT, "data/fashion_mnist"))), int(os.environ.get("FITS", 15))
KEPT_ROWS, KEPT_DIM = (60_000, 1296) if DIM == 1664 else (ROWS, DIM)
PAGE = """## Measured: the parts of a run

Written by `launch/performance`. Built from {build}. Every figure comes from that command.

Machine: {machine}. Each figure is the fastest of {repeats} calls, since other work on the machine makes a call slower, never faster. If the load is above 1, the machine can do better.

### Exact integer products

Gram matrices of {rows} rows on one core, in multiply-adds a second (`dpreduce_bench gram`). Each counts `n d (d + 1) / 2`.

{gram}

A training round of {rows} rows of {dim} features in {classes} classes (`dpreduce_bench round`): exact scores, residuals and gradient.

{round}

Rounds of {kept_rows} rows of {kept_dim} features on one thread, by the number of classes. Beside each time are its ratio to a plain read of the same bytes, and the share of the rate of Gram matrices,
both measured in the same run; then the parts, in milliseconds. With few classes the read is the limit, with many the Gram rate.{before}

{rounds_by_classes}

### Noise and sums

Exactly rounded Gaussian samples, on one core (`dpreduce_bench noise`):

{noise}

A sum of 64-bit words over two ranks of this machine (`dpreduce_bench reduce`): {reduce} GB/s.

### A whole fit

The quickstart's fit with `--epsilon 1`, from the call of `launch/local` to its end, with one thread a rank: seconds, the median of {fits} runs, and the least in parentheses. All kinds of runs take turns.
`ratio` is that of the medians.

{fit}

### A silo's start

A silo that waits for its coordinator, before it has read a row, has used {start:.0f} ms of CPU time since its start. It is started without a launcher, as by its owner.

### More measurements

    launch/scaling OUT 1 2 4                       # strong and weak scaling; OUT/scaling.csv, OUT/scaling.svg
    launch/scaling OUT --simulate 16,64,256        # whole fits on simulated ranks; OUT/fits.csv, OUT/fits.svg
    launch/scale-imagenet DIR                      # the whole shape of ImageNet, from .npy to model; phases, memory of each rank
    bench/compare --rows 8192 --dim 1664           # beside NumPy, scikit-learn and daal4py
    build/release/bench/dpreduce_bench gram --help # each figure of this part by itself: gram, round, noise, reduce
    build/release/bench/kernels_benchmark          # each kernel on each shape
    build/release/bench/silos_benchmark            # masks and frames of silos
"""


def bench(name, *options, ranks=1, program=PROGRAM):
    """The JSON of the fastest of REPEATS calls."""
    measured = bench_beside(program)
    command = [measured] if ranks == 1 else [os.path.join(ROOT, "launch/local"), str(ranks)]
    calls = []
    for _ in range(REPEATS):
        done = subprocess.run([*command, name, *map(str, options), "--format", "json"], capture_output=True, text=True, env={**os.environ, "DPREDUCE": measured})
        if done.returncode != 0:
            sys.exit(f"launch/performance: dpreduce_bench {name}: exit {done.returncode}: {done.stderr.strip()}")
        calls.append(json.loads(done.stdout))
    return min(calls, key=lambda told: told["seconds"])


def grams():
    dims = sorted({64, 128, 256, 512, 1024, DIM, 2048, 4096}) if DIM > 1000 else [DIM]
    rates = [f"{bench('gram', '--rows', ROWS, '--dim', dim, '--threads', 1)['gmac_per_second']:.0f}" for dim in dims]
    return table(["d", *dims], [["GMAC/s", *rates]])


def rounds():
    options = ["--rows", ROWS, "--dim", DIM, "--classes", CLASSES]
    ways = [("one rank, one thread", bench("round", *options, "--threads", 1)),
            ("one rank, two threads", bench("round", *options, "--threads", 2)),
            ("two ranks, one thread each", bench("round", *options, "--threads", 1, ranks=2))]
    alone = ways[0][1]["gmac_per_second"]
    return table(["", "GMAC/s", "times one thread"],
                 [[way, f"{told['gmac_per_second']:.0f}", f"{told['gmac_per_second'] / alone:.2f}"] for way, told in ways])


def rounds_by_classes():
    lines = []
    for classes in (2, 10, 16, 50, 100, 300, 1000) if DIM == 1664 else (CLASSES,):
        options = ["--rows", KEPT_ROWS, "--dim", KEPT_DIM, "--classes", classes, "--threads", 1, "--repeats", 5]
        before = [f"{bench('round', *options, program=BEFORE)['seconds'] * 1e3:.0f}"] if BEFORE else []
        told = bench("round", *options)
        parts = [f"{told[part + '_seconds'] * 1e3:.1f}" for part in ("scores", "residuals", "outer_product")]
        lines.append([classes, *before, f"{told['seconds'] * 1e3:.0f}", f"{told['gmac_per_second']:.0f}", f"{told['times_read']:.1f}", f"{told['share_of_gram']:.2f}", *parts])
    head = ["classes", *(["ms before"] if BEFORE else []), "ms a round", "GMAC/s", "times a read", "share of Gram", "scores", "residuals", "R^T Q"]
    return table(head, lines)


def noises():
    sigmas = (12, 20, 40)
    rates = [bench("noise", "--sigma", 2**sigma, "--count", COUNT, "--threads", 1)["samples_per_second"] for sigma in sigmas]
    return table(["sigma", *(f"2^{sigma}" for sigma in sigmas)], [["million samples/s", *(f"{rate / 1e6:.0f}" for rate in rates)]])


def made_up_rows(folder):
    subprocess.run([PROGRAM, *"synth --kind gaussian-mixture --rows 60 --test-rows 10 --dim 8 --classes 10 --out rows".split()], check=True, capture_output=True, cwd=folder)
    return os.path.join(folder, "rows")


def fits():
    builds = {"this build": PROGRAM, **({version(BEFORE): BEFORE} if BEFORE else {})}
    seconds = {(name, ranks): [] for name in builds for ranks in (1, 2)}
    with tempfile.TemporaryDirectory() as folder:
        rows = FEATURES if DIM == 1664 else made_up_rows(folder)
        words = ["fit", "--train-x", f"{rows}/train_x*.npy", "--train-y", f"{rows}/train_y*.npy", "--test-x", f"{rows}/test_x.npy", "--test-y", f"{rows}/test_y.npy",
                 "--classes", "10", "--epsilon", "1", "--delta", "1e-6", "--out", "model", "--report", "report.json", "--ledger", "ledger.jsonl", "--overwrite"]
        for _ in range(FITS):
            for name, ranks in seconds:
                with tempfile.TemporaryDirectory() as own:  # builds need not read each other's ledgers
                    began = time.monotonic()
                    subprocess.run([os.path.join(ROOT, "launch/local"), str(ranks), *words], check=True, stdout=subprocess.DEVNULL, cwd=own, env={**os.environ, "DPREDUCE": builds[name]})
                    seconds[name, ranks].append(time.monotonic() - began)
    told = lambda times: f"{statistics.median(times):.2f} ({min(times):.2f})"
    return table(["", "one rank", "two ranks", "ratio"],
                 [[name, told(seconds[name, 1]), told(seconds[name, 2]), f"{statistics.median(seconds[name, 1]) / statistics.median(seconds[name, 2]):.2f}"] for name in builds])


def silo_start():
    """CPU seconds of a silo that nobody answers, when it says that it waits: the least of REPEATS starts."""
    with tempfile.TemporaryDirectory() as folder:
        rows, roster = made_up_rows(folder), ["dim = 8", "classes = 10"]
        for party in ("coordinator", "silo.1", "silo.2", "silo.3"):
            public = subprocess.run([PROGRAM, "keygen", "--out", f"{party}.key", "--name", party], check=True, capture_output=True, text=True, cwd=folder).stdout.splitlines()
            roster += [f"[{party}]", *(line for line in public if line.startswith(("name", "key")))]
        with open(os.path.join(folder, "roster.toml"), "w", encoding="utf-8") as file:
            file.write("\n".join(roster) + "\n")
        health, seconds = os.path.join(folder, "health"), []
        bare = {name: value for name, value in os.environ.items() if name not in ("OPENBLAS_CORETYPE", "OMP_NUM_THREADS")}  # a silo has no launcher
        for _ in range(REPEATS):
            if os.path.exists(health):
                sys.exit("launch/performance: a silo that was stopped has left its health file")
            with subprocess.Popen([PROGRAM, *("silo --connect 127.0.0.1:1 --roster roster.toml --identity silo.1.key --log log --ledger ledger.jsonl --health health "
                                              f"--train-x {rows}/train_x.npy --train-y {rows}/train_y.npy --classes 10 --threads 1 --method mean --epsilon 4 --delta 1e-5").split()], cwd=folder, env=bare, stderr=subprocess.DEVNULL) as silo:
                while silo.poll() is None and not os.path.exists(health):
                    time.sleep(0.001)
                if silo.returncode is not None:
                    sys.exit(f"launch/performance: a silo did not wait for its coordinator: exit {silo.returncode}")
                with open(f"/proc/{silo.pid}/stat", encoding="utf-8") as file:
                    user, system = file.read().rpartition(")")[2].split()[11:13]
                silo.terminate()
            seconds.append((int(user) + int(system)) / os.sysconf("SC_CLK_TCK"))
    return min(seconds)


def version(program):
    return os.environ.get("BEFORE_ID") or subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout.strip()


def main(page, build):
    told = machine_with_load(PROGRAM)
    reduced = bench("reduce", "--elements", COUNT, ranks=2)["gigabytes_per_second"]
    text = PAGE.format(build=build, machine=told, repeats=REPEATS, rows=ROWS, dim=DIM, classes=CLASSES, gram=grams(), round=rounds(), kept_rows=KEPT_ROWS, kept_dim=KEPT_DIM, rounds_by_classes=rounds_by_classes(),
                       before=f" `ms before` is an earlier build's, {version(BEFORE)}, in turn with this one's." if BEFORE else "", noise=noises(),
                       reduce=f"{reduced:.1f}", fits=FITS, fit=fits(), start=1e3 * silo_start())
    write_part(page, "launch/performance", text)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
