"""fit(): a private classifier, or a private model of numbers, from arrays."""
from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import typing

from . import _library
from .arrays import as_persons, as_rows, as_targets, as_weights, labels_of, names_of, require_apart, rows_like, rows_to_score
from .errors import UsageError, in_keywords, warn_of
from .evaluation import _Evaluated
from .keywords import words_of
from .model import predicted_by, predictions_of
from .promise import Privacy, at_most, privacy_of, method_of

if typing.TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
    from typing_extensions import Unpack

    from . import _core
    from ._options import FitOptions


class FittedRun(_Evaluated):
    """What a fit made. The same on every rank."""

    def __init__(self, classifier: _core.Classifier, report: dict[str, typing.Any], account: dict[str, typing.Any] | None,
                 ledger: str | None, rank: int, timings: dict[str, float]) -> None:
        self.classifier = classifier  #: scores rows: predict, scores and probabilities are its
        self.report = report  #: as `dpreduce fit --report` writes it; "model" once it is saved
        self.account = account  #: of the ledger after this fit: {"runs", "balance"}; None where none was charged
        self._ledger, self._rank = ledger, rank
        self.timings = timings  #: {phase: seconds} of rank 0. They tell of rows: for the data's owner, and in no file
        self._privacy: Privacy | None = None

    @property
    def privacy(self) -> Privacy:
        """What is promised."""
        if self._privacy is None:
            self._privacy = privacy_of(self.report, self._ledger, self.account)
        return self._privacy

    def __getstate__(self) -> dict[str, typing.Any]:
        return {**self.__dict__, "timings": {}}  # a pickle has readers

    def explain(self) -> str:
        """What is promised, in words."""
        return str(self.privacy)

    def predict(self, X: ArrayLike) -> NDArray[typing.Any]:
        """The class index of each row of X (n x d), an array of n; or its number, and n x m of several. Rows are read where they lie, in
        blocks."""
        return predictions_of(self.classifier, rows_to_score(self.classifier, X))

    def scores(self, X: ArrayLike) -> NDArray[np.float64]:
        """n x K scores: the largest is the class's. n x m numbers where the model predicts these."""
        return self.classifier.scores(rows_to_score(self.classifier, X))

    def probabilities(self, X: ArrayLike) -> NDArray[np.float64]:
        """n x K, the model's own word. Throws UsageError where scores of the method only rank classes."""
        return self.classifier.probabilities(rows_to_score(self.classifier, X))

    def _classifier_to_evaluate(self):
        return self.classifier

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Writes the model, byte for byte as `dpreduce fit --out` does. A file that is there stays, and BadInput is thrown,
        unless `overwrite`. Every rank may call it: rank 0 writes."""
        save_model(self.classifier, self.report, path, overwrite, self._rank)

    def __repr__(self) -> str:
        told = self.report["privacy"]
        promise = f"epsilon {at_most(told['epsilon'])} at delta {at_most(told['delta'])}" if self.report["private"] else "not private"
        return f"<dpreduce.FittedRun: {method_of(self.report)}, {predicted_by(self.classifier)}, {promise}>"


def save_model(classifier, report, path, overwrite, rank):
    """Writes the model of a fit, on rank 0; the report says where."""
    path = os.fspath(path)
    if rank == 0:
        classifier.save(path, overwrite)
    report["model"] = path


class _Bar:
    """How far passes over rows are: one bar of tqdm, which each pass fills again; without tqdm a line now and then."""

    _SECONDS = 5  #: at least, between two lines

    def __init__(self):
        self.bar, self.tqdm, self._next = None, None, 0.0
        with contextlib.suppress(ImportError):
            from tqdm.auto import tqdm
            self.tqdm = tqdm

    def __call__(self, doing, share):
        if self.tqdm is None:
            self._print(doing, share)
            return
        if self.bar is None:
            self.bar = self.tqdm(total=100, unit="%", leave=False)
        self.bar.set_description(doing, refresh=False)
        self.bar.n = round(100 * share)
        self.bar.refresh()

    def _print(self, doing, share):
        now = time.monotonic()
        if now >= self._next:
            print(f"dpreduce: {doing}, {share:.0%}", file=sys.stderr)
            self._next = now + self._SECONDS

    def close(self):
        if self.bar is not None:
            self.bar.close()


def fit(X: ArrayLike, y: ArrayLike | None = None, *, targets: ArrayLike | None = None, person: ArrayLike | None = None, public_x: ArrayLike | None = None, validation_x: ArrayLike | None = None,
        validation_y: ArrayLike | None = None, sample_weight: ArrayLike | None = None,
        class_names: typing.Sequence[str] | None = None,
        ledger: str | os.PathLike[str] | None = None, comm: typing.Any = None, progress: bool = False,
        **options: Unpack[FitOptions]) -> FittedRun:
    """Trains a private classifier on the rows of X (n x d) with labels y, or a private model of their numbers `targets` (n, or n x m),
    and returns a FittedRun.

    X is of float16, float32 or float64, with any strides, memory-mapped or not, and is not copied. Data frames (pandas, polars,
    Arrow) with columns of other types are copied; names of columns go into the model, and must be the same on every rank. y has n
    class indices of an integer type, or names that `class_names` lists, or with max_labels n x K zeros and ones.

    `person` says whose each row is, n integers or strings (7 and "7" are one person): then the guarantee is for a person
    with any number of rows, on any ranks, whose rows count for `rows_per_person` together (default 1).

    With `sample_weight`, n numbers from 0 to `weight_bound`, a row of weight w counts for w / weight_bound of a row. The bound is
    public, and each weight may depend on its own row alone.

    `options` are those of `dpreduce fit`, with the same names, defaults and messages: classes, epsilon, delta, method,
    center, seed, ... (`--center-share 0.05` is center_share=0.05). `public_x`, `validation_x` and `validation_y` are arrays.

    `ledger` is the file that the fit is charged to. None: none is; the caller keeps the account of what all fits on these
    rows cost together.

    Under mpirun every rank calls it with rows of its own, and gets the same model: `comm` is None or MPI.COMM_WORLD of
    mpi4py. A communicator of one process fits on its rows alone. Where it fails on a rank, it fails on all of them with
    an exception of the same class.

    With `progress` rank 0 shows how far each pass over rows is: by tqdm where that is installed, else by a line of standard error
    every few seconds.

    Throws UsageError, BadInput, BudgetRefused, LedgerCorrupt, ResumeMismatch, AggregationAborted; KeyboardInterrupt on
    Ctrl-C. What is wrong with options or arrays is found before anything is charged."""
    names = names_of(class_names)

    if (y is None) == (targets is None):
        raise UsageError("y: give either labels, or numbers as targets=")

    def arrays():
        require_apart({"X": X, "y": y, "targets": targets, "person": person, "sample_weight": sample_weight},
                      {"public_x": public_x, "validation_x": validation_x, "validation_y": validation_y})
        x, columns = as_rows(X, "X")
        rows = {"train_x": x, "feature_names": columns or []}
        rows |= {"train_y": labels_of(y, "y", names)} if targets is None else {"targets": as_targets(targets, "targets")}
        for name, value in (("public_x", public_x), ("validation_x", validation_x)):
            if value is not None:
                rows[name] = rows_like(columns, "in X", value, name)
        if person is not None:
            rows["train_person"] = as_persons(person, "person")
        if sample_weight is not None:
            rows["train_weight"] = as_weights(sample_weight, "sample_weight", options.get("weight_bound"))
        if validation_y is not None:
            rows["validation_y"] = labels_of(validation_y, "validation_y", names)
        if names is not None:
            rows["class_names"] = names
        return rows

    return fit_arrays(arrays, ledger, comm, progress, options)


def fit_arrays(arrays, ledger, comm, progress, options):
    """fit() on what `arrays()` returns, {"train_x": array, ...}, which is called when all ranks are there: what it raises
    ends the fit on all of them."""
    core = _library.core()
    ranks = _library.ranks_of(comm)
    path = None if ledger is None else os.fspath(ledger)
    keywords = words_of({**options, "ledger": path})
    bar = _Bar() if progress and ranks.rank == 0 else None
    try:
        if ranks.size == 1:
            classifier, told = core.fit(arrays, keywords, path is not None, ranks, bar)
        else:
            with _library.one_at_a_time:
                classifier, told = core.fit(arrays, keywords, path is not None, ranks, bar)
    finally:
        if bar is not None:
            bar.close()
    return fitted_run(classifier, told, path, ranks.rank)


def fitted_run(classifier, words, ledger, rank):
    """A FittedRun of what the core has told; warns of what is promised weakly."""
    told = json.loads(words)
    report = told["report"]
    report.pop("model", None)
    if rank == 0 and "warning" in report["privacy"]:
        warn_of(in_keywords(report["privacy"]["warning"]))
    return FittedRun(classifier, report, told.get("account"), ledger, rank, told["timings"])
