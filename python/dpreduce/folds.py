"""Splits of rows for scikit-learn's searches, in which one row more or less moves no other row."""
from __future__ import annotations

import hashlib
import re
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
    are given, of its group, an integer or text. Give persons as groups, and all rows of a person are in one split. Equal rows are in
    one split. Splits have about as many rows each, not exactly. It has no seed: all searches have the same splits.

    Throws UsageError where n_splits is below 2; BadInput of a row without a group, and of rows that are no numbers, where `groups` are
    not given.
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
        return [_text_of(group, row).encode(errors="surrogatepass") for row, group in enumerate(groups)]
    rows = as_rows(X, "X")[0]
    if rows.dtype.kind not in "biuf" or rows.ndim != 2:
        raise BadInput("X: rows are no numbers, n x d; give groups=, by which rows are split")
    if rows.dtype != np.float32:
        with np.errstate(over="ignore"):  # by double, as a column is where one number has a fraction
            rows = rows.astype(np.float64).astype(np.float32)
    return [row.tobytes() for row in rows]


def _text_of(group, row):
    """A group's text: the same also where one row more turns a column of integers into one of floats or of texts."""
    if isinstance(group, bytes):
        group = group.decode("latin-1")
    if isinstance(group, (float, np.floating)) and float(group).is_integer() and abs(group) <= 2**53:
        group = int(group)
    if isinstance(group, (int, np.integer)) and not isinstance(group, bool):
        return str(int(group))
    if not isinstance(group, str):
        raise BadInput(f"groups: row {row} has {group!r}; give each row a group, an integer or text")
    return group[:-2] if re.fullmatch(r"-?\d+\.0", group) else group
