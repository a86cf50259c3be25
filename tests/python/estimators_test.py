"""DPClassifier and DPMeanClassifier beside scikit-learn's own."""
import html
import html.parser
import json
import pickle
import warnings

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dpreduce
from conftest import CLASSES
from dpreduce import DPClassifier, DPMeanClassifier, estimators

BUDGET = {"epsilon": 1, "delta": 1e-6, "classes": range(CLASSES)}


@pytest.fixture(autouse=True)
def no_fits_so_far():
    estimators._fits.clear()
    estimators._sent.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        yield


def test_the_first_example(x, y):
    assert DPClassifier(epsilon=1, delta=1e-6, classes=range(CLASSES)).fit(x[:1500], y[:1500]).score(x[1500:], y[1500:]) > 0.7
    estimators._fits.clear()
    assert DPMeanClassifier(**BUDGET, ledger=None, normalize="l2").fit(x, y).report_["method"] == "mean"


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
    assert DPClassifier(**{**BUDGET, "classes": large}).fit(x, labels).classes_.dtype == np.int64
    with pytest.raises(dpreduce.BadInput, match="give all of one type"):
        DPClassifier(**{**BUDGET, "classes": large}).fit(x, [3.0] + labels[1:])
    with pytest.raises(dpreduce.BadInput, match="would merge integers"):
        DPClassifier(**{**BUDGET, "classes": large}).fit(x, np.array(labels, np.float64))


def test_labels_of_a_data_frame(x, y):
    frame = pandas.DataFrame(x, columns=[f"f{a}" for a in range(x.shape[1])])
    model = DPClassifier(**{**BUDGET, "classes": list("abcd")}).fit(frame, pandas.Series(list("abcd"))[y])
    assert list(model.feature_names_in_) == list(frame.columns) and model.score(frame, pandas.Series(list("abcd"))[y]) > 0.7


def test_classes_from_the_rows_forfeit_private_in_every_file_that_says_it(x, y, tmp_path, program):
    names = np.array(["healthy", "flu", "cold", "HIV (one person)"])[y]
    ledger = tmp_path / "ledger.jsonl"
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
    again = pickle.loads(pickle.dumps(model)).classifier_
    assert again.to_bytes() == model.classifier_.to_bytes()
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
    told = program("ledger", "show", "ledger.jsonl")
    assert "classes from rows: NOT private, not counted" in told
    shown = json.loads(program("ledger", "show", "ledger.jsonl", "--format", "json"))
    assert shown["runs"][0]["forfeited_by"] == ["classes-from-rows"]


def test_classes_from_the_rows_are_within_no_budget(rows, tmp_path):
    ledger = tmp_path / "ledger.jsonl"
    with pytest.warns(dpreduce.DataDependentClassesWarning), pytest.raises(dpreduce.UsageError, match="no finite epsilon.*classes"):
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
    direct = dpreduce.fit(*rows, epsilon=1, delta=1e-6, classes=CLASSES, method="ls", gram_share=0.25, seed=3, **{"lambda": 0.01})
    assert model.fit(*rows).classifier_.to_bytes() == direct.classifier.to_bytes()
    with pytest.raises(dpreduce.UsageError, match="did you mean gram-share"):
        DPClassifier(gram_shar=0.2)
    with pytest.raises(dpreduce.UsageError, match="not a parameter"):
        DPClassifier(seed=0.2)
    with pytest.raises(ValueError):
        model.set_params(gram_shar=0.2)


def test_a_random_state_is_a_seed(x, y):
    models = [DPClassifier(**BUDGET, method="mean", random_state=state).fit(x, y) for state in (5, 5, 6, np.random.RandomState(1))]
    labels = [model.decision_function(x) for model in models]
    assert (labels[0] == labels[1]).all() and (labels[0] != labels[2]).any()
    assert not any(model.privacy_.private for model in models)
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
    for options in ({"method": "ls"}, {"method": "fisher"}, {"method": "coinpress"}, {"method": "gd", "rounds": 2}, {"method": "gd", "rounds": 2, "loss": "square"}):
        model = DPClassifier(**BUDGET, **options, random_state=1)
        unfitted = hasattr(model, "predict_proba"), hasattr(model, "predict_log_proba")
        model.fit(*rows)
        assert unfitted == (hasattr(model, "predict_proba"), hasattr(model, "predict_log_proba"))
        assert unfitted == ((True, True) if options == {"method": "gd", "rounds": 2} else (False, False))


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
    assert list(model[-1].feature_names_in_) == list(frame.columns)
    assert not hasattr(model[-1], "set_output")
    with pytest.raises(AttributeError, match=r"pandas.DataFrame\(model.predict_proba\(X\), X.index, model.classes_\)"):
        model[-1].set_output(transform="pandas")


def test_public_rows_are_fit_parameters(x, y):
    model = make_pipeline(DPMeanClassifier(**BUDGET, center="public")).fit(x, y, dpmeanclassifier__public_x=x[:100] + 1)
    assert model[0].report_["center"] == "public"


def test_a_search_is_charged_and_warned_of(x, y, tmp_path):
    ledger = tmp_path / "ledger.jsonl"
    search = GridSearchCV(make_pipeline(StandardScaler(), DPMeanClassifier(**BUDGET, ledger=ledger)),
                          {"dpmeanclassifier__metric": ["cosine", "euclidean"]}, cv=2)
    with pytest.warns(dpreduce.RepeatedFitWarning) as caught:
        search.fit(x, y)
    assert len(caught) == 1
    assert "2 fits are charged on" in str(caught[0].message) and "epsilon 1.46 at delta 1e-06 is spent in total" in str(caught[0].message)
    assert len(dpreduce.read_ledger(ledger)["runs"]) == 5  # two candidates, two folds, and the best again
    account = search.best_estimator_[-1].privacy_.words["account"][0]
    assert "5 runs; epsilon 2.4" in account


def test_fits_on_no_ledger_are_warned_of(rows):
    with pytest.warns(dpreduce.RepeatedFitWarning, match="have no ledger.*for these two epsilon 1.46 at delta 1e-06") as caught:
        scores = cross_val_score(DPMeanClassifier(**BUDGET), *rows, cv=3)
    assert len(caught) == 1 and scores.mean() > 0.7
    estimators._fits.clear()
    cross_val_score(DPMeanClassifier(**BUDGET, random_state=1), *rows, cv=3)  # not private: nothing to count


def test_a_search_in_processes_is_charged_and_warned_of(rows, tmp_path):
    ledger = tmp_path / "ledger.jsonl"
    search = GridSearchCV(DPMeanClassifier(**BUDGET, ledger=ledger), {"metric": ["cosine", "euclidean"]}, cv=2, n_jobs=2)
    with pytest.warns(dpreduce.RepeatedFitWarning) as caught:
        search.fit(*rows)
    words = [str(one.message) for one in caught if one.category is dpreduce.RepeatedFitWarning]
    assert len(words) == 2 and "were sent to other processes" in words[0] and f"charged on {ledger}" in words[0]
    assert words[1].startswith("5 fits are charged on") and "is spent in total" in words[1]
    runs = dpreduce.read_ledger(ledger)["runs"]
    assert len(runs) == 5 and len(set(runs["run"])) == 5


def test_folds_in_processes_are_warned_of(rows):
    with pytest.warns(dpreduce.RepeatedFitWarning, match="were sent to other processes.* have no ledger"):
        cross_val_score(DPMeanClassifier(**BUDGET), *rows, cv=2, n_jobs=2)
    for _ in range(3):
        pickle.dumps(DPMeanClassifier(**BUDGET, random_state=1))  # not private: nothing to count


def test_a_fit_on_a_ledger_with_fits_of_others_is_warned_of(rows, tmp_path):
    ledger = tmp_path / "ledger.jsonl"
    dpreduce.fit(*rows, epsilon=1, delta=1e-6, classes=CLASSES, method="mean", ledger=ledger)
    with pytest.warns(dpreduce.RepeatedFitWarning, match="2 fits are charged on"):
        DPMeanClassifier(**BUDGET, ledger=ledger).fit(*rows)


def test_a_warning_of_fits_that_is_an_error_does_not_lose_the_fit(rows, tmp_path, capsys):
    ledger = tmp_path / "ledger.jsonl"
    models = [DPMeanClassifier(**BUDGET, ledger=ledger).fit(*rows) for _ in range(2)]  # warnings are errors here
    assert models[1].score(*rows) > 0.7 and "RepeatedFitWarning: 2 fits are charged" in capsys.readouterr().err


def test_a_budget_ends_a_search(rows, tmp_path):
    model = DPMeanClassifier(**BUDGET, ledger=tmp_path / "ledger.jsonl", budget_epsilon=1.2, budget_delta=1e-6)
    model.fit(*rows)
    with pytest.raises(dpreduce.BudgetRefused):
        clone(model).fit(*rows)


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


def test_notebooks_show_a_table(rows):
    model = DPClassifier(**{**BUDGET, "classes": ["<a>", "b", "c", "d"]})
    assert "classes" in model._repr_html_()
    text = model.fit(rows[0], np.array(["<a>", "b", "c", "d"])[rows[1]])._repr_html_()
    parsed = Tags()
    parsed.feed(text)
    tags = [tag for tag, _ in parsed.tags]
    assert tags[:2] == ["table", "caption"] and tags[:tags.index("details")].count("tr") == 4 < tags.count("tr")
    assert all(attrs.get("scope") == "row" for tag, attrs in parsed.tags if tag == "th")
    assert "epsilon 1 at delta 1e-06" in text and model._repr_mimebundle_()["text/html"] == text
    for sentences in model.privacy_.words.values():
        for sentence in sentences:
            assert sentence in html.unescape(text)


def test_a_number_of_classes_is_as_in_fit(rows):
    model = DPClassifier(epsilon=1, delta=1e-6, classes=CLASSES, method="mean", random_state=1).fit(*rows)
    direct = dpreduce.fit(*rows, epsilon=1, delta=1e-6, classes=CLASSES, method="mean", seed=1)
    assert list(model.classes_) == list(range(CLASSES)) and model.classifier_.to_bytes() == direct.classifier.to_bytes()
    assert model.privacy_.forfeited_by == ["seed"]


def test_an_estimator_saves_what_fit_saves(rows, tmp_path):
    model = DPClassifier(**BUDGET, method="mean").fit(*rows)
    path = tmp_path / "m.safetensors"
    model.save(path)
    assert path.read_bytes() == model.classifier_.to_bytes() and model.report_["model"] == str(path)
    with pytest.raises(dpreduce.BadInput, match="already exists"):
        model.save(path)
    pickle.loads(pickle.dumps(model)).save(path, overwrite=True)
    with pytest.raises(ValueError, match="not fitted"):
        DPClassifier().save(tmp_path / "n.safetensors")


@pytest.mark.parametrize("options", [{"method": "ls"}, {"method": "mean", "center": "dp"}, {"method": "ls", "pool": 3},
                                     {"method": "fisher", "select": 6, "center": "dp"}, {"method": "fc", "rounds": 3},
                                     {"method": "ls", "pca": 5, "select": 3, "pool": 2}], ids=str)
@pytest.mark.parametrize("classes", [2, CLASSES])
def test_coefficients_are_those_of_the_scores(options, classes, x, y):
    model = DPClassifier(**{**BUDGET, "classes": classes}, normalize="none", clip=100, random_state=1, **options).fit(x, y % classes)
    rows_of_scores = classes if classes > 2 else 1
    assert model.coef_.shape == (rows_of_scores, x.shape[1]) and model.intercept_.shape == (rows_of_scores,)
    scores = model.decision_function(x).reshape(len(x), -1)
    assert np.abs(x @ model.coef_.T + model.intercept_ - scores).max() < (1e-9 if options["method"] != "fc" and "pca" not in options
                                                                          else 2e-3) * np.abs(scores).max()


def test_scores_that_are_not_linear_have_no_coefficients(rows):
    model = DPClassifier(**BUDGET, method="ls")
    for words in ("not fitted", "scaled to one length .* normalize='none'"):
        with pytest.raises(AttributeError, match=words):
            model.coef_
        assert not hasattr(model, "intercept_")
        model.fit(*rows)
    warm = DPClassifier(**BUDGET, method="fc", rounds=2, warm_start=True, normalize="none", random_state=1).fit(*rows)
    with pytest.raises(AttributeError, match="two softmax"):
        warm.coef_


def test_balanced_class_weights_are_the_balanced_objective(rows):
    terms = {**BUDGET, "rounds": 2, "random_state": 1}
    assert (DPClassifier(**terms, class_weight="balanced").fit(*rows).classifier_.to_bytes()
            == DPClassifier(**terms, objective="balanced").fit(*rows).classifier_.to_bytes()
            != DPClassifier(**terms).fit(*rows).classifier_.to_bytes())
    for others in ({"class_weight": "equal"}, {"class_weight": "balanced", "objective": "accuracy"}):
        with pytest.raises(dpreduce.UsageError, match="class_weight: .*give 'balanced', which is objective='balanced'"):
            DPClassifier(**terms, **others).fit(*rows)


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


def test_weights_that_are_none_are_refused_before_anything_is_charged(x, y, tmp_path):
    terms = {**BUDGET, "ledger": tmp_path / "ledger.jsonl"}
    for make, weights, words in ((DPClassifier, {7: 2}, "7 is none of the classes"), (DPClassifier, {1: 0}, "must be above 0"),
                                 (DPClassifier, {1: float("nan")}, "must be above 0"), (DPMeanClassifier, {1: 2}, "no log probabilities"),
                                 (DPClassifier, {1: "30"}, "'30', the weight of 1, is no number"), (DPClassifier, {1: [1, 2]}, "is no number")):
        with pytest.raises(dpreduce.UsageError, match=words):
            make(**terms, class_weight=weights).fit(x, y)
    for options in ({"loss": "sigmoid"}, {"warm_start": True}, {"method": "ls"}):
        with pytest.raises(dpreduce.UsageError, match="no log probabilities"):
            DPClassifier(**terms, **{"method": "fc", **options}, class_weight={1: 2}).fit(x, y)
    assert not (tmp_path / "ledger.jsonl").exists()


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
        with pytest.raises(dpreduce.UsageError, match=words):
            DPClassifier(**BUDGET, **bound).fit(x, y, **given)
    faults = [(np.where(np.arange(len(y)) == 7, weight, 1.0), "row 7 has weight .*; give a number from 0 to weight_bound=?.? ?2 .for the "
               "data's owner only") for weight in (-1, 2.1, np.nan, np.inf)]
    faults += [(ones[1:], "sample_weight: .* weights for .* rows of features.*give one weight a row"),
               (["a"] * len(y), "sample_weight: weights are .*; give one number a row")]
    for weights, words in faults:
        with pytest.raises(dpreduce.BadInput, match=words):
            DPClassifier(**BUDGET, weight_bound=2).fit(x, y, sample_weight=weights)
    with pytest.raises(dpreduce.UsageError, match="weight_bound.*weights are read by ranks"):
        dpreduce.Plan(x.shape[1], **{**BUDGET, "classes": CLASSES}, weight_bound=2)


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
    with pytest.raises(AttributeError, match=r"plan.partial\(X, y, name\)"):
        model.partial_fit(*rows)
    for name, words in {"lr": "use learning_rate,", "batch_size": "use batch, the probability", "C": "use lambda_, the ridge",
                        "max_iter": "use rounds, the number of steps"}.items():
        with pytest.raises(dpreduce.UsageError, match=words):
            DPClassifier(**{name: 1})
        with pytest.raises(dpreduce.UsageError, match=words):
            dpreduce.fit(*rows, classes=CLASSES, epsilon=1, delta=1e-6, **{name: 1})
