"""Released statistics: noised sums in a file, which models are made of at no cost.

    statistics = dpreduce.Statistics.load("statistics.safetensors")     written by `dpreduce release`
    model = statistics.refit(method="ls", shared_gram=True, lambda_=50)
    both = statistics + other                                           of other records, prepared alike
"""
from __future__ import annotations

import json
import os
import typing

import numpy

from . import _library
from .arrays import as_rows
from .keywords import words_of
from .model import Model

if typing.TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from . import _core

__all__ = ["Statistics"]


class Statistics:
    """Noised sums of rows, public."""

    def __init__(self, own: _core.Statistics) -> None:
        self._own = own

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Statistics:
        """The statistics in a file. Raises BadInput where it is none."""
        return cls(_library.core().Statistics.load(os.fspath(path)))

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Writes the file. Raises BadInput where there is one already, unless `overwrite` says so."""
        self._own.save(os.fspath(path), overwrite)

    def __add__(self, other: Statistics) -> Statistics:
        """Of the rows of both, which are of different records: sums and variances of noise add up, and the weaker promise
        holds. Raises UsageError unless both are of rows prepared alike."""
        if not isinstance(other, Statistics):
            return NotImplemented
        return Statistics(self._own.plus(other._own))

    @property
    def classes(self) -> int:
        """K."""
        return self._own.classes

    @property
    def dim(self) -> int:
        """d: the entries of a row as it was summed, an intercept among them."""
        return self._own.dim

    @property
    def sigma(self) -> dict[str, float]:
        """The standard deviation of the noise of an entry; beside the diagonal of matrices 1 / sqrt(2) of it."""
        return self._own.sigma

    @property
    def metadata(self) -> dict[str, str]:
        """As the file has it: scale (lattice units to a unit of features), privacy, how rows were prepared, names."""
        return self._own.metadata

    @property
    def blocks(self) -> dict[str, NDArray[numpy.int64]]:
        """Noised sums in lattice units: `gram` as a d x d matrix, `class_grams` as K of them, `class_sums` K x d."""
        return {name: self._whole(name, values) for name, values in self._own.blocks.items()}

    def refit(self, **options: typing.Any) -> Model:
        """A model, at no cost: the options of `dpreduce refit`, with _ between words (`lambda_` for --lambda).

        Raises UsageError where they name what the statistics do not have.
        """
        return Model(self._own.refit(_words(options))[0])

    def ridge_path(self, **options: typing.Any) -> list[dict[str, float]]:
        """For each ridge of a path `ridge`, `noise` (in a score, by the noise of the release alone) and `loss` (of a score,
        squared, estimated by the statistics themselves)."""
        told = json.loads(self._own.refit(_words({**options, "lambda_": "path"}))[1])
        return told["path"]

    def intervals(self, x: ArrayLike | None = None, *, level: float = 0.95, **options: typing.Any) -> dict[str, typing.Any]:
        """Weights of least squares with a shared Gram matrix, and scores of the public rows `x`, with intervals: what
        `dpreduce refit --intervals` writes (docs/how-to/release-and-refit.md). Intervals about the population assume
        one variance of labels about their scores (`population_assumes`)."""
        rows = numpy.zeros((0, 0), numpy.float32) if x is None else numpy.ascontiguousarray(as_rows(x, "x")[0], numpy.float32)
        return json.loads(self._own.intervals(_words(options), level, rows))

    def _whole(self, name, values):
        if name not in ("gram", "class_grams"):
            return values.reshape(self.classes, self.dim) if name == "class_sums" else values
        upper = numpy.triu_indices(self.dim)
        triangles = values.reshape(-1, len(upper[0]))
        matrices = numpy.zeros((len(triangles), self.dim, self.dim), values.dtype)
        matrices[:, upper[0], upper[1]] = triangles
        matrices[:, upper[1], upper[0]] = triangles
        return matrices[0] if name == "gram" else matrices


def _words(options):
    lists = {name: ",".join(map(str, options[name])) for name in ("classes_kept", "features")
             if isinstance(options.get(name), (list, tuple))}
    return words_of({**options, **lists})
