"""Models of dpreduce in NumPy alone: load a file, score rows, see what was promised.

The file is a safetensors file (docs/reference/model-format.md). It is parsed, never executed: a length, a JSON header,
and numbers.

Legend: n rows, d_in features of a raw row, d = ceil(d_in / pool) after pooling, C the clip norm, K classes.

    u = x pooled, scaled to C                 norms as the program sums them: eight running sums, then pairwise
    u = u - center, scaled again              where rows are centered
    u = P round(scale u), scaled again        where they are projected; both are integers: exact
    u = u[selected], scaled again             where features are selected
    scores = weights u + bias                 with prototypes: softmax of that, plus softmax of the cosines to them

Every step but the last has the bits of `dpreduce predict`. Scores are sums in another order and differ by rounding;
rows whose largest scores are nearer to each other than that are summed again in the program's order, so that labels are
the program's.
"""
import json
import math
import os
import re
import struct

import numpy

from .errors import BadInput, UsageError
from .promise import at_most

__all__ = ["Model", "load"]

_FORMAT = "dpreduce-classifier"
_FORMAT_VERSION = 2
_LATTICE_NORM = 32767  # S
_MOST = 2**24  # classes; features of a row
_MOST_HEADER = 100_000_000  # bytes; the limit of safetensors itself
_LARGEST_WEIGHT = 1e100
_BLOCK_BYTES = 2**26  # of doubles, at a time
_TYPES = {"F64": "<f8", "I64": "<i8", "I16": "<i2"}
_TENSORS = {"weights": "F64", "bias": "F64", "center": "F64", "projection": "I16", "projection_largest": "F64",
            "selected": "I64", "prototypes": "F64"}


def load(path: "str | os.PathLike[str]") -> "Model":
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
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise BadInput(f"{os.fspath(path)}: cannot be read: {error.strerror}") from error
    return _Reader(data, os.fspath(path)).model()


class Model:
    """A classifier of the linear kind, read from a file.

    Attributes
    ----------
    method : str
        The method that trained it.
    classes : numpy.ndarray
        0, 1, ..., K - 1: what predict returns.
    class_names : list of str or None
        Name k is that of class k.
    n_features : int
        d_in.
    privacy : dict
        What the file says was promised: "private", and of private models "epsilon", "delta", "mu", "rho" (None where
        there is none), "adjacency" and "unit": "record", a row, or "person", with any number of rows. Then
        "rows_per_person" is what a person's rows count for together, "person_bound" how they are held to that
        ("weight" or "clip"), and "silos_per_person" the most silos of a person, where that was promised (else None).
        Of a model that is not private though its sums had noise, "forfeited_by" is why, where that was no seed. A statement,
        not a proof.
    link : str or None
        "softmax" or "sigmoid", where scores have probabilities.
    threshold : float or None
        The score from which on a row is said to be of a class, where rows may be of several.
    version : str
        Of the program that wrote the file.
    """

    def __init__(self, metadata, tensors):
        # Made by load(), which has checked both.
        self.method = metadata["method"]
        self.version = metadata.get("version", "")
        self.n_features = metadata["input_dim"]
        self.classes = numpy.arange(metadata["classes"])
        self.class_names = metadata["class_names"]
        self.privacy = metadata["privacy"]
        self.link = metadata["link"]
        self.threshold = metadata["threshold"]
        self._pool, self._clip_norm = metadata["pool"], metadata["clip_norm"]
        self._normalize = metadata["normalize"]
        self._tensors = tensors
        self._projection = _lattice_projection(tensors, self._clip_norm)
        self._directions = None
        if "prototypes" in tensors:
            norms = numpy.sqrt(_squared_norms(tensors["prototypes"]))[:, numpy.newaxis]
            self._directions = tensors["prototypes"] / numpy.where(norms == 0, 1, norms)

    def __repr__(self):
        if not self.privacy["private"]:
            promise = "not private"
        elif self.privacy["epsilon"] is not None:
            promise = f"epsilon {at_most(self.privacy['epsilon'])}, delta {at_most(self.privacy['delta'])}"
        else:
            stated = "rho" if self.privacy["mu"] is None else "mu"
            promise = f"{stated} {at_most(self.privacy[stated])}"
        if self.privacy.get("unit") == "person":
            promise += " of one person"
        return f"<dpreduce model: {self.method}, {len(self.classes)} classes, {self.n_features} features, {promise}>"

    def decision_function(self, x) -> numpy.ndarray:
        """scores(x), n x K float64: the same numbers as `dpreduce predict --scores` writes, but for rounding.

        x : array of shape (n, d_in), of a real type. Values are taken as float32, as the program takes them.
        Raises BadInput where the shape differs, or a row has a NaN or an infinity.
        """
        return self._by_blocks(x, self._scores, numpy.empty((len(x), len(self.classes))))

    scores = decision_function

    def predict(self, x) -> numpy.ndarray:
        """The class of each row, n int64: of the largest score, of equal ones the smallest. As decision_function."""
        return self._by_blocks(x, self._labels, numpy.empty(len(x), dtype=numpy.int64))

    def predict_names(self, x) -> numpy.ndarray:
        """The same as an array of names. UsageError where the model has none."""
        if self.class_names is None:
            raise UsageError("the model has no names of classes: use predict, which returns their numbers")
        return numpy.asarray(self.class_names)[self.predict(x)]

    def predict_sets(self, x, threshold: "float | None" = None) -> numpy.ndarray:
        """n x K booleans: is the score of a class at least `threshold`, or the model's? As decision_function."""
        if threshold is None:
            threshold = self.threshold
        if threshold is None:
            raise UsageError("the model has no threshold, since its scores only rank classes: pass threshold=")
        return self.decision_function(x) >= threshold

    def predict_proba(self, x) -> numpy.ndarray:
        """n x K probabilities: the model's own word, and no calibrated frequency. As decision_function.

        Raises UsageError where scores only rank classes (`link` is None).
        """
        if self.link is None:
            raise UsageError(f"the model has no probabilities: scores of method {self.method} only rank classes; use "
                             "decision_function, or fit with a method whose loss is softmax or sigmoid, such as auto")
        scores = self.decision_function(x)
        if self._directions is not None:
            return scores / 2
        if self.link == "softmax":
            return _softmax(scores)
        with numpy.errstate(over="ignore"):
            return 1 / (1 + numpy.exp(-scores))

    probabilities = predict_proba

    def transform(self, x) -> numpy.ndarray:
        """The rows as the weights see them, n x m float64. As decision_function."""
        return self._by_blocks(x, lambda u: u, numpy.empty((len(x), self._tensors["weights"].shape[1])))

    def _by_blocks(self, x, compute, result):
        x = numpy.asarray(x)
        if x.dtype.kind not in "fiub" or x.ndim != 2 or x.shape[1] != self.n_features:
            raise BadInput(f"x has shape {x.shape} and type {x.dtype}: the model takes rows of {self.n_features} real "
                           f"features, an array of shape (n, {self.n_features})")
        rows = max(1, _BLOCK_BYTES // (8 * max(x.shape[1], len(self.classes))))
        for first in range(0, len(x), rows):
            block = x[first:first + rows]
            with numpy.errstate(over="ignore"):
                block = block.astype(numpy.float32)  # what files hold and the program reads
            finite = numpy.isfinite(block).all(axis=1)
            if not finite.all():
                row = first + int(numpy.argmin(finite))
                raise BadInput(f"row {row} has a NaN or an infinity; such a row has no label")
            result[first:first + rows] = compute(self._prepared(block.astype(numpy.float64)))
        return result

    def _prepared(self, u):
        tensors = self._tensors
        u = self._scaled(_pooled(u, self._pool))
        if "center" in tensors:
            u = self._scaled(u - tensors["center"])
        if self._projection is not None:
            matrix, factors = self._projection
            u = self._scaled((_on_lattice(u, self._clip_norm) @ matrix) * factors)
        if "selected" in tensors:
            u = self._scaled(numpy.ascontiguousarray(u[:, tensors["selected"]]))
        return u

    def _scaled(self, u):
        norms = numpy.sqrt(_squared_norms(u))
        longer = norms != 0 if self._normalize == "l2" else norms > self._clip_norm
        factors = numpy.ones_like(norms)
        numpy.divide(self._clip_norm, norms, out=factors, where=longer)
        return u * factors[:, numpy.newaxis]

    def _scores(self, u, product=numpy.matmul):
        scores = product(u, self._tensors["weights"].T) + self._tensors["bias"]
        if self._directions is None:
            return scores
        norms = numpy.sqrt(_squared_norms(u))[:, numpy.newaxis]
        cosines = product(u, self._directions.T) / numpy.where(norms == 0, 1, norms)
        return _softmax(scores) + _softmax(cosines)

    def _labels(self, u):
        scores = self._scores(u)
        labels = scores.argmax(axis=1)
        # Each sum of m products is off by at most m 2^-53 sum |u_a W_ka|; that sum is at most ||u|| ||W_k||, ||u|| <= C.
        weights, rows = self._tensors["weights"], numpy.arange(len(u))
        longest = numpy.sqrt((weights * weights).sum(axis=1).max()) * self._clip_norm
        size = longest + abs(self._tensors["bias"]).max() + (2 if self._directions is not None else 0)
        doubt = 8 * (weights.shape[1] + 8) * 2.0**-53 * size
        others = scores.copy()
        others[rows, labels] = -numpy.inf
        close = others.max(axis=1) >= scores[rows, labels] - doubt
        if close.any():
            labels[close] = self._scores(u[close], _product_in_order).argmax(axis=1)
        return labels


def _softmax(scores):
    e = numpy.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _pooled(u, pool):
    """Averages of `pool` consecutive features, a shorter last group over its own length; summed from the first on."""
    if pool == 1:
        return u
    result = u[:, ::pool].copy()
    counts = numpy.ones(result.shape[1])
    for place in range(1, pool):
        more = u[:, place::pool]
        result[:, :more.shape[1]] += more
        counts[:more.shape[1]] += 1
    return result / counts


def _squared_norms(u):
    """sum_a u_a^2 of each row: running sums of a mod 8, added up pairwise."""
    sums = numpy.zeros((len(u), 8))
    for first in range(0, u.shape[1], 8):
        part = u[:, first:first + 8]
        sums[:, :part.shape[1]] += part * part
    sums = sums[:, :4] + sums[:, 4:]
    return (sums[:, 0] + sums[:, 1]) + (sums[:, 2] + sums[:, 3])


def _product_in_order(u, matrix):
    """u @ matrix, each sum from the first product on."""
    result = numpy.zeros((len(u), matrix.shape[1]))
    for a in range(u.shape[1]):
        result += u[:, a:a + 1] * matrix[a]
    return result


def _lattice_scale(dim, clip_norm):
    return (_LATTICE_NORM - math.ceil(math.sqrt(dim) / 2)) / clip_norm


def _on_lattice(u, clip_norm):
    """round(scale u), as float64; a row above the lattice's norm is shrunk, three times, and is zero then."""
    factor = _lattice_scale(u.shape[1], clip_norm)
    q = numpy.empty_like(u)
    left = numpy.arange(len(u))
    for _ in range(4):
        q[left] = numpy.clip(numpy.rint(u[left] * factor), -_LATTICE_NORM, _LATTICE_NORM)
        left = left[(q[left] * q[left]).sum(axis=1) > _LATTICE_NORM**2]
        if not len(left):
            return q
        factor *= 1 - 1 / 1024
    q[left] = 0
    return q


def _lattice_projection(tensors, clip_norm):
    """The integer matrix, d x k as float64, and what its products are multiplied by; None without a projection.

    Products of lattice rows stay below 2^53 (Cauchy-Schwarz: 2^30 sqrt(d), d <= 2^22): float64 holds them exactly.
    """
    if "projection" not in tensors:
        return None
    projection = tensors["projection"]
    if projection.dtype.kind == "i":
        largest = tensors["projection_largest"]
    else:  # format version 1
        largest = abs(projection).max(axis=1)
    with numpy.errstate(divide="ignore", over="ignore"):
        units = _LATTICE_NORM / largest
        usable = (largest > 0) & numpy.isfinite(units)
        factors = numpy.where(usable, 1 / (_lattice_scale(projection.shape[1], clip_norm) * units), 0.0)
    values = projection.astype(numpy.float64)
    if projection.dtype.kind != "i":
        scaled = values * numpy.where(usable, units, 0.0)[:, numpy.newaxis]
        values = numpy.copysign(numpy.floor(abs(scaled) + 0.5), scaled)  # halves away from zero
    return numpy.ascontiguousarray(values.T), factors


class _Reader:
    """Takes a file apart; every complaint names it."""

    def __init__(self, data, path):
        self._data, self._path = data, path

    def _fail(self, reason, advice="was this file written by dpreduce?"):
        raise BadInput(f"{self._path}: {reason}; {advice}")

    def model(self):
        header, numbers = self._parts()
        metadata = header.pop("__metadata__", {})
        if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
            self._fail("its metadata are no strings")
        checked = self._metadata(metadata)
        tensors = {name: self._tensor(name, entry, numbers) for name, entry in header.items()}
        if sum(tensor.nbytes for tensor in tensors.values()) != len(numbers):
            self._fail("its numbers are more or fewer than its tensors", "the file is damaged")
        self._check_shapes(checked, tensors)
        return Model(checked, tensors)

    def _parts(self):
        whole = "is it a safetensors file, and whole?"
        if len(self._data) < 8:
            self._fail(f"{len(self._data)} bytes are too few for a safetensors file", whole)
        length = struct.unpack("<Q", self._data[:8])[0]
        if length > min(_MOST_HEADER, len(self._data) - 8):
            self._fail(f"a header of {length} bytes does not fit a file of {len(self._data)}", whole)
        try:
            header = json.loads(self._data[8:8 + length].decode("utf-8"), parse_constant=self._no_number)
        except (ValueError, RecursionError):
            self._fail("the header is not valid JSON", "is this a safetensors file?")
        if not isinstance(header, dict):
            self._fail("the header is not one JSON object", "is this a safetensors file?")
        return header, self._data[8 + length:]

    @staticmethod
    def _no_number(text):
        raise ValueError(text)

    def _tensor(self, name, entry, numbers):
        damaged = "the file is damaged"
        if name not in _TENSORS:
            self._fail(f"unknown tensor {name!a:.80}")

        def is_list(value):
            return isinstance(value, list) and all(type(one) is int and 0 <= one < 2**62 for one in value)

        if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"} or \
                not is_list(entry["shape"]) or not is_list(entry["data_offsets"]) or len(entry["data_offsets"]) != 2:
            self._fail(f"tensor {name} needs dtype, shape and two data_offsets", damaged)
        wanted = {_TENSORS[name], "F64"} if name == "projection" else {_TENSORS[name]}  # F64 in format version 1
        if not isinstance(entry["dtype"], str) or entry["dtype"] not in wanted:
            self._fail(f"{name} is {entry['dtype']!a:.80}, not {_TENSORS[name]}")
        dtype = numpy.dtype(_TYPES[entry["dtype"]])
        begin, end = entry["data_offsets"]
        if not begin <= end <= len(numbers) or end - begin != math.prod(entry["shape"]) * dtype.itemsize:
            self._fail(f"tensor {name} lies from {begin} to {end}: not the bytes of its shape, or past the "
                       f"{len(numbers)} bytes of data", "the file is damaged, or was cut off")
        tensor = numpy.frombuffer(numbers, dtype, math.prod(entry["shape"]), begin).reshape(entry["shape"])
        if dtype.kind == "f" and not numpy.isfinite(tensor).all():
            self._fail(f"{name} has an entry that is not finite")
        return tensor.astype(dtype.newbyteorder("="), copy=False)

    def _text(self, metadata, key):
        if key not in metadata:
            self._fail(f"no {key} in its metadata")
        return metadata[key]

    def _number(self, metadata, key, kind, holds):
        try:
            value = kind(self._text(metadata, key))
            if holds(value):
                return value
        except ValueError:
            pass
        return self._fail(f"{key} is {metadata[key]!a:.80}, which is no number in range")

    def _choice(self, metadata, key, choices):
        if self._text(metadata, key) not in choices:
            self._fail(f"{key} is {metadata[key]!a:.80}, neither {' nor '.join(choices)}")
        return metadata[key]

    def _metadata(self, metadata):
        if self._text(metadata, "format") != _FORMAT:
            self._fail(f"its format is {metadata['format']!a:.80}, not {_FORMAT}")
        version = self._number(metadata, "format_version", int, lambda value: value >= 1)
        if version > _FORMAT_VERSION:
            self._fail(f"a newer dpreduce wrote this (format version {version}, known is {_FORMAT_VERSION})",
                       "update dpreduce")
        checked = {"method": self._text(metadata, "method"), "version": metadata.get("version", "")}
        if not re.fullmatch("[a-z0-9-]{1,40}", checked["method"]):
            self._fail(f"method is {checked['method']!a:.80}, no name of 1 to 40 characters from a-z, 0-9 and '-'")
        checked["classes"] = self._number(metadata, "classes", int, lambda value: 2 <= value <= _MOST)
        checked["input_dim"] = self._number(metadata, "input_dim", int, lambda value: 1 <= value <= _MOST)
        checked["pool"] = self._number(metadata, "pool", int, lambda value: 1 <= value <= checked["input_dim"])
        checked["normalize"] = self._choice(metadata, "normalize", ("l2", "none"))
        checked["clip_norm"] = self._number(metadata, "clip_norm", float, lambda value: 0 < value < math.inf)
        checked["privacy"] = self._privacy(self._text(metadata, "privacy"))
        checked["link"] = checked["threshold"] = checked["class_names"] = None
        if "link" in metadata:
            checked["link"] = self._choice(metadata, "link", ("softmax", "sigmoid"))
        if "threshold" in metadata:
            checked["threshold"] = self._number(metadata, "threshold", float, math.isfinite)
        if "class_names" in metadata:
            checked["class_names"] = self._class_names(metadata["class_names"], checked["classes"])
        return checked

    def _json(self, text):
        try:
            return json.loads(text, parse_constant=self._no_number)
        except (ValueError, RecursionError):
            return None

    def _privacy(self, text):
        statement = self._json(text)
        if not isinstance(statement, dict) or not isinstance(statement.get("private"), bool):
            self._fail("privacy is no JSON object that says private: true or false")
        if not statement["private"]:
            reasons = statement.get("forfeited_by")
            if reasons is None:
                return {"private": False}
            if not isinstance(reasons, list) or not all(reason in ("seed", "classes-from-rows") for reason in reasons):
                self._fail("privacy: forfeited_by is no list of reasons that this version knows")
            return {"private": False, "forfeited_by": reasons}
        result = {"private": True}
        for name in ("epsilon", "delta", "mu", "rho"):
            value = statement.get(name)
            if value is not None and (type(value) not in (int, float) or not 0 <= value < math.inf or
                                      (value >= 1 if name == "delta" else value == 0)):
                self._fail(f"privacy: {name} is no number in range")
            result[name] = value
        if (result["epsilon"] is None) != (result["delta"] is None):
            self._fail("privacy: epsilon and delta go together")
        if result["epsilon"] is None and result["mu"] is None and result["rho"] is None:
            self._fail("privacy: epsilon, mu or rho is needed")
        result["adjacency"] = statement.get("adjacency")
        if result["adjacency"] not in ("add-remove", "replace-one"):
            self._fail("privacy: adjacency must be add-remove or replace-one")
        return result | self._unit(statement)

    def _unit(self, statement):
        unit = statement.get("unit", "record")  # of a row the file says nothing
        if unit not in ("record", "person"):
            self._fail("privacy: unit is neither record nor person")
        if unit == "record":
            for name in ("rows_per_person", "person_bound", "silos_per_person"):
                if name in statement:
                    self._fail(f"privacy: {name} goes with the unit person, and the unit is a row")
            return {"unit": unit}
        bound = statement.get("person_bound", "weight")
        if bound not in ("weight", "clip"):
            self._fail("privacy: person_bound is neither weight nor clip")
        counts = {"rows_per_person": statement.get("rows_per_person"), "silos_per_person": statement.get("silos_per_person")}
        for name, value in counts.items():
            if name == "silos_per_person" and name not in statement:
                continue
            if type(value) is not int or not 1 <= value < 2**64:
                self._fail(f"privacy: {name} is no positive number of 64 bits")
        return {"unit": unit, **counts, "person_bound": bound}

    def _class_names(self, text, classes):
        names = self._json(text)
        if not isinstance(names, list) or len(names) != classes or not all(isinstance(name, str) for name in names):
            self._fail(f"class_names is no JSON list of {classes} names")
        return names

    def _check_shapes(self, metadata, tensors):
        def check(name, shape):
            if name not in tensors:
                self._fail(f"no tensor {name}")
            if tensors[name].shape != shape:
                self._fail(f"{name} has the shape {list(tensors[name].shape)} instead of {list(shape)}")

        classes = metadata["classes"]
        dim = -(-metadata["input_dim"] // metadata["pool"])
        if "center" in tensors:
            check("center", (dim,))
        if "projection" in tensors:
            kept = tensors["projection"].shape[0] if tensors["projection"].ndim == 2 else 0
            if not 1 <= kept <= dim:
                self._fail(f"projection must have two dimensions, and from 1 to {dim} rows")
            check("projection", (kept, dim))
            if tensors["projection"].dtype.kind == "i":
                check("projection_largest", (kept,))
                if tensors["projection"].min() < -_LATTICE_NORM:
                    self._fail(f"projection has an entry below -{_LATTICE_NORM}")
                largest = tensors["projection_largest"]
                if largest.min() < 0 or largest.max() > _LARGEST_WEIGHT:
                    self._fail("projection_largest has an entry below 0 or above 1e100")
            elif abs(tensors["projection"]).max() > _LARGEST_WEIGHT:
                self._fail("projection has an entry above 1e100")
            dim = kept
        elif "projection_largest" in tensors:
            self._fail("unknown tensor projection_largest: there is no projection")
        if "selected" in tensors:
            selected = tensors["selected"]
            if selected.ndim != 1 or not len(selected) or selected[0] < 0 or selected[-1] >= dim or \
                    (numpy.diff(selected) <= 0).any():
                self._fail(f"selected must be indices that ascend, from 0 to below {dim}")
            dim = len(selected)
        check("weights", (classes, dim))
        check("bias", (classes,))
        if "prototypes" in tensors:
            check("prototypes", (classes, dim))
            if metadata["link"] == "sigmoid":
                self._fail("link sigmoid with prototypes: their scores are a sum of two softmax")
