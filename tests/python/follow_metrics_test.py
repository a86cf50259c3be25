"""examples/python/follow_metrics.py on doubles of TensorBoard and MLflow, which Debian has no packages of."""
import contextlib
import json
import sys
import threading
import time
import types

import pytest

from conftest import CLASSES, SOURCE, labeled_rows, module_of, run_program, save_rows


@pytest.fixture
def follow():
    module = module_of(SOURCE / "examples/python/follow_metrics.py")
    module._SECONDS = 0.01
    return module


@pytest.fixture
def fit(tmp_path):
    """A fit of three rounds with these options; returns the lines of its metrics."""
    for name, rows, seed in (("train_", 2000, 1), ("test_", 500, 2)):
        save_rows(tmp_path, *labeled_rows(rows, seed), name)

    def run(*options):
        run_program(tmp_path, *f"fit --train-x train_x.npy --train-y train_y.npy --test-x test_x.npy --test-y test_y.npy --classes {CLASSES} "
                    "--epsilon 1 --delta 1e-6 --method gd --rounds 3 --metrics metrics.jsonl --report report.json".split(), *options)
        return [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    return run


@pytest.fixture
def mlflow(monkeypatch):
    told = types.SimpleNamespace(metrics=[], params={}, names=[])

    @contextlib.contextmanager
    def start_run(run_name):
        told.names.append(run_name)
        yield
    monkeypatch.setitem(sys.modules, "mlflow", types.SimpleNamespace(
        start_run=start_run, log_params=told.params.update, log_metric=lambda key, value, step=None: told.metrics.append((key, value, step))))
    return told


def test_tensorboard_gets_what_is_spent_and_norms_beside_noise(follow, fit, tmp_path, monkeypatch):
    written = []

    @contextlib.contextmanager
    def writer(folder):
        yield types.SimpleNamespace(add_scalar=lambda tag, scalar_value, global_step: written.append((tag, scalar_value, global_step)))
        written.append(folder)
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", types.SimpleNamespace(SummaryWriter=writer))
    lines = fit()
    follow.to_tensorboard(tmp_path / "metrics.jsonl", "runs/first")
    assert written.pop() == "runs/first"  # its writer is closed
    assert [number for tag, number, _ in written if tag == "spent/epsilon"] == [line["spent"]["epsilon"] for line in lines]
    gradients = [step for tag, _, step in written if tag == "gradient/gradient/noise_norm"]
    assert len(gradients) == 3 and lines[gradients[0]]["round"] == 1


def test_mlflow_gets_the_promise_and_private_figures_alone(follow, fit, tmp_path, mlflow):
    fit()
    follow.to_mlflow(tmp_path / "metrics.jsonl", "first", tmp_path / "report.json")
    assert mlflow.names == ["first"] and mlflow.params["epsilon"] == 1 and mlflow.params["private"] is True
    assert mlflow.params["method"] == "gd" and not [name for name, *_ in mlflow.metrics if name.startswith("test/")]
    assert any(name == "gradient/gradient/norm" for name, *_ in mlflow.metrics)
    fit("--overwrite", "--evaluate-share", "0.2")
    follow.to_mlflow(tmp_path / "metrics.jsonl", "second", tmp_path / "report.json")
    (accuracy,) = [number for name, number, _ in mlflow.metrics if name == "test/accuracy"]
    assert 0.5 < accuracy < 1.2


def test_norms_of_a_run_with_a_seed_stay_with_their_owner(follow, fit, tmp_path, mlflow):
    fit("--seed", "1")
    follow.to_mlflow(tmp_path / "metrics.jsonl", "seeded", tmp_path / "report.json")
    assert mlflow.params["private"] is False and {name for name, *_ in mlflow.metrics} == {"spent/epsilon", "spent/mu"}


def test_a_file_that_grows_is_followed_to_its_end(follow, fit, tmp_path):
    lines = fit()
    text = (tmp_path / "metrics.jsonl").read_text()
    growing = tmp_path / "growing.jsonl"
    growing.write_text(text[:100])

    def write():
        for first in range(100, len(text), 300):
            time.sleep(0.03)
            with open(growing, "a", encoding="utf-8") as file:
                file.write(text[first:first + 300])
    thread = threading.Thread(target=write)
    thread.start()
    assert list(follow.lines_of(growing)) == lines
    thread.join()
