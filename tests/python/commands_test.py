"""Commands as functions: what they write and return is what the program writes and prints."""
import json
import math
import os
import signal
import subprocess
import sys

import numpy as np
import onnx
import pytest

import dpreduce
from conftest import CLASSES, DIM, labeled_rows, refuses, save_rows, words_of
from dpreduce import BadInput, UsageError


@pytest.fixture
def fitted(x, y, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = dpreduce.fit(x, y, class_names=["a", "b", "c", "d"], epsilon=1, delta=1e-6, method="mean", ledger="ledger.jsonl")
    run.save("model.safetensors")
    (tmp_path / "report.json").write_text(json.dumps(run.report))
    return run


def test_exports_are_the_programs(fitted, program, tmp_path):
    dpreduce.export_onnx(fitted, "ours.onnx")
    dpreduce.export_onnx(dpreduce.load("model.safetensors"), "loaded.onnx")
    assert (tmp_path / "ours.onnx").read_bytes() == (tmp_path / "loaded.onnx").read_bytes()
    dpreduce.export_onnx(dpreduce.load("model.safetensors"), "ours.onnx", width="float64", overwrite=True)
    assert (tmp_path / "ours.onnx").stat().st_size > (tmp_path / "loaded.onnx").stat().st_size
    refuses(BadInput, "ours.onnx", dpreduce.export_onnx, fitted, "ours.onnx")
    refuses(UsageError, "float32 or float64", dpreduce.export_onnx, fitted, "no.onnx", width="half")
    refuses(UsageError, "int: is not a fitted dpreduce model", dpreduce.export_onnx, 3, "no.onnx")
    program("export", "model.safetensors", "--card", "model.md", "--report", "report.json")
    its = (tmp_path / "model.md").read_text()
    dpreduce.export_card(fitted, "model.md", overwrite=True)
    assert (tmp_path / "model.md").read_text() == its and "epsilon" in its


def test_labels_of_a_graph_are_strings_where_the_estimators_are(x, y, tmp_path):
    names = np.array(["w", "x", "y", "z"])
    model = dpreduce.DPMeanClassifier(epsilon=1, delta=1e-6, classes=names).fit(x, names[y])
    dpreduce.export_onnx(model, tmp_path / "model.onnx")
    graph = onnx.load(str(tmp_path / "model.onnx")).graph
    assert graph.output[0].name == "label" and graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.STRING
    constants = {one.name: one for one in graph.initializer}
    assert [name.decode() for name in constants["class_names"].string_data] == list(names)


def test_pages_of_fits_and_files(fitted, program, tmp_path):
    program("report", "report.json", "ledger.jsonl", "--out", "its.html")
    dpreduce.export_page(fitted, "ledger.jsonl", path="ours.html")
    ours, its = ((tmp_path / name).read_text() for name in ("ours.html", "its.html"))
    assert ours.replace("report", "") == its.replace("report.json", "").replace("report", "")
    dpreduce.export_page("report.json", path="public.html", public=True)
    assert len((tmp_path / "public.html").read_text()) <= len(its)
    for none in ((), (dpreduce.load("model.safetensors"),)):
        refuses(UsageError, "give", dpreduce.export_page, *none)


def test_a_sweep_takes_arrays_and_returns_its_results(x, y, tmp_path):
    xt, yt = labeled_rows(200, seed=2)
    swept = dpreduce.sweep(train_x=x, train_y=y, test_x=xt, test_y=yt, classes=CLASSES, methods=["mean", "fc"], epsilons=[1, 8],
                           seeds=1, out=tmp_path / "swept")
    assert swept == json.loads((tmp_path / "swept.json").read_text()) and len(swept["runs"]) == 4
    assert (tmp_path / "swept.csv").exists()
    refuses(UsageError, "give test_x", dpreduce.sweep, train_x=x, train_y=y)


# Whoever kills a process that sweeps leaves no row on the disk: there are links to what ends with the process.
def test_a_killed_process_leaves_no_array(tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    script = """if True:
        import numpy, signal, dpreduce
        from dpreduce import _library

        class Core:
            def call(self, *words):
                signal.raise_signal(signal.SIGTERM)
        _library.core = Core
        dpreduce.sweep(train_x=numpy.ones((4, 3)), train_y=numpy.arange(4), out="swept")"""
    ended = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env={**os.environ, "TMPDIR": str(temporary)})
    assert ended.returncode == -signal.SIGTERM
    left = [path for path in tmp_path.rglob("*") if path.is_symlink() or path.is_file()]
    assert sorted(path.name for path in left) == ["train_x.npy", "train_y.npy"]
    assert all(path.parent.parent == temporary and os.readlink(path).startswith("/proc/self/fd/") for path in left)


def test_an_audit_returns_its_verdict():
    verdict = dpreduce.audit(method="mean", epsilon=1, delta=1e-5, trials=200)
    assert verdict["claimed"]["epsilon"] == 1 and verdict["epsilon_lower"] <= 1
    refuses(UsageError, "trials", dpreduce.audit, method="mean", epsilon=1, delta=1e-5, trials=3)


# --- accounts: dpreduce.privacy and ledgers


RUNS = {
    "calibrate": [{"epsilon": 1, "delta": 1e-6}, {"rho": 0.1, "delta": 1e-6, "sensitivity": 2 ** 0.5},
                  {"epsilon": 2, "delta": 1e-6, "steps": 100, "sampling_rate": 0.01}],
    "convert": [{"mu": 0.5, "delta": 1e-6}, {"sigma": 4, "delta": 1e-6}],
    "compose": [{"gaussian": ["10:50", "4"], "delta": 1e-6}, {"exponential": ["0.1:5", "0.2"], "delta": 1e-6, "group": 2}],
    "split": [{"block": ["sum:1:768", "count:1:1"], "epsilon": 1, "delta": 1e-5}],
}


@pytest.mark.parametrize("name, options", [(name, options) for name, all_options in RUNS.items() for options in all_options])
def test_figures_are_the_commands(name, options, program):
    printed = json.loads(program("privacy", name, *words_of(options), "--format", "json"))
    assert getattr(dpreduce.privacy, name)(**options) == printed


def test_refusals_are_the_commands():
    for name, options, words in (("calibrate", {"epsilon": -1, "delta": 1e-6}, "epsilon = -1"), ("compose", {"gaussian": "1"}, "give delta"),
                                 ("compose", {"gausian": "1", "delta": 1e-6}, "did you mean gaussian"),
                                 ("convert", {"mu": 1, "format": "json"}, "option of the command alone")):
        refuses(UsageError, words, lambda: getattr(dpreduce.privacy, name)(**options))


def test_a_ledger_is_what_the_command_shows(rows, ledger, program, monkeypatch):
    for epsilon in (0.5, 1):
        run = dpreduce.fit(*rows, classes=CLASSES, epsilon=epsilon, delta=1e-6, method="ls", ledger=ledger)
    assert run.account["runs"] == 2 and run.privacy.ledger == str(ledger)
    assert "after this fit: 2 runs" in run.explain()
    program("ledger", "verify", ledger)
    printed = json.loads(program("ledger", "show", ledger, "--format", "json", "--delta", 1e-6))
    framed = dpreduce.read_ledger(ledger, delta=1e-6)
    assert list(framed["runs"]["so_far.epsilon"]) == [each["so_far"]["epsilon"] for each in printed["runs"]]
    assert len(framed["releases"]) == len(printed["releases"])
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert dpreduce.read_ledger(ledger, delta=1e-6) == printed


def test_no_ledger_is_made_by_a_reader_or_where_accounts_are_kept_elsewhere(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refuses(BadInput, "no such ledger", dpreduce.read_ledger, tmp_path / "absent.jsonl")
    run = dpreduce.fit(*rows, classes=CLASSES, epsilon=1, delta=1e-6, method="mean")
    assert run.account is None and run.privacy.ledger is None and "ledger" not in run.report
    assert not list(tmp_path.iterdir())


# --- released statistics


@pytest.fixture
def released(program, tmp_path):
    def release(name="s.safetensors", seed=1):
        save_rows(tmp_path, *labeled_rows(2000, seed))
        program("release", "--statistics", "gram,class_sums,class_sizes", "--train-x", "x.npy", "--train-y", "y.npy", "--classes", CLASSES,
                "--mu", 20, "--out", name, "--ledger", f"{name}.jsonl", "--quiet")
        return dpreduce.Statistics.load(tmp_path / name)
    return release


def test_a_file_is_read_as_numpy_reads_it(released, tmp_path):
    statistics = released()
    with open(tmp_path / "s.safetensors", "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    triangle = np.frombuffer(data[slice(*header["gram"]["data_offsets"])], "<i8")
    gram = statistics.blocks["gram"]
    assert np.array_equal(gram[np.triu_indices(DIM)], triangle) and np.array_equal(gram, gram.T)
    scale = float(statistics.metadata["scale"])
    assert np.trace(gram) / scale**2 == pytest.approx(2000, abs=2)  # rows of norm 1
    assert statistics.blocks["class_sums"].shape == (CLASSES, DIM)
    assert statistics.sigma == json.loads(header["__metadata__"]["sigma"])


def test_a_refit_is_the_programs(released, program, tmp_path):
    statistics = released()
    x, y = labeled_rows(500, 3)
    program("refit", "s.safetensors", "--lambda", "2.5", "--features", "0-3,7", "--out", "m.safetensors")
    model = statistics.refit(lambda_=2.5, features=[0, 1, 2, 3, 7])
    assert np.array_equal(model.decision_function(x), dpreduce.load(tmp_path / "m.safetensors").decision_function(x))
    assert (statistics.refit(method="fisher").predict(x) == y).mean() > 0.9
    assert list(statistics.refit(method="mean", classes_kept=[0, 3]).classes) == [0, 1]
    path_of_ridges = statistics.ridge_path()
    assert all(one["noise"] > other["noise"] for one, other in zip(path_of_ridges, path_of_ridges[1:]))
    for options, words in (({"weights": [1, 2, 1, 1]}, "class_grams"), ({"features": []}, "features: the list is empty"),
                           ({"rows": 3}, "'rows' is not an option of refit")):
        refuses(UsageError, words, statistics.refit, **options)


def test_statistics_of_disjoint_rows_add_up(released, tmp_path):
    one, other = (released(f"s{seed}", seed) for seed in (1, 2))
    both = one + other
    assert np.array_equal(both.blocks["gram"], one.blocks["gram"] + other.blocks["gram"])
    assert both.sigma["gram"] == pytest.approx(math.sqrt(2) * one.sigma["gram"])
    both.save(tmp_path / "both.safetensors")
    assert np.array_equal(dpreduce.Statistics.load(tmp_path / "both.safetensors").blocks["gram"], both.blocks["gram"])
    refuses(TypeError, None, lambda: one + 1)


def test_weights_and_scores_have_intervals(released):
    statistics = released()
    x, _ = labeled_rows(5, 3)
    told = statistics.intervals(x, lambda_=1.0)
    assert told["kind"] == "formula"
    assert len(told["weights"]) == CLASSES and len(told["weights"][0]["low"]) == DIM
    scores = statistics.refit(lambda_=1.0).decision_function(x)
    low, high = (np.array([own[end] for own in told["predictions"]]).T for end in ("low", "high"))
    assert ((low < scores) & (scores < high)).mean() > 0.8
    refuses(UsageError, "16 features", statistics.intervals, x[:, :3])
