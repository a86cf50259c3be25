"""Under mpirun: the bytes of one process, and failures that are shared."""
import pickle

import numpy as np
import pytest

import dpreduce
from conftest import CLASSES, labeled_rows, model_of_program, refuses, save_rows

ROWS = """
x, y = np.load("x.npy"), np.load("y.npy")
mine = slice(len(y) * rank // ranks, len(y) * (rank + 1) // ranks)
x, y = x[mine], y[mine]
terms = dict(classes=4, epsilon=1, delta=1e-6, seed=7)
"""
SAVE_EACH = """
for method in {methods}:
    run = dpreduce.fit(x, y, method=method, {comm} **terms)
    run.save(method + ".safetensors")
    assert run.predict(x).shape == y.shape and run.privacy.epsilon == 1
"""
TELL = """
try:
    {call}
    say("done")
except Exception as error:
    say(type(error).__name__, error)
"""


@pytest.fixture(autouse=True)
def saved(tmp_path):
    save_rows(tmp_path, *labeled_rows(1001))


METHODS = ["mean", "ls", "fc", "adam"]


@pytest.fixture(scope="module")
def models_of_the_program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    save_rows(folder, *labeled_rows(1001))
    return {method: model_of_program(folder, method=method) for method in METHODS}


@pytest.mark.parametrize("ranks, before, comm", [(3, "", ""), (1, "from mpi4py import MPI", "comm=MPI.COMM_WORLD,"),
                                                 (5, "from mpi4py import MPI", "comm=MPI.COMM_WORLD,")],
                         ids=["3", "1-mpi4py", "5-mpi4py"])
def test_ranks_make_the_models_of_the_program(ranks, before, comm, on_ranks, models_of_the_program, tmp_path):
    on_ranks(ranks, ROWS + SAVE_EACH.format(comm=comm, methods=METHODS), before)
    for method in METHODS:
        assert (tmp_path / f"{method}.safetensors").read_bytes() == models_of_the_program[method]


def test_ranks_fail_together_and_can_go_on(on_ranks):
    body = "".join(TELL.format(call=call) for call in (
        "dpreduce.fit(x.astype(complex) if rank == 1 else x, y, method='mean', **terms)",
        "dpreduce.fit(x, y + 9 * (rank == 2), method='mean', **terms)",
        "dpreduce.fit(x, y, method='mean', **{**terms, 'epsilon': 1 + rank})",
        "dpreduce.fit(x, y, method='nothing', **terms)",
        "dpreduce.DPClassifier(epsilon=1, delta=1e-6, classes=range(4)).fit(x, y if rank else y[1:])",
        "dpreduce.DPClassifier(epsilon=1, delta=1e-6, classes=range(4), class_weight={1: 2 + rank}).fit(x, y)",
        "dpreduce.DPClassifier(epsilon=1, delta=1e-6).fit(x, y)",  # each rank needs the public list of classes
        "dpreduce.fit(x, y, method='mean', **terms)"))
    lines = on_ranks(3, ROWS + body)
    said = [[line.split(" ", 2)[1] for line in lines if line.startswith(str(rank))] for rank in range(3)]
    assert said[0] == said[1] == said[2] and sorted(said[0]) == ["BadInput"] * 3 + ["UsageError"] * 4 + ["done"]
    others = [line for line in lines if "its own exception says why" in line]
    assert any(line.startswith("0 UsageError classes: give the public list") for line in lines)
    assert len(others) == 14 and not any("row" in line for line in others)


def test_what_an_object_of_one_rank_raises_is_no_internal_error_on_others(on_ranks):
    lost = "class Lost:\n    def __array__(self, dtype=None, copy=None):\n        raise KeyError('the rows are gone')\n"
    call = "dpreduce.fit(x, Lost() if rank == 1 else y, method='mean', **terms)"
    lines = on_ranks(3, ROWS + lost + TELL.format(call=call))
    assert [line.split(" ", 2)[1] for line in sorted(lines)] == ["BadInput", "KeyError", "BadInput"]


def test_ctrl_c_on_one_rank_ends_all(on_ranks):
    body = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a script that runs in the background ignores it
from dpreduce import fitting
class Interrupting:
    def __call__(self, doing, share):
        os.kill(os.getpid(), signal.SIGINT)
    def close(self): pass
fitting._Bar = Interrupting
try:
    dpreduce.fit(x, y, method="adam", progress=True, **terms)
except KeyboardInterrupt:
    say("interrupted")
"""
    assert on_ranks(2, ROWS + body) == ["0 interrupted", "1 interrupted"]


def test_rank_0_tells_how_to_go_on_after_another_has_failed(on_ranks):
    body = """
from dpreduce import _library
del terms["seed"]
passes = []
def fail_at_the_third_round(doing, share):
    passes.append(doing)
    if rank == 1 and len(passes) == 8:
        raise dpreduce.BadInput("by its own")
options = dict(terms, method="adam", rounds=9, ledger="ledger.jsonl")
try:
    _library.core().fit(lambda: {"train_x": x, "train_y": y}, [(name, [str(value)]) for name, value in options.items()], True,
                        _library.ranks_of(None), fail_at_the_third_round)
except dpreduce.BadInput as error:
    say(error)
run = dpreduce.fit(x, y, **dict(terms, method="adam", rounds=9, ledger="ledger.jsonl", resume=True))
say(run.account["runs"])
"""
    lines = on_ranks(2, ROWS + body)
    assert lines[1].startswith("0 rank 1 failed; its own exception says why; run ") and "resume=True" in lines[1]
    assert lines[0] == "0 2" and lines[2:] == ["1 2", "1 by its own"]


def test_a_rank_may_fit_alone_and_mpi_may_start_later(on_ranks):
    body = """
from dpreduce import DPClassifier
import mpi4py.MPI as MPI
if rank == 1:
    assert dpreduce.fit(x, y, method="mean", comm=MPI.COMM_SELF, **terms).report["ranks"] == 1
part = MPI.COMM_WORLD.Split(rank // 2)
try:
    dpreduce.fit(x, y, method="mean", comm=part, **terms)
except dpreduce.UsageError as error:
    assert "other ranks than MPI.COMM_WORLD" in str(error)
assert dpreduce.fit(x, y, method="mean", **terms).report["ranks"] == 3
say(MPI.COMM_WORLD.allreduce(1))
"""
    assert on_ranks(3, ROWS + body) == ["0 3", "1 3", "2 3"]


def test_an_estimator_with_a_communicator_is_copied_and_pickled():
    from mpi4py import MPI
    from sklearn.base import clone
    x, y = labeled_rows(200)
    model = clone(dpreduce.DPClassifier(epsilon=1, delta=1e-6, classes=range(CLASSES), comm=MPI.COMM_SELF)).fit(x, y)
    again = pickle.loads(pickle.dumps(model))
    assert again.comm == MPI.COMM_SELF and np.array_equal(again.predict(x), model.predict(x))
    refuses(TypeError, "MPI.COMM_WORLD and MPI.COMM_SELF alone", clone, dpreduce.DPClassifier(comm=MPI.COMM_SELF.Dup()))
    terms = dict(classes=CLASSES, epsilon=1, delta=1e-6, comm="world")
    refuses(dpreduce.UsageError, "not an mpi4py communicator", dpreduce.fit, x, y, **terms)


def test_a_process_that_is_alone_where_a_launcher_has_started_several_is_refused(rows, monkeypatch, ledger):
    """As under srun without PMI: each would make a whole fit, and charge it."""
    terms = dict(classes=4, epsilon=1, delta=1e-6, method="mean", ledger=ledger)
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    refuses(dpreduce.UsageError, "SLURM_STEP_NUM_TASKS=4.*DPREDUCE_SINGLE_PROCESS=1", dpreduce.fit, *rows, **terms)
    assert not ledger.exists()
    monkeypatch.setenv("DPREDUCE_SINGLE_PROCESS", "1")
    assert dpreduce.fit(*rows, **terms).privacy.epsilon == 1
