"""Commands as functions: what they write is what the program writes."""
import json
import os
import signal
import subprocess
import sys

import numpy as np
import onnx
import pytest

import dpreduce
from conftest import CLASSES, labeled_rows


@pytest.fixture
def fitted(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x, y = rows
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
    with pytest.raises(dpreduce.BadInput, match="ours.onnx"):
        dpreduce.export_onnx(fitted, "ours.onnx")
    with pytest.raises(dpreduce.UsageError, match="float32 or float64"):
        dpreduce.export_onnx(fitted, "no.onnx", width="half")
    with pytest.raises(dpreduce.UsageError, match="int: is not a fitted dpreduce model"):
        dpreduce.export_onnx(3, "no.onnx")

    program("export", "model.safetensors", "--card", "model.md", "--report", "report.json")
    its = (tmp_path / "model.md").read_text()
    dpreduce.export_card(fitted, "model.md", overwrite=True)
    assert (tmp_path / "model.md").read_text() == its
    assert "epsilon" in its


def test_labels_of_a_graph_are_strings_where_the_estimators_are(rows, tmp_path):
    x, y = rows
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
        with pytest.raises(dpreduce.UsageError, match="give"):
            dpreduce.export_page(*none)


def test_a_sweep_takes_arrays_and_returns_its_results(rows, tmp_path):
    x, y = rows
    xt, yt = labeled_rows(200, seed=2)
    swept = dpreduce.sweep(train_x=x, train_y=y, test_x=xt, test_y=yt, classes=CLASSES, methods=["mean", "fc"], epsilons=[1, 8],
                           seeds=1, out=tmp_path / "swept")
    assert swept == json.loads((tmp_path / "swept.json").read_text()) and len(swept["runs"]) == 4
    assert (tmp_path / "swept.csv").exists()
    with pytest.raises(dpreduce.UsageError, match="give test_x"):
        dpreduce.sweep(train_x=x, train_y=y)


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
    with pytest.raises(dpreduce.UsageError, match="trials"):
        dpreduce.audit(method="mean", epsilon=1, delta=1e-5, trials=3)
