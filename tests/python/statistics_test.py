"""Released statistics in Python: what the file says, refits, sums and intervals."""
import json
import math

import numpy as np
import pytest

import dpreduce
from conftest import CLASSES, DIM, labeled_rows


@pytest.fixture
def released(program, tmp_path):
    def release(name, seed, mu=20):
        x, y = labeled_rows(2000, seed)
        np.save(tmp_path / "x.npy", x)
        np.save(tmp_path / "y.npy", y)
        program("release", "--statistics", "gram,class_sums,class_sizes", "--train-x", "x.npy", "--train-y", "y.npy", "--classes", CLASSES,
                "--mu", mu, "--out", name, "--ledger", f"{name}.jsonl", "--quiet")
        return tmp_path / name
    return release


def test_a_file_is_read_as_numpy_reads_it(released):
    path = released("s.safetensors", 1)
    statistics = dpreduce.Statistics.load(path)
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    own = header["gram"]
    triangle = np.frombuffer(data[slice(*own["data_offsets"])], "<i8")
    gram = statistics.blocks["gram"]
    assert np.array_equal(gram[np.triu_indices(DIM)], triangle)
    assert np.array_equal(gram, gram.T)
    scale = float(statistics.metadata["scale"])
    assert np.trace(gram) / scale**2 == pytest.approx(2000, abs=2)  # rows of norm 1
    assert statistics.blocks["class_sums"].shape == (CLASSES, DIM)
    assert statistics.sigma == json.loads(header["__metadata__"]["sigma"])


def test_a_refit_is_the_programs(released, program, tmp_path):
    path = released("s.safetensors", 1)
    statistics = dpreduce.Statistics.load(path)
    x, y = labeled_rows(500, 3)
    program("refit", path, "--lambda", "2.5", "--features", "0-3,7", "--out", "m.safetensors")
    model = statistics.refit(lambda_=2.5, features=[0, 1, 2, 3, 7])
    assert np.array_equal(model.decision_function(x), dpreduce.load(tmp_path / "m.safetensors").decision_function(x))
    assert (statistics.refit(method="fisher").predict(x) == y).mean() > 0.9
    assert list(statistics.refit(method="mean", classes_kept=[0, 3]).classes) == [0, 1]
    path_of_ridges = statistics.ridge_path()
    assert all(one["noise"] > other["noise"] for one, other in zip(path_of_ridges, path_of_ridges[1:]))
    with pytest.raises(dpreduce.UsageError, match="class_grams"):
        statistics.refit(weights=[1, 2, 1, 1])
    with pytest.raises(dpreduce.UsageError, match="features: the list is empty"):
        statistics.refit(features=[])
    with pytest.raises(dpreduce.UsageError, match="'rows' is not an option of refit"):
        statistics.refit(rows=3)


def test_statistics_of_disjoint_rows_add_up(released, tmp_path):
    one, other = (dpreduce.Statistics.load(released(f"s{seed}", seed)) for seed in (1, 2))
    both = one + other
    assert np.array_equal(both.blocks["gram"], one.blocks["gram"] + other.blocks["gram"])
    assert both.sigma["gram"] == pytest.approx(math.sqrt(2) * one.sigma["gram"])
    both.save(tmp_path / "both.safetensors")
    assert np.array_equal(dpreduce.Statistics.load(tmp_path / "both.safetensors").blocks["gram"], both.blocks["gram"])
    with pytest.raises(TypeError):
        one + 1


def test_weights_and_scores_have_intervals(released):
    statistics = dpreduce.Statistics.load(released("s.safetensors", 1))
    x, _ = labeled_rows(5, 3)
    told = statistics.intervals(x, lambda_=1.0)
    assert told["kind"] == "formula"
    assert len(told["weights"]) == CLASSES and len(told["weights"][0]["low"]) == DIM
    scores = statistics.refit(lambda_=1.0).decision_function(x)
    low, high = (np.array([own[end] for own in told["predictions"]]).T for end in ("low", "high"))
    assert ((low < scores) & (scores < high)).mean() > 0.8
    with pytest.raises(dpreduce.UsageError, match="16 features"):
        statistics.intervals(x[:, :3])
