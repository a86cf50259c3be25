"""Plans, partial sums and sessions: the bytes of fit(), each partition once, under engines that retry."""
import functools
import itertools
import json
import operator
import os
import pickle
import random
import signal
import subprocess
import sys
import warnings

import numpy as np
import pytest

import dpreduce
from conftest import DIM, TERMS, bytes_of, peak_memory, refuses, save_rows
from dpreduce import BadInput, UsageError, _core

OF_NO_CLASSES = {name: value for name, value in TERMS.items() if name != "classes"}
PRIVATE = {name: value for name, value in TERMS.items() if name != "seed"}


class Engine:
    """An engine of threads that are none: tasks run in any order, some twice, some fail first, and all that they take and
    give is pickled, as between machines. Sums are made in a tree of its own choice."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.runs = 0

    def run(self, work, *arguments):
        while True:
            self.runs += 1
            result = pickle.loads(pickle.dumps(work(*pickle.loads(pickle.dumps(arguments)))))
            if self.random.random() < 0.7:  # else the worker is lost with its result
                return result

    def sum(self, plan, task, partitions):
        parts = [self.run(lambda plan, task, name, x, y, person=None: plan.partial(x, y, name, task, person=person), plan, task, *part)
                 for part in self.random.sample(partitions, len(partitions))]
        while len(parts) > 1:
            at = self.random.randrange(len(parts) - 1)
            parts[at:at + 2] = [self.run(operator.add, parts[at], parts[at + 1])]
        return parts[0]


def cut(x, y, partitions):
    edges = np.linspace(0, len(y), partitions + 1).astype(int) ** 2 // max(len(y), 1)
    return [(f"p{p}", x[a:b], y[a:b]) for p, (a, b) in enumerate(zip(edges, edges[1:]))]


def finish(session, plan, engine, partitions):
    while session.task is not None:
        session.step(engine.sum(plan, session.task, partitions))
    return session.result()


@pytest.mark.parametrize("method, options", [("ls", {}), ("auto", {"rounds": 3})])
@pytest.mark.parametrize("partitions", [1, 3, 7])
def test_any_cut_gives_the_bytes_of_one_fit(method, options, partitions, x, y, ledger):
    whole = dpreduce.fit(x, y, method=method, **options, **TERMS)
    plan = dpreduce.Plan(DIM, method=method, **options, **TERMS)
    session = plan.start(ledger, [f"p{p}" for p in range(partitions)])
    run = finish(session, plan, Engine(partitions), cut(x, y, partitions))
    assert run.classifier.to_bytes() == whole.classifier.to_bytes()
    assert run.privacy.epsilon == whole.privacy.epsilon and run.privacy.releases == whole.privacy.releases
    assert run.account["runs"] == 1 and "epsilon" in run.explain()


@pytest.mark.parametrize("method, options", [("ls", {"target_range": (-9, 9)}), ("auto", {}), ("fc", {"feature_range": "private"})])
def test_numbers_are_predicted_by_the_bytes_of_one_fit(method, options, rows, tmp_path, ledger):
    x = rows[0].astype(np.float32)
    numbers = np.stack([5 + x @ np.arange(DIM), 1e3 * x[:, 0]], axis=1)
    terms = OF_NO_CLASSES | {"method": method} | options
    plan = pickle.loads(pickle.dumps(dpreduce.Plan.from_json(dpreduce.Plan(DIM, targets=2, **terms).to_json())))
    run = finish(plan.start(ledger), plan, Engine(3), cut(x, numbers, 4))
    assert run.classifier.to_bytes() == bytes_of(x, targets=numbers, **terms)
    task, words = plan.start(tmp_path / "other.jsonl").task, "partition p: its rows have 1 numbers, but the plan is for 2"
    refuses(BadInput, words, plan.partial, x, numbers[:, 0], "p", task)
    refuses(UsageError, "targets: 0 is not a number of targets", dpreduce.Plan, DIM, targets=0, **terms)


def test_a_method_of_one_release_needs_one_sum(x, y):
    plan = dpreduce.Plan(DIM, method="mean", **TERMS)
    total = functools.reduce(operator.add, (plan.partial(x, y, name) for name, x, y in cut(x, y, 4)))
    assert total.partitions == ["p0", "p1", "p2", "p3"]
    run = plan.release(total, expected_partitions=["p0", "p1", "p2", "p3"])
    assert run.classifier.to_bytes() == bytes_of(x, y, method="mean", **TERMS)
    refuses(UsageError, "use start", dpreduce.Plan(DIM, method="fc", **TERMS).release, total)
    for method in ("gd", "ls"):
        refuses(UsageError, "start the session, and use its task", dpreduce.Plan(DIM, method=method, **TERMS).partial, x, y, "p")


def test_gram_matrices_of_classes_never_meet_on_the_driver():
    """Of 120 matrices of 1 MB each the driver and its one worker here hold a few at a time."""
    classes, dim = 120, 512
    rng = np.random.default_rng(1)
    y = np.arange(600) % classes
    x = rng.normal(size=(600, dim)).astype(np.float32)
    plan = dpreduce.Plan(dim, method="ls", classes=classes, epsilon=1, delta=1e-6)
    session = plan.start()
    assert plan._own.tasks == 1 + classes
    tasks = 0
    while session.task is not None:
        if tasks == 2:
            before = peak_memory(anew=True)
        session.step(plan.partial(x[:300], y[:300], "a", session.task) + plan.partial(x[300:], y[300:], "b", session.task))
        tasks += 1
    assert tasks == 1 + classes and session.result().report["method"] == "ls"
    assert peak_memory() - before < 64 * 1024  # KiB; all of them would take 126 MB


def test_a_partition_counts_once(x, y):
    plan = dpreduce.Plan(DIM, method="mean", **TERMS)
    part = plan.partial(x, y, "17")
    refuses(UsageError, "partition 17 is in both", lambda: part + plan.partial(x, y, 17))
    refuses(UsageError, "missing from the sum: 18", lambda: plan.start(expected_partitions=[17, 18]).step(part))
    refuses(UsageError, "two sessions", lambda: part + dpreduce.Plan(DIM, method="mean", **TERMS).partial(x, y, "18"))
    refuses(TypeError, None, lambda: part + 1)


def test_bytes_of_partial_sums_differ_each_time_and_damaged_ones_are_refused(x, y):
    plan = dpreduce.Plan(DIM, method="mean", **TERMS)
    once, again = (pickle.dumps(plan.partial(x, y, "p")) for _ in range(2))
    assert once != again
    state = bytearray(plan._own.partial(plan._own.first_task(), x, y, None, "p", 1).__getstate__())
    state[len(state) // 2] ^= 1
    damaged = _core.PartialSum.__new__(_core.PartialSum)
    refuses(BadInput, "damaged", lambda: damaged.__setstate__(bytes(state)))


def test_json_is_public_and_makes_the_same_plan_with_another_secret(x, y):
    plan = dpreduce.Plan(DIM, method="mean", center="dp", **TERMS)
    text = plan.to_json()
    assert set(json.loads(text)) == {"format", "features", "class_names", "options"}
    again = dpreduce.Plan.from_json(text)
    assert again.to_json() == text
    refuses(UsageError, "two sessions", lambda: plan.partial(x, y, "a") + again.partial(x, y, "b"))
    for wrong in ("{}", "nothing", '{"format": "dpreduce plan 2"}', text.replace("dp", "d p")):
        refuses(UsageError, None, dpreduce.Plan.from_json, wrong)


def test_names_of_classes(x, y):
    names = ["ant", "bee", "cat", "dog"]
    terms, labels = {**OF_NO_CLASSES, "method": "mean", "class_names": names}, np.asarray(names)[y]
    plan = dpreduce.Plan(DIM, **terms)
    classifier = plan.release(plan.partial(x, labels, "p")).classifier
    assert classifier.class_names == names and classifier.to_bytes() == bytes_of(x, labels, **terms)
    beyond_ascii = np.array([b"ant", b"bee", b"cat", b"d\xff"])[y]
    refuses(BadInput, "decode them to strings", dpreduce.fit, x, beyond_ascii, **terms)


@pytest.mark.parametrize("options, words", [({"batch": 0.5, "method": "gd"}, "batch: its samples"), ({"method": "fedavg"}, "fedavg"),
                                            ({"method": "ls", "choose": True}, "choose=True: it counts"), ({"method": "nothing"}, "nothing"),
                                            ({"method": "public"}, "public"), ({"method": "prototypes"}, "public"),
                                            ({"resume": True}, "resume=True: a session ends"),
                                            ({"imbalance_ratio": 10}, "imbalance_ratio: the tail"), ({"public_x": "x.npy"}, "public_x"),
                                            ({"epsilonn": 1}, "epsilon"), ({"epsilon": -1}, "epsilon"),
                                            ({"method": "mean", "ledger": "ledger.jsonl"}, "give it to start"),
                                            *(({"method": "mean", "features": number}, "features") for number in (0, -1, 8.5, "x", True))])
def test_what_cannot_travel_is_refused(options, words):
    refuses(UsageError, words, dpreduce.Plan, **{"features": DIM, **TERMS, **options})


def test_rows_that_do_not_fit_are_refused_before_anything_is_charged(x, y, ledger):
    plan = dpreduce.Plan(DIM, method="mean", **PRIVATE)
    session = plan.start(ledger)
    for rows, labels, words in ((x[:, 1:], y, "partition 3.*15 features"), (x, np.where(np.arange(len(y)) == 5, 9, y), "row 5"),
                                (np.where(np.arange(DIM) == 2, np.nan, x), y, "row 0.*not a finite number")):
        refuses(BadInput, words, plan.partial, rows, labels, 3)
    refuses(UsageError, "name", plan.partial, x, y, "")
    refuses(UsageError, "waits for the sum", session.result)
    assert not ledger.exists()
    session.step(plan.partial(x, y, 3))
    assert session.result().account["runs"] == 1
    refuses(UsageError, "has ended", lambda: session.step(plan.partial(x, y, 3)))


def test_a_session_that_is_dropped_gives_back_what_it_reserved(x, y, ledger):
    plan = dpreduce.Plan(DIM, method="fc", **PRIVATE)
    session = plan.start(ledger)
    assert not ledger.exists()
    session.step(plan.partial(x, y, "p", session.task))
    assert dpreduce.read_ledger(ledger)
    del session
    assert json.loads(_core.ledger(str(ledger), None))["open_runs"] == []


def test_budgets_are_kept_on_the_ledger(x, y, ledger):
    plan = dpreduce.Plan(DIM, method="mean", **PRIVATE, budget_epsilon=1.2, budget_delta=1e-5)
    plan.release(plan.partial(x, y, "p"), ledger)
    refuses(dpreduce.BudgetRefused, None, plan.start, ledger)
    refuses(UsageError, "budget_epsilon", plan.start)


@pytest.mark.parametrize("wrong", [{"threads": -1}, {"threads": 2.0}, {"task": 3}, {"partition": "\udcff"}])
def test_messages_of_workers_show_no_rows(wrong, x, y):
    said = str(refuses(UsageError, None, dpreduce.Plan(DIM, method="mean", **TERMS).partial, x, y, **{"partition": "p", **wrong}))
    assert "array" not in said and str(x[0, 0])[:5] not in said


def test_what_is_paid_for_is_not_lost_where_warnings_are_errors(x, y, ledger):
    terms = {**PRIVATE, "method": "mean", "delta": 1e-2}  # a delta to warn of
    plan = dpreduce.Plan(DIM, **terms)
    session = plan.start(ledger)
    session.step(plan.partial(x, y, "p"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, fitted = session.result(), dpreduce.fit(x, y, **terms)
    assert session.result() is first and (first.predict(x) == y).mean() > 0.9 and (fitted.predict(x) == y).mean() > 0.9


@pytest.mark.parametrize("names", [[1, 2, 3, 4], "abcd", []])
def test_names_of_classes_are_strings(names, rows):
    terms = {**OF_NO_CLASSES, "method": "mean", "class_names": names}
    refuses(UsageError, "a list of strings", dpreduce.Plan, DIM, **terms)
    refuses(UsageError, "a list of strings", dpreduce.fit, *rows, **terms)


def test_rows_that_change_between_sums_of_classes_get_no_noise(x, y):
    plan = dpreduce.Plan(DIM, method="ls", **TERMS)
    session = plan.start()
    session.step(plan.partial(x, y, "p", session.task))
    changed = plan.partial(x, np.zeros_like(y), "p", session.task)
    for _ in range(2):
        refuses(BadInput, "changed between two sums", session.step, changed)
    refuses(BadInput, "changed between two sums", session.result)


def test_what_is_no_partial_sum_is_refused(rows):
    plan, other = (dpreduce.Plan(DIM, method=method, **TERMS) for method in ("mean", "fc"))
    for call, words in ((lambda: plan.release(None), "not a partial sum"), (lambda: plan.start().step(3), "not a partial sum"),
                        (lambda: plan.start(expected_partitions="abc"), "not a list of names"),
                        (lambda: plan.partial(*rows, "p", other.start().task), "another plan")):
        refuses(UsageError, words, call)


@pytest.mark.parametrize("options, charges", [({"method": "gd", "rounds": 5}, 5), ({"method": "ls"}, 2)])
def test_a_fit_of_all_rows_goes_on_where_a_session_was_dropped(x, y, ledger, options, charges):
    terms = {**PRIVATE, **options}
    plan = dpreduce.Plan(DIM, **terms)
    session = plan.start(ledger)
    for _ in range(3):
        session.step(plan.partial(x, y, "p", session.task))
    del session
    run = dpreduce.fit(x, y, ledger=ledger, resume=True, **terms)
    # Of ls in parts nothing is saved before its last class: it is made anew.
    assert run.account["runs"] == 2 and (run.predict(x) == y).mean() > 0.5
    assert sum(json.loads(line)["kind"] == "charge" for line in ledger.read_text().splitlines()) == charges


# Trains on the driver, and says in the folder `seen` what it was shown: a task has the weights of the releases before it.
SESSION = """
import dpreduce, numpy, os, sys
x = numpy.load("x.npy"); y = numpy.load("y.npy")
plan = dpreduce.Plan(x.shape[1], classes=4, epsilon=1, delta=1e-6, method="gd", rounds=1, center="dp")
session = plan.start("ledger.jsonl")
while session.task is not None:
    os.write(1, f"{session.task.step}\\n".encode())
    session.step(plan.partial(x, y, "all", session.task))
session.result()
os.write(1, b"end\\n")
"""


@pytest.mark.parametrize("how", ["before", "torn"])
def test_a_driver_that_is_killed_at_any_write_has_charged_what_it_was_shown(how, x, y, tmp_path):
    for killed_at in itertools.count(1):
        folder = tmp_path / str(killed_at)
        folder.mkdir()
        save_rows(folder, x[:60], y[:60])
        killer = {"LD_PRELOAD": os.environ["DPREDUCE_WRITE_KILLER"], "DPREDUCE_KILLER_FOLDER": str(folder),
                  "DPREDUCE_KILLER_AT": str(killed_at), "DPREDUCE_KILLER_HOW": how}
        run = subprocess.run([sys.executable, "-c", SESSION], cwd=folder, env=os.environ | killer, capture_output=True, text=True, check=False)
        ledger = folder / "ledger.jsonl"
        lines = ledger.read_text().splitlines(keepends=True) if ledger.exists() else []
        charges = sum('"kind":"charge"' in line and line.endswith("\n") for line in lines)
        shown = run.stdout.split()
        if run.returncode == 0:
            break
        assert run.returncode == -signal.SIGKILL, run.stderr
        assert charges >= int(shown[-1] if shown else 0), f"killed at call {killed_at}"
    assert charges == 3 and shown == ["0", "1", "2", "end"], "two steps of the center, and a round"
    assert killed_at > 10, "calls that change a file"
