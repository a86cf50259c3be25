"""Data frames: columns of every kind, by pandas and by the interchange protocol; names of columns that must be the same."""
import ctypes
import pickle
import sys
import types
import warnings

import numpy as np
import pandas as pd
import pytest

import dpreduce
from conftest import CLASSES, DIM, bytes_of, refuses, save_rows
from dpreduce import BadInput
from dpreduce.arrays import as_labels, as_rows

TERMS = {"classes": CLASSES, "epsilon": 1, "delta": 1e-6, "method": "mean", "seed": 7}
OTHER_COLUMNS = 'column 0 is "f15", but in {} it is "f0"'
NAMES = [f"f{a}" for a in range(DIM)]


def estimator_of(classes=CLASSES):
    """The one that fits what TERMS do."""
    return dpreduce.DPClassifier(epsilon=1, delta=1e-6, classes=classes, method="mean", random_state=7)


class Foreign:
    """A data frame of a library that is not installed: polars, Arrow, ... speak this protocol alone."""

    def __init__(self, frame, missing=None):
        self._frame, self._missing = frame, missing or {}

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        own = self._frame.__dataframe__(allow_copy=allow_copy)

        def get_column(place):
            column, rows = own.get_column(place), self._missing.get(list(own.column_names())[place])
            return column if rows is None else WithBits(column, rows)
        return types.SimpleNamespace(column_names=own.column_names, get_column=get_column)


class Bits:
    """A buffer of bits, as Arrow has them."""

    def __init__(self, values):
        self._bytes = np.packbits(values, bitorder="little")
        self.bufsize, self.ptr = self._bytes.size, self._bytes.ctypes.data


class WithBits:
    """A column of Arrow: what is missing is said by bits, and truth values are bits."""

    describe_null = (3, 0)

    def __init__(self, column, missing):
        self._column = column
        self._valid = np.ones(column.size(), bool)
        self._valid[list(missing)] = False

    def __getattr__(self, name):
        return getattr(self._column, name)

    def get_chunks(self):
        yield self

    def get_buffers(self):
        buffers = dict(self._column.get_buffers())
        if self.dtype[0] == 20:
            memory, _ = buffers["data"]
            values = np.frombuffer((ctypes.c_uint8 * memory.bufsize).from_address(memory.ptr), np.uint8)
            buffers["data"] = (Bits(values), (20, 1, "b", "="))
        buffers["validity"] = (Bits(self._valid), (20, 1, "b", "="))
        return buffers


def mixed(x):
    """The first columns in every type that pandas has for numbers, and what they are worth."""
    whole = np.round(x * 10).astype(int)
    frame = pd.DataFrame({"float": x[:, 0].astype(np.float64), "int": whole[:, 1], "Int64": pd.array(whole[:, 2], dtype="Int64"),
                          "Float32": pd.array(x[:, 3], dtype="Float32"), "bool": x[:, 4] > 0,
                          "boolean": pd.array(x[:, 5] > 0, dtype="boolean"), "category": pd.Categorical(whole[:, 6]),
                          "text": [str(v) for v in whole[:, 7]], "string": pd.array([str(v) for v in whole[:, 8]], dtype="string"),
                          "object": whole[:, 9].astype(object), "uint8": (whole[:, 10] % 200).astype(np.uint8)})
    worth = np.stack([x[:, 0], whole[:, 1], whole[:, 2], x[:, 3], x[:, 4] > 0, x[:, 5] > 0, whole[:, 6], whole[:, 7], whole[:, 8],
                      whole[:, 9], (whole[:, 10] % 200).astype(np.uint8)], axis=1).astype(np.float32)
    return frame, worth


def test_columns_of_every_type_are_the_numbers_that_they_say(rows):
    frame, worth = mixed(rows[0])
    names = list(frame.columns)
    assert as_rows(frame, "X")[1] == names
    for other in (frame, frame.convert_dtypes(), frame.astype(object), frame.iloc[::-1].iloc[::-1], worth.astype(object)):
        assert (as_rows(other, "X")[0] == worth).all()
    run = dpreduce.fit(frame, rows[1], **TERMS)
    fitted = estimator_of().fit(frame, rows[1])
    assert run.classifier.feature_names == names == list(fitted.feature_names_in_)
    assert fitted.classifier_.to_bytes() == run.classifier.to_bytes()


def test_one_missing_number_beside_truth_values_is_a_bad_row_and_no_more(rows):
    """A column of integers is one of floats where one is missing: truth values beside floats are no objects."""
    x = rows[0][:, :3]
    frame = pd.DataFrame({"told": x[:, 0] > 0, "int": np.round(x[:, 1] * 10).astype(int), "float32": x[:, 2]})
    gap = frame.astype({"int": float})
    gap.loc[5, "int"] = np.nan
    for own in (frame, frame[["told", "int"]], gap, gap[["told", "int"]]):
        array, _ = as_rows(own, "X")
        assert array.dtype.kind == "f" and np.array_equal(array, own.to_numpy(np.float32), equal_nan=True)
    run = dpreduce.fit(gap, rows[1], **{**TERMS, "bad_rows": "zero"})
    assert run.classifier.feature_names == list(frame.columns)


def test_numbers_of_one_kind_are_not_copied(rows):
    frame = pd.DataFrame(np.asfortranarray(rows[0]), columns=NAMES, copy=False)
    assert np.shares_memory(as_rows(frame, "X")[0], frame.to_numpy())


def test_the_interchange_protocol_gives_the_same(rows):
    frame, worth = mixed(rows[0])
    spoken = frame[["float", "int", "bool", "category", "text", "uint8"]]
    array, names = as_rows(Foreign(spoken), "X")
    assert names == list(spoken.columns) and (array == worth[:, [0, 1, 4, 6, 7, 10]]).all()
    gaps, _ = as_rows(Foreign(spoken, {"int": [3], "bool": [5, 1999], "text": [0]}), "X")
    expected = worth[:, [0, 1, 4, 6, 7, 10]].copy()
    expected[3, 1] = expected[[5, 1999], 2] = expected[0, 4] = np.nan
    assert np.array_equal(gaps, expected, equal_nan=True)
    assert as_labels(Foreign(pd.DataFrame({"y": np.array(list("abcd"))[rows[1]]})), "y").tolist() == [*np.array(list("abcd"))[rows[1]]]


class ArrowAlone:
    def __init__(self, frame):
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema=None):
        raise AssertionError("pyarrow reads it")


def test_what_has_arrows_c_interface_alone_is_read_by_pyarrow(rows, monkeypatch):
    frame = pd.DataFrame(rows[0], columns=NAMES)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refuses(BadInput, "X: .*needs pyarrow, which is not installed", lambda: as_rows(ArrowAlone(frame), "X"))
    monkeypatch.setitem(sys.modules, "pyarrow", types.SimpleNamespace(table=lambda own: Foreign(own.frame)))
    array, names = as_rows(ArrowAlone(frame), "X")
    assert (array == rows[0]).all() and names == NAMES


@pytest.mark.parametrize("column, words", [
    (lambda n: ["Berlin"] * n, "column 'city', row 0 is 'Berlin', which is not a number; leave the column out"),
    (lambda n: pd.Categorical(["a", "b"] * (n // 2)), "column 'city', row 0 is 'a', which is not a number"),
    (lambda n: pd.date_range("2020", periods=n), r"column 'city' is datetime64\[ns\], which is not numeric"),
    (lambda n: [{}] * n, "column 'city', row 0 is {}, which is not a number .float.. argument must be"),
    (lambda n: pd.array([1] * 5 + [None] * (n - 5), dtype="Int64"), "row 5: not a finite number"),
    (lambda n: pd.array([True] * 5 + [None] * (n - 5), dtype="boolean"), "row 5: not a finite number"),
    (lambda n: ["1"] * 5 + [None] * (n - 5), "row 5: not a finite number"),
    (lambda n: pd.Categorical([1] * 5 + [None] * (n - 5)), "row 5: not a finite number"),
    (lambda n: pd.array(["1"] * 5 + [None] * (n - 5), dtype="string"), "row 5: not a finite number")], ids=range(9))
def test_what_is_missing_or_no_number_is_named(column, words, rows, ledger):
    frame = pd.DataFrame(rows[0], columns=NAMES).assign(city=column(len(rows[1])))
    refuses(BadInput, words, dpreduce.fit, frame, rows[1], **TERMS, ledger=ledger)
    assert not ledger.exists()
    if "finite" in words:
        assert dpreduce.fit(frame, rows[1], **TERMS, bad_rows="zero").report["classes"] == CLASSES


LABELS = ["apple", "fig", "pear", "plum"]


class TextOfPandas3:
    """A Series of pandas 3, whose text has a type of its own."""

    dtype, ndim = "str", 1

    def __init__(self, values):
        self._values = np.asarray(values, object)

    def __array__(self, dtype=None, copy=None):
        return self._values

    def __len__(self):
        return len(self._values)


@pytest.mark.parametrize("kind", ["string", "category", "object", "pandas 3", "frame", "convert_dtypes"])
def test_labels_of_text_are_of_any_type(kind, x, y):
    words = pd.Series(np.array(LABELS)[y], dtype=object)
    given = {"frame": lambda: words.to_frame("label"), "pandas 3": lambda: TextOfPandas3(words),
             "convert_dtypes": words.convert_dtypes}.get(kind, lambda: words.astype(kind))()
    terms = {**TERMS, "classes": None, "class_names": LABELS}
    expected = bytes_of(x, y, **terms)
    assert bytes_of(x, given, **terms) == expected
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a column where a vector is asked for
        model = estimator_of(LABELS).fit(x, given)
    assert model.classifier_.to_bytes() == expected and set(model.predict(x)) == set(LABELS)


@pytest.mark.parametrize("dtype", ["Int64", "category", "object", "UInt8"])
def test_labels_of_numbers_are_of_any_type(dtype, x, y):
    given = pd.Series(y).astype(dtype)
    assert bytes_of(x, given, **TERMS) == bytes_of(x, y, **TERMS) == estimator_of().fit(x, given).classifier_.to_bytes()
    two = {**TERMS, "classes": 2}
    assert bytes_of(x, pd.Series(y > 1).astype("boolean"), **two) == bytes_of(x, y > 1, **two)


@pytest.mark.parametrize("labels", [lambda y: pd.Series(y).astype("Int64").mask(y == 3), lambda y: pd.Series(y).where(y != 3),
                                    lambda y: pd.Series(np.array(LABELS)[y]).where(y != 3).astype("category"),
                                    lambda y: pd.Series(np.array(LABELS)[y], dtype="string").where(y != 3)], ids=range(4))
def test_a_row_without_a_label_is_named(labels, x, y):
    words = f"y: row {int(np.argmax(y == 3))} has no label"
    refuses(BadInput, words, dpreduce.fit, x, labels(y), **TERMS)
    refuses(BadInput, words, dpreduce.DPClassifier(epsilon=1, delta=1e-6, classes=LABELS).fit, x, labels(y))


def test_labels_of_several_types_are_refused(x, y):
    labels = pd.Series(["apple", 1] + ["fig"] * (len(y) - 2), dtype=object)
    refuses(BadInput, "row 1 has the label 1, and other labels are strings", dpreduce.fit, x, labels, **TERMS)


def test_a_model_keeps_the_names_of_its_columns(x, y, tmp_path):
    frame = pd.DataFrame(x, columns=NAMES)
    run = dpreduce.fit(frame, y, **TERMS)
    run.save(tmp_path / "m.safetensors")
    model = dpreduce.load(tmp_path / "m.safetensors")
    assert model.feature_names == NAMES and pickle.loads(pickle.dumps(run)).classifier.feature_names == NAMES
    for scores in (run.predict, run.scores, model.predict, model.decision_function):
        assert (scores(frame) == scores(x)).all()
        refuses(BadInput, "X: " + OTHER_COLUMNS.format("the model"), scores, frame[NAMES[::-1]])
    assert dpreduce.fit(x, y, **TERMS).classifier.feature_names == []
    words = "column 'f0' has a name, but 3 is not a string"
    refuses(BadInput, words, dpreduce.fit, frame.rename(columns={"f4": 3}), y, **TERMS)
    public = {"center": "public", "public_x": frame[NAMES[::-1]][:9] + 1}
    refuses(BadInput, "public_x: " + OTHER_COLUMNS.format("X"), dpreduce.fit, frame, y, **TERMS, **public)


def test_a_table_and_a_frame_have_the_same_names(x, y, program, tmp_path):
    frame = pd.DataFrame(x, columns=NAMES)
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame[NAMES[::-1]].to_csv(tmp_path / "other.csv", index=False)
    np.save(tmp_path / "y.npy", y)
    program("fit", "--train-x", "x.csv", "--train-y", "y.npy", "--classes", CLASSES, "--mu", 1, "--out", "table.safetensors")
    assert dpreduce.load(tmp_path / "table.safetensors").feature_names == NAMES
    dpreduce.fit(frame, y, **TERMS).save(tmp_path / "frame.safetensors")
    words = "other.csv: " + OTHER_COLUMNS.format("the model frame.safetensors")
    refuses(AssertionError, words, program, "predict", "--model", "frame.safetensors", "--x", "other.csv", "--out", "labels.csv")


def test_estimators_compare_names_of_any_frame(x, y):
    frame = pd.DataFrame(x, columns=NAMES)
    model = estimator_of().fit(Foreign(frame), y)
    assert list(model.feature_names_in_) == NAMES == model.classifier_.feature_names
    assert (model.predict(Foreign(frame)) == model.predict(frame)).all()
    for other in (frame[NAMES[::-1]], Foreign(frame[NAMES[::-1]])):
        refuses(ValueError, "feature names should match", model.predict, other)


def test_a_plan_has_names_of_columns(x, y):
    frame = pd.DataFrame(x, columns=NAMES)
    plan = dpreduce.Plan.from_json(dpreduce.Plan(NAMES, **TERMS).to_json())
    assert repr(plan) == f"<dpreduce.Plan: {DIM} features, {CLASSES} classes>"
    rest = Foreign(frame[900:].reset_index(drop=True))
    run = plan.release(plan.partial(frame[:900], y[:900], "a") + plan.partial(rest, y[900:], "b"))
    assert run.classifier.to_bytes() == bytes_of(frame, y, **TERMS)
    refuses(BadInput, "X: " + OTHER_COLUMNS.format("the plan"), plan.partial, frame[NAMES[::-1]], y, "c")
    refuses(BadInput, "X: columns have no names, but in the plan they have names", plan.partial, x, y, "c")
    refuses(dpreduce.UsageError, "not a number of features", dpreduce.Plan, ["f0", 1], **TERMS)


def test_ranks_have_the_same_columns_in_the_same_order(rows, on_ranks, tmp_path):
    save_rows(tmp_path, *rows)
    said = on_ranks(2, """
import pandas as pd
frame, y = pd.DataFrame(np.load("x.npy")).add_prefix("f"), np.load("y.npy")
def tell(x):
    try:
        run = dpreduce.fit(x[rank::2], y[rank::2], classes=4, epsilon=1, delta=1e-6, method="mean", ledger="ledger.jsonl")
        said = run.classifier.feature_names[:2]
    except dpreduce.BadInput as error:
        said = error
    say(said, os.path.exists("ledger.jsonl"))
tell(frame[frame.columns[::-1]] if rank == 1 else frame)
tell(frame.to_numpy() if rank == 1 else frame)
tell(frame)
""")
    assert '1 rank 1: column 0 is "f15", but on rank 0 it is "f0"; give the same columns in the same order everywhere False' in said
    assert "1 rank 1: columns have no names, but on rank 0 they have names; give the same columns in the same order everywhere False" in said
    assert "0 ['f0', 'f1'] True" in said and len(said) == 6


def test_a_label_is_no_column_of_the_frame_by_its_name(rows):
    frame = pd.DataFrame(rows[0][:, :3].copy(), columns=["a", "b", "c"]).assign(kind=rows[1])
    terms = {"classes": 4, "epsilon": 1, "delta": 1e-6, "method": "mean", "seed": 1}
    for y in (frame["kind"], frame[["kind"]]):
        refuses(BadInput, "column 'kind' is also y: .*drop", dpreduce.fit, frame, y, **terms)
    refuses(BadInput, "column 'c' is also targets", dpreduce.fit, frame, targets=frame["c"], epsilon=1, delta=1e-6, seed=1)
    dpreduce.fit(frame.drop(columns="kind"), frame["kind"], **terms)
    dpreduce.fit(frame, frame["kind"].to_numpy().copy(), **terms)  # values decide nothing
