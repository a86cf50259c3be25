"""Fits on Dask arrays and data frames: each worker sums up the partitions that it holds, and no row leaves it.

    import dpreduce.dask
    run = dpreduce.dask.fit(X, y, classes=10, epsilon=1, delta=1e-6, ledger="ledger.jsonl")
"""
from __future__ import annotations

import contextlib
import os
import typing

from .errors import BadInput
from .fitting import FittedRun, _Bar
from .frames import names_of_columns
from .plans import PartialSum, PersonCounts, Plan

if typing.TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import FitOptions

_SUMMED_AT_ONCE = 8  # a node of the tree


def _pieces(rows, name):
    """The row partitions of a collection, each as a task that gives its rows whole."""
    if hasattr(rows, "to_dask_array"):  # a data frame or series
        return rows.to_delayed()
    if not hasattr(rows, "to_delayed"):
        raise BadInput(f"{name}: is not a Dask array or data frame; convert it, or use dpreduce.fit for rows in memory")
    if rows.ndim == 2:
        rows = rows.rechunk({1: -1})
    return rows.to_delayed().ravel().tolist()


def _cut(X, **others):
    """The partitions of X and of what else there is, each None or cut as X is."""
    xs = _pieces(X, "X")
    pieces = [xs]
    for name, rows in others.items():
        own = [None] * len(xs) if rows is None else _pieces(rows, name)
        if len(own) != len(xs):
            raise BadInput(f"X has {len(xs)} partitions of rows and {name} has {len(own)}; give both the same partitions (rechunk, repartition)")
        pieces.append(own)
    return pieces


def _features(rows):
    """How many, or the names of a data frame's columns."""
    if hasattr(rows, "columns"):
        return names_of_columns(rows._meta, "X") or len(rows.columns)
    if not hasattr(rows, "ndim"):
        _pieces(rows, "X")
    if rows.ndim != 2:
        raise BadInput(f"X: has {rows.ndim} dimensions; rows of features have two, n x d")
    return rows.shape[1]


def _partial(plan, task, x, y, person, name):
    return plan.partial(x, y, name, task, person=person)


def _count(plan, person, name):
    return plan.count(person, name)


def _sum(parts):
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _sum_in_a_tree(parts, client):
    import dask
    while len(parts) > 1:
        parts = [dask.delayed(_sum, pure=False)(parts[first:first + _SUMMED_AT_ONCE])
                 for first in range(0, len(parts), _SUMMED_AT_ONCE)]
    if client is None:
        return parts[0].compute()
    return client.compute(parts[0]).result()


def counts_of(plan: Plan, person: typing.Any, client: typing.Any = None) -> PersonCounts:
    """The persons of all partitions, for Plan.counted. Throws what Plan.count throws, on the worker."""
    import dask
    plan = dask.delayed(plan, pure=False)
    return _sum_in_a_tree([dask.delayed(_count, pure=False)(plan, piece, str(place))
                           for place, piece in enumerate(_pieces(person, "person"))], client)


def sum_of(plan: Plan, task: typing.Any, X: typing.Any, y: typing.Any, client: typing.Any = None,
           person: typing.Any = None) -> PartialSum:
    """The sum of one task of a session over all partitions, by a tree of tasks.

    Partitions have their place as a name. Throws BadInput where X and y have another number of partitions; and what
    Plan.partial throws, on the worker."""
    import dask
    plan = dask.delayed(plan, pure=False)
    return _sum_in_a_tree([dask.delayed(_partial, pure=False)(plan, task, *pieces, str(place))
                           for place, pieces in enumerate(zip(*_cut(X, y=y, person=person)))], client)


def fit(X: typing.Any, y: typing.Any, *, person: typing.Any = None, client: typing.Any = None, ledger: str | os.PathLike[str] | None = None,
        class_names: typing.Sequence[str] | None = None, progress: bool = False, **options: Unpack[FitOptions]) -> FittedRun:
    """Trains a private classifier on the rows of X (n x d), a Dask array or data frame, with labels y that are cut as X is.
    The result is, byte for byte, that of dpreduce.fit on the same rows (with persons where the rows of each lie in
    one partition).

    `options`, `ledger` and `class_names` are those of dpreduce.fit, but for what needs more than sums over rows (Plan).
    With `person`, cut as X is, the guarantee is for a person whose rows count for `rows_per_person` together (default 1): it
    says whose each row is, and is read once more than there are rounds, since persons are counted first.

    X and y are read once a round: persist() them where they fit into the workers' memory. A worker that is lost is no
    harm: its tasks run again, and each partition counts once. With `progress` the driver shows how many of the sums are there, as
    dpreduce.fit shows its passes.

    Throws as Plan, sum_of and Session.step."""
    features = _features(X)
    partitions = len(_cut(X, y=y, person=person)[0])
    if person is not None:
        options.setdefault("rows_per_person", 1)
    plan = Plan(features, class_names=class_names, **options)
    if person is not None:
        plan = plan.counted(counts_of(plan, person, client))
    session = plan.start(ledger, range(partitions))
    with contextlib.closing(_Bar()) as bar:
        while session.task is not None:
            if progress:
                bar(session.task.release, session.task.step / plan._own.tasks)
            session.step(sum_of(plan, session.task, X, y, client, person))
    return session.result()
