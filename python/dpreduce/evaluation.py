"""How good a model is on private rows: figures with noise, each with an interval."""
from __future__ import annotations

import contextlib
import json
import math
import os
import typing
import warnings

from . import _library
from .arrays import as_persons, as_targets, labels_of, rows_to_score
from .errors import PrivacyWarning, UsageError, in_keywords, warn_of
from .keywords import words_of
from .promise import at_most

if typing.TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from . import _core

__all__ = ["DPScore", "Evaluation"]

# A scorer's name of a figure -> the word of `metrics` that asks for it, its key, and 1 where larger is better
_SCORES = {
    "accuracy": ("accuracy", "accuracy", 1),
    "balanced_accuracy": ("recall", "balanced_accuracy", 1),
    "top_k_accuracy": ("topk", "top_k", 1),
    "roc_auc": ("auc", "auc", 1),
    "neg_log_loss": ("logloss", "log_loss", -1),
    "neg_brier_score": ("brier", "brier", -1),
    "r2": ("r2", "r2", 1),
    "neg_root_mean_squared_error": ("rmse", "rmse", -1),
}


class Evaluation:
    """What a model is on private rows. The same on every rank. Each figure is an attribute: `evaluation.accuracy` is
    {"value", "low", "high", "noise"}, `evaluation.recall` a list of these, one a class."""

    def __init__(self, report: dict[str, typing.Any], account: dict[str, typing.Any] | None) -> None:
        self.report = report  #: as `dpreduce evaluate --private --report` writes it
        self.account = account  #: of the ledger after this: {"runs", "balance"}; None where none was charged
        self.metrics = report["metrics"]  #: name -> figure. "value" is None where there is too little data to say anything
        self.level = report["level"]  #: probability with which each interval, from "low" to "high", holds the truth

    def __getattr__(self, name: str) -> typing.Any:
        if name in self.__dict__.get("metrics", ()):
            return self.metrics[name]
        raise AttributeError(f"the evaluation has no '{name}'; it has {', '.join(self.__dict__.get('metrics', ()))}. Choose metrics "
                             "with metrics= when you evaluate")

    def __repr__(self) -> str:
        told = self.report["privacy"]
        promise = f"epsilon {at_most(told['epsilon'])} at delta {at_most(told['delta'])}" if self.report["private"] else "not private"
        figures = [_words_of(name, figure) for name, figure in self.metrics.items() if isinstance(figure, dict) and "value" in figure]
        return f"<dpreduce.Evaluation: {', '.join([*figures, promise])}>"


def _words_of(name, figure):
    digits = ".6g" if name == "rmse" else ".3f"  # in units of the numbers, which may be small
    name = name.replace("_", " ")
    if figure["value"] is None:
        return f"{name} unknown: too little data"
    return f"{name} {figure['value']:{digits}} ({figure['low']:{digits}} to {figure['high']:{digits}})"


def evaluate_classifier(classifier, X, labels, person, ledger, comm, options):
    """Evaluation of a classifier of the core on rows X; `labels()` returns their class indices. What X, labels and persons raise
    ends the call on all ranks."""
    def arrays():
        rows = {"train_x": rows_to_score(classifier, X), "targets" if classifier.predicts_numbers else "train_y": labels()}
        if person is not None:
            rows["train_person"] = as_persons(person, "person")
        return rows

    core = _library.core()
    ranks = _library.ranks_of(comm)
    path = None if ledger is None else os.fspath(ledger)
    metrics = options.get("metrics")
    if metrics is not None and not isinstance(metrics, str):
        options = {**options, "metrics": ",".join(metrics)}
    keywords = words_of({**options, "ledger": path})
    with _library.one_at_a_time if ranks.size > 1 else contextlib.nullcontext():
        told = json.loads(core.evaluate(classifier, arrays, keywords, path is not None, ranks))
    if ranks.rank == 0 and "warning" in told["report"]["privacy"]:
        warn_of(in_keywords(told["report"]["privacy"]["warning"]))
    if ranks.rank == 0 and told["report"]["figures"] == "forfeited":
        warn_of(in_keywords(told["report"]["note"]))
    return Evaluation(told["report"], told.get("account"))


class _Evaluated:
    """What has a classifier of the core, for evaluate()."""

    def _classifier_to_evaluate(self) -> _core.Classifier:
        raise NotImplementedError

    def _indices_of_labels(self, y: ArrayLike) -> typing.Any:
        classifier = self._classifier_to_evaluate()
        return as_targets(y, "y") if classifier.predicts_numbers else labels_of(y, "y", classifier.class_names or None, unlisted=-1)

    def evaluate(self, X: ArrayLike, y: ArrayLike, *, epsilon: float | None = None, delta: float | None = None,
                 metrics: str | typing.Sequence[str] | None = None, level: float | None = None,
                 ledger: str | os.PathLike[str] | None = None, person: ArrayLike | None = None, comm: typing.Any = None,
                 **options: typing.Any) -> Evaluation:
        """How good the model is on the rows of X (n x d) with labels y (n), or numbers (n, or n x m), told with noise: an Evaluation,
        whose figures have intervals.

        One release of exact integer counts c + N(0, sigma^2), in which a row changes each count by at most 1, at (epsilon, delta) in
        all. An interval holds the truth about rows like these with probability `level` (0.95): it knows the noise, and that
        the rows are a sample. What is asked for is public and shares the budget: `metrics`, names as `dpreduce evaluate
        --metrics` has them, by default accuracy, recall by class and their mean; of numbers R^2 and RMSE.

        Each call is charged on `ledger`; with None the caller keeps the account. `person` says whose each row is, n integers or
        strings: the guarantee is then for a person, whose rows count for `rows_per_person` together. With `comm` of mpi4py every rank
        gives rows of its own and gets the same figures. Further `options` are those of `dpreduce evaluate --private`: rho, mu,
        top_k, seed, public_model, adjacency, accountant, rows_per_person, budget_epsilon, budget_delta, bad_rows, resume.

        The guarantee is no better than the model's. A model without noise, with a seed, or with classes taken from the rows is not
        private, and with `person` neither is a model for records. Then the evaluation is not private either, says so, and names
        neither the model nor its classes. With `public_model=True` you declare the model public, and report and ledger repeat this.
        A label that the model does not know is an error of the model: its row counts as wrong.

        Rows that the model was trained on must be on the ledger of that fit, so that both are added up. Other records have a
        ledger of their own.

        Throws UsageError where options, metrics and model do not go together; BadInput of rows and labels; both before anything is
        charged. BudgetRefused where the ledger has no room; LedgerCorrupt."""
        return evaluate_classifier(self._classifier_to_evaluate(), X, lambda: self._indices_of_labels(y), person, ledger, comm,
                                   {"epsilon": epsilon, "delta": delta, "metrics": metrics, "level": level, **options})


class DPScore:
    """A scorer for scikit-learn, as `scoring=` of cross_val_score and searches: a figure of `estimator` on (X, y), with noise.

    Each call is a release, charged on `ledger`: n splits are n charges on their test rows, beside those of the n fits. Rows are in one
    test split alone, but the ledger does not know that, and adds all up. That holds where one row moves no other from split to split:
    give cv=dpreduce.RowFolds(n), as scikit-learn's own splitters look at all rows. `metric` is accuracy, balanced_accuracy,
    top_k_accuracy, roc_auc, neg_log_loss or neg_brier_score, of numbers r2 or neg_root_mean_squared_error: larger is better. Estimators
    are dpreduce's own, or `model`, a model that is there already, which is then called with the estimator None. Further options are those
    of evaluate().

    Returns the figure's value, a float: NaN, with a warning, where there is too little data to say anything. `last_evaluation` has its
    interval. Throws UsageError of an estimator that is not dpreduce's: a pipeline, too. Transform its rows first, and evaluate its last
    step. Else as evaluate()."""

    def __init__(self, model: typing.Any = None, *, epsilon: float | None = None, delta: float | None = None, metric: str = "accuracy",
                 ledger: str | os.PathLike[str] | None = None, **options: typing.Any) -> None:
        if metric not in _SCORES:
            raise UsageError(f"metric: {metric!r} is not one of {', '.join(_SCORES)}")
        self.model, self.metric = model, metric
        self.options = {"epsilon": epsilon, "delta": delta, "ledger": ledger, **options}
        self.last_evaluation: Evaluation | None = None  #: of the last call in this process

    def __call__(self, estimator: typing.Any, X: ArrayLike, y: ArrayLike) -> float:
        """The figure of the estimator, or of `model` where that is None, on the rows of X with labels y."""
        if (estimator is None) == (self.model is None):
            raise UsageError("estimator: give an estimator, or give DPScore a model and pass None here")
        model = self.model if estimator is None else estimator
        if not isinstance(model, _Evaluated):
            raise UsageError(f"estimator: {type(model).__name__} is not a dpreduce model, so its score of a row may depend on other rows; give "
                             "a DPClassifier, a FittedRun or a Model; for a pipeline, transform the rows and give its last step")
        word, key, sign = _SCORES[self.metric]
        self.last_evaluation = model.evaluate(X, y, metrics=word, **self.options)
        value = self.last_evaluation.metrics[key]["value"]
        if value is None:
            warnings.warn(f"{self.metric}: too little data for a useful interval at this budget", PrivacyWarning, stacklevel=2)
            return math.nan
        return sign * value

    def __repr__(self) -> str:
        return f"DPScore(metric={self.metric!r}, {', '.join(f'{name}={value!r}' for name, value in self.options.items() if value is not None)})"
