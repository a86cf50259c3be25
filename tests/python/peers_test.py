"""launch/peers on stand-ins of the peers, which are of other repositories: what each is given, and what the page says."""
import importlib
import json
import subprocess
import sys
import textwrap
import types

import numpy as np
import pytest

from conftest import SOURCE, refuses

COMMIT = ["-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q"]
PEERS = {
    "differential-privacy-library/diffprivlib/models/__init__.py": """
        import numpy as np
        from . import logistic_regression
        class Model:
            def __init__(self, **terms):
                self.terms = terms
            def fit(self, x, y):
                lengths = np.linalg.norm(x, axis=1)
                assert np.allclose(lengths, 1) if "data_norm" in self.terms else "bounds" in self.terms or "bounds_X" in self.terms
                self.coef_ = np.linalg.lstsq(x, y, rcond=None)[0]
                return self
            def predict(self, x):
                return (x @ self.coef_ > 0.5).astype(int)
        class LinearRegression(Model):
            def predict(self, x):
                return x @ self.coef_
        LogisticRegression = GaussianNB = RandomForestClassifier = Model
        """,
    "differential-privacy-library/diffprivlib/models/logistic_regression.py": "class LinearModelLoss:\n    pass\n",
    "differential-privacy-library/diffprivlib/__init__.py": "",
    "BinAgg/src/binagg/__init__.py": """
        import numpy as np, types
        def dp_linear_regression(x, y, x_bounds, y_bounds, mu):
            assert abs(mu - 0.2367) < 1e-3 and x_bounds == [(-1, 1)] * x.shape[1] and y_bounds[0] == -y_bounds[1]
            return types.SimpleNamespace(coefficients=np.linalg.lstsq(x, y, rcond=None)[0])
        """,
    "differential-privacy/python/dp_accounting/dp_accounting/__init__.py": """
        import types
        from absl import logging
        GaussianDpEvent = lambda sigma: ("gaussian", sigma)
        PoissonSampledDpEvent = lambda rate, event: ("sampled", rate, event)
        SelfComposedDpEvent = lambda event, times: (event, times)
        class Accountant:
            def compose(self, event):
                self.event = event
            def get_epsilon(self, delta):
                return float(self.event[1])
        pld = types.SimpleNamespace(PLDAccountant=Accountant)
        rdp = types.SimpleNamespace(RdpAccountant=Accountant)
        """,
    "opacus/opacus/__init__.py": "import torch_that_there_is_not",
    "opacus/opacus/accountants/__init__.py": """
        from opacus.optimizers import DPOptimizer
        class Accountant:
            def get_epsilon(self, delta):
                ((sigma, rate, times),) = self.history
                return times / 2
        def create_accountant(mechanism):
            return Accountant()
        """,
}


@pytest.fixture
def peers(tmp_path):
    """Four repositories, each of one commit."""
    for path, text in PEERS.items():
        file = tmp_path / "peers" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
    for folder in (tmp_path / "peers").iterdir():
        for words in (["init", "-q"], ["add", "-A"], [*COMMIT, "-m", "all"]):
            subprocess.run(["git", *words], cwd=folder, check=True)
    return tmp_path / "peers"


@pytest.fixture
def page(monkeypatch, tmp_path):
    """peers_page, small; images are drawn."""
    rng = np.random.default_rng(1)
    for name, rows in (("train", 200), ("test", 50)):
        y = rng.integers(0, 10, rows)
        suffix = "_00" if name == "train" else ""
        np.save(tmp_path / f"{name}_x{suffix}.npy", (rng.normal(size=(rows, 30)) + 3 * np.eye(10, 30)[y]).astype(np.float16))
        np.save(tmp_path / f"{name}_y{suffix}.npy", y)
    for name, value in {"SEEDS": "1", "TABLES": "classes numbers accountants", "EPSILONS": "1", "SCALE": "0.05", "FEATURES": str(tmp_path), "KEPT": str(tmp_path / "kept")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.syspath_prepend(str(SOURCE / "bench"))
    module = importlib.reload(importlib.import_module("peers_page"))
    monkeypatch.setattr(module, "machine", lambda program: "a test")
    monkeypatch.setattr(module, "COMPOSED", list(module.COMPOSED)[:2])
    monkeypatch.setattr(module, "NUMBERS", list(module.NUMBERS)[:1])
    return module


def test_the_page_has_all_tables_and_commits(page, peers, tmp_path):
    page.main(str(tmp_path / "page.md"), "a build", str(peers))
    text = (tmp_path / "page.md").read_text()
    for name in page.REPOSITORIES:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=peers / name, check=True, capture_output=True, text=True).stdout.strip()
        assert f"/tree/{commit})" in text
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    for methods, tables in ((page.OF_CLASSES, 2), (page.OF_NUMBERS, 1), (page.OF_ACCOUNTANTS, 1)):
        for method in methods:
            assert sum(row[0] == f"| {method}" for row in rows) == (4 if method == "dpreduce" else tables)
    assert "| Opacus PRV | 0.50000 (" in text and "| dp_accounting RDP | 1.00000 (" in text and "| dpreduce | 1.00000 (" in text
    assert "Built from a build" in text and "delta 1e-06" in text


def test_a_peer_that_is_missing_is_named_with_what_brings_it(page, peers, tmp_path):
    (peers / "BinAgg").rename(tmp_path / "elsewhere")
    words = "BinAgg is missing: git clone https://github.com/Shuronglin/BinAgg"
    refuses(SystemExit, words, page.main, str(tmp_path / "page.md"), "a build", str(peers))
    assert not (tmp_path / "page.md").exists()


def test_a_peer_that_fails_ends_the_table(page, peers, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "TABLES", ["numbers"])
    (peers / "BinAgg/src/binagg/__init__.py").write_text("raise ImportError('not here')\n")
    refuses(SystemExit, "(?s)BinAgg.*not here", page.main, str(tmp_path / "page.md"), "a build", str(peers))


def test_a_sum_of_losses_becomes_the_mean_that_noise_is_made_for(monkeypatch):
    """diffprivlib's noise is for scikit-learn 1.4, whose logistic loss is a mean: before, it would be n times too little."""
    monkeypatch.syspath_prepend(str(SOURCE / "bench"))
    peers = importlib.import_module("peers")

    class Sum:
        def loss_gradient(self, coef, X, y, sample_weight, l2_reg_strength):
            return (sample_weight * (X @ coef - y) ** 2).sum() + l2_reg_strength
    for version, expected in (("1.2.1", 2.5), ("1.4.0", 4 * 2 + 0.5), ("1.10.0", 4 * 2 + 0.5)):
        module = types.SimpleNamespace(LinearModelLoss=Sum)
        monkeypatch.setitem(sys.modules, "sklearn", types.SimpleNamespace(__version__=version))
        peers.with_mean_loss(module)
        X, y = np.ones((4, 1)), np.ones(4) * 1 - np.sqrt(2)
        assert module.LinearModelLoss().loss_gradient(np.ones(1), X, y, np.ones(4), 0.5) == pytest.approx(expected)


def test_an_interrupted_page_goes_on_with_the_cells_that_are_there(page, peers, monkeypatch):
    cell = {"task": "accountants", "set": "20 sums, sigma 20", "method": "Opacus PRV", "seeds": 1}
    first = page.cell_of(str(peers), **cell)
    monkeypatch.setattr(page.subprocess, "run", lambda *words, run=subprocess.run, **terms: run(*words, **terms) if words[0][0] == "git" else 1 / 0)
    assert page.cell_of(str(peers), **cell) == first
    refuses(ZeroDivisionError, None, page.cell_of, str(peers), **{**cell, "seeds": 2})
    subprocess.run(["git", *COMMIT, "--allow-empty", "-m", "more"], cwd=peers / "opacus", check=True)
    refuses(ZeroDivisionError, None, page.cell_of, str(peers), **cell)  # another version of a peer


def test_a_cell_is_one_line_of_json(peers):
    cell = {"task": "numbers", "set": "2,000 x 5", "method": "dpreduce", "epsilon": 4, "seeds": 2}
    done = subprocess.run([sys.executable, SOURCE / "bench/peers.py", peers, json.dumps(cell)], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert len(told["figures"]) == 2 and told["seconds"] > 0 and told["mib"] > 20
    assert all(figures["r2"] > 0.8 and (figures["error"] or 0) < 0.3 for figures in told["figures"])
