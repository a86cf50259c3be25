"""Models in files: what they say, and the library's predictions.

A file is a safetensors file (docs/reference/files.md). It is parsed, never executed. Where the library is not, an
ONNX graph does the same: `python3 -m dpreduce onnx`.
"""
from __future__ import annotations

import json
import os
import typing

import numpy

from . import _library
from .arrays import rows_to_score
from .errors import UsageError
from .evaluation import _Evaluated
from .promise import at_most

if typing.TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from . import _core

__all__ = ["Model", "load"]


def load(path: str | os.PathLike[str]) -> Model:
    """The model in a file that `dpreduce fit` wrote.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    Model

    Raises
    ------
    BadInput
        Where the file cannot be read, is cut off, is no safetensors file, was not written by dpreduce or by a newer
        version, or lacks what a model needs.
    """
    return Model(_library.core().load(os.fspath(path)))


class Model(_Evaluated):
    """A classifier, read from a file.

    Attributes
    ----------
    method : str
        The method that trained it.
    classes : numpy.ndarray or None
        0, 1, ..., K - 1: what predict returns. None where the model predicts numbers.
    targets : int or None
        How many numbers it predicts of a row, where it does.
    class_names : list of str or None
        Name k is that of class k.
    n_features : int
        d_in.
    feature_names : list of str or None
        Of the columns of the data frame or table that it was trained on. A data frame with others, or in another order, is refused.
    privacy : dict
        What the file says was promised: "private", and of private models "epsilon", "delta", "mu", "rho" (None where
        there is none), "adjacency" and "unit": "record", a row, or "person", with any number of rows. Then
        "rows_per_person" is what a person's rows count for together, and "silos_per_person" the most silos of a person,
        where that was promised (else None).
        Of a model that is not private though its sums had noise, "forfeited_by" is why, where that was no seed. A statement,
        not a proof.
    link : str or None
        "softmax" or "sigmoid", where scores have probabilities.
    threshold : float or None
        Threshold: a row gets each class with at least this score, if rows may have several classes.
    """

    def __init__(self, classifier: _core.Classifier) -> None:
        self._classifier = classifier
        metadata = classifier.metadata
        self.method = classifier.method
        self.targets = classifier.classes if classifier.predicts_numbers else None
        self.classes = None if classifier.predicts_numbers else numpy.arange(classifier.classes)
        self.class_names = classifier.class_names or None
        self.n_features = classifier.input_dim
        self.feature_names = classifier.feature_names or None
        self.privacy = _with_unit(json.loads(metadata["privacy"]))
        self.link = metadata.get("link")
        self.threshold = classifier.threshold

    def __repr__(self) -> str:
        if not self.privacy["private"]:
            promise = "not private"
        elif self.privacy["epsilon"] is not None:
            promise = f"epsilon {at_most(self.privacy['epsilon'])}, delta {at_most(self.privacy['delta'])}"
        else:
            stated = "rho" if self.privacy["mu"] is None else "mu"
            promise = f"{stated} {at_most(self.privacy[stated])}"
        if self.privacy.get("unit") == "person":
            promise += " of one person"
        return f"<dpreduce model: {self.method}, {predicted_by(self._classifier)}, {self.n_features} features, {promise}>"

    def _classifier_to_evaluate(self):
        return self._classifier

    def decision_function(self, x: ArrayLike) -> NDArray[numpy.float64]:
        """scores(x), n x K: what `dpreduce predict --scores` writes, in double precision. Where the model predicts m numbers, n x m
        of these.

        x : array of shape (n, d_in), of a real type. Values are taken as float32, as the program takes them.
        Raises BadInput where the shape differs, or a row has a NaN or an infinity.
        """
        return self._classifier.scores(rows_to_score(self._classifier, x))

    scores = decision_function

    def predict(self, x: ArrayLike) -> NDArray[typing.Any]:
        """The class of each row, n: of the largest score, of equal ones the smallest; or its number, n, and n x m of several. As
        decision_function."""
        return predictions_of(self._classifier, rows_to_score(self._classifier, x))

    def predict_names(self, x: ArrayLike) -> NDArray[numpy.str_]:
        """The same as an array of names. UsageError where the model has none."""
        if self.class_names is None:
            raise UsageError("the model has no class names: use predict, which returns class indices")
        return numpy.asarray(self.class_names)[self.predict(x)]

    def predict_sets(self, x: ArrayLike, threshold: float | None = None) -> NDArray[numpy.bool_]:
        """n x K booleans: is the score of a class at least `threshold`, or the model's? As decision_function."""
        if threshold is None:
            threshold = self.threshold
        if threshold is None:
            raise UsageError("the model has no threshold, since its scores only rank classes: pass threshold=")
        return self.decision_function(x) >= threshold

    def predict_proba(self, x: ArrayLike) -> NDArray[numpy.float64]:
        """n x K probabilities: the model's own word, and no calibrated frequency. As decision_function.

        Raises UsageError where scores only rank classes (`link` is None).
        """
        return self._classifier.probabilities(rows_to_score(self._classifier, x))

    probabilities = predict_proba


def predictions_of(classifier, rows):
    """The class index of each row, n; or its number, n, and n x m of several."""
    if not classifier.predicts_numbers:
        return classifier.labels(rows)
    numbers = classifier.scores(rows)
    return numbers[:, 0] if numbers.shape[1] == 1 else numbers


def predicted_by(classifier):
    """What a model predicts, in words."""
    if not classifier.predicts_numbers:
        return f"{classifier.classes} classes"
    return "a number" if classifier.classes == 1 else f"{classifier.classes} numbers"


def linear_in_features(classifier):
    """(W, b), K x d_in and K: scores of a raw row x are W x + b, where no step has shortened the row to the clip norm or held a column to
    its range, and but for the rounding of rows that are projected. Throws AttributeError where scores are not linear."""
    parts = classifier.parts
    if classifier.metadata["normalize"] != "none":
        raise AttributeError("coef_: each row is scaled to one length before it is scored, so scores are not linear in its "
                             "features; for linear scores fit with normalize='none' and clip=")
    if parts["prototypes"].size:
        raise AttributeError("coef_: scores are the sum of two softmax (warm_start), and not linear in features")
    weights = parts["weights"].reshape(classifier.classes, -1)
    pooled = -(-classifier.input_dim // parts["pool"])
    projection = parts["projection"].reshape(-1, pooled)
    if parts["selected"]:
        kept, weights = weights, numpy.zeros((classifier.classes, len(projection) or pooled))
        weights[:, parts["selected"]] = kept
    if projection.size:
        weights = weights @ projection
    intercept = parts["bias"]
    if parts["center"].size:
        weights = weights * parts["center_factor"]
        intercept = intercept - weights @ parts["center"]
    group = numpy.arange(classifier.input_dim) // parts["pool"]
    weights = weights[:, group] / numpy.bincount(group)[group]
    if parts["column_scale"].size:
        weights = weights / parts["column_scale"]
        intercept = intercept - weights @ parts["column_center"]
    return weights, intercept


def _with_unit(statement):
    """What the file leaves out of a promise, since it goes without saying, is said."""
    if not statement["private"]:
        return statement
    statement = {"unit": "record"} | statement
    return {"silos_per_person": None} | statement if statement["unit"] == "person" else statement
