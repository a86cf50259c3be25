"""DPClassifier and DPMeanClassifier beside scikit-learn's own."""
import html
import json
import pickle
import re
import warnings

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dpreduce
from conftest import CLASSES, bytes_of, refuses
from dpreduce import BadInput, DPClassifier, DPMeanClassifier, RepeatedFitWarning, UsageError, estimators

BUDGET = {"epsilon": 1, "delta": 1e-6, "classes": range(CLASSES)}


@pytest.fixture(autouse=True)
def no_fits_so_far():
    estimators._fits.clear()
    estimators._sent.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        yield


@pytest.mark.parametrize("classes", [["fig", "apple", "plum", "pear"], [10, 20, 30, 40], [0, 1, 2, 3], [False, True]], ids=str)
def test_labels_are_of_any_kind(classes, x, y):
    y = np.array(classes)[y % len(classes)]
    model = DPClassifier(**{**BUDGET, "classes": classes}).fit(x, y)
    assert list(model.classes_) == sorted(classes)
    assert set(model.predict(x)) <= set(classes) and model.score(x, y) > 0.5
    assert model.classifier_.class_names == ([] if classes[0] == 0 else [str(c) for c in sorted(classes)])


def test_a_float_among_integers_merges_no_classes(x, y):
    large = [3, 2**53, 2**53 + 1]
    labels = [large[label % 3] for label in y]
    model = DPClassifier(**{**BUDGET, "classes": large})
    assert model.fit(x, labels).classes_.dtype == np.int64
    refuses(BadInput, "give all of one type", model.fit, x, [3.0] + labels[1:])
    refuses(BadInput, "would merge integers", model.fit, x, np.array(labels, np.float64))


def test_other_rows_of_a_data_frame_are_predicted(x, y):
    frame, labels = pandas.DataFrame(x).add_prefix("f"), pandas.Series(list("abcd"))[y]
    model = DPClassifier(**{**BUDGET, "classes": list("abcd")}).fit(frame[:1500], labels[:1500])
    assert list(model.feature_names_in_) == list(frame.columns) and model.score(frame[1500:], labels[1500:]) > 0.7


def test_classes_from_the_rows_forfeit_private_in_every_file_that_says_it(x, y, tmp_path, program, ledger):
    names = np.array(["healthy", "flu", "cold", "HIV (one person)"])[y]
    with pytest.warns(dpreduce.DataDependentClassesWarning, match="not private.*the public list, classes=") as caught:
        model = DPClassifier(epsilon=1, delta=1e-6, method="mean", ledger=ledger).fit(x, names)
    assert caught[0].filename == __file__ and len(caught) == 1
    assert list(model.classes_) == sorted(set(names))
    assert not model.privacy_.private and model.privacy_.forfeited_by == ["classes-from-rows"]
    report = model.report_
    assert not report["private"] and report["privacy"]["forfeited_by"] == ["classes-from-rows"]
    said = "classes were taken from the labels of the rows"
    assert said in report["note"] and said in model.explain() and "seed" not in model.explain() and said in model._repr_html_()
    model.classifier_.save(str(tmp_path / "m.safetensors"), False)
    assert dpreduce.load(tmp_path / "m.safetensors").privacy == {"private": False, "forfeited_by": ["classes-from-rows"]}
    assert pickle.loads(pickle.dumps(model)).classifier_.to_bytes() == model.classifier_.to_bytes()
    (tmp_path / "r.json").write_text(json.dumps({**report, "model": "m.safetensors"}))
    assert said in program("privacy", "explain", "r.json")
    program("report", "r.json", "ledger.jsonl", "--out", "page.html")
    page = (tmp_path / "page.html").read_text()
    assert said in page and "classes from rows: NOT private, not counted" in page
    program("export", "m.safetensors", "--card", "card.md", "--report", "r.json")
    assert said in (tmp_path / "card.md").read_text().replace("\\", "")
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    terms = [line for line in lines if line["kind"] in ("reservation", "charge")]
    assert len(terms) == 2 and all(not line["private"] and line["forfeited_by"] == ["classes-from-rows"] for line in terms)
    assert "classes from rows: NOT private, not counted" in program("ledger", "show", "ledger.jsonl")
    shown = json.loads(program("ledger", "show", "ledger.jsonl", "--format", "json"))
    assert shown["runs"][0]["forfeited_by"] == ["classes-from-rows"]


def test_classes_from_the_rows_are_within_no_budget(rows, ledger):
    with pytest.warns(dpreduce.DataDependentClassesWarning), pytest.raises(UsageError, match="no finite epsilon.*classes"):
        DPMeanClassifier(epsilon=1, delta=1e-6, ledger=ledger, budget_epsilon=2, budget_delta=1e-6).fit(*rows)
    assert not ledger.exists() or '"kind":"charge"' not in ledger.read_text()


def test_a_seed_and_classes_from_the_rows_are_both_said(rows):
    with pytest.warns(dpreduce.DataDependentClassesWarning):
        model = DPClassifier(epsilon=1, delta=1e-6, method="mean", random_state=3).fit(*rows)
    assert model.privacy_.forfeited_by == ["seed", "classes-from-rows"]
    assert "has a seed" in model.explain() and "classes were taken" in model.explain()
    assert DPClassifier(**BUDGET, method="mean").fit(*rows).privacy_.forfeited_by == []


def test_parameters_are_the_options_of_fit(rows):
    model = DPClassifier(**BUDGET, method="ls", gram_share=0.25, lambda_=0.01, random_state=3)
    assert model.get_params()["gram_share"] == 0.25 and model.get_params()["center"] is None
    assert clone(model).get_params() == model.get_params()
    assert clone(model).set_params(gram_share=0.5, center="dp").fit(*rows).report_["center"] == "dp"
    assert repr(model) == ("DPClassifier(classes=range(0, 4), delta=1e-06, epsilon=1, gram_share=0.25,\n"
                           "             lambda_=0.01, method='ls', random_state=3)")
    assert model.fit(*rows).classifier_.to_bytes() == bytes_of(
        *rows, epsilon=1, delta=1e-6, classes=CLASSES, method="ls", gram_share=0.25, seed=3, **{"lambda": 0.01})
    refuses(UsageError, "did you mean gram-share", DPClassifier, gram_shar=0.2)
    refuses(UsageError, "not a parameter", DPClassifier, seed=0.2)
    refuses(ValueError, None, model.set_params, gram_shar=0.2)


def test_a_random_state_is_a_seed_and_a_number_of_classes_is_as_in_fit(x, y):
    terms = {"epsilon": 1, "delta": 1e-6, "classes": CLASSES, "method": "mean"}
    models = [DPClassifier(**terms, random_state=state).fit(x, y) for state in (5, 5, 6, np.random.RandomState(1))]
    assert list(models[0].classes_) == list(range(CLASSES))
    scores = [model.decision_function(x) for model in models]
    assert (scores[0] == scores[1]).all() and (scores[0] != scores[2]).any()
    assert models[0].classifier_.to_bytes() == bytes_of(x, y, **terms, seed=5)
    assert all(not model.privacy_.private and model.privacy_.forfeited_by == ["seed"] for model in models)
    assert "NOT private" in models[0].report_["note"]


def test_a_fitted_model_is_pickled(x, y):
    model = DPClassifier(**BUDGET).fit(x, y)
    again = pickle.loads(pickle.dumps(model))
    assert (again.decision_function(x) == model.decision_function(x)).all() and (again.predict_proba(x) == model.predict_proba(x)).all()
    assert again.privacy_ == model.privacy_ and again.explain() == model.explain()


def test_two_classes_have_one_score(x, y):
    model = DPClassifier(**{**BUDGET, "classes": [0, 1]}).fit(x, y % 2)
    scores = model.decision_function(x)
    assert scores.shape == (len(x),) and ((scores > 0) == model.predict(x)).all()


def test_probabilities_are_there_where_the_method_has_some(rows):
    assert hasattr(DPClassifier(), "predict_proba") and not hasattr(DPMeanClassifier(), "predict_proba")
    softmax = {"method": "gd", "rounds": 2}
    for options in ({"method": "ls"}, {"method": "fisher"}, {"method": "coinpress"}, softmax, {**softmax, "loss": "square"}):
        model = DPClassifier(**BUDGET, **options, random_state=1)
        has = [hasattr(one, name) for one in (model, clone(model).fit(*rows)) for name in ("predict_proba", "predict_log_proba")]
        assert has == [options == softmax] * 4


def test_logarithms_are_those_of_the_probabilities(x, y):
    model = DPClassifier(**BUDGET, random_state=1).fit(x, y)
    np.testing.assert_array_equal(np.exp(model.predict_log_proba(x)).argmax(axis=1), model.predict(x))
    np.testing.assert_allclose(np.exp(model.predict_log_proba(x)), model.predict_proba(x))
    with np.errstate(all="raise"):
        model.predict_proba = lambda _: np.array([[0.0, 1.0]])
        assert model.predict_log_proba(x).tolist() == [[-np.inf, 0.0]]


def test_a_score_is_exact_and_says_so(x, y):
    model = DPClassifier(**BUDGET, random_state=1).fit(x, y)
    assert model.score(x, y) == np.mean(model.predict(x) == y)
    weights = (y == 0).astype(float)
    assert model.score(x, y, weights) == np.mean(model.predict(x[y == 0]) == 0)
    for estimator in (DPClassifier, DPMeanClassifier, dpreduce.DPRegressor):
        assert "It has no noise" in estimator.score.__doc__ and "DPScore" in estimator.score.__doc__


def test_the_output_of_other_steps_is_set_in_a_pipeline(x, y):
    from sklearn.preprocessing import FunctionTransformer
    frame = pandas.DataFrame(x).add_prefix("f")
    public = FunctionTransformer(lambda X: X * 0.5, feature_names_out="one-to-one")
    model = make_pipeline(public, DPClassifier(**BUDGET, random_state=1)).set_output(transform="pandas").fit(frame, y)
    assert list(model[-1].feature_names_in_) == list(frame.columns) and not hasattr(model[-1], "set_output")
    words = r"pandas.DataFrame\(model.predict_proba\(X\), X.index, model.classes_\)"
    refuses(AttributeError, words, lambda: model[-1].set_output(transform="pandas"))


def test_public_rows_are_fit_parameters(x, y):
    model = make_pipeline(DPMeanClassifier(**BUDGET, center="public", ledger=None, normalize="l2"))
    report = model.fit(x, y, dpmeanclassifier__public_x=x[:100] + 1)[0].report_
    assert (report["center"], report["method"]) == ("public", "mean")


def test_a_search_is_charged_and_warned_of(x, y, ledger):
    search = GridSearchCV(make_pipeline(StandardScaler(), DPMeanClassifier(**BUDGET, ledger=ledger)),
                          {"dpmeanclassifier__metric": ["cosine", "euclidean"]}, cv=2)
    with pytest.warns(RepeatedFitWarning, match="2 fits are charged on.*epsilon 1.46 at delta 1e-06 is spent in total") as caught:
        search.fit(x, y)
    assert len(caught) == 1
    assert len(dpreduce.read_ledger(ledger)["runs"]) == 5  # two candidates, two folds, and the best again
    assert "5 runs; epsilon 2.4" in search.best_estimator_[-1].privacy_.words["account"][0]


def test_fits_on_no_ledger_are_warned_of(rows):
    with pytest.warns(RepeatedFitWarning, match="have no ledger.*for these two epsilon 1.46 at delta 1e-06") as caught:
        scores = cross_val_score(DPMeanClassifier(**BUDGET), *rows, cv=3)
    assert len(caught) == 1 and scores.mean() > 0.7
    estimators._fits.clear()
    cross_val_score(DPMeanClassifier(**BUDGET, random_state=1), *rows, cv=3)  # not private: nothing to count


def test_a_search_in_processes_is_charged_and_warned_of(rows, ledger):
    search = GridSearchCV(DPMeanClassifier(**BUDGET, ledger=ledger), {"metric": ["cosine", "euclidean"]}, cv=2, n_jobs=2)
    with pytest.warns(RepeatedFitWarning) as caught:
        search.fit(*rows)
    words = [str(one.message) for one in caught if one.category is RepeatedFitWarning]
    assert len(words) == 2 and "were sent to other processes" in words[0] and f"charged on {ledger}" in words[0]
    assert words[1].startswith("5 fits are charged on") and "is spent in total" in words[1]
    runs = dpreduce.read_ledger(ledger)["runs"]
    assert len(runs) == 5 and len(set(runs["run"])) == 5


def test_folds_in_processes_are_warned_of(rows):
    with pytest.warns(RepeatedFitWarning, match="were sent to other processes.* have no ledger"):
        cross_val_score(DPMeanClassifier(**BUDGET), *rows, cv=2, n_jobs=2)
    for _ in range(3):
        pickle.dumps(DPMeanClassifier(**BUDGET, random_state=1))  # not private: nothing to count


def test_a_fit_on_a_ledger_with_fits_of_others_is_warned_of(rows, ledger):
    dpreduce.fit(*rows, epsilon=1, delta=1e-6, classes=CLASSES, method="mean", ledger=ledger)
    with pytest.warns(RepeatedFitWarning, match="2 fits are charged on"):
        DPMeanClassifier(**BUDGET, ledger=ledger).fit(*rows)


def test_a_warning_of_fits_that_is_an_error_does_not_lose_the_fit(rows, ledger, capsys):
    models = [DPMeanClassifier(**BUDGET, ledger=ledger).fit(*rows) for _ in range(2)]  # warnings are errors here
    assert models[1].score(*rows) > 0.7 and "RepeatedFitWarning: 2 fits are charged" in capsys.readouterr().err


def test_a_budget_ends_a_search(rows, ledger):
    model = DPMeanClassifier(**BUDGET, ledger=ledger, budget_epsilon=1.2, budget_delta=1e-6)
    model.fit(*rows)
    refuses(dpreduce.BudgetRefused, None, clone(model).fit, *rows)


def test_notebooks_show_a_table(rows):
    model = DPClassifier(**{**BUDGET, "classes": ["<a>", "b", "c", "d"]})
    assert "classes" in model._repr_html_()
    text = model.fit(rows[0], np.array(["<a>", "b", "c", "d"])[rows[1]])._repr_html_()
    tags = re.findall(r"<(\w+)", text)
    assert tags[:2] == ["table", "caption"] and tags[:tags.index("details")].count("tr") == 4 < tags.count("tr")
    assert all('scope="row"' in head for head in re.findall(r"<th\b.*?>", text))
    assert "epsilon 1 at delta 1e-06" in text and model._repr_mimebundle_()["text/html"] == text
    assert all(sentence in html.unescape(text) for sentences in model.privacy_.words.values() for sentence in sentences)


def test_an_estimator_saves_what_fit_saves(rows, tmp_path):
    model = DPClassifier(**BUDGET, method="mean").fit(*rows)
    path = tmp_path / "m.safetensors"
    model.save(path)
    assert path.read_bytes() == model.classifier_.to_bytes() and model.report_["model"] == str(path)
    refuses(BadInput, "already exists", model.save, path)
    pickle.loads(pickle.dumps(model)).save(path, overwrite=True)
    refuses(ValueError, "not fitted", lambda: DPClassifier().save(tmp_path / "n.safetensors"))


@pytest.mark.parametrize("options", [{"method": "ls"}, {"method": "mean", "center": "dp"}, {"method": "ls", "pool": 3},
                                     {"method": "fisher", "select": 6, "center": "dp"}, {"method": "fc", "rounds": 3},
                                     {"method": "ls", "pca": 5, "select": 3, "pool": 2}], ids=str)
@pytest.mark.parametrize("classes", [2, CLASSES])
def test_coefficients_are_those_of_the_scores(options, classes, x, y):
    model = DPClassifier(**{**BUDGET, "classes": classes}, normalize="none", clip=100, random_state=1, **options).fit(x, y % classes)
    scores = model.decision_function(x).reshape(len(x), -1)
    rows_of_scores = classes if classes > 2 else 1
    assert model.coef_.shape == (rows_of_scores, x.shape[1]) and model.intercept_.shape == (rows_of_scores,)
    tolerance = 2e-3 if options["method"] == "fc" or "pca" in options else 1e-9
    assert np.abs(x @ model.coef_.T + model.intercept_ - scores).max() < tolerance * np.abs(scores).max()


def test_scores_that_are_not_linear_have_no_coefficients(rows):
    model = DPClassifier(**BUDGET, method="ls")
    for words in ("not fitted", "scaled to one length .* normalize='none'"):
        refuses(AttributeError, words, lambda: model.coef_)
        assert not hasattr(model, "intercept_")
        model.fit(*rows)
    warm = DPClassifier(**BUDGET, method="fc", rounds=2, warm_start=True, normalize="none", random_state=1).fit(*rows)
    refuses(AttributeError, "two softmax", lambda: warm.coef_)


def test_balanced_class_weights_are_the_balanced_objective(rows):
    def model_of(**options):
        return DPClassifier(**BUDGET, rounds=2, random_state=1, **options).fit(*rows).classifier_.to_bytes()
    assert model_of(class_weight="balanced") == model_of(objective="balanced") != model_of()
    for others in ({"class_weight": "equal"}, {"class_weight": "balanced", "objective": "accuracy"}):
        refuses(UsageError, "class_weight: .*give 'balanced', which is objective='balanced'", model_of, **others)


def test_weights_of_single_classes_are_those_of_export(x, y, tmp_path, program):
    names = np.array(["fig", "apple", "plum", "pear"])[y % 4]
    terms = {"epsilon": 1, "delta": 1e-6, "classes": sorted(set(names)), "rounds": 2, "random_state": 1}
    plain = DPClassifier(**terms).fit(x, names)
    weighed = clone(DPClassifier(**terms, class_weight={"plum": 20, "fig": 0.5})).fit(x, names)
    plain.save(tmp_path / "plain")
    program("export", "plain", "--class-weights", "plum=20,fig=0.5", "--out", "weighed")
    assert weighed.classifier_.to_bytes() == (tmp_path / "weighed").read_bytes()
    assert weighed.privacy_.epsilon == plain.privacy_.epsilon
    assert np.mean(weighed.predict(x) == "plum") > np.mean(plain.predict(x) == "plum")
    search = GridSearchCV(DPClassifier(**{**terms, "epsilon": 50}), {"class_weight": [{"plum": 1e9}, None]}, cv=2)
    assert search.fit(x, names).best_params_ == {"class_weight": None}


def test_weights_that_are_none_are_refused_before_anything_is_charged(x, y, ledger):
    terms = {**BUDGET, "ledger": ledger}
    for make, weights, words in ((DPClassifier, {7: 2}, "7 is none of the classes"), (DPClassifier, {1: 0}, "must be above 0"),
                                 (DPClassifier, {1: float("nan")}, "must be above 0"), (DPMeanClassifier, {1: 2}, "no log probabilities"),
                                 (DPClassifier, {1: "30"}, "'30', the weight of 1, is no number"), (DPClassifier, {1: [1, 2]}, "is no number")):
        refuses(UsageError, words, make(**terms, class_weight=weights).fit, x, y)
    for options in ({"loss": "sigmoid"}, {"warm_start": True}, {"method": "ls"}):
        model = DPClassifier(**terms, **{"method": "fc", **options}, class_weight={1: 2})
        refuses(UsageError, "no log probabilities", model.fit, x, y)
    assert not ledger.exists()


@pytest.mark.parametrize("method", ["mean", "ls", "fc"])
def test_rows_count_for_their_weight_of_its_bound(x, y, method):
    wrong = (y + 1) % CLASSES
    terms = {"classes": range(CLASSES), "method": method, "non_private": True}
    both, labels = np.concatenate([x, x]), np.concatenate([y, wrong])
    of_y = DPClassifier(**terms).fit(x, y).predict(x)
    for weights in (np.repeat([3, 0], len(y)), np.repeat([0, 3], len(y))):
        weighed = DPClassifier(**terms, weight_bound=3).fit(both, labels, sample_weight=weights)
        expected = of_y if weights[0] else (of_y + 1) % CLASSES
        assert np.mean(weighed.predict(x) == expected) > .95
    whole = dpreduce.fit(x, y, sample_weight=np.full(len(y), .3), weight_bound=.3, classes=CLASSES, method=method, non_private=True)
    assert np.mean(whole.classifier.labels(x) == of_y) > .99


def test_a_row_of_the_largest_weight_is_what_noise_is_made_for(x, y):
    terms = {**BUDGET, "random_state": 1, "method": "mean"}
    plain = DPClassifier(**terms).fit(x, y).report_["privacy"]
    for weights, bound in ((np.ones(len(y)), 1), (np.arange(len(y)) % 2, 1e6)):
        weighed = DPClassifier(**terms, weight_bound=bound).fit(x, y, sample_weight=weights).report_["privacy"]
        assert weighed["weight_bound"] == bound and weighed["unit"] == "record"
        sizes = [[release["sensitivity"] / release["sigma"] for release in told["releases"]] for told in (plain, weighed)]
        assert sizes[0] == pytest.approx(sizes[1], rel=1e-9)
    for batch in (None, .5):
        run = dpreduce.fit(x, y, sample_weight=np.ones(len(y)), weight_bound=1, classes=CLASSES, epsilon=1, delta=1e-6, method="gd",
                           rounds=3, batch=batch, seed=1)
        assert run.privacy.epsilon <= 1


def test_weights_that_noise_is_not_made_for_are_refused(x, y):
    ones = np.ones(len(y))
    for bound, given, words in (({}, {"sample_weight": ones}, "sample_weight: give weight_bound=W, .* objective='balanced'"),
                                ({"weight_bound": 2}, {}, "weight_bound goes with sample_weight"),
                                ({"weight_bound": 0}, {"sample_weight": ones}, "weight_bound=0.*: must be from 1e-30 to 1e[+]30"),
                                ({"weight_bound": 2}, {"sample_weight": ones, "person": np.arange(len(y))},
                                 "sample_weight with person: .*leave one out")):
        refuses(UsageError, words, lambda: DPClassifier(**BUDGET, **bound).fit(x, y, **given))
    faults = [(np.where(np.arange(len(y)) == 7, weight, 1.0), "row 7 has weight .*; give a number from 0 to weight_bound=?.? ?2 .for the "
               "data's owner only") for weight in (-1, 2.1, np.nan, np.inf)]
    faults += [(ones[1:], "sample_weight: .* weights for .* rows of features.*give one weight a row"),
               (["a"] * len(y), "sample_weight: weights are .*; give one number a row")]
    for weights, words in faults:
        refuses(BadInput, words, lambda: DPClassifier(**BUDGET, weight_bound=2).fit(x, y, sample_weight=weights))
    terms = {**BUDGET, "classes": CLASSES, "weight_bound": 2}
    refuses(UsageError, "weight_bound.*weights are read by ranks", dpreduce.Plan, x.shape[1], **terms)


def test_a_method_that_was_chosen_is_told_by_both_names(x, y):
    model = DPClassifier(**BUDGET, random_state=1).fit(x, y)
    assert model.report_["method"] == "fc" and "auto (by fc), " in model._repr_html_()
    terms = {"classes": CLASSES, "epsilon": 1, "delta": 1e-6, "seed": 1}
    assert repr(dpreduce.fit(x, y, **terms)).startswith("<dpreduce.FittedRun: auto (by fc), ")
    assert repr(dpreduce.fit(x, y, **terms, method="fc")).startswith("<dpreduce.FittedRun: fc, ")


def test_what_is_not_there_says_what_is(rows):
    from sklearn.utils.validation import has_fit_parameter
    model = DPClassifier(**BUDGET)
    assert not has_fit_parameter(model, "sample_weight") and not hasattr(model, "partial_fit")
    refuses(AttributeError, r"plan.partial\(X, y, name\)", lambda: model.partial_fit)
    for name, words in {"lr": "use learning_rate,", "batch_size": "use batch, the probability", "C": "use lambda_, the ridge",
                        "max_iter": "use rounds, the number of steps"}.items():
        refuses(UsageError, words, DPClassifier, **{name: 1})
        refuses(UsageError, words, dpreduce.fit, *rows, classes=CLASSES, epsilon=1, delta=1e-6, **{name: 1})
