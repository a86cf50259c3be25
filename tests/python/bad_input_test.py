"""What is no rows or no options: one exception that says what to do, and nothing is charged."""
import warnings

import numpy as np
import pytest

import dpreduce
from conftest import CLASSES, DIM, Tensor, labeled_rows


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
}


@pytest.fixture
def charged(tmp_path):
    """A ledger on which a run stands already; nothing may be charged to it."""
    path = tmp_path / "ledger.jsonl"
    x, y = labeled_rows(500)
    dpreduce.fit(x, y, classes=CLASSES, epsilon=0.1, delta=1e-6, method="mean", ledger=path)
    before = path.read_bytes()
    charges = len(dpreduce.read_ledger(path)["releases"])
    yield path
    after = dpreduce.read_ledger(path)
    assert len(after["releases"]) == charges and after["open_runs"] == []
    assert path.read_bytes() == before


def refused(error, words, ledger, x, y, **options):
    terms = {"classes": CLASSES, "epsilon": 1, "delta": 1e-6, "method": "mean", "ledger": ledger, **options}
    with pytest.raises(error, match=words) as refusal:
        dpreduce.fit(x, y, **terms)
    assert isinstance(refusal.value, (dpreduce.Error, ValueError)) and not isinstance(refusal.value, TypeError)
    return refusal.value


@pytest.mark.parametrize("kind", ROWS)
def test_bad_rows_are_refused(kind, rows, charged):
    make, words = ROWS[kind]
    assert refused(dpreduce.BadInput, words, charged, make(rows[0]), rows[1]).exit_code == 3


@pytest.mark.parametrize("kind", LABELS)
def test_bad_labels_are_refused(kind, rows, charged):
    make, words = LABELS[kind]
    refused(dpreduce.Error, words, charged, rows[0], make(rows[1]))


@pytest.mark.parametrize("kind", OPTIONS)
def test_bad_options_are_refused(kind, rows, charged):
    options, words = OPTIONS[kind]
    assert refused(dpreduce.UsageError, words, charged, *rows, **options).exit_code == 2


def test_a_nan_in_many_rows_that_are_only_added_up_is_found_with_the_sums(tmp_path):
    x, y = np.zeros((70_000, 256), np.float32), np.arange(70_000) % CLASSES
    x[-1, -1] = np.inf
    for method, options in (("mean", {}), ("adam", {"rounds": 12})):
        ledger = tmp_path / f"{method}.jsonl"
        refused(dpreduce.BadInput, "row 69999: not a finite number", ledger, x, y, method=method, **options)
        assert not ledger.exists()


def test_no_rows_at_all_are_refused(rows, charged):
    refused(dpreduce.BadInput, "no rows", charged, rows[0][:0], rows[1][:0])


@pytest.mark.parametrize("name", ["public_x", "validation_x"])
def test_other_rows_that_are_not_finite_are_refused(name, x, y, charged):
    given = {"public_x": {"center": "public"}, "validation_x": {"method": "ls", "choose": True, "validation_y": y[:200].copy()}}[name]
    words = f'{name.split("_")[0]} .*in memory: row 100: not a finite number.* or use bad_rows="zero"'
    refused(dpreduce.BadInput, words, charged, x, y, **given, **{name: with_nan(x)[:200]})


@pytest.mark.parametrize("place", [lambda x: x, lambda x: x[5:9], lambda x: x[::-1], np.copy, lambda x: x.astype(np.float64)])
def test_training_rows_are_no_public_ones(place, x, y, charged):
    refused(dpreduce.BadInput, "training rows are private, but public rows are used", charged, x, y, center="public", public_x=place(x))


def test_training_rows_in_a_mapped_file_are_no_public_ones(rows, charged, tmp_path):
    np.save(tmp_path / "x.npy", rows[0])
    one, other = (np.load(tmp_path / "x.npy", mmap_mode="r") for _ in range(2))
    refused(dpreduce.BadInput, "public_x and X are the same", charged, one, rows[1], center="public", public_x=other[7:20])


def test_training_rows_are_no_validation_rows(x, y, charged):
    refused(dpreduce.BadInput, "training rows are private, but validation rows are used", charged, x, y, method="ls", choose=True,
            validation_x=x, validation_y=y)


def test_an_object_that_is_copied_has_one_role_all_the_same(x, y, charged):
    words = "validation_y and {} are the same rows: training rows are private, but validation rows are used"
    names = [f"class {label}" for label in y]
    other = {"method": "ls", "choose": True, "validation_x": x + 1, "class_names": sorted(set(names))}
    refused(dpreduce.BadInput, words.format("y"), charged, x, names, validation_y=names, **other)
    refused(dpreduce.BadInput, words.format("person"), charged, x, [*names], person=names, validation_y=names, **other)


def test_a_row_with_more_labels_than_noise_is_made_for_is_refused(rows, charged):
    sets = np.eye(CLASSES, dtype=int)[rows[1]]
    sets[7] = 1
    refused(dpreduce.BadInput, "row 7: 4 labels, more than max_labels=2", charged, rows[0], sets, max_labels=2, method="fc")


def test_rows_that_are_not_finite_may_count_nowhere(rows):
    run = dpreduce.fit(with_nan(rows[0]), rows[1], classes=CLASSES, epsilon=1, delta=1e-6, method="mean", bad_rows="zero", seed=1)
    good = np.arange(len(rows[1])) != 100
    only = dpreduce.fit(rows[0][good], rows[1][good], classes=CLASSES, epsilon=1, delta=1e-6, method="mean", seed=1)
    assert run.classifier.to_bytes() == only.classifier.to_bytes()


@pytest.mark.parametrize("kind", set(ROWS) - {"other length", "integers", "strings"})
def test_estimators_refuse_them_too(kind, rows, charged):
    make, _ = ROWS[kind]
    with pytest.raises((ValueError, TypeError)):
        dpreduce.DPClassifier(epsilon=1, delta=1e-6, classes=range(CLASSES), ledger=charged).fit(make(rows[0]), rows[1])


def test_estimators_refuse_labels_outside_classes(rows, charged):
    for y, classes, words in ((rows[1], range(3), "label 3, outside"), (np.array(list("abcd"))[rows[1]], "abc", "label .*d"),
                              (rows[1], "abcd", "give both the same type"), (rows[1], [1, 1], "listed twice"),
                              (rows[1], ["a", 1], "several types|give both the same type")):
        with pytest.raises(ValueError, match=words):
            dpreduce.DPClassifier(epsilon=1, delta=1e-6, classes=classes, ledger=charged).fit(rows[0], y)


def test_a_budget_without_room_is_refused(rows, charged):
    with pytest.raises(dpreduce.BudgetRefused) as refusal:
        dpreduce.fit(*rows, classes=CLASSES, epsilon=1, delta=1e-6, method="mean", ledger=charged, budget_epsilon=0.5, budget_delta=1e-6)
    assert refusal.value.exit_code == 4


def test_a_ledger_that_was_edited_is_refused(rows, charged):
    text = charged.read_text()
    charged.write_text(text.replace("mean", "maen", 1))
    try:
        with pytest.raises(dpreduce.LedgerCorrupt):
            dpreduce.fit(*rows, classes=CLASSES, epsilon=1, delta=1e-6, method="mean", ledger=charged)
    finally:
        charged.write_text(text)


def test_a_limit_needs_a_ledger(rows):
    with pytest.raises(dpreduce.UsageError, match="checked on a ledger"):
        dpreduce.fit(*rows, classes=CLASSES, epsilon=1, delta=1e-6, budget_epsilon=2, budget_delta=1e-6)


def test_rows_to_predict_are_refused_in_the_same_words(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = dpreduce.fit(*rows, classes=CLASSES, epsilon=1, delta=1e-6, method="mean")
    with pytest.raises(dpreduce.BadInput, match="make it dense"):
        run.predict(Sparse())
    with pytest.raises(dpreduce.BadInput, match="row 100: not a finite number"):
        run.predict(with_nan(rows[0]))
    assert rows[0].shape[1] == DIM


def test_a_label_is_no_column_of_the_rows(rows, charged):
    table = np.column_stack([rows[0], rows[0][:, 0]])
    for targets in (table, table[:, -1], table[:, 1:3]):
        refused(dpreduce.BadInput, "targets: is X, or a column of it", charged, table, None, targets=targets, classes=None, method="auto")
    # scikit-learn's own checks fit on a column of X: there only names are compared.
    dpreduce.DPRegressor(epsilon=1, delta=1e-6, random_state=1).fit(table, table[:, 2])
    with pytest.raises(dpreduce.BadInput, match="y: is X, or a column of it"):
        dpreduce.Plan(features=DIM, targets=1, epsilon=1, delta=1e-6).partial(rows[0], rows[0][:, 2], "a")
    dpreduce.fit(table[:, :-1], targets=table[:, -1], epsilon=1, delta=1e-6, seed=1)  # columns of one table, apart; and the values of another
