"""DPRegressor and fit(targets=): numbers as targets, beside what scikit-learn's own regressors do."""
import pickle

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

import dpreduce
from conftest import refuses
from dpreduce import BadInput, DPRegressor, UsageError

BUDGET = {"epsilon": 4, "delta": 1e-6, "target_range": (80, 120)}


@pytest.fixture(scope="module")
def rows():
    """Rows in the unit ball, numbers 100 + 20 x_0 - 10 x_1 and a little noise."""
    random = np.random.RandomState(0)
    x = (0.3 * random.standard_normal((3000, 5))).astype(np.float32)
    x /= np.maximum(1, np.linalg.norm(x, axis=1, keepdims=True))
    return x, 100 + 20 * x[:, 0] - 10 * x[:, 1] + 0.5 * random.standard_normal(len(x))


def test_numbers_are_predicted_in_their_own_units(x, y):
    model = DPRegressor(**BUDGET, normalize="none").fit(x[:2500], y[:2500])
    assert model.predict(x[2500:]).shape == (500,)
    assert model.score(x[2500:], y[2500:]) > 0.9
    assert model.privacy_.private and model.privacy_.epsilon <= 4
    assert model.report_["targets"] == 1


def test_without_noise_it_is_least_squares(x, y):
    model = DPRegressor(non_private=True, method="ls", target_range=(80, 120), normalize="none").fit(x, y)
    ridge = Ridge(1e-9).fit(x, np.clip(y, 80, 120))
    np.testing.assert_allclose(model.coef_, ridge.coef_, atol=0.05)
    np.testing.assert_allclose(model.intercept_, ridge.intercept_, atol=0.05)
    np.testing.assert_allclose(x @ model.coef_ + model.intercept_, model.predict(x), atol=1e-3)


def test_ranges_of_targets_and_raw_columns_are_found_in_the_rows(x, y):
    raw = np.array([1000, 5, 0.01, 1, 1]) * x + np.array([2000, 0, 0, 0, 7])
    model = DPRegressor(epsilon=8, delta=1e-6, feature_range="private", normalize="none").fit(raw, y)
    assert model.score(raw, y) > 0.8 and model.privacy_.epsilon <= 8
    assert 4 < model.report_["target_scale"][0] < 40 and abs(model.report_["target_center"][0] - 100) < 30
    within = np.abs(x) < 0.3
    np.testing.assert_allclose((raw @ model.coef_ + model.intercept_)[within.all(axis=1)], model.predict(raw)[within.all(axis=1)], atol=0.1)


def test_each_of_several_targets_has_a_column(x, y):
    both = np.c_[y, -y / 2]
    model = DPRegressor(**{**BUDGET, "target_range": (80, 120, -60, -40)}, normalize="none").fit(x, both)
    assert model.predict(x).shape == (3000, 2) and model.coef_.shape == (2, 5) and model.intercept_.shape == (2,)
    assert model.score(x, both) > 0.8


def test_a_saved_or_pickled_model_predicts_the_same(x, y, tmp_path):
    model = DPRegressor(**BUDGET).fit(x, y)
    path = tmp_path / "model.safetensors"
    model.save(path)
    loaded = dpreduce.load(path)
    assert loaded.targets == 1 and loaded.classes is None and "a number" in repr(loaded)
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        assert np.array_equal(other.predict(x), model.predict(x))


def test_fit_takes_targets_in_the_place_of_labels(x, y):
    run = dpreduce.fit(x, targets=y, **BUDGET, seed=1)
    assert np.array_equal(run.predict(x), DPRegressor(**BUDGET, random_state=1).fit(x, y).predict(x))
    for given in ({}, {"y": np.zeros(len(x), int), "targets": y}):
        refuses(UsageError, "labels, or numbers as targets=", dpreduce.fit, x, **given, **BUDGET)


def test_a_data_frame_of_targets_is_read_as_doubles():
    x = np.full((4, 1), 0.5, np.float32)
    y = pandas.DataFrame({"dollars": [2**24 + 1] * 4})
    model = DPRegressor(non_private=True, method="ls", target_range=(2**24, 2**24 + 2), normalize="none").fit(x, y)
    np.testing.assert_allclose(model.predict(x), 2**24 + 1, atol=0.01)


@pytest.mark.parametrize("one_more", [[0.5, 1], [float("nan"), 1]])
@pytest.mark.parametrize("of_rows", [list, pandas.DataFrame])
def test_one_row_of_fractions_moves_no_large_integers_of_others(of_rows, one_more):
    """Integers as float32 at once, or by doubles, differ beyond 2^53: one row of another type must not change which."""
    large = 2**60 - 2**35 - 1
    assert np.float32(np.int64(large)) != np.float32(np.float64(large))
    rows = [[large if k % 2 else 2**60 + 2**37, 7] for k in range(1000)]
    targets = np.array([5.0 * (k % 2) for k in range(1001)])
    terms = {"non_private": True, "method": "ls", "feature_range": (2**60 - 2**36, 2**60 + 2**36, 0, 8), "target_range": (0, 5),
             "normalize": "none", "clip": 1.5, "bad_rows": "zero"}
    at = np.array([[2.0**60, 7.0]])
    of_all = DPRegressor(**terms).fit(of_rows(rows), targets[:1000]).predict(at)
    assert abs(DPRegressor(**terms).fit(of_rows(rows + [one_more]), targets).predict(at) - of_all) < 0.1


@pytest.mark.parametrize(("y", "words"), [(None, "requires y to be passed"), ([1.0, np.nan, 2.0], "targets in memory: row 1 has target nan"),
                                          (["a", "b", "c"], "elements are <U1"), ([1.0, 2.0], "targets in memory")])
def test_targets_that_are_none_are_refused(y, words):
    refuses(BadInput, words, lambda: DPRegressor(**BUDGET).fit(np.zeros((3, 2), np.float32), y))


def test_a_range_may_be_an_array_and_small_errors_are_told(x, y):
    model = DPRegressor(epsilon=4, delta=1e-6, target_range=np.array([8e-5, 12e-5]), normalize="none", random_state=1).fit(x, y / 1e6)
    assert model.score(x, y / 1e6) > 0.9
    told = model.evaluate(x, y / 1e6, epsilon=8, delta=1e-6, seed=1)
    assert told.rmse["value"] < 1e-5 and f"rmse {told.rmse['value']:.6g} (" in repr(told)


def test_what_only_classes_have_says_so(x, y):
    refuses(UsageError, "'alpha' is not a parameter of it", DPRegressor, **BUDGET, alpha=0.3)
    assert "objective" not in DPRegressor().get_params() and "pca" in DPRegressor().get_params()
    run = dpreduce.fit(x, targets=y, **BUDGET)
    refuses(UsageError, "predicts numbers, and has no classes", run.probabilities, x)
    score = dpreduce.DPScore(epsilon=8, delta=1e-6)
    refuses(UsageError, "metrics: for a model that predicts numbers give r2 and rmse", score, run, x, y)
    refuses(BadInput, "give numbers to predict as targets", dpreduce.fit, x, y, classes=2, epsilon=1, delta=1e-6)


def test_private_figures_of_numbers_are_near_the_exact_ones(x, y):
    model = DPRegressor(**BUDGET, normalize="none", random_state=1).fit(x[:1000], y[:1000])
    told = model.evaluate(x[1000:], y[1000:], epsilon=8, delta=1e-6, seed=2)
    assert told.r2["low"] <= model.score(x[1000:], y[1000:]) <= told.r2["high"] and told.rmse["value"] > 0
    exact = np.sqrt(np.mean((model.predict(x[1000:]) - y[1000:]) ** 2))
    assert told.rmse["low"] <= exact <= told.rmse["high"]
    score = dpreduce.DPScore(epsilon=8, delta=1e-6, seed=2, metric="r2")
    assert abs(score(model, x[1000:], y[1000:]) - told.r2["value"]) < 0.3


def test_weights_go_through_tools_of_scikit_learn_where_they_are_bounded(x, y):
    from sklearn.ensemble import BaggingRegressor, VotingRegressor
    from sklearn.multioutput import MultiOutputRegressor
    from sklearn.utils.validation import has_fit_parameter
    twice, wrong, weights = np.concatenate([x, x]), np.concatenate([y, 200 - y]), np.repeat([2.0, 0.0], len(y))
    bounded = DPRegressor(non_private=True, method="ls", target_range=(80, 120), normalize="none", weight_bound=2)
    assert has_fit_parameter(bounded, "sample_weight") and not has_fit_parameter(DPRegressor(), "sample_weight")
    assert not has_fit_parameter(DPRegressor, "sample_weight") and has_fit_parameter(DPRegressor, "person")
    expected = bounded.fit(twice, wrong, sample_weight=weights).predict(x)
    assert Ridge(1e-9).fit(x, y).score(x, expected) > 0.99
    several = MultiOutputRegressor(bounded).fit(twice, np.c_[wrong, wrong], sample_weight=weights)
    np.testing.assert_array_equal(several.predict(x)[:, 1], expected)
    voting = VotingRegressor([("one", bounded)]).fit(twice, wrong, sample_weight=weights)
    np.testing.assert_array_equal(voting.predict(x), expected)
    unbounded, ones = DPRegressor(**BUDGET), np.ones(len(y))
    several = MultiOutputRegressor(unbounded)
    refuses(ValueError, "does not support sample weights", several.fit, x, np.c_[y, y], sample_weight=ones)
    refuses(UsageError, "give weight_bound=W", unbounded.fit, x, y, sample_weight=ones)
    bag = BaggingRegressor(bounded, n_estimators=2, random_state=1)
    refuses(BadInput, "weigh", bag.fit, x, y)  # a row that was drawn three times or more
    assert BaggingRegressor(clone(bounded).set_params(weight_bound=20), n_estimators=2, random_state=1).fit(x, y).score(x, y) > 0.9
    assert pickle.loads(pickle.dumps(bounded)).predict(x[:5]).shape == (5,)


def test_the_report_has_the_coefficients_of_the_estimator(x, y):
    raw = np.array([1000, 5, 0.01, 1, 1]) * x + np.array([2000, 0, 0, 0, 7])
    for given in ({"feature_range": "private"}, {"feature_range": (1000, 3000, -5, 5, -.01, .01, -1, 1, 6, 8)}, {"method": "ls", "clip": 3000}):
        model = DPRegressor(**{**BUDGET, **given}, normalize="none").fit(raw, y)
        told = model.report_["coefficients"]
        own = np.zeros(5)
        for one in told["largest"]:
            own[one["column"]] = one["coefficient"]
            assert one["name"] == str(one["column"])
        np.testing.assert_allclose(own, model.coef_, rtol=1e-12)
        np.testing.assert_allclose(told["targets"][0]["intercept"], model.intercept_, rtol=1e-9)
        assert ("low" in told["largest"][0]) == ("level" in told) == ("why" not in told)
    assert "why" in DPRegressor(**BUDGET, normalize="l2").fit(x, y).report_["coefficients"]


def test_coefficients_of_a_data_frame_have_its_names_and_intervals(x, y):
    terms = {**BUDGET, "target_range": (80, 120, -120, -80), "normalize": "none", "method": "ls", "random_state": 1}
    model = DPRegressor(**terms).fit(pandas.DataFrame(x, columns=list("abcde")), np.c_[y, -y])
    told = model.report_["coefficients"]
    assert {one["name"] for one in told["largest"]} == set("abcde") and told["about"] == "population"
    own = {(one["target"], one["name"]): one for one in told["largest"]}
    for (target, name), slope in {(0, "a"): 20, (0, "b"): -10, (1, "a"): -20, (1, "b"): 10}.items():
        ends = own[target, name]["low"], own[target, name]["high"]
        assert ends[0] < ends[1] and abs(sum(ends) / 2 - slope) < 4, (target, name)
