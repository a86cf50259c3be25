"""The examples for Spark and Ray, on doubles of these engines that retry, duplicate and pickle as they do."""
import pickle
import random
import sys
import types

import numpy as np
import pytest

from conftest import DIM, SOURCE, TERMS, bytes_of, module_of

EXAMPLES = SOURCE / "examples/python"


class Tasks:
    """Runs a task until it is not lost, and now and then once more; its result comes as bytes."""

    def __init__(self, seed=5):
        self.random = random.Random(seed)
        self.lost = self.duplicated = 0

    def run(self, work):
        while True:
            result = pickle.loads(pickle.dumps(work()))
            if self.random.random() < 0.3:
                self.lost += 1
                continue
            if self.random.random() < 0.2:  # a slow twin; the engine takes one of the two
                self.duplicated += 1
                result = pickle.loads(pickle.dumps(work()))
            return result

    def tree(self, add, parts):
        while len(parts) > 1:
            at = self.random.randrange(len(parts) - 1)
            first, second = parts[at:at + 2]
            parts[at:at + 2] = [self.run(lambda first=first, second=second: add(first, second))]
        return parts[0]


class Column(np.ndarray):
    """An array of Arrow, of numbers or of lists of them."""

    def to_numpy(self, zero_copy_only):
        assert not zero_copy_only
        return np.asarray(self)


def batch_of(rows):
    columns = [np.array(column).view(Column) for column in zip(*rows)]
    return types.SimpleNamespace(column=columns.__getitem__, num_rows=len(rows))


def bytes_in(columns):
    """RecordBatch.from_pydict, of one column of bytes."""
    (values,) = columns.values()
    assert all(isinstance(value, bytes) for value in values)
    return values


class Rdd:
    def __init__(self, tasks, partitions):
        self.tasks, self.partitions = tasks, partitions

    def getNumPartitions(self):
        return len(self.partitions)

    def map(self, work):
        return Rdd(self.tasks, [[work(one) for one in part] for part in self.partitions])

    def treeReduce(self, add):
        return self.tasks.tree(add, [one for part in self.partitions for one in part])


class Frame:
    """Of rows (features, label); a task sees those of its partition in batches of 200."""

    place = 0  # of the partition whose task runs

    def __init__(self, tasks, partitions):
        self.rdd, self.tasks = Rdd(tasks, partitions), tasks
        self.sparkSession = types.SimpleNamespace(sparkContext=types.SimpleNamespace(broadcast=Broadcast))

    def select(self, *names):
        assert names == ("features", "label")
        return self

    def mapInArrow(self, work, schema):
        assert schema == "part binary"

        def run(place, rows):
            Frame.place = place
            batches = (batch_of(rows[first:first + 200]) for first in range(0, len(rows), 200))
            return [types.SimpleNamespace(part=part) for batch in work(batches) for part in batch]
        parts = [self.tasks.run(lambda place=place, rows=rows: run(place, rows)) for place, rows in enumerate(self.rdd.partitions)]
        return types.SimpleNamespace(rdd=Rdd(self.tasks, parts))


class Broadcast:
    def __init__(self, value):
        self.value = value

    def unpersist(self):
        self.value = None


@pytest.mark.parametrize("method, options", [("mean", {}), ("ls", {}), ("fc", {"rounds": 3})])
def test_spark(method, options, x, y, ledger, monkeypatch):
    context = types.SimpleNamespace(get=lambda: types.SimpleNamespace(partitionId=lambda: Frame.place))
    monkeypatch.setitem(sys.modules, "pyspark", types.SimpleNamespace(TaskContext=context))
    monkeypatch.setitem(sys.modules, "pyarrow", types.SimpleNamespace(RecordBatch=types.SimpleNamespace(from_pydict=bytes_in)))
    tasks = Tasks()
    records = [(list(map(float, row)), int(label)) for row, label in zip(x, y)]
    frame = Frame(tasks, [records[place::5] for place in range(5)] + [[]])
    run = module_of(EXAMPLES / "spark_fit.py").fit_frame(frame, DIM, ledger, method=method, **options, **TERMS)
    assert run.classifier.to_bytes() == bytes_of(x, y, method=method, **options, **TERMS)
    assert tasks.lost and tasks.duplicated and run.account["runs"] == 1


class Ray:
    """Objects have references; tasks get what references stand for."""

    def __init__(self, tasks):
        self.tasks, self.objects = tasks, []

    def put(self, value):
        self.objects.append(pickle.dumps(value))
        return len(self.objects) - 1

    def get(self, reference):
        return pickle.loads(self.objects[reference])

    def remote(self, **options):
        assert options == {"max_retries": 5}
        def decorate(work):
            def run(*arguments):
                assert len(arguments) != 4 or isinstance(arguments[3], int)
                values = [self.get(a) for a in arguments[:3]] + list(arguments[3:]) if work.__name__ == "partial" else [self.get(a) for a in arguments]
                return self.put(self.tasks.run(lambda: work(*values)))
            return types.SimpleNamespace(remote=run)
        return decorate


@pytest.mark.parametrize("method, options", [("mean", {}), ("adam", {"rounds": 3})])
def test_ray(method, options, x, y):
    tasks = Tasks()
    ray = Ray(tasks)
    blocks = [ray.put((x[place::11], y[place::11])) for place in range(11)]
    run = module_of(EXAMPLES / "ray_fit.py").fit_blocks(ray, blocks, DIM, method=method, **options, **TERMS)
    assert run.classifier.to_bytes() == bytes_of(x, y, method=method, **options, **TERMS)
    assert tasks.lost and tasks.duplicated
