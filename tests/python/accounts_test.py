"""dpreduce.privacy and ledgers: what the commands print."""
import builtins
import json

import pytest

import dpreduce
from conftest import CLASSES

RUNS = {
    "calibrate": [{"epsilon": 1, "delta": 1e-6}, {"rho": 0.1, "delta": 1e-6, "sensitivity": 2 ** 0.5},
                  {"epsilon": 2, "delta": 1e-6, "steps": 100, "sampling_rate": 0.01}],
    "convert": [{"mu": 0.5, "delta": 1e-6}, {"sigma": 4, "delta": 1e-6}],
    "compose": [{"gaussian": ["10:50", "4"], "delta": 1e-6}, {"exponential": ["0.1:5", "0.2"], "delta": 1e-6, "group": 2}],
    "split": [{"block": ["sum:1:768", "count:1:1"], "epsilon": 1, "delta": 1e-5}],
}


def words_of(options):
    words = []
    for name, value in options.items():
        words += ["--" + name.replace("_", "-"), *(value if isinstance(value, list) else [repr(value) if isinstance(value, float) else value])]
    return words


@pytest.mark.parametrize("name, options", [(name, options) for name, all_options in RUNS.items() for options in all_options])
def test_figures_are_the_commands(name, options, program):
    printed = json.loads(program("privacy", name, *words_of(options), "--format", "json"))
    assert getattr(dpreduce.privacy, name)(**options) == printed


def test_refusals_are_the_commands():
    with pytest.raises(dpreduce.UsageError, match="epsilon = -1"):
        dpreduce.privacy.calibrate(epsilon=-1, delta=1e-6)
    with pytest.raises(dpreduce.UsageError, match="give delta"):
        dpreduce.privacy.compose(gaussian="1")
    with pytest.raises(dpreduce.UsageError, match="did you mean gaussian"):
        dpreduce.privacy.compose(gausian="1", delta=1e-6)
    with pytest.raises(dpreduce.UsageError, match="option of the command alone"):
        dpreduce.privacy.convert(mu=1, format="json")


def test_a_ledger_is_what_the_command_shows(rows, tmp_path, program, monkeypatch):
    ledger = tmp_path / "ledger.jsonl"
    for epsilon in (0.5, 1):
        run = dpreduce.fit(*rows, classes=CLASSES, epsilon=epsilon, delta=1e-6, method="ls", ledger=ledger)
    assert run.account["runs"] == 2 and run.privacy.ledger == str(ledger)
    assert "after this fit: 2 runs" in run.explain()
    program("ledger", "verify", ledger)
    printed = json.loads(program("ledger", "show", ledger, "--format", "json", "--delta", 1e-6))

    framed = dpreduce.read_ledger(ledger, delta=1e-6)
    assert list(framed["runs"]["so_far.epsilon"]) == [each["so_far"]["epsilon"] for each in printed["runs"]]
    assert len(framed["releases"]) == len(printed["releases"])

    usual = builtins.__import__
    def without_pandas(name, *rest):
        if name == "pandas":
            raise ImportError(name)
        return usual(name, *rest)
    monkeypatch.setattr(builtins, "__import__", without_pandas)
    assert dpreduce.read_ledger(ledger, delta=1e-6) == printed


def test_a_ledger_that_is_not_there_is_bad_input(tmp_path):
    with pytest.raises(dpreduce.BadInput, match="no such ledger"):
        dpreduce.read_ledger(tmp_path / "absent.jsonl")
    assert not list(tmp_path.iterdir())


def test_no_ledger_is_left_where_accounts_are_kept_elsewhere(rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = dpreduce.fit(*rows, classes=CLASSES, epsilon=1, delta=1e-6, method="mean")
    assert run.account is None and run.privacy.ledger is None and "ledger" not in run.report
    assert not list(tmp_path.iterdir())
