"""What is no rows or no options: one exception that says what to do, and nothing is charged."""
import numpy as np
import pytest

import dpreduce
from conftest import CLASSES, DIM, Tensor, labeled_rows, refuses
from dpreduce import BadInput, UsageError

TERMS = {"classes": CLASSES, "epsilon": 1, "delta": 1e-6, "method": "mean"}


class GpuArray:
    __cuda_array_interface__ = {}


class Sparse:
    nnz = 3

    def toarray(self):
        raise AssertionError("is made dense by its owner alone")


def with_nan(x):
    x = x.copy()
    x[100, 3] = np.nan
    return x


NOT_FINITE = '{} .*in memory: row 100: not a finite number.* or use bad_rows="zero"'
ROWS = {
    "one dimension": (lambda x: x.reshape(-1), "1 dimension; reshape it to two"),
    "three dimensions": (lambda x: x.reshape(-1, 4, 4), "3 dimensions; reshape it to two"),
    "no features": (lambda x: x[:, :0], "no features"),
    "integers": (lambda x: x.astype(int), "features are int64; convert them to float32"),
    "complex": (lambda x: x.astype(complex), "elements are complex128; convert them with .astype"),
    "long doubles": (lambda x: x.astype(np.longdouble), "float128; convert them"),
    "objects": (lambda x: np.where(x > 3, "Berlin", x.astype(object)), "column 0, row [0-9]+ is 'Berlin', which is not a number"),
    "ragged": (lambda x: [[1.0], [1.0, 2.0]], "is not an array|Python objects"),
    "strings": (lambda x: x.astype(str), "convert them with .astype"),
    "NaN": (with_nan, r"row 100: not a finite number \(NaN or inf\)"),
    "sparse": (lambda x: Sparse(), r"sparse matrix; make it dense with .toarray\(\)"),
    "tensor on a GPU": (lambda x: Tensor(device="cuda"), r"tensor on cuda; bring it to memory with .detach\(\).cpu\(\).numpy\(\)"),
    "tensor with a gradient": (lambda x: Tensor(requires_grad=True), r"gradient; .* .detach\(\)"),
    "sparse tensor": (lambda x: Tensor(layout="torch.sparse_coo"), r"sparse tensor; make it dense with .to_dense\(\)"),
    "bfloat16": (lambda x: Tensor(dtype="torch.bfloat16"), r"convert them with .float\(\)"),
    "GPU array": (lambda x: GpuArray(), r"on a GPU; bring it to memory"),
    "masked": (lambda x: np.ma.masked_less(x, 0), r"masked array; fill masked elements with .filled\(\)"),
    "other length": (lambda x: x[1:], "1999 rows but labels .* have 2000"),
}
LABELS = {
    "above": (lambda y: y + 1, "label 4, outside 0 to 3.*subtract 1"),
    "below": (lambda y: y - 1, "label -1, outside 0 to 3"),
    "floats": (lambda y: y.astype(float), "labels are float64; convert them to int64"),
    "names": (lambda y: y.astype(str), "convert them with .astype"),
    "several columns": (lambda y: np.eye(CLASSES, dtype=int)[y], "give the largest number per row with max_labels"),
    "another number of columns": (lambda y: np.eye(7, dtype=int)[y], "y: labels have 7 columns of zeros and ones for classes=4"),
}
OPTIONS = {
    "unknown": ({"epsilo": 2}, "'epsilo' is not an option of fit; did you mean epsilon"),
    "out of range": ({"epsilon": -1}, "epsilon = -1"),
    "no choice": ({"center": "middle"}, r"center=.middle.: must be one of none\|dp\|public\|moments"),
    "a list": ({"epsilon": [1, 2]}, "'epsilon' takes one value, not a list"),
    "no truth value": ({"shared_gram": 3}, "shared_gram = 3: must be true or false"),
    "of another method": ({"rounds": 3}, "rounds goes with method"),
    "files": ({"train_x": "x.npy"}, "'train_x' is an option of the command alone"),
    "silos": ({"secure_aggregation": True}, "is an option of the command alone"),
    "a limit without a ledger": ({"ledger": None, "budget_epsilon": 2, "budget_delta": 1e-6}, "checked on a ledger"),
}
CHOICE = {"method": "ls", "choose": True}
CALLS = {
    "no rows at all": (lambda x, y: {"x": x[:0], "y": y[:0]}, "no rows"),
    "more labels than noise is made for": (
        lambda x, y: {"y": np.eye(CLASSES, dtype=int)[y] | (np.arange(len(y)) == 7)[:, None], "max_labels": 2, "method": "fc"},
        "row 7: 4 labels, more than max_labels=2"),
    "public rows": (lambda x, y: {"center": "public", "public_x": with_nan(x)[:200]}, NOT_FINITE.format("public")),
    "validation rows": (lambda x, y: {**CHOICE, "validation_x": with_nan(x)[:200], "validation_y": y[:200].copy()},
                        NOT_FINITE.format("validation")),
    "training rows for validation": (lambda x, y: {**CHOICE, "validation_x": x, "validation_y": y},
                                     "training rows are private, but validation rows are used"),
    **{f"training rows for public ones, {place}": (
        lambda x, y, rows_of=rows_of: {"center": "public", "public_x": rows_of(x)}, "training rows are private, but public rows are used")
       for place, rows_of in enumerate((lambda x: x, lambda x: x[5:9], lambda x: x[::-1], np.copy, lambda x: x.astype(np.float64)))},
}


@pytest.fixture
def charged(ledger):
    """A ledger on which a run stands already; nothing may be charged to it."""
    dpreduce.fit(*labeled_rows(500), **{**TERMS, "epsilon": 0.1}, ledger=ledger)
    before, charges = ledger.read_bytes(), len(dpreduce.read_ledger(ledger)["releases"])
    yield ledger
    after = dpreduce.read_ledger(ledger)
    assert len(after["releases"]) == charges and after["open_runs"] == [] and ledger.read_bytes() == before


def refused(error, words, ledger, /, x, y, **options):
    refusal = refuses(error, words, dpreduce.fit, x, y, **{**TERMS, "ledger": ledger, **options})
    assert isinstance(refusal, (dpreduce.Error, ValueError)) and not isinstance(refusal, TypeError)
    return refusal


CASES = {
    **{f"rows, {kind}": (BadInput, lambda x, y, make=make: {"x": make(x)}, words) for kind, (make, words) in ROWS.items()},
    **{f"labels, {kind}": (dpreduce.Error, lambda x, y, make=make: {"y": make(y)}, words) for kind, (make, words) in LABELS.items()},
    **{f"options, {kind}": (UsageError, lambda x, y, options=options: options, words) for kind, (options, words) in OPTIONS.items()},
    **{kind: (BadInput, make, words) for kind, (make, words) in CALLS.items()}}


@pytest.mark.parametrize("kind", CASES)
def test_bad_rows_labels_and_options_are_refused(kind, x, y, charged):
    error, make, words = CASES[kind]
    refusal = refused(error, words, charged, **{"x": x, "y": y, **make(x, y)})
    assert refusal.exit_code == {BadInput: 3, UsageError: 2}[type(refusal)]


def test_a_nan_in_many_rows_that_are_only_added_up_is_found_with_the_sums(ledger):
    x, y = np.zeros((70_000, 256), np.float32), np.arange(70_000) % CLASSES
    x[-1, -1] = np.inf
    for options in ({}, {"method": "adam", "rounds": 12}):
        refused(BadInput, "row 69999: not a finite number", ledger, x, y, **options)
        assert not ledger.exists()


def test_training_rows_in_a_mapped_file_are_no_public_ones(rows, charged, tmp_path):
    np.save(tmp_path / "x.npy", rows[0])
    one, other = (np.load(tmp_path / "x.npy", mmap_mode="r") for _ in range(2))
    refused(BadInput, "public_x and X are the same", charged, one, rows[1], center="public", public_x=other[7:20])


def test_an_object_that_is_copied_has_one_role_all_the_same(x, y, charged):
    words = "validation_y and {} are the same rows: training rows are private, but validation rows are used"
    names = [f"class {label}" for label in y]
    other = {**CHOICE, "validation_x": x + 1, "class_names": sorted(set(names)), "validation_y": names}
    refused(BadInput, words.format("y"), charged, x, names, **other)
    refused(BadInput, words.format("person"), charged, x, [*names], person=names, **other)


def test_rows_that_are_not_finite_may_count_nowhere(x, y):
    run = dpreduce.fit(with_nan(x), y, **TERMS, bad_rows="zero", seed=1)
    only = dpreduce.fit(np.delete(x, 100, 0), np.delete(y, 100), **TERMS, seed=1)
    assert run.classifier.to_bytes() == only.classifier.to_bytes()


@pytest.mark.parametrize("kind", set(ROWS) - {"other length", "integers", "strings"})
def test_estimators_refuse_them_too(kind, rows, charged):
    make, _ = ROWS[kind]
    with pytest.raises((ValueError, TypeError)):
        dpreduce.DPClassifier(epsilon=1, delta=1e-6, classes=range(CLASSES), ledger=charged).fit(make(rows[0]), rows[1])


def test_estimators_refuse_labels_outside_classes(x, y, charged):
    for labels, classes, words in ((y, range(3), "label 3, outside"), (np.array(list("abcd"))[y], "abc", "label .*d"),
                                   (y, "abcd", "give both the same type"), (y, [1, 1], "listed twice"),
                                   (y, ["a", 1], "several types|give both the same type")):
        estimator = dpreduce.DPClassifier(epsilon=1, delta=1e-6, classes=classes, ledger=charged)
        refuses(ValueError, words, estimator.fit, x, labels)


def test_a_budget_without_room_is_refused(rows, charged):
    limit = {"budget_epsilon": 0.5, "budget_delta": 1e-6}
    assert refused(dpreduce.BudgetRefused, None, charged, *rows, **limit).exit_code == 4


def test_a_ledger_that_was_edited_is_refused(rows, charged):
    text = charged.read_text()
    charged.write_text(text.replace("mean", "maen", 1))
    try:
        refused(dpreduce.LedgerCorrupt, None, charged, *rows)
    finally:
        charged.write_text(text)


@pytest.mark.filterwarnings("error")
def test_rows_to_predict_are_refused_in_the_same_words(x, y):
    run = dpreduce.fit(x, y, **TERMS)
    refuses(BadInput, "make it dense", run.predict, Sparse())
    refuses(BadInput, "row 100: not a finite number", run.predict, with_nan(x))


def test_a_label_is_no_column_of_the_rows(rows, charged):
    table = np.column_stack([rows[0], rows[0][:, 0]])
    for targets in (table, table[:, -1], table[:, 1:3]):
        refused(BadInput, "targets: is X, or a column of it", charged, table, None, targets=targets, classes=None, method="auto")
    # scikit-learn's own checks fit on a column of X: there only names are compared.
    dpreduce.DPRegressor(epsilon=1, delta=1e-6, random_state=1).fit(table, table[:, 2])
    plan = dpreduce.Plan(features=DIM, targets=1, epsilon=1, delta=1e-6)
    refuses(BadInput, "y: is X, or a column of it", plan.partial, rows[0], rows[0][:, 2], "a")
    dpreduce.fit(table[:, :-1], targets=table[:, -1], epsilon=1, delta=1e-6, seed=1)  # columns of one table, apart; and the values of another
