"""Persons as the unit: the bytes of the program, on ranks and in any cut into partitions."""
import functools
import operator
import pickle
import re

import dpreduce
import numpy as np
import pytest
from conftest import CLASSES, DIM, TERMS, labeled_rows, model_of_program, refuses, save_rows
from dpreduce import BadInput, UsageError
from plans_test import Engine, finish

ROWS = 700


@pytest.fixture
def persons():
    """Whose each row is: a long tail, and rows of most persons in several partitions."""
    return np.random.default_rng(3).geometric(0.02, ROWS) - 5


@pytest.fixture
def rows():
    return labeled_rows(ROWS)


@pytest.fixture
def of_program(rows, persons, tmp_path):
    """The bytes of the program's model with these options."""
    save_rows(tmp_path, *rows)
    np.save(tmp_path / "p.npy", persons)
    return lambda **options: model_of_program(tmp_path, train_person="p.npy", **options)


def test_identifiers_of_any_kind_make_the_model_of_the_program(x, y, persons, of_program):
    expected = of_program(method="fc", rounds=2, rows_per_person=3)
    words = persons.astype(str)
    twice = np.repeat(words.astype("U40"), 2)
    for given in (persons, persons.astype(np.int16)[:, None], persons.astype(">i8"), words, words.astype("S"), words.astype(">U9"), twice[::2],
                  words.tolist(), persons.tolist(), words.astype(object)):
        run = dpreduce.fit(x, y, person=given, rows_per_person=3, method="fc", rounds=2, **TERMS)
        assert run.classifier.to_bytes() == expected
        assert (run.privacy.unit, run.privacy.rows_per_person) == ("person", 3)
    of_records = dpreduce.fit(x, y, method="fc", rounds=2, **TERMS)
    assert of_records.privacy.unit == "record" and of_records.classifier.to_bytes() != expected


def test_three_ranks_make_the_model_of_the_program(on_ranks, of_program, tmp_path):
    expected, weighed = of_program(method="ls"), of_program(method="fisher")
    said = on_ranks(3, f"""
x, y, p = (np.load(name + ".npy")[rank::3] for name in "xyp")
p = p.astype(str) if rank == 1 else p
for method in ("ls", "fisher"):
    dpreduce.fit(x, y, person=p, method=method, **{TERMS}).save(method + ".safetensors")
try:
    dpreduce.fit(x, y, person=None if rank == 2 else p, method="mean", **{TERMS})
except dpreduce.UsageError:
    say("refused")
""")
    assert (tmp_path / "ls.safetensors").read_bytes() == expected
    assert (tmp_path / "fisher.safetensors").read_bytes() == weighed != expected
    assert said == ["0 refused", "1 refused", "2 refused"]  # identifiers on some ranks alone


def test_estimators_take_persons_where_they_fit(x, y, persons, of_program):
    expected = of_program(method="mean", rows_per_person=2)
    estimator = dpreduce.DPMeanClassifier(epsilon=1, delta=1e-6, classes=range(CLASSES), random_state=7, rows_per_person=2)
    assert estimator.get_params()["rows_per_person"] == 2
    assert estimator.fit(x, y, person=persons).classifier_.to_bytes() == expected
    assert "one person with any number of rows" in estimator.set_params(random_state=None).fit(x, y, person=persons).explain()
    for fit in (estimator.fit, functools.partial(dpreduce.fit, rows_per_person=2, **TERMS)):
        refuses(UsageError, "rows_per_person goes with person", fit, x, y)
    from sklearn.model_selection import cross_validate
    with pytest.warns(dpreduce.RepeatedFitWarning):
        folds = cross_validate(estimator, x, y, cv=2, fit_params={"person": persons}, return_estimator=True)
    assert all(each.report_["privacy"]["unit"] == "person" for each in folds["estimator"])


def cut(partitions, *arrays):
    """Every third row apart, and uneven, so that persons lie in several."""
    order = np.argsort(np.arange(len(arrays[0])) % 3, kind="stable")
    edges = np.linspace(0, len(order), partitions + 1).astype(int) ** 2 // len(order)
    return [(f"p{p}", *(array[order[a:b]] for array in arrays)) for p, (a, b) in enumerate(zip(edges, edges[1:]))]


def counted(plan, parts):
    return plan.counted(functools.reduce(operator.add, (plan.count(p, name) for name, *_, p in parts)))


# Releases that weigh each row.
@pytest.mark.parametrize("method, options", [("mean", {"metric": "euclidean"}), ("newton", {"rounds": 2}), ("coinpress", {}), ("fisher", {}),
                                             ("global-adapt", {"rounds": 2})])
@pytest.mark.parametrize("partitions", [1, 3, 7])
def test_any_cut_gives_the_bytes_of_the_program(method, options, partitions, x, y, persons, of_program, ledger):
    expected = of_program(method=method, rows_per_person=2, **options)
    plan = dpreduce.Plan(DIM, method=method, rows_per_person=2, **options, **TERMS)
    parts = cut(partitions, x, y, persons)
    engine = Engine(partitions)
    counts = [engine.run(lambda plan, p, name: plan.count(p, name), plan, p, name) for name, *_, p in reversed(parts)]
    plan = plan.counted(functools.reduce(lambda a, b: engine.run(operator.add, a, b), counts))
    run = finish(plan.start(ledger), plan, engine, [(*part, p.astype(str)) for *part, p in parts])
    assert run.classifier.to_bytes() == expected
    assert run.report["privacy"]["unit"] == "person" and run.account["runs"] == 2  # the program's, and this one


@pytest.mark.parametrize("method, options", [("auto", {"rounds": 2}), ("mean", {}), ("ls", {}), ("fc", {"rounds": 2}), ("fc-one-step", {}),
                                             ("gd", {"rounds": 2}), ("adam", {"rounds": 2})])
def test_partitions_clip_whoever_is_in_one_of_them_as_the_program_does(method, options, x, y, persons, of_program):
    expected = of_program(method=method, **options)
    plan = dpreduce.Plan(DIM, method=method, rows_per_person=1, **options, **TERMS)

    def model_of(parts):
        ready = counted(plan, parts)
        run = finish(ready.start(), ready, Engine(3), parts)
        assert run.report["privacy"]["unit"] == "person"
        return run.classifier.to_bytes()

    places = np.random.default_rng(9).permutation(ROWS)
    by_person = [(f"p{part}", *(array[places][persons[places] % 3 == part] for array in (x, y, persons))) for part in range(3)]
    assert model_of(by_person) == expected
    apart = cut(3, x, y, persons)
    in_parts = model_of(apart)  # each partition clips to its share of a person's rows
    assert in_parts == model_of([(name, a[::-1], b[::-1], p[::-1]) for name, a, b, p in apart]) != expected


def test_what_was_counted_is_what_is_summed(x, y, persons):
    plan = dpreduce.Plan(DIM, method="mean", rows_per_person=2, **TERMS)
    parts = cut(3, x, y, persons)
    ready = counted(plan, parts)
    name, a, b, p = parts[1]
    others = p.copy()
    others[0] = 10**6
    for person in (others, p[:-1]):
        rows = a[:len(person)], b[:len(person)]
        assert str(10**6) not in str(refuses(BadInput, f"{name}|identifier", ready.partial, *rows, name, person=person))
    ready.partial(a, b, name, person=p[np.argsort(p, kind="stable")])  # the same persons as often: the bound holds
    refuses(UsageError, "partition p9: its persons were not counted", ready.partial, a, b, "p9", person=p)
    refuses(UsageError, "missing from the sum: p2", lambda: ready.release(sum_of(ready, parts[:2])))
    refuses(UsageError, "missing from the count of persons: p3", ready.start, expected_partitions=["p0", "p1", "p2", "p3"])
    fewer = counted(plan, parts[:2])  # weights of other counts
    refuses(UsageError, "two sessions", lambda: sum_of(ready, parts[:1]) + sum_of(fewer, parts[1:2]))


def sum_of(plan, parts):
    return functools.reduce(operator.add, (plan.partial(x, y, name, person=p) for name, x, y, p in parts))


def test_counts_are_of_each_partition_once_and_of_one_plan(x, y, persons):
    plan = dpreduce.Plan(DIM, method="mean", rows_per_person=1, **TERMS)
    counts = plan.count(persons, "p0")
    assert counts.partitions == ["p0"] and "1 partitions" in repr(counts)
    refuses(UsageError, "partition p0 is in both", lambda: counts + plan.count(persons, "p0"))
    other = dpreduce.Plan(DIM, method="mean", rows_per_person=1, **TERMS)
    for wrong in (lambda: counts + other.count(persons, "p1"), lambda: other.counted(counts), lambda: plan.counted("counts"),
                  lambda: plan.counted(counts).counted(counts), lambda: plan.count(persons, "")):
        refuses(UsageError, None, wrong)
    refuses(UsageError, "have not been counted", plan.partial, x, y, "p0", person=persons)
    refuses(UsageError, "have not been counted", plan.start)
    refuses(UsageError, "the person of each row", lambda: plan.counted(counts).partial(x, y, "p0"))
    of_rows = dpreduce.Plan(DIM, method="mean", **TERMS)
    for wrong in (lambda: of_rows.count(persons, "p0"), lambda: of_rows.partial(x, y, "p0", person=persons)):
        refuses(UsageError, "unit is a row", wrong)


def test_counts_on_their_way_show_no_person_and_no_number():
    plan = dpreduce.Plan(DIM, method="mean", rows_per_person=1, **TERMS)
    names = np.array(["alice", "bob"] * 500)
    first, second = (pickle.dumps(plan.count(names, "p")) for _ in range(2))
    assert first != second and len(first) == len(second)
    assert b"alice" not in first and (500).to_bytes(8, "little") not in first
    assert pickle.loads(first).partitions == ["p"]
    at = len(first) - 60
    with pytest.raises(dpreduce.Error):
        plan.counted(pickle.loads(first[:at] + bytes([first[at] ^ 1]) + first[at + 1:]))


@pytest.mark.parametrize("person, says", [
    (np.arange(ROWS - 1), f"{ROWS - 1} identifiers for {ROWS} rows"),
    (np.arange(float(ROWS)), "row 0"),
    (np.where(np.arange(ROWS) == 17, np.nan, 1.0), "row 17 has the identifier nan"),
    (np.array([""] + ["a"] * (ROWS - 1)), "row 0 has no identifier"),
    (["a"] * 5 + [None] + ["a"] * (ROWS - 6), "row 5 has the identifier None"),
    (["a"] * 5 + [float("nan")] + ["a"] * (ROWS - 6), "row 5 has the identifier nan"),
    (["a"] * 5 + ["NaN"] + ["a"] * (ROWS - 6), "row 5 has the identifier \"NaN\", which means a missing one"),
    (np.array(["a"] * 6 + ["<NA>"] * (ROWS - 6)), "row 6 has the identifier \"<NA>\""),
    (np.where(np.arange(ROWS) == 17, np.iinfo(np.int64).min, 1), "row 17 has the identifier"),
    (np.array([1, 2.5] * (ROWS // 2), dtype=object), "row 1 has the identifier 2.5"),
    (np.ones((ROWS, 2), dtype=int), "one a row"),
    (np.ones(ROWS, dtype=bool), "integers or strings"),
    (np.ones(ROWS, dtype="datetime64[s]"), "integers or strings"),
    ("alice", "")])
def test_what_is_no_identifier_is_refused_by_row(person, says, x, y, ledger):
    refuses(BadInput, re.escape(says), dpreduce.fit, x, y, person=person, ledger=ledger, **TERMS)
    assert not ledger.exists()
