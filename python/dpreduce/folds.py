"""Splits of rows for scikit-learn's searches, in which one row more or less moves no other row."""
from __future__ import annotations

import hashlib
import typing

import numpy as np

from .arrays import as_rows
from .errors import BadInput, UsageError

if typing.TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["RowFolds"]


class RowFolds:
    """A splitter for scikit-learn, as `cv=` of cross_val_score and searches: which split tests a row depends on that row alone.

    The costs of fits and scores add up only where one row more or less changes each split by that row and no other. The splitters of
    scikit-learn cut by the number of all rows, by their order or by the numbers of labels. With KFold, StratifiedKFold (the default of
    classifiers) and GroupKFold one row moves others from split to split. The sum on the ledger is then too small.

    Row x is tested by split h(x) mod `n_splits`, and trained on by all others. h is SHA-256 of its features as float32, or, where `groups`
    are given, of its group: give persons as groups, and all rows of a person are in one split. Equal rows are in one split. Splits have
    about as many rows each, not exactly. It has no seed: all searches have the same splits.

    Throws UsageError where n_splits is below 2; BadInput of rows that are no numbers, where `groups` are not given.
    """

    def __init__(self, n_splits: int = 5) -> None:
        if isinstance(n_splits, bool) or not isinstance(n_splits, (int, np.integer)) or n_splits < 2:
            raise UsageError(f"n_splits: {n_splits!r} is not a number of splits; give 2 or more")
        self.n_splits = int(n_splits)

    def get_n_splits(self, X: typing.Any = None, y: typing.Any = None, groups: typing.Any = None) -> int:
        """The number of splits."""
        return self.n_splits

    def split(self, X: ArrayLike, y: typing.Any = None,
              groups: typing.Any = None) -> typing.Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Indices of the rows that each split trains on, and of those that it tests. `y` is not looked at."""
        tests = np.fromiter((int.from_bytes(hashlib.sha256(own).digest()[:8], "little") % self.n_splits
                             for own in _bytes_of(X, groups)), np.int64)
        for split in range(self.n_splits):
            yield np.flatnonzero(tests != split), np.flatnonzero(tests == split)

    def __repr__(self) -> str:
        return f"RowFolds(n_splits={self.n_splits})"


def _bytes_of(X, groups):
    """What each row is told apart by."""
    if groups is not None:
        return [str(group).encode(errors="surrogatepass") for group in groups]
    rows = as_rows(X, "X")[0]
    if rows.dtype.kind not in "biuf" or rows.ndim != 2:
        raise BadInput("X: rows are no numbers, n x d; give groups=, by which rows are split")
    if rows.dtype != np.float32:
        with np.errstate(over="ignore"):  # by double, as a column is where one number has a fraction
            rows = rows.astype(np.float64).astype(np.float32)
    return [row.tobytes() for row in rows]
