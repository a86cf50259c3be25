"""scikit-learn estimators.

scikit-learn is imported with the first of them that is made, or read from a pickle: importing it takes longer than all of
dpreduce. Until then _ScikitLearn stands for its base classes.
"""
from __future__ import annotations

import functools
import html
import inspect
import os
import sys
import threading
import types
import typing
import warnings

import numpy as np

from . import _library, privacy
from .arrays import as_labels, as_persons, as_rows, as_targets, as_weights, indices_of, require_apart
from .errors import BadInput, DataDependentClassesWarning, RepeatedFitWarning, UsageError, in_keywords
from .fitting import fit_arrays, save_model
from .evaluation import _Evaluated
from .keywords import parameter_of
from .model import linear_in_features, predicted_by
from .promise import Privacy, at_most, method_of

if typing.TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Self, Unpack

    from . import _core
    from ._options import EstimatorOptions, RegressorOptions

# Options of a fit that estimators have a parameter of their own for, or whose labels are no classes.
OTHERWISE = {"classes", "ledger", "seed", "max_labels", "target_range"}
# Options that are about classes.
OF_CLASSES = {parameter_of(name) for name in _library.core().keywords_of_classes()} - OTHERWISE

# ledger, or None -> [mu] of the private fits that this process has made, None where one has no mu
_fits: dict[str | None, list[float | None]] = {}
_sent: dict[str | None, int] = {}  # ledger, or None -> how many unfitted estimators were pickled here
_ADVICE = ("every candidate and every fold of a search (GridSearchCV, cross_val_score) is a fit: search on public or "
           "synthetic rows, or split with cv=dpreduce.RowFolds(n) and add up the costs of all fits")


def _key_of(ledger):
    return ledger and os.path.realpath(ledger)


def _warn_of_fits(text, stacklevel):
    """A filter that makes warnings errors must not throw away what is paid for: then it is printed."""
    try:
        warnings.warn(text, RepeatedFitWarning, stacklevel=stacklevel + 1)
    except RepeatedFitWarning:
        print(f"RepeatedFitWarning: {text}", file=sys.stderr)


def _count_fit(told, account):
    """Warns once for each ledger that has fits of this process: at the first after which there are two on it, whichever
    process has made them; and of the second fit on none."""
    if not told.private:
        return
    fits = _fits.setdefault(_key_of(told.ledger), [])
    had_warned = len(fits) > 1
    fits.append(told.mu)
    if account:
        if account["runs"] < 2 or had_warned:
            return
        fits.append(None)  # made elsewhere: it is warned of from here on
        text = f"{account['runs']} fits are charged on {told.ledger} so far: {account['balance']}. Further fits add to that; {_ADVICE}"
    else:
        if len(fits) != 2:
            return
        cost = ""
        if None not in fits:
            both = privacy.convert(mu=sum(mu**2 for mu in fits) ** 0.5, delta=told.delta)
            cost = f", for these two epsilon {at_most(both['epsilon'])} at delta {at_most(told.delta)}"
        text = (f"2 private fits of this process have no ledger. On rows of the same people their costs add up{cost}; {_ADVICE}, or "
                "give ledger=")
    _warn_of_fits(text, stacklevel=4)


def _count_sent(estimator):
    """Of an unfitted estimator that is pickled: processes of a search get theirs so, and their warnings are seen by nobody.
    Warns once for each ledger, at the second, and once of those on none."""
    if estimator.random_state is not None or estimator.non_private:
        return
    ledger = None if estimator.ledger is None else os.fspath(estimator.ledger)
    key = _key_of(ledger)
    _sent[key] = _sent.get(key, 0) + 1
    if _sent[key] != 2:
        return
    account = (f"Each of their fits is charged on {ledger}, where `dpreduce ledger show` adds them up" if ledger
               else "Their fits have no ledger, so their costs are not added up; give ledger=")
    _warn_of_fits(f"2 unfitted private estimators were sent to other processes, as searches with n_jobs do. {account}. "
                  f"On rows of the same people their costs add up; {_ADVICE}", stacklevel=2)


class _NamedRows:
    """An array and names of its columns, as scikit-learn looks for them in a data frame."""

    def __init__(self, rows, names):
        self.columns, self.shape = names, rows.shape
        self._rows = rows

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self._rows, dtype)

    def __len__(self):
        return len(self._rows)

    def __dataframe__(self):
        return self

    def column_names(self):
        return self.columns


def _checked_rows(estimator, X, reset):
    """X as an array, not copied where it has floats; n_features_in_ and feature_names_in_ are set, or compared."""
    rows, names = as_rows(X, "X")
    if rows.dtype == np.longdouble:
        raise BadInput("X: elements are long doubles; convert them with .astype(numpy.float32)")
    if rows.dtype.kind in "iu" and rows.dtype.itemsize == 8:
        rows = rows.astype(np.float64)  # as all are where one is a fraction: large integers are then the same
    X = rows if names is None else _NamedRows(rows, names)
    terms = {"dtype": [np.float32, np.float64, np.float16], "reset": reset}  # small integers become float32
    try:
        from sklearn.utils.validation import validate_data  # scikit-learn 1.6
    except ImportError:
        return estimator._validate_data(X, force_all_finite=False, **terms)
    return validate_data(estimator, X, ensure_all_finite=False, **terms)


def _sorted_classes(classes):
    given = list(range(classes) if isinstance(classes, (int, np.integer)) and not isinstance(classes, bool) else classes)
    found = np.unique(np.asarray(given))
    if found.dtype == object:
        raise UsageError("classes: have several types; give all numbers, or all strings")
    if len(found) != len(given):
        raise UsageError("classes: a class is listed twice")
    return found


def _table(rows, caption):
    cells = "".join(f'<tr><th scope="row" style="text-align: left; vertical-align: top">{html.escape(name.replace("_", " "))}</th>'
                    f'<td style="text-align: left">{html.escape(value)}</td></tr>' for name, value in rows)
    return f"<table><caption>{html.escape(caption)}</caption><tbody>{cells}</tbody></table>"


def _are_indices(classes):
    return classes.dtype.kind in "biu" and np.array_equal(classes, np.arange(len(classes)))


def _has_probabilities(estimator):
    """Whether scores of a fitted one have probabilities; of an unfitted one, whether those of its parameters will."""
    if not hasattr(estimator, "classifier_"):
        return estimator._method() in _DESCENDING and estimator.loss != "square"
    return estimator.classifier_.has_probabilities


if typing.TYPE_CHECKING:
    from sklearn.base import BaseEstimator as _Base
    from sklearn.base import ClassifierMixin as _OfClassifiers
    from sklearn.base import RegressorMixin as _OfRegressors
else:
    class _Base:
        """In the place of scikit-learn's base class, until _join_scikit_learn."""

    class _OfClassifiers:
        """The same of what classifiers have more."""

    class _OfRegressors:
        """And of what regressors have more."""


_joining = threading.RLock()


def _join_scikit_learn():
    """Makes scikit-learn's classes the bases of the estimators, as if they had been from the beginning."""
    with _joining:
        if _Base not in _PrivateEstimator.__bases__:
            return
        from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
        from sklearn.utils.metaestimators import available_if
        for name in ("predict_proba", "predict_log_proba"):
            setattr(_PrivateClassifier, name, available_if(_has_probabilities)(getattr(_PrivateClassifier, name)))
        _PrivateEstimator.__bases__ = (_Evaluated, BaseEstimator)
        _PrivateClassifier.__bases__ = (ClassifierMixin, _PrivateEstimator)
        DPRegressor.__bases__ = (RegressorMixin, _PrivateEstimator)
        for joined in (_PrivateEstimator, _PrivateClassifier, *_ESTIMATORS):
            super(joined, joined).__init_subclass__()  # as each was made without them


class _Joining(type):
    """Of a class that has a base's attributes as soon as one of them is asked for."""

    def __getattr__(cls, name):
        if name.startswith("__") or _Base not in _PrivateEstimator.__bases__:
            raise AttributeError(f"type object {cls.__name__!r} has no attribute {name!r}")
        _join_scikit_learn()
        return getattr(cls, name)


class _PrivateEstimator(_Evaluated, _Base, metaclass=_Joining):
    """What is fitted, and what is promised."""

    _MODEL: typing.ClassVar[str]  # the attribute with the core's model

    def __getstate__(self):
        if not self.__sklearn_is_fitted__():
            _count_sent(self)
        return super().__getstate__()

    def __setstate__(self, state):
        _join_scikit_learn()
        super().__setstate__(state)

    def _set_parameters(self, own, options):
        _join_scikit_learn()
        _library.make_picklable(own["comm"])
        for name, value in own.items():
            setattr(self, name, value)
        known = inspect.signature(type(self).__init__).parameters
        for name in options.keys() - known.keys():
            if name not in OTHERWISE | OF_CLASSES:
                _library.core().check_fit_keywords([(name, [""])])  # says what it is like
            raise UsageError(f"{type(self).__name__}: '{name}' is not a parameter of it; see {type(self).__name__}.get_params")
        for name, parameter in known.items():
            if name not in own and name != "self":
                setattr(self, name, options.get(name, parameter.default))

    def __sklearn_is_fitted__(self):
        return hasattr(self, self._MODEL)

    def _method(self) -> str:
        raise NotImplementedError

    def _options(self):
        """Options of `dpreduce fit`, by keyword."""
        known = inspect.signature(type(self).__init__).parameters
        return {**{name: getattr(self, name) for name in _OPTIONS if name in known}, "method": self._method()}

    privacy_: Privacy
    report_: dict[str, typing.Any]

    def _terms(self):
        """What fit_arrays takes beside arrays."""
        seed = None
        if self.random_state is not None:
            seed = self.random_state
            if not isinstance(seed, (int, np.integer)):
                from sklearn.utils.validation import check_random_state
                seed = int(check_random_state(seed).randint(2**31))
        return self.ledger, self.comm, self.progress, {**self._options(), "seed": seed}

    def _keep(self, run):
        """Attributes of a fitted one."""
        setattr(self, self._MODEL, run.classifier)
        self.report_ = run.report
        self.privacy_ = run.privacy
        self._rank = run._rank
        _count_fit(run.privacy, run.account)

    def _rows_of(self, X, public_x, person, sample_weight):
        """The arrays beside what is to be predicted."""
        rows = {"train_x": _checked_rows(self, X, reset=True)}
        rows["feature_names"] = [str(name) for name in getattr(self, "feature_names_in_", [])]
        if public_x is not None:
            rows["public_x"] = _checked_rows(self, public_x, reset=False)
        if person is not None:
            rows["train_person"] = as_persons(person, "person")
        if sample_weight is not None:
            rows["train_weight"] = as_weights(sample_weight, "sample_weight", self.weight_bound)
        return rows

    def _check_is_fitted(self):
        from sklearn.utils.validation import check_is_fitted
        check_is_fitted(self)

    def _rows_to_predict(self, X):
        self._check_is_fitted()
        return _checked_rows(self, X, reset=False)

    def _classifier_to_evaluate(self):
        self._check_is_fitted()
        return getattr(self, self._MODEL)

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Writes the model for `dpreduce predict`, dpreduce.load and `dpreduce export`. A file that is there stays, and BadInput is
        thrown, unless `overwrite`. Every rank may call it: rank 0 writes."""
        save_model(self._classifier_to_evaluate(), self.report_, path, overwrite, self._rank)

    def _linear(self):
        if not self.__sklearn_is_fitted__():
            raise AttributeError("coef_: the model is not fitted; call fit() first")
        return linear_in_features(getattr(self, self._MODEL))

    @property
    def partial_fit(self) -> typing.NoReturn:
        """There is none: AttributeError says what to do."""
        raise AttributeError("partial_fit: noise is added once, to the sum over all rows. For rows in parts make a plan: "
                             "plan = dpreduce.Plan(features=..., ...), plan.partial(X, y, name) of each part, their sum, and "
                             "plan.release(sum) or plan.start()")

    @property
    def set_output(self) -> typing.NoReturn:
        """There is none, as scikit-learn's own classifiers and regressors have none: AttributeError says what to do."""
        raise AttributeError("set_output: says what transformers return, and this predicts; a pipeline's set_output does what it says to "
                             "its other steps. For a data frame: pandas.DataFrame(model.predict_proba(X), X.index, model.classes_)")

    def explain(self) -> str:
        """What is promised, in words."""
        self._check_is_fitted()
        return str(self.privacy_)

    def _what_was_made(self) -> str:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """What was made and promised: four lines, and the rest folded."""
        if not self.__sklearn_is_fitted__():
            return f"<pre>{html.escape(repr(self))}</pre>"
        words = self.privacy_.words
        lines = [("model", f"{method_of(self.report_)}, {self._what_was_made()}, {self.n_features_in_} features")]
        lines += [(heading, words[heading][0]) for heading in ("guarantee", "attacker", "account") if heading in words]
        shown = {sentence for _, sentence in lines}
        rest = [(heading, sentence) for heading, sentences in words.items() for sentence in sentences if sentence not in shown]
        return (_table(lines, f"{type(self).__name__}: what is promised")
                + f"<details><summary>all of it, and what is not promised</summary>{_table(rest, 'The rest')}</details>")

    def _repr_mimebundle_(self, **_):
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


class _PrivateClassifier(_OfClassifiers, _PrivateEstimator):
    """fit and predict of classes."""

    _MODEL = "classifier_"

    def _options(self):
        own = super()._options()
        if self.class_weight is not None:
            is_balanced = isinstance(self.class_weight, str) and self.class_weight == "balanced" and self.objective != "accuracy"
            if not is_balanced and not isinstance(self.class_weight, dict):
                raise UsageError(f"class_weight: {self.class_weight!r} is not supported; give 'balanced', which is "
                                 "objective='balanced', weights of classes as {label: weight}, or leave it out")
            if is_balanced:
                own["objective"] = "balanced"
        return own

    def _classes_of(self, y):
        """The classes, and whether they were taken from `y`."""
        if self.classes is not None:
            return _sorted_classes(self.classes), False
        if _library.ranks_of(self.comm).size > 1:
            raise UsageError("classes: give the public list; each rank sees labels of its own rows alone")
        warnings.warn("classes are taken from the labels of the rows, so the fit is not private: the model may reveal the "
                      "label of one row; give the public list, classes=", DataDependentClassesWarning, stacklevel=5)
        return np.unique(y), True

    def _weights_of(self, classes):
        """Those that class_weight={label: weight} says, one a class; a class that is not listed has 1."""
        weights = np.ones(len(classes))
        for label, weight in self.class_weight.items():
            place = np.flatnonzero(classes == label)
            if len(place) != 1:
                raise UsageError(f"class_weight: {label!r} is none of the classes; give weights by the labels that are in classes=")
            if isinstance(weight, bool) or not isinstance(weight, (int, float, np.integer, np.floating)):
                raise UsageError(f"class_weight: {weight!r}, the weight of {label!r}, is no number")
            weights[place] = weight
        return weights.tolist()

    classes_: NDArray[typing.Any]
    classifier_: _core.Classifier

    def fit(self, X: ArrayLike, y: ArrayLike, *, person: ArrayLike | None = None, public_x: ArrayLike | None = None,
            validation_x: ArrayLike | None = None, validation_y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Trains on the rows of X (n x d) with labels y (n); returns self. With `person`, n integers or strings that say whose
        each row is, the guarantee is for a person, whose rows count for `rows_per_person` together.

        With `sample_weight`, n numbers from 0 to `weight_bound`, a row of weight w counts for w / weight_bound of a row. The bound
        is public, and each weight may depend on its own row alone: weights that are made from counts of rows are not private.

        Floats are read where they lie; integers become float32. Throws BadInput and UsageError, which are ValueErrors, before
        anything is charged; BudgetRefused where the ledger has no room."""
        found = {}

        def arrays():
            require_apart({"X": X, "y": y, "person": person, "sample_weight": sample_weight},
                          {"public_x": public_x, "validation_x": validation_x, "validation_y": validation_y}, may_be_view=True)
            rows = self._rows_of(X, public_x, person, sample_weight)
            if y is None:
                raise BadInput("y: requires y to be passed, but the target y is None; give one label a row")
            from sklearn.utils.multiclass import check_classification_targets
            from sklearn.utils.validation import column_or_1d
            labels = column_or_1d(as_labels(y, "y"), warn=True)
            check_classification_targets(labels)
            classes, are_of_rows = self._classes_of(labels)
            found["classes"] = classes
            if are_of_rows:
                rows["classes_are_of_rows"] = True
            if len(classes) < 2:
                raise BadInput(f"y: classifier needs at least two classes, and there is {len(classes)} class; list all in classes=")
            if _are_indices(classes) and labels.dtype.kind in "iub":
                rows["train_y"], rows["classes"] = labels, len(classes)
            else:
                rows["class_names"] = [str(name) for name in classes]
                rows["train_y"] = indices_of(labels, classes, "y")
            if isinstance(self.class_weight, dict):
                rows["class_weights"] = self._weights_of(classes)
            if validation_x is not None:
                rows["validation_x"] = _checked_rows(self, validation_x, reset=False)
            if validation_y is not None:
                rows["validation_y"] = indices_of(column_or_1d(as_labels(validation_y, "validation_y")), classes, "validation_y")
            return rows

        run = fit_arrays(arrays, *self._terms())
        self.classes_ = found["classes"]
        self._keep(run)
        return self

    def _indices_of_labels(self, y):
        return indices_of(as_labels(y, "y"), self.classes_, "y", unlisted=-1)

    def predict(self, X: ArrayLike) -> NDArray[typing.Any]:
        """The class of each row of X, as `classes_` has it."""
        rows = self._rows_to_predict(X)
        return self.classes_[self.classifier_.labels(rows)]

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """n x K scores; of two classes the second's less the first's."""
        rows = self._rows_to_predict(X)
        scores = self.classifier_.scores(rows)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """n x K probabilities: the model's own word. Not there where scores of the method only rank classes."""
        rows = self._rows_to_predict(X)
        return self.classifier_.probabilities(rows)

    def predict_log_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Logarithms of predict_proba(X), n x K: -inf where a probability is 0. Present if predict_proba is."""
        probabilities = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return np.log(probabilities)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Accuracy on the rows of X, exact, as scikit-learn computes it.

        **It has no noise**: where these rows are private, so is the number, and the model's promise does not cover it. It is for the
        owner of the data, or for public rows. evaluate() and DPScore make a number that may be published, at a cost.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), optional
            What each row counts for.

        Returns
        -------
        float
            The share of rows whose label is predict's.
        """
        return super().score(X, y, sample_weight)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """K x d, of two classes 1 x d: decision_function(X) is X coef_.T + intercept_ where normalize="none", of rows that are not
        longer than `clip`, up to rounding. AttributeError where scores are not linear in features."""
        return self._linear()[0]

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Beside coef_."""
        return self._linear()[1]

    def _linear(self):
        weights, intercept = super()._linear()
        return (weights[1:] - weights[:1], intercept[1:] - intercept[:1]) if len(self.classes_) == 2 else (weights, intercept)

    def _what_was_made(self):
        return predicted_by(self.classifier_)


class DPClassifier(_PrivateClassifier):
    """A private classifier, by any method of `dpreduce fit`.

    Parameters: the budget as epsilon and delta, rho or mu, or non_private=True for a comparison without noise; `classes`, the
    public list of labels, or K for 0 to K-1 (without it they are taken from the rows, and nothing is private); `ledger`, the file that every fit is
    charged to (None: the caller keeps the account); `random_state`, which makes the noise repeatable, so that nothing is
    private; `comm` and `progress` as fit() has them; class_weight="balanced", which is objective="balanced", or class_weight={label:
    weight}, which multiplies the odds of these classes, as `dpreduce export --class-weights` does: a weight is the cost of a missed row over
    that of a false alarm, a public number. All others are options of `dpreduce fit`, below.

    Attributes of a fitted one: `classes_`, `privacy_` (dpreduce.Privacy), `report_` (a dict), `classifier_`,
    `n_features_in_`, of a data frame `feature_names_in_`, and where scores are linear in features `coef_`, `intercept_`.
    """

    def __init__(self, *, epsilon: float | None = None, delta: float | None = None, method: str = "auto",
                 classes: int | typing.Iterable[typing.Any] | None = None, ledger: str | os.PathLike[str] | None = None,
                 random_state: int | np.random.RandomState | None = None, comm: typing.Any = None, progress: bool = False,
                 class_weight: typing.Literal["balanced"] | dict[typing.Any, float] | None = None,
                 **options: Unpack[EstimatorOptions]) -> None:
        self._set_parameters({"epsilon": epsilon, "delta": delta, "method": method, "classes": classes, "ledger": ledger,
                              "random_state": random_state, "comm": comm, "progress": progress,
                              "class_weight": class_weight}, options)

    def _method(self):
        return self.method


class DPMeanClassifier(_PrivateClassifier):
    """Nearest class mean, of means released with noise (`dpreduce fit --method mean`).

    Parameters, attributes and methods are those of DPClassifier, but for `method`.
    """

    def __init__(self, *, epsilon: float | None = None, delta: float | None = None,
                 classes: int | typing.Iterable[typing.Any] | None = None, ledger: str | os.PathLike[str] | None = None,
                 random_state: int | np.random.RandomState | None = None, comm: typing.Any = None, progress: bool = False,
                 class_weight: typing.Literal["balanced"] | dict[typing.Any, float] | None = None,
                 **options: Unpack[EstimatorOptions]) -> None:
        self._set_parameters({"epsilon": epsilon, "delta": delta, "classes": classes, "ledger": ledger,
                              "random_state": random_state, "comm": comm, "progress": progress,
                              "class_weight": class_weight}, options)

    def _method(self):
        return "mean"


class DPRegressor(_OfRegressors, _PrivateEstimator):
    """A private linear model of numbers, by any method of `dpreduce fit --targets`.

    Parameters: the budget as epsilon and delta, rho or mu, or non_private=True for a comparison without noise; `target_range`, public: (lo, hi)
    of all targets, or lo and hi of each, one after the other (without it, or with "private", it is found in the rows, by histograms that are
    charged);
    `ledger`, `random_state`, `comm` and `progress` as DPClassifier has them. All others are options of `dpreduce fit`, below.

    Attributes of a fitted one: `privacy_` (dpreduce.Privacy), `report_` (a dict), `regressor_`, `n_features_in_`, of a data frame
    `feature_names_in_`, and where predictions are linear in features `coef_`, `intercept_`.
    """

    _MODEL = "regressor_"

    def __init__(self, *, epsilon: float | None = None, delta: float | None = None, method: str = "auto",
                 target_range: typing.Sequence[float] | typing.Literal["private"] | None = None, ledger: str | os.PathLike[str] | None = None,
                 random_state: int | np.random.RandomState | None = None, comm: typing.Any = None, progress: bool = False,
                 **options: Unpack[RegressorOptions]) -> None:
        self._set_parameters({"epsilon": epsilon, "delta": delta, "method": method, "target_range": target_range, "ledger": ledger,
                              "random_state": random_state, "comm": comm, "progress": progress}, options)

    def _method(self):
        return self.method

    def _options(self):
        return {**super()._options(), "target_range": self.target_range}

    def _more_tags(self):
        return {"multioutput": True, "poor_score": not self.non_private}  # of few rows noise leaves little

    regressor_: _core.Classifier

    def fit(self, X: ArrayLike, y: ArrayLike, *, person: ArrayLike | None = None, public_x: ArrayLike | None = None,
            sample_weight: ArrayLike | None = None) -> Self:
        """Trains on the rows of X (n x d) with numbers y (n, or n x m); returns self. `person` and `sample_weight` as DPClassifier.fit
        has them.

        Floats are read where they lie; integers become float32. Throws BadInput and UsageError, which are ValueErrors, before
        anything is charged; BudgetRefused where the ledger has no room."""
        def arrays():
            require_apart({"X": X, "y": y}, {"public_x": public_x}, may_be_view=True)
            rows = self._rows_of(X, public_x, person, sample_weight)
            if y is None:
                raise BadInput("y: requires y to be passed, but the target y is None; give one number a row")
            rows["targets"] = as_targets(y, "y")
            self._is_one = rows["targets"].ndim == 1
            return rows

        self._keep(fit_arrays(arrays, *self._terms()))
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """The number of each row of X, n, or n x m where y had m columns."""
        rows = self._rows_to_predict(X)
        numbers = self.regressor_.scores(rows)
        return numbers[:, 0] if self._is_one else numbers

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """R^2 on the rows of X, exact, as scikit-learn computes it.

        **It has no noise**: where these rows are private, so is the number, and the model's promise does not cover it. It is for the
        owner of the data, or for public rows. evaluate() and DPScore make a number that may be published, at a cost.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows.
        y : array-like of shape (n,) or (n, m)
            Numbers.
        sample_weight : array-like of shape (n,), optional
            What each row counts for.

        Returns
        -------
        float
            1 less the squared errors over the squared deviations of y from its mean; of several numbers the mean of theirs.
        """
        return super().score(X, y, sample_weight)

    @property
    def coef_(self) -> NDArray[np.float64]:
        """d, or m x d: predict(X) is X coef_.T + intercept_ where normalize="none", of rows that are not longer than `clip`, up to
        rounding. AttributeError where predictions are not linear in features."""
        weights, _ = self._linear()
        return weights[0] if self._is_one else weights

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """Beside coef_."""
        _, intercept = self._linear()
        return intercept[0] if self._is_one else intercept

    def _what_was_made(self):
        return predicted_by(self.regressor_)


def _hide_weights(fit):
    """Takes sample_weight out of the signature of `fit`, where scikit-learn's tools look whether they may pass some."""
    signature = inspect.signature(fit)
    setattr(fit, "__signature__", signature.replace(
        parameters=[each for name, each in signature.parameters.items() if name != "sample_weight"]))


class _WeightsWhereBounded:
    """A regressor's fit, whose signature has sample_weight where weight_bound is set: by that scikit-learn's tools know that they may
    pass weights on. Where it is not, tools that would make some, such as bagging, draw rows."""

    def __init__(self, fit: typing.Callable[..., typing.Any]) -> None:
        self._weighted = fit
        self._unweighted = types.FunctionType(fit.__code__, fit.__globals__, fit.__name__, fit.__defaults__, fit.__closure__)
        functools.update_wrapper(self._unweighted, fit).__kwdefaults__ = fit.__kwdefaults__
        _hide_weights(self._unweighted)

    def __get__(self, instance, owner=None):
        is_bounded = instance is not None and instance.weight_bound is not None
        return (self._weighted if is_bounded else self._unweighted).__get__(instance, owner)


_ESTIMATORS = (DPClassifier, DPMeanClassifier, DPRegressor)
_HELP = {parameter_of(name): in_keywords(words) for name, words, _ in _library.core().fit_keywords() if name not in OTHERWISE}
_OPTIONS = [name for name in _HELP if name != "method"]
_DESCENDING = set(_library.core().methods_that_descend())  # on a loss: their scores have probabilities, but of squares


def _declare_options(estimator, others):
    """Parameters of the estimator are its own and the options of a fit that are not `others`: for get_params, repr and help()."""
    own = [each for each in inspect.signature(estimator.__init__).parameters.values() if each.kind != each.VAR_KEYWORD]
    names = {each.name for each in own}
    options = [name for name in _OPTIONS if name not in others]
    parameters = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in options if name not in names]
    estimator.__init__.__signature__ = inspect.Signature(own + parameters)
    estimator.__doc__ += "\n    Options:\n" + "".join(f"\n    {name} : {_HELP[name]}" for name in options) + "\n"


for _estimator in _ESTIMATORS:
    _declare_options(_estimator, OF_CLASSES if _estimator is DPRegressor else set())
_hide_weights(_PrivateClassifier.fit)  # tools of scikit-learn that ask for it make weights of counts of rows: boosting
setattr(DPRegressor, "fit", _WeightsWhereBounded(DPRegressor.fit))
if "sklearn.base" in sys.modules:
    _join_scikit_learn()
