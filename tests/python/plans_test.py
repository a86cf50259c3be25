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
from conftest import CLASSES, DIM, TERMS, peak_memory, save_rows
from dpreduce import _core

OF_NO_CLASSES = {name: value for name, value in TERMS.items() if name != "classes"}


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
        parts = [self.run(lambda plan, task, x, y, name: plan.partial(x, y, name, task), plan, task, x, y, name)
                 for name, x, y in self.random.sample(partitions, len(partitions))]
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
def test_any_cut_gives_the_bytes_of_one_fit(method, options, partitions, x, y, tmp_path):
    whole = dpreduce.fit(x, y, method=method, **options, **TERMS)
    plan = dpreduce.Plan(DIM, method=method, **options, **TERMS)
    session = plan.start(tmp_path / "ledger.jsonl", [f"p{p}" for p in range(partitions)])
    engine = Engine(partitions)
    run = finish(session, plan, engine, cut(x, y, partitions))
    assert run.classifier.to_bytes() == whole.classifier.to_bytes()
    assert run.privacy.epsilon == whole.privacy.epsilon and run.privacy.releases == whole.privacy.releases
    assert run.account["runs"] == 1
    assert "epsilon" in run.explain()


@pytest.mark.parametrize("method, options", [("ls", {"target_range": (-9, 9)}), ("auto", {}), ("fc", {"feature_range": "private"})])
def test_numbers_are_predicted_by_the_bytes_of_one_fit(method, options, rows, tmp_path):
    x = rows[0].astype(np.float32)
    numbers = np.stack([5 + x @ np.arange(DIM), 1e3 * x[:, 0]], axis=1)
    terms = OF_NO_CLASSES | {"method": method} | options
    plan = pickle.loads(pickle.dumps(dpreduce.Plan.from_json(dpreduce.Plan(DIM, targets=2, **terms).to_json())))
    run = finish(plan.start(tmp_path / "ledger.jsonl"), plan, Engine(3), cut(x, numbers, 4))
    assert run.classifier.to_bytes() == dpreduce.fit(x, targets=numbers, **terms).classifier.to_bytes()
    session = plan.start(tmp_path / "other.jsonl")
    with pytest.raises(dpreduce.BadInput, match="partition p: its rows have 1 numbers, but the plan is for 2"):
        plan.partial(x, numbers[:, 0], "p", session.task)
    with pytest.raises(dpreduce.UsageError, match="targets: 0 is not a number of targets"):
        dpreduce.Plan(DIM, targets=0, **terms)


def test_a_method_of_one_release_needs_one_sum(x, y):
    plan = dpreduce.Plan(DIM, method="mean", **TERMS)
    total = functools.reduce(operator.add, (plan.partial(x, y, name) for name, x, y in cut(x, y, 4)))
    assert total.partitions == ["p0", "p1", "p2", "p3"]
    run = plan.release(total, expected_partitions=["p0", "p1", "p2", "p3"])
    assert run.classifier.to_bytes() == dpreduce.fit(x, y, method="mean", **TERMS).classifier.to_bytes()
    with pytest.raises(dpreduce.UsageError, match="use start"):
        dpreduce.Plan(DIM, method="fc", **TERMS).release(total)


@pytest.mark.parametrize("method", ["gd", "ls"])
def test_a_first_task_that_is_the_sessions_is_asked_for(method, rows):
    with pytest.raises(dpreduce.UsageError, match="start the session, and use its task"):
        dpreduce.Plan(DIM, method=method, **TERMS).partial(*rows, "p")


def test_gram_matrices_of_classes_never_meet_on_the_driver():
    """Of 120 matrices of 1 MB each the driver and its one worker here hold a few at a time."""
    classes, dim = 120, 512
    rng = np.random.default_rng(1)
    y = np.arange(600) % classes
    x = rng.normal(size=(600, dim)).astype(np.float32)
    plan = dpreduce.Plan(dim, method="ls", classes=classes, epsilon=1, delta=1e-6)
    halves = [("a", x[:300], y[:300]), ("b", x[300:], y[300:])]

    session = plan.start()
    assert plan._own.tasks == 1 + classes
    tasks = 0
    while session.task is not None:
        if tasks == 2:
            before = peak_memory(anew=True)
        session.step(functools.reduce(operator.add, (plan.partial(x, y, name, session.task) for name, x, y in halves)))
        tasks += 1
    assert tasks == 1 + classes and session.result().report["method"] == "ls"
    assert peak_memory() - before < 64 * 1024  # KiB; all of them would take 126 MB


def test_a_partition_counts_once(x, y):
    plan = dpreduce.Plan(DIM, method="mean", **TERMS)
    part = plan.partial(x, y, "17")
    with pytest.raises(dpreduce.UsageError, match="partition 17 is in both"):
        part + plan.partial(x, y, 17)
    with pytest.raises(dpreduce.UsageError, match="missing from the sum: 18"):
        plan.start(expected_partitions=[17, 18]).step(part)
    with pytest.raises(dpreduce.UsageError, match="two sessions"):
        part + dpreduce.Plan(DIM, method="mean", **TERMS).partial(x, y, "18")
    with pytest.raises(TypeError):
        part + 1


def test_bytes_of_partial_sums_differ_each_time_and_damaged_ones_are_refused(x, y):
    plan = dpreduce.Plan(DIM, method="mean", **TERMS)
    once, again = (pickle.dumps(plan.partial(x, y, "p")) for _ in range(2))
    assert once != again
    state = bytearray(plan._own.partial(plan._own.first_task(), x, y, None, "p", 1).__getstate__())
    state[len(state) // 2] ^= 1
    damaged = _core.PartialSum.__new__(_core.PartialSum)
    with pytest.raises(dpreduce.BadInput, match="damaged"):
        damaged.__setstate__(bytes(state))


def test_json_is_public_and_makes_the_same_plan_with_another_secret(x, y):
    plan = dpreduce.Plan(DIM, method="mean", center="dp", **TERMS)
    text = plan.to_json()
    assert set(json.loads(text)) == {"format", "features", "class_names", "options"}
    again = dpreduce.Plan.from_json(text)
    assert again.to_json() == text
    with pytest.raises(dpreduce.UsageError, match="two sessions"):
        plan.partial(x, y, "a") + again.partial(x, y, "b")
    for wrong in ("{}", "nothing", '{"format": "dpreduce plan 2"}', text.replace("dp", "d p")):
        with pytest.raises(dpreduce.UsageError):
            dpreduce.Plan.from_json(wrong)


def test_names_of_classes(x, y):
    names = ["ant", "bee", "cat", "dog"]
    terms = {**OF_NO_CLASSES, "method": "mean", "class_names": names}
    plan = dpreduce.Plan(DIM, **terms)
    run = plan.release(plan.partial(x, np.asarray(names)[y], "p"))
    assert run.classifier.class_names == names
    assert run.classifier.to_bytes() == dpreduce.fit(x, np.asarray(names)[y], **terms).classifier.to_bytes()


@pytest.mark.parametrize("options, words", [({"batch": 0.5, "method": "gd"}, "batch: its samples"), ({"method": "fedavg"}, "fedavg"),
                                            ({"method": "ls", "choose": True}, "choose=True: it counts"), ({"method": "nothing"}, "nothing"),
                                            ({"method": "public"}, "public"), ({"method": "prototypes"}, "public"),
                                            ({"resume": True}, "resume=True: a session ends"),
                                            ({"imbalance_ratio": 10}, "imbalance_ratio: the tail"), ({"public_x": "x.npy"}, "public_x"),
                                            ({"epsilonn": 1}, "epsilon"), ({"epsilon": -1}, "epsilon"),
                                            ({"method": "mean", "ledger": "ledger.jsonl"}, "give it to start")])
def test_what_cannot_travel_is_refused(options, words):
    with pytest.raises(dpreduce.UsageError, match=words):
        dpreduce.Plan(DIM, **{**TERMS, **options})


def test_rows_that_do_not_fit_are_refused_before_anything_is_charged(x, y, tmp_path):
    plan = dpreduce.Plan(DIM, method="mean", classes=CLASSES, epsilon=1, delta=1e-6)
    ledger = tmp_path / "ledger.jsonl"
    session = plan.start(ledger)
    with pytest.raises(dpreduce.BadInput, match="partition 3.*15 features"):
        plan.partial(x[:, 1:], y, 3)
    with pytest.raises(dpreduce.BadInput, match="row 5"):
        plan.partial(x, np.where(np.arange(len(y)) == 5, 9, y), 3)
    with pytest.raises(dpreduce.BadInput, match="row 0.*not a finite number"):
        plan.partial(np.where(np.arange(DIM) == 2, np.nan, x), y, 3)
    with pytest.raises(dpreduce.UsageError, match="name"):
        plan.partial(x, y, "")
    with pytest.raises(dpreduce.UsageError, match="waits for the sum"):
        session.result()
    assert not ledger.exists()
    session.step(plan.partial(x, y, 3))
    assert session.result().account["runs"] == 1
    with pytest.raises(dpreduce.UsageError, match="has ended"):
        session.step(plan.partial(x, y, 3))


def test_a_session_that_is_dropped_gives_back_what_it_reserved(x, y, tmp_path):
    plan = dpreduce.Plan(DIM, method="fc", classes=CLASSES, epsilon=1, delta=1e-6)
    session = plan.start(tmp_path / "ledger.jsonl")
    assert not (tmp_path / "ledger.jsonl").exists()
    session.step(plan.partial(x, y, "p", session.task))
    assert dpreduce.read_ledger(tmp_path / "ledger.jsonl")
    del session
    assert json.loads(_core.ledger(str(tmp_path / "ledger.jsonl"), None))["open_runs"] == []


def test_budgets_are_kept_on_the_ledger(x, y, tmp_path):
    plan = dpreduce.Plan(DIM, method="mean", classes=CLASSES, epsilon=1, delta=1e-6, budget_epsilon=1.2, budget_delta=1e-5)
    plan.release(plan.partial(x, y, "p"), tmp_path / "ledger.jsonl")
    with pytest.raises(dpreduce.BudgetRefused):
        plan.start(tmp_path / "ledger.jsonl")
    with pytest.raises(dpreduce.UsageError, match="budget_epsilon"):
        plan.start()


@pytest.mark.parametrize("wrong", [{"threads": -1}, {"threads": 2.0}, {"task": 3}, {"partition": "\udcff"}])
def test_messages_of_workers_show_no_rows(wrong, x, y):
    with pytest.raises(dpreduce.UsageError) as raised:
        dpreduce.Plan(DIM, method="mean", **TERMS).partial(x, y, **{"partition": "p", **wrong})
    assert "array" not in str(raised.value) and str(x[0, 0])[:5] not in str(raised.value)


def test_what_is_paid_for_is_not_lost_where_warnings_are_errors(x, y, tmp_path):
    plan = dpreduce.Plan(DIM, method="mean", classes=CLASSES, epsilon=1, delta=1e-2)  # a delta to warn of
    session = plan.start(tmp_path / "ledger.jsonl")
    session.step(plan.partial(x, y, "p"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = session.result()
        fitted = dpreduce.fit(x, y, method="mean", classes=CLASSES, epsilon=1, delta=1e-2)
    assert session.result() is first and (first.predict(x) == y).mean() > 0.9 and (fitted.predict(x) == y).mean() > 0.9


@pytest.mark.parametrize("names", [[1, 2, 3, 4], "abcd", []])
def test_names_of_classes_are_strings(names, rows):
    terms = {**OF_NO_CLASSES, "method": "mean", "class_names": names}
    for call in (lambda: dpreduce.Plan(DIM, **terms), lambda: dpreduce.fit(*rows, **terms)):
        with pytest.raises(dpreduce.UsageError, match="a list of strings"):
            call()


@pytest.mark.parametrize("features", [0, -1, 8.5, "x", True])
def test_features_are_a_number(features):
    with pytest.raises(dpreduce.UsageError, match="features"):
        dpreduce.Plan(features, method="mean", **TERMS)


def test_rows_that_change_between_sums_of_classes_get_no_noise(x, y):
    plan = dpreduce.Plan(DIM, method="ls", **TERMS)
    session = plan.start()
    session.step(plan.partial(x, y, "p", session.task))
    changed = plan.partial(x, np.zeros_like(y), "p", session.task)
    for _ in range(2):
        with pytest.raises(dpreduce.BadInput, match="changed between two sums"):
            session.step(changed)
    with pytest.raises(dpreduce.BadInput, match="changed between two sums"):
        session.result()


def test_what_is_no_partial_sum_is_refused(rows):
    plan, other = (dpreduce.Plan(DIM, method=method, **TERMS) for method in ("mean", "fc"))
    for call, words in ((lambda: plan.release(None), "not a partial sum"), (lambda: plan.start().step(3), "not a partial sum"),
                        (lambda: plan.start(expected_partitions="abc"), "not a list of names"),
                        (lambda: plan.partial(*rows, "p", other.start().task), "another plan")):
        with pytest.raises(dpreduce.UsageError, match=words):
            call()


@pytest.mark.parametrize("options, charges", [({"method": "gd", "rounds": 5}, 5), ({"method": "ls"}, 2)])
def test_a_fit_of_all_rows_goes_on_where_a_session_was_dropped(x, y, tmp_path, options, charges):
    terms = dict(options, classes=CLASSES, epsilon=1, delta=1e-6)
    ledger = tmp_path / "ledger.jsonl"
    plan = dpreduce.Plan(DIM, **terms)
    session = plan.start(ledger)
    for _ in range(3):
        session.step(plan.partial(x, y, "p", session.task))
    del session
    run = dpreduce.fit(x, y, ledger=ledger, resume=True, **terms)
    # Of ls in parts nothing is saved before its last class: it is made anew.
    assert run.account["runs"] == 2 and (run.predict(x) == y).mean() > 0.5
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert sum(line["kind"] == "charge" for line in lines) == charges


def test_labels_that_are_bytes_beyond_ascii_are_refused(x, y):
    labels = np.array([b"ant", b"bee", b"cat", b"d\xff"])[y]
    with pytest.raises(dpreduce.BadInput, match="decode them to strings"):
        dpreduce.fit(x, labels, method="mean", class_names=["ant", "bee", "cat", "dog"], epsilon=1, delta=1e-6)


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
