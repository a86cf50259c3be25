"""Runs: one method, one setting, one epsilon, one seed on one set. Results are kept: an interrupted table goes on.

A result belongs to the digest of what computed it: dpreduce's binary, or the module of the methods to compare with, and
the rows. Where one of these has changed, its results are not found again. Of sets with classes results are accuracies; of
tables, whose target is a number, R^2.
"""
import hashlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import product
from multiprocessing import Pool

import numpy as np

import published_methods
import regression_methods


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


class Results:
    """A file of JSON lines, {key: ..., accuracies: [[setting, accuracy], ...], seconds: ...}, only ever added to."""

    def __init__(self, path):
        self.path, self.found, self.asked = path, {}, set()
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(path):
            with open(path, "rb") as f:
                lines = f.read()
            whole = lines[:lines.rfind(b"\n") + 1]
            os.truncate(path, len(whole))  # drops a line that an interruption has cut short
            for line in whole.splitlines():
                entry = json.loads(line)
                self.found[self.text(entry["key"])] = entry

    @staticmethod
    def text(key):
        return json.dumps(key, sort_keys=True)

    def get(self, key):
        self.asked.add(self.text(key))
        return self.found[self.text(key)]

    def used(self):
        """What this table is made of."""
        return [self.found[key] for key in self.asked]

    def add(self, entry):
        with open(self.path, "a") as f:
            f.write(json.dumps(entry) + "\n")
        self.found[self.text(entry["key"])] = entry


@dataclass
class Set:
    """A feature set: about.json where build-data made it, else what its files say."""

    folder: str
    about: dict

    @classmethod
    def at(cls, folder, classes=None):
        if classes is None:
            with open(folder + "/about.json") as f:
                about = json.load(f)
            return cls(folder, about)
        names = ("train_x", "train_y", "test_x", "test_y")
        digests = "".join(sha256(f"{folder}/{name}.npy") for name in names)
        return cls(folder, {"classes": classes, "sha256": hashlib.sha256(digests.encode()).hexdigest()})

    def file(self, name):
        return f"{self.folder}/{name}.npy"

    @property
    def is_table(self):
        return "classes" not in self.about

    @property
    def methods(self):
        """The module of the methods to compare with."""
        return regression_methods if self.is_table else published_methods

    def rows(self, part):
        x, y = np.load(self.file(part + "_x")), np.load(self.file(part + "_y"))
        if not self.is_table:
            return published_methods.Rows.clipped(x, y, self.about["classes"])
        has_persons = part == "train" and "persons" in self.about
        return regression_methods.Rows.of(x, y, np.load(self.file("train_person")) if has_persons else None)


class RunFailed(Exception):
    pass


rows_of = {}  # folder: (training, test) rows, loaded before processes are forked, so that all share them


def run_published(task):
    data, key = task
    train, test = rows_of[data.folder]
    run = getattr(data.methods, key["method"])
    random = np.random.default_rng(key["seed"])
    models = run(train, key["epsilon"], key["delta"], random, **key["settings"])
    if data.is_table:
        return [[setting, test.r2(predict(test))] for setting, predict in models]
    accuracies = []
    for setting, weights, bias in models:
        scores = test.x @ np.asarray(weights, np.float32).T + np.asarray(bias, np.float32)
        accuracies.append([setting, float((scores.argmax(axis=1) == test.y).mean())])
    return accuracies


def run_dpreduce(task):
    data, key, program = task
    options = {"--train-x": data.file("train_x"), "--test-x": data.file("test_x"), "--threads": 1, "--report": "report.json"}
    if data.is_table:
        options |= {"--targets": data.file("train_y"), "--test-targets": data.file("test_y")}
    else:
        options |= {"--train-y": data.file("train_y"), "--test-y": data.file("test_y"), "--classes": data.about["classes"]}
    if key["epsilon"] is not None:
        options |= {"--epsilon": key["epsilon"], "--delta": key["delta"], "--seed": key["seed"]}
    command = [program, "fit", *(str(word) for option in options.items() for word in option), *key["options"].split()]
    if key["epsilon"] is None:
        command.append("--non-private")
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise RunFailed(f"{' '.join(command)}\nended with code {done.returncode}: {done.stderr.strip()}")
        with open(folder + "/report.json") as f:
            return [[{}, json.load(f)["test"]["r2" if data.is_table else "accuracy"]]]


def timed(task):
    started = time.time()
    run = run_published if "settings" in task[1] else run_dpreduce
    return {"key": task[1], "accuracies": run(task), "seconds": round(time.time() - started, 2)}


class Runner:
    def __init__(self, root, jobs):
        self.program = root + "/build/release/dpreduce"
        self.results = Results(root + "/build/accuracy/results.jsonl")
        self.jobs = jobs
        self.digests = {module: sha256(module.__file__) for module in (published_methods, regression_methods)}
        self.digests["dpreduce"] = sha256(self.program)

    def own(self, data, options, epsilon, delta, seed):
        key = {"options": options, "epsilon": epsilon, "delta": delta, "seed": seed, "code": self.digests["dpreduce"],
               "data": data.about["sha256"]}
        return data, key, self.program

    def published(self, data, method, settings, epsilon, delta, seed):
        key = {"method": method.run.__name__, "settings": settings, "epsilon": epsilon, "delta": delta, "seed": seed,
               "code": self.digests[data.methods], "data": data.about["sha256"]}
        return data, key

    def missing(self, tasks):
        return [task for task in tasks if Results.text(task[1]) not in self.results.found]

    def make(self, tasks, what):
        """Runs what has no result yet, `jobs` at a time, each on one thread."""
        missing, started = self.missing(tasks), time.time()
        if not missing:
            return
        for data in {id(task[0]): task[0] for task in missing if "settings" in task[1]}.values():
            if data.folder not in rows_of:
                rows_of.clear()  # one set in memory at a time
                train, test = data.rows("train"), data.rows("test")
                _ = train.gram
                if not data.is_table:
                    _ = train.class_sums, train.norms
                rows_of[data.folder] = (train, test)
        told = started
        with Pool(self.jobs) as pool:
            for done, entry in enumerate(pool.imap_unordered(timed, missing), 1):
                self.results.add(entry)
                if done == len(missing) or time.time() > told + 30:
                    told = time.time()
                    message = f"   {what}: {done} of {len(missing)} runs, {told - started:.0f} s"
                    print(message, file=sys.stderr, flush=True)

    def accuracies(self, task):
        return self.results.get(task[1])["accuracies"]

    def spreads(self, what, epsilons, seeds, task):
        """{epsilon: Spread} over seeds; task(epsilon, seed) is the run."""
        self.make([task(e, s) for e in epsilons for s in seeds], what)
        return {e: Spread.of([self.accuracies(task(e, s))[0][1] for s in seeds], {}) for e in epsilons}


@dataclass
class Spread:
    """Test accuracy, or R^2, over seeds."""

    median: float
    low: float
    high: float
    setting: dict

    @classmethod
    def of(cls, values, setting):
        return cls(statistics.median(values), min(values), max(values), setting)


def settings_of(grid):
    return [dict(zip(grid, values)) for values in product(*grid.values())]


def best_of(runner, what, settings, seeds, task):
    """The best median over seeds, by the test set: every setting with the first seed, the two best with all.

    task(setting, seed) is the run; one run may give several classifiers.
    """
    runner.make([task(setting, seeds[0]) for setting in settings], what)
    first = lambda setting: max(accuracy for _, accuracy in runner.accuracies(task(setting, seeds[0])))
    finalists = sorted(settings, key=first, reverse=True)[:2]
    runner.make([task(setting, seed) for setting in finalists for seed in seeds], what + ", all seeds")
    spreads = []
    for setting in finalists:
        runs = [runner.accuracies(task(setting, seed)) for seed in seeds]
        for same in zip(*runs):  # one classifier of the run, over seeds
            spreads.append(Spread.of([accuracy for _, accuracy in same], {**setting, **same[0][0]}))
    return max(spreads, key=lambda spread: spread.median)
