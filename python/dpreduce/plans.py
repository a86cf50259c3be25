"""Fits whose rows are in the tasks of an engine: Dask, Spark, Ray or your own.

    plan = dpreduce.Plan(features=768, classes=10, epsilon=1, delta=1e-6, method="fc")      on the driver
    session = plan.start(ledger="ledger.jsonl")
    while session.task is not None:
        task = session.task                                                                 to every worker
        parts = [plan.partial(X, y, partition=name, task=task) for name, X, y in ...]       in the engine's tasks
        session.step(functools.reduce(operator.add, parts))                                 in any order, or tree
    model = session.result()

With rows_per_person the unit is a person. How many rows each has in all partitions is counted first:

    counts = [plan.count(person, partition=name) for name, person in ...]                   in the engine's tasks
    plan = plan.counted(functools.reduce(operator.add, counts))                             on the driver; then as above
    plan.partial(X, y, partition=name, task=task, person=person)

The model is, byte for byte, the one that fit() makes of all rows; with persons where the rows of each lie in one
partition, since a partition clips to its part of a person's rows. Tasks may be retried and duplicated: a partial sum
carries the names of its partitions, and two that share one do not add.
"""
from __future__ import annotations

import json
import os
import typing

from . import _library
from .arrays import as_persons, as_targets, labels_of, names_of, require_apart, rows_like
from .errors import UsageError
from .fitting import FittedRun, fitted_run
from .keywords import words_of

if typing.TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from . import _core
    from ._options import FitOptions

_FORM = "dpreduce plan 1"


def _names_of_features(features):
    """The names, or none where `features` is no list of them."""
    is_list = isinstance(features, (list, tuple)) or (hasattr(features, "tolist") and getattr(features, "ndim", 0) == 1)
    columns = list(features) if is_list else []
    return [str(name) for name in columns] if all(isinstance(name, str) for name in columns) else []


def _number_of(name, value, advice):
    if isinstance(value, bool) or not hasattr(value, "__index__") or not 0 < value.__index__() < 2**31:
        raise UsageError(f"{name}: {value!r} is not a number of {name}; {advice}")
    return value.__index__()


class PartialSum:
    """The exact statistic of some partitions, sealed: without the plan its bytes look random. They add with +. It may be
    pickled, and is read back by the same version of dpreduce alone."""

    def __init__(self, own: _core.PartialSum) -> None:
        self._own = own

    @property
    def partitions(self) -> list[str]:
        """The names of the partitions that it holds, sorted."""
        return self._own.partitions

    def __add__(self, other: PartialSum) -> PartialSum:
        """Of the partitions of both. Throws UsageError naming a partition that is in both, or where they are of two tasks."""
        if not isinstance(other, PartialSum):
            return NotImplemented
        return PartialSum(self._own.plus(other._own))

    def __repr__(self) -> str:
        return f"<dpreduce.PartialSum of {len(self.partitions)} partitions, step {self._own.step}>"


class PersonCounts:
    """How many rows each person has in some partitions, sealed: without the plan its bytes look random, and their number tells
    how many persons there are. They add with +. It may be pickled, and is read back by the same version of dpreduce alone."""

    def __init__(self, own: _core.PersonCounts) -> None:
        self._own = own

    @property
    def partitions(self) -> list[str]:
        """The names of the partitions that it holds, sorted."""
        return self._own.partitions

    def __add__(self, other: PersonCounts) -> PersonCounts:
        """Of the partitions of both. Throws UsageError naming a partition that is in both, or where they are of two plans."""
        if not isinstance(other, PersonCounts):
            return NotImplemented
        return PersonCounts(self._own.plus(other._own))

    def __repr__(self) -> str:
        return f"<dpreduce.PersonCounts of {len(self.partitions)} partitions>"


class Plan:
    """What driver and workers must know of a fit before there are rows. It may be pickled, and then holds the secret that
    opens its partial sums: send it to workers, and publish to_json()."""

    def __init__(self, features: int | typing.Sequence[str], *, targets: int | None = None,
                 class_names: typing.Sequence[str] | None = None, **options: Unpack[FitOptions]) -> None:
        """For rows of so many features, or of data frames with columns of these names in this order. With `targets` a row
        has so many numbers to predict in the place of a label, and the methods are those of fit(targets=). `options` are those of fit() but its arrays and its ledger. With rows_per_person the
        guarantee is for a person, and count() and counted() come before the first partial sum. With silos_per_person beside
        it the plan is for dpreduce.silos, where each silo counts its own persons.

        Throws UsageError where options do not parse or contradict each other, or where a fit needs more than sums over
        all rows: batch, choose, resume, public rows, and methods that choose among public rows."""
        if "ledger" in options:
            raise UsageError("ledger: a plan has no ledger; give it to start() or release()")
        columns = _names_of_features(features)
        count = len(columns) or _number_of("features", features, "give the number of features of a row, or their names")
        names = names_of(class_names) or []
        self._declared: dict[str, typing.Any] = {"features": columns or count, "class_names": names,
                                               "options": dict(words_of(options))}
        if targets is not None:
            self._declared["targets"] = _number_of("targets", targets, "give the number of targets of a row, or leave it out")
        self._own = _library.core().TravelingPlan(list(self._declared["options"].items()),
                                                  count, self._declared.get("targets", 0), names, columns)

    def _labels(self, y, unlisted=None):
        """Labels as indices of the plan's classes, or numbers. For a label that is not listed, as indices_of."""
        return as_targets(y, "y") if "targets" in self._declared else labels_of(y, "y", self._declared["class_names"] or None, unlisted)

    def _rows(self, X):
        columns = _names_of_features(self._declared["features"])
        return rows_like(columns, "in the plan", X, "X", need_names=True)

    def to_json(self) -> str:
        """What is public of the plan. Plan.from_json makes of it a plan with a secret of its own."""
        return json.dumps({"format": _FORM, **self._declared}, indent=2, sort_keys=True) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Throws UsageError where the text is no plan, and as Plan."""
        try:
            stated = json.loads(text)
            if not isinstance(stated, dict) or stated.get("format") != _FORM:
                raise ValueError(f"its format is not {_FORM!r}")
            options, names = stated["options"], stated["class_names"]
            return cls(stated["features"], targets=stated.get("targets"), class_names=names or None, **{name.replace("-", "_"): value for name, value in options.items()})
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, UsageError):
                raise
            raise UsageError(f"plan: {error}; give the text that Plan.to_json wrote") from error

    def count(self, person: ArrayLike, partition: typing.Any) -> PersonCounts:
        """The persons of one partition: whose each of its rows is, integers or strings. Names of partitions as partial() has
        them.

        Throws BadInput where identifiers are missing, or no integers or strings; UsageError where the unit is a row."""
        return PersonCounts(self._own.count(as_persons(person, "person"), str(partition)))

    def counted(self, counts: PersonCounts) -> Plan:
        """The plan with the counts of all partitions, for the session and for every worker. Its partial sums must be of exactly
        these partitions, with the persons that were counted in each. It holds hashes of persons who are in several.

        Throws UsageError where `counts` are of another plan; AggregationAborted where they were changed on the way."""
        if not isinstance(counts, PersonCounts):
            raise UsageError(f"counted: {type(counts).__name__} is not a count of persons; give the sum of the results of Plan.count")
        plan = object.__new__(Plan)
        plan._declared, plan._own = self._declared, self._own.counted(counts._own)
        return plan

    def partial(self, X: ArrayLike, y: ArrayLike, partition: typing.Any, task: _core.Task | None = None,
                threads: int = 1, *, person: ArrayLike | None = None) -> PartialSum:
        """The partial sum of the rows of one partition (n x d, and n labels, or n x m numbers), for the task of a session; without one for
        the first task. `partition` is a name that no other partition has: the same rows have the same name whenever they
        are summed up. No row is in two partitions. `person` says whose each row is, where the plan has
        rows_per_person. Where the plan has names of columns, X is a data frame with these.

        Throws BadInput where rows, labels or identifiers do not fit, or the partition was counted with other persons; UsageError
        where the partition has no name, or was not counted."""
        require_apart({"X": X, "y": y}, {})
        task = self._own.first_task() if task is None else task
        persons = None if person is None else as_persons(person, "person")
        return PartialSum(self._own.partial(task, self._rows(X), self._labels(y), persons, str(partition), threads))

    def start(self, ledger: str | os.PathLike[str] | None = None,
              expected_partitions: typing.Iterable[typing.Any] | None = None) -> Session:
        """A fit that waits for its sums. It is charged to `ledger`; without one the caller keeps the account. With
        `expected_partitions` a sum that lacks one, or holds another, is refused by name.

        Throws UsageError, BadInput, BudgetRefused, LedgerCorrupt as fit()."""
        return Session(self, ledger, expected_partitions)

    def release(self, total: PartialSum, ledger: str | os.PathLike[str] | None = None,
                expected_partitions: typing.Iterable[typing.Any] | None = None) -> FittedRun:
        """The result of a fit with one task, as that of method "mean" is. Throws UsageError, before anything is charged,
        where the fit has more tasks than one, or `total` is no partial sum; else as Session.step."""
        if not isinstance(total, PartialSum):
            raise UsageError(f"release: {type(total).__name__} is not a partial sum; give the sum of the results of Plan.partial")
        if self._own.tasks != 1:
            raise UsageError("release: this fit has several tasks, each of which needs the release before it; "
                             "use start(), then step() for each")
        session = self.start(ledger, expected_partitions)
        session.step(total)
        return session.result()

    def __repr__(self) -> str:
        features = self._declared["features"]
        return f"<dpreduce.Plan: {features if isinstance(features, int) else len(features)} features, {self._own.classes} classes>"


class Session:
    """A fit on the driver. It ends with the process that has started it; what it has charged until then stays charged."""

    def __init__(self, plan: Plan, ledger: str | os.PathLike[str] | None, expected_partitions: typing.Iterable[typing.Any] | None) -> None:
        self._ledger = None if ledger is None else os.fspath(ledger)
        if isinstance(expected_partitions, (str, bytes, int)):
            raise UsageError(f"expected_partitions: {expected_partitions!r} is not a list of names; give the name of each partition")
        expected = None if expected_partitions is None else [str(name) for name in expected_partitions]
        self._own = _library.core().Session(plan._own, self._ledger, expected)
        self._result: FittedRun | None = None

    @property
    def task(self) -> _core.Task | None:
        """What the next sum is of, with the weights that it is taken at: send it to the workers. None when the fit has
        ended."""
        return self._own.task

    def step(self, total: PartialSum) -> None:
        """Takes the sum over all partitions for `task`, charges and releases what is made of it, and trains on to the next
        task. Throws UsageError where the sum is of another task, or partitions are missing, and AggregationAborted where
        it was changed on the way: then it still waits. BudgetRefused, LedgerCorrupt and BadInput end the session, and each
        later call throws them again. After KeyboardInterrupt look at `task`: where it has moved on, the sum was taken."""
        if not isinstance(total, PartialSum):
            raise UsageError(f"step: {type(total).__name__} is not a partial sum; give the sum of the results of Plan.partial")
        if self.task is None:
            raise UsageError("step: the fit has ended; call result()")
        self._own.give(total._own)

    def result(self) -> FittedRun:
        """What the fit has made. Throws UsageError before it has ended."""
        if self.task is not None:
            raise UsageError("result: the fit waits for the sum of its task; give it with step()")
        if self._result is None:
            classifier, told = self._own.fitted()
            self._result = fitted_run(classifier, told, self._ledger, 0)
        return self._result
