"""evaluate() and DPScore: what `dpreduce evaluate --private` prints, of models and rows in memory."""
import copy
import json
import math

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score

import dpreduce
from conftest import CLASSES, labeled_rows, refuses, save_rows
from dpreduce import BadInput, BudgetRefused, UsageError

TERMS = {"mu": 3, "seed": 5}
LIMIT = {"epsilon": 1, "delta": 1e-5, "budget_epsilon": 1.2, "budget_delta": 1e-5}


@pytest.fixture(scope="module")
def run():
    return dpreduce.fit(*labeled_rows(2000), classes=CLASSES, method="mean", mu=2, seed=1)


@pytest.fixture
def test_rows():
    return labeled_rows(900, seed=2)


def test_figures_are_the_commands(run, test_rows, program, tmp_path):
    x, y = test_rows
    run.save(tmp_path / "m.safetensors")
    save_rows(tmp_path, x, y)
    printed = json.loads(program("evaluate", "--private", "--model", "m.safetensors", "--test-x", "x.npy", "--test-y", "y.npy", "--mu", 3,
                                 "--seed", 5, "--metrics", "accuracy,recall,topk", "--top-k", 2, "--level", 0.9, "--format", "json"))
    assert printed.pop("model_names") == ["m"]  # of files alone
    terms = {**TERMS, "metrics": ["accuracy", "recall", "topk"], "top_k": 2, "level": 0.9}
    for model in (run, dpreduce.load(tmp_path / "m.safetensors"), copy.deepcopy(run)):
        made = model.evaluate(x, y, **terms, ledger=tmp_path / "own.jsonl")
        assert made.metrics == printed["metrics"] and {**made.report, "ledger": printed["ledger"]} == printed
    assert made.accuracy == made.metrics["accuracy"] and made.account["runs"] == 3
    assert made.accuracy["low"] <= np.mean(run.predict(x) == y) <= made.accuracy["high"]
    assert repr(made).startswith(f"<dpreduce.Evaluation: accuracy {made.accuracy['value']:.3f} (") and "not private" in repr(made)
    refuses(AttributeError, "no 'auc'; it has accuracy", lambda: made.auc)


def test_without_a_ledger_the_caller_keeps_the_account_and_each_call_has_noise_of_its_own(run, test_rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one, other = (run.evaluate(*test_rows, epsilon=1, delta=1e-5, public_model=True, metrics=["accuracy", "recall"]) for _ in range(2))
    assert one.report["private"] and one.account is None and "ledger" not in one.report
    assert one.metrics != other.metrics  # of all of them: one figure is the same twice now and then
    assert "epsilon 1 at delta 1e-05" in repr(one) and not list(tmp_path.iterdir())


def test_the_unit_is_a_person_and_a_limit_holds(run, test_rows, ledger):
    persons = [f"p{row // 3}" for row in range(len(test_rows[1]))]
    terms = {**LIMIT, "ledger": ledger, "public_model": True, "person": persons, "rows_per_person": 3}
    privacy = run.evaluate(*test_rows, **terms).report["privacy"]
    assert privacy["unit"] == "person" and privacy["rows_per_person"] == 3
    refuses(BudgetRefused, None, run.evaluate, *test_rows, **terms)


def test_a_ledger_is_one_set_of_records(rows, test_rows, ledger, tmp_path):
    trained = dpreduce.fit(*rows, classes=CLASSES, method="mean", ledger=ledger, **LIMIT)
    refuses(BudgetRefused, None, trained.evaluate, *test_rows, ledger=ledger, **LIMIT)
    refuses(UsageError, "data_set", trained.evaluate, *test_rows, ledger=ledger, data_set="test", **LIMIT)
    trained.evaluate(*test_rows, ledger=tmp_path / "test.jsonl", **LIMIT)


def test_refusals_are_before_the_charge(run, test_rows, ledger):
    x, y = test_rows
    for kind, words, change in [
            (UsageError, "no privacy budget", {"mu": None}),
            (UsageError, "'f2' is not a metric", {"metrics": "accuracy,f2"}),
            (UsageError, "which this model does not have", {"metrics": "auc"}),
            (UsageError, "level", {"level": 1.5}),
            (UsageError, "group goes with groups", {"groups": 3}),
            (UsageError, "positive .*goes with metrics auc or roc", {"metrics": "accuracy", "positive": 1}),
            (UsageError, "f1 goes with max_labels", {"metrics": "f1"}),
            (UsageError, "'rounds' is not an option of evaluate", {"rounds": 3}),
            (UsageError, "option of the command alone", {"report": "r.json"}),
            (BadInput, "17 features", {"X": np.zeros((len(y), 17))}),
            (BadInput, "label", {"y": y + 0.5}),
            (BadInput, "person", {"person": ["p"]})]:
        refuses(kind, words, run.evaluate, **{"X": x, "y": y, "mu": 1, "ledger": ledger, **change})
    assert not ledger.exists()


def test_a_model_that_promises_nothing_makes_no_promise(rows, test_rows, ledger):
    exact = dpreduce.fit(*rows, classes=CLASSES, method="mean", non_private=True)
    terms = {"epsilon": 1, "delta": 1e-5, "ledger": ledger}
    with pytest.warns(dpreduce.PrivacyWarning, match="public_model=True"):
        made = exact.evaluate(*test_rows, **terms)
    assert not made.report["private"] and made.report["privacy"]["forfeited_by"] == ["model"] and made.report["models"] == []
    assert "not private" in repr(made)
    made = exact.evaluate(*test_rows, public_model=True, **terms)
    assert made.report["private"] and made.report["public_by_word"] == ["model"] and len(made.report["models"]) == 1


def test_a_model_for_records_promises_nothing_to_persons(rows, test_rows):
    of_fit = {"classes": CLASSES, "method": "mean", "epsilon": 1, "delta": 1e-5}
    trained, of_persons = (dpreduce.fit(*rows, **of_fit, person=person) for person in (None, list(range(len(rows[1])))))
    terms = {"epsilon": 1, "delta": 1e-5, "person": [f"p{row // 3}" for row in range(len(test_rows[1]))]}
    with pytest.warns(dpreduce.PrivacyWarning, match="none for persons"):
        made = trained.evaluate(*test_rows, **terms)
    assert not made.report["private"] and made.report["models"] == []
    assert trained.evaluate(*test_rows, public_model=True, **terms).report["private"]
    (promised,) = of_persons.evaluate(*test_rows, **terms).report["models_privacy"]
    assert promised["private"] and promised["unit"] == "person" and promised["adjacency"] == "add-remove"


def test_classes_taken_from_rows_are_told_by_no_private_evaluation(x, y, test_rows, ledger):
    names = np.array(["healthy", "flu", "cold", "the label of one record"], object)
    with pytest.warns(dpreduce.DataDependentClassesWarning):
        model = dpreduce.DPMeanClassifier(epsilon=1, delta=1e-5).fit(x, names[y])
    with pytest.warns(dpreduce.PrivacyWarning, match="classes were taken"):
        made = model.evaluate(test_rows[0], names[test_rows[1]], epsilon=1, delta=1e-5, ledger=ledger)
    assert made.report["privacy"]["forfeited_by"] == ["classes-from-rows", "model"] and not made.report["private"]
    assert "one record" not in json.dumps(made.report) + ledger.read_text()


def test_a_label_that_the_model_does_not_know_is_its_error(run, test_rows):
    x, y = test_rows
    kept = run.evaluate(x, y, mu=1e4, seed=1).accuracy["value"]
    strange = np.where(y == 1, len(set(y)) + 3, y)
    assert run.evaluate(x, strange, mu=1e4, seed=1).accuracy["value"] < kept - 0.1


def test_names_of_classes_are_labels(x, y, test_rows):
    names = ["ant", "bee", "cat", "dog"]
    animals = np.array(names)
    estimator = dpreduce.DPMeanClassifier(mu=2, random_state=1, classes=names).fit(x, animals[y])
    named, of_numbers = (dpreduce.fit(x, labels, class_names=names, method="mean", mu=2, seed=1) for labels in (animals[y], y))
    x, y = test_rows
    expected = named.evaluate(x, y, **TERMS).metrics
    assert named.evaluate(x, animals[y], **TERMS).metrics == expected == estimator.evaluate(x, animals[y], **TERMS).metrics
    words = np.where(y == 1, "emu", animals[y])  # a name that neither knows
    assert estimator.evaluate(x, words, **TERMS).metrics == of_numbers.evaluate(x, words, **TERMS).metrics


def test_no_label_ends_an_evaluation(test_rows):
    """Whoever lists the classes, as floats or as names, must not learn whether there is a label of another kind."""
    x, y = test_rows
    floats = dpreduce.DPMeanClassifier(mu=2, classes=[0.0, 1.0, 2.0, 3.0], random_state=1).fit(x, y.astype(float))
    names = dpreduce.fit(x, np.array(list("abcd"))[y], class_names=list("abcd"), method="mean", mu=2, seed=1)
    letters = np.array(list("abcd"), "S1")[y]
    for model, labels, strange, another in ((floats, y, 2**60, 9), (names, letters, b"\xff", b"z")):
        one, other = (model.evaluate(x, np.where(np.arange(len(y)) == 7, label, labels), **TERMS).metrics for label in (strange, another))
        assert one == other


@pytest.mark.filterwarnings("ignore::dpreduce.RepeatedFitWarning")
def test_a_score_of_n_splits_is_n_charges(rows, ledger):
    score = dpreduce.DPScore(epsilon=2, delta=1e-5, ledger=ledger)
    estimator = dpreduce.DPMeanClassifier(epsilon=4, delta=1e-6, classes=CLASSES)
    values = cross_val_score(estimator, *rows, cv=3, scoring=score, error_score="raise")
    assert values.shape == (3,) and (values > 0.7).all()
    assert score.last_evaluation.accuracy["value"] == values[-1]
    assert len(dpreduce.read_ledger(ledger)["releases"]) == 3


def sets_of(splitter, x, y, row=None):
    """The rows that each split trains on, and those that it tests, as sets of numbers; without row `row`, whose number no other has."""
    numbers = np.arange(len(x)) if row is None else np.insert(np.arange(len(x) - 1), row, -1)
    return [[set(numbers[part].tolist()) - {-1} for part in split] for split in splitter.split(x, y)]


def test_one_row_more_moves_no_other_from_split_to_split():
    """What a ledger adds up is the cost of a row that changes each split by itself alone."""
    x, y = labeled_rows(404)
    moved = {}
    for splitter in (dpreduce.RowFolds(5), StratifiedKFold(5), KFold(5, shuffle=True, random_state=1)):
        before = sets_of(splitter, x, y)
        moved[type(splitter)] = 0
        for row in (0, 9, 404):
            after = sets_of(splitter, np.insert(x, row, 7, axis=0), np.insert(y, row, 0), row)
            moved[type(splitter)] += sum(len(a ^ b) for one, other in zip(before, after) for a, b in zip(one, other))
    assert moved.pop(dpreduce.RowFolds) == 0 and min(moved.values()) > 9


def test_splits_hold_each_row_once_whatever_it_is_stored_as():
    import pandas as pd
    x, _ = labeled_rows(300)
    folds = dpreduce.RowFolds(np.int64(3))
    def are_same(splits, others):
        return all((a == b).all() for one, other in zip(splits, others) for a, b in zip(one, other))
    tests = [test for _, test in folds.split(x)]
    assert sorted(np.concatenate(tests)) == list(range(300)) and min(map(len, tests)) > 60 and folds.get_n_splits() == 3
    whole = np.round(100 * x).astype(np.int64) + 2**53  # as doubles, as they are where another row has a fraction
    mixed = pd.DataFrame(whole.astype(float))
    for one, other in ((x, x.astype(np.float64)), (x, x.tolist()), (x, pd.DataFrame(x)), (whole, mixed), (whole, pd.DataFrame(whole))):
        assert are_same(folds.split(one), folds.split(other))
    persons = np.arange(300) // 10
    assert not any(set(persons[train]) & set(persons[test]) for train, test in folds.split(x, groups=persons))
    for same in (persons.astype(float), persons.astype(str), persons.astype(float).astype(str), [str(p).encode() for p in persons]):
        assert are_same(folds.split(x, groups=persons), folds.split(x, groups=same))
    for missing in (None, np.nan, 2.5, 2.0**60, True, np.datetime64("2020-01-01")):
        refuses(BadInput, "groups: row 1 has .*an integer or text", lambda: next(folds.split(x[:2], groups=[1, missing])))
    for wrong in (1, 2.5, True, "3"):
        refuses(UsageError, "is not a number of splits", dpreduce.RowFolds, wrong)
    refuses(BadInput, "give groups=", lambda: next(folds.split([["a"], ["b"]])))
    assert len(next(folds.split([["a"], ["b"]], groups=["p", "q"]))) == 2


@pytest.mark.filterwarnings("ignore::dpreduce.RepeatedFitWarning")
def test_searches_take_row_folds(rows):
    estimator = dpreduce.DPMeanClassifier(epsilon=4, delta=1e-6, classes=CLASSES)
    search = GridSearchCV(estimator, {"metric": ["cosine", "euclidean"]}, cv=dpreduce.RowFolds(3),
                          scoring=dpreduce.DPScore(epsilon=2, delta=1e-5)).fit(*rows)
    assert search.n_splits_ == 3 and search.best_score_ > 0.7


def test_scores(run, test_rows):
    x, y = test_rows
    balanced = dpreduce.DPScore(run, metric="balanced_accuracy", **TERMS)
    assert balanced(None, x, y) == run.evaluate(x, y, metrics="recall", **TERMS).balanced_accuracy["value"]
    softmax = dpreduce.fit(*labeled_rows(2000), classes=CLASSES, method="gd", mu=2, seed=1)
    assert dpreduce.DPScore(metric="neg_log_loss", **TERMS)(softmax, x, y) == -softmax.evaluate(x, y, metrics="logloss", **TERMS).log_loss["value"]
    with pytest.warns(dpreduce.PrivacyWarning, match="too little data"):
        assert math.isnan(dpreduce.DPScore(mu=0.01, seed=1)(run, x[:9], y[:9]))


def test_a_score_is_of_dpreduces_own_models(run, test_rows):
    from sklearn.dummy import DummyClassifier
    from sklearn.pipeline import make_pipeline
    for other in (DummyClassifier(), make_pipeline(dpreduce.DPMeanClassifier(classes=CLASSES))):
        refuses(UsageError, "not a dpreduce model", lambda: dpreduce.DPScore(mu=1)(other, *test_rows))
    refuses(UsageError, "give an estimator, or give DPScore a model", dpreduce.DPScore(run, mu=1), run, *test_rows)
    refuses(UsageError, "'f1' is not one of accuracy", dpreduce.DPScore, mu=1, metric="f1")


def test_ranks_get_the_figures_of_one(run, test_rows, tmp_path, on_ranks):
    x, y = test_rows
    save_rows(tmp_path, x, y)
    run.save(tmp_path / "m.safetensors")
    said = on_ranks(3, """
x, y = np.load("x.npy")[rank::3], np.load("y.npy")[rank::3]
made = dpreduce.load("m.safetensors").evaluate(x, y, mu=3, seed=5, ledger="l.jsonl", comm=MPI.COMM_WORLD)
say(made.metrics["accuracy"])
""", "from mpi4py import MPI")
    assert said == [f"{rank} {run.evaluate(x, y, **TERMS).accuracy}" for rank in range(3)]
