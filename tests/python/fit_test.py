"""fit(): the program's own bytes, from arrays wherever they lie."""
import os
import pickle
import signal
import sys
import threading

import numpy as np
import pytest

import dpreduce
import conftest
from dpreduce import fitting
from conftest import CLASSES, Tensor, labeled_rows, model_of_program, peak_memory, refuses, save_rows

BUDGET = {"classes": CLASSES, "epsilon": 1, "delta": 1e-6}
METHODS = [{"method": "mean"}, {"method": "ls", "gram_share": 0.3}, {"method": "fc", "center": "dp"}, {"method": "adam", "rounds": 3}]


@pytest.mark.parametrize("options", METHODS, ids=lambda options: options["method"])
def test_the_model_is_the_programs_byte_for_byte(options, rows, program, tmp_path):
    save_rows(tmp_path, *rows)
    run = dpreduce.fit(*rows, **BUDGET, **options, seed=7)
    run.save(tmp_path / "python.safetensors")
    assert (tmp_path / "python.safetensors").read_bytes() == model_of_program(tmp_path, **options)
    assert program("predict", "--model", "python.safetensors", "--x", "x.npy").split() == [str(c) for c in run.predict(rows[0])]


def bytes_of(x, y):
    return conftest.bytes_of(x, y, **BUDGET, method="ls", seed=3)


def test_rows_are_read_wherever_they_lie(x, y, tmp_path):
    expected = bytes_of(x, y)
    wide = np.zeros((len(x), 40), np.float32)
    wide[:, 3:35:2] = x
    np.save(tmp_path / "x.npy", x)
    for other in (np.asfortranarray(x), x[::-1][::-1], wide[:, 3:35:2], x.astype(">f4"), x.astype(np.float64),
                  np.load(tmp_path / "x.npy", mmap_mode="r")):
        assert bytes_of(other, y) == expected
    assert bytes_of(x[::-1], y[::-1]) == expected  # the order of rows is nothing to a sum
    half = x.astype(np.float16)
    assert bytes_of(half, y) == bytes_of(half.astype(np.float32), y)
    assert bytes_of(Tensor(x), Tensor(y)) == expected


def test_features_are_not_copied():
    x, y = labeled_rows(60000)
    x = np.asfortranarray(np.tile(x, (1, 20)))  # 77 MB
    def fit(x, y):
        dpreduce.fit(x, y, **BUDGET, method="mean", memory=8)
    fit(np.asfortranarray(x[:3000]), y[:3000])
    before = peak_memory(anew=True)
    fit(x, y)
    assert peak_memory() - before < 40_000  # KiB; a copy would take 75,000


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64, ">i4"])
def test_labels_are_of_any_integer_type(dtype, x, y):
    assert bytes_of(x, y.astype(dtype)) == bytes_of(x, y)
    assert bytes_of(x, np.repeat(y, 2).astype(dtype)[::2]) == bytes_of(x, y)


def test_labels_may_be_truth_values_names_or_sets(x, y):
    assert dpreduce.fit(x, y > 1, classes=2, epsilon=1, delta=1e-6, method="mean").classifier.classes == 2
    names = ["pear", "apple", "fig", "plum"]
    run = dpreduce.fit(x, np.array(names)[y], class_names=names, epsilon=1, delta=1e-6, method="mean")
    assert run.classifier.class_names == names
    assert (run.predict(x) == y).mean() > 0.8
    sets = np.eye(CLASSES, dtype=np.uint8)[y]
    run = dpreduce.fit(x, sets, **BUDGET, max_labels=2, method="fc")
    assert run.classifier.threshold is not None and run.probabilities(x).shape == (len(x), CLASSES)


def test_one_label_of_a_list_changes_no_other(x, y):
    names = ["1", "2", "3", "unknown"]
    indices = [int(label) % 3 for label in y]
    for own in (["unknown"] + indices[1:], [True] + [str(label) for label in indices[1:]]):
        refuses(dpreduce.BadInput, "give all of one type", dpreduce.fit, x, own, class_names=names, mu=1, method="mean")
    words = ["unknown"] + [str(label + 1) for label in indices[1:]]
    one, other = (conftest.bytes_of(x, given, class_names=names, mu=1, method="mean", seed=1) for given in (words, np.array(words)))
    assert one == other


def test_public_and_validation_rows_are_arrays(x, y):
    public, labels = labeled_rows(300, seed=2)
    assert dpreduce.fit(x, y, **BUDGET, method="mean", center="public", public_x=public).report["center"] == "public"
    run = dpreduce.fit(x, y, **BUDGET, method="ls", choose=True, validation_x=public, validation_y=labels)
    assert run.report["choice"]["by"] == "validation rows"


def test_predictions_scores_and_probabilities_are_of_any_array(x, y):
    run = dpreduce.fit(x, y, **BUDGET, method="auto", seed=1)
    labels, scores, probabilities = run.predict(x), run.scores(x), run.probabilities(x)
    assert (labels == y).mean() > 0.7
    assert (scores.argmax(axis=1) == labels).all() and np.allclose(probabilities.sum(axis=1), 1)
    assert all((run.scores(other) == scores).all() for other in (np.asfortranarray(x), x.astype(np.float64)))
    assert run.predict(x[:0]).shape == (0,)
    refuses(dpreduce.BadInput, "5 features", run.predict, x[:, :5])
    refuses(dpreduce.UsageError, "only rank classes", dpreduce.fit(x, y, **BUDGET, method="mean").probabilities, x)


def test_a_model_that_is_there_stays(rows, tmp_path):
    run = dpreduce.fit(*rows, **BUDGET, method="mean")
    path = tmp_path / "m.safetensors"
    run.save(path)
    kept = path.read_bytes()
    other = dpreduce.fit(*rows, **BUDGET, method="ls")
    refuses(dpreduce.BadInput, "already exists", other.save, path)
    assert path.read_bytes() == kept
    other.save(path, overwrite=True)
    assert path.read_bytes() != kept


def test_a_fit_tells_what_it_promises(rows):
    run = dpreduce.fit(*rows, **BUDGET, method="mean")
    assert run.privacy.private and run.privacy.epsilon == 1 and run.privacy.adjacency == "add-remove"
    assert run.privacy.releases[0]["name"] == "class_sums"
    assert "epsilon 1 at delta 1e-06" in run.explain() and "no ledger" in run.explain()
    assert run.timings["sums"] > 0 and "timings" not in run.report and pickle.loads(pickle.dumps(run)).timings == {}
    seeded = dpreduce.fit(*rows, **BUDGET, method="mean", seed=1)
    assert not seeded.privacy.private and "has a seed" in seeded.explain()
    assert repr(run.privacy) == "<dpreduce.Privacy: private, epsilon 1 at delta 1e-06, unit record, 1 releases; print it for words>"
    with pytest.warns(dpreduce.PrivacyWarning, match="weak guarantee"):
        dpreduce.fit(*rows, classes=CLASSES, epsilon=50, delta=1e-6, method="mean")


def at_once(work, *arguments):
    """The work on each of these, in a thread each."""
    threads = [threading.Thread(target=work, args=(argument,)) for argument in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_fit_at_the_same_time(rows):
    models = {}
    def fit(seed):
        models[seed] = conftest.bytes_of(*rows, **BUDGET, method="adam", rounds=3, seed=seed)
    at_once(fit, 1, 2, 3)
    together = dict(models)
    for seed in (1, 2, 3):
        fit(seed)
    assert models == together and len(together) == 3


def test_threads_leave_the_number_of_blas_threads_as_it_was(rows):
    import threadpoolctl
    def threads_of_blas():
        return {pool["num_threads"] for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"}
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        assert threads_of_blas() == {2}
        at_once(lambda rounds: dpreduce.fit(*rows, **BUDGET, method="adam", rounds=rounds), 20, 200)
        assert threads_of_blas() == {2}
        dpreduce.fit(*rows, **BUDGET, method="ls")
        assert threads_of_blas() == {2}


def test_the_interpreter_goes_on_meanwhile(x, y):
    turns, done = [], threading.Event()
    def turn():
        while not done.is_set():
            turns.append(None)
            done.wait(0.001)
    thread = threading.Thread(target=turn)
    thread.start()
    dpreduce.fit(x, y, **BUDGET, method="adam", rounds=20)
    done.set()
    thread.join()
    assert len(turns) > 3


def test_ctrl_c_is_keyboard_interrupt(rows, ledger, heeds_ctrl_c, monkeypatch):
    passes = []
    class Interrupting(fitting._Bar):  # after the first charge
        def __call__(self, doing, share):
            passes.append(doing)
            if len(passes) == 6:
                os.kill(os.getpid(), signal.SIGINT)
    monkeypatch.setattr(fitting, "_Bar", Interrupting)
    terms = {**BUDGET, "method": "adam", "rounds": 50, "memory": 1, "ledger": ledger}
    assert "resume=True" in refuses(KeyboardInterrupt, None, dpreduce.fit, *rows, **terms, progress=True).__notes__[0]
    again = dpreduce.fit(*rows, **terms, resume=True)
    assert again.account["balance"].startswith("epsilon 1 at delta 1e-06")


def test_progress_is_shown_by_tqdm(rows, capfd):
    dpreduce.fit(*rows, **BUDGET, method="mean", progress=True)
    assert "class_means" in capfd.readouterr().err
    bar, bars = fitting._Bar(), []
    make, bar.tqdm = bar.tqdm, lambda **terms: bars.append(make(**terms)) or bars[-1]
    for doing in ("first", "second"):
        for share in (0.0, 0.5, 1.0):
            bar(doing, share)
    bar.close()
    assert len(bars) == 1 and "second: 100" in capfd.readouterr().err
    dpreduce.fit(*rows, **BUDGET, method="mean")
    assert capfd.readouterr().err == ""


def test_progress_without_tqdm_is_a_line_now_and_then(rows, capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    dpreduce.fit(*rows, **BUDGET, method="mean", progress=True)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1 and lines[0].startswith("dpreduce: ") and lines[0].endswith("%")
    bar, now = fitting._Bar(), [100.0]
    monkeypatch.setattr(fitting.time, "monotonic", lambda: now[0])
    for _ in range(12):
        bar("a pass", 0.25)
        now[0] += 1
    bar.close()
    assert capfd.readouterr().err.splitlines() == ["dpreduce: a pass, 25%"] * 3
