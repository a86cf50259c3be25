"""dpreduce.dask on a local cluster whose workers are killed."""
import os
import random
import signal
import threading
import time

import dpreduce  # before NumPy: it chooses the kernels of OpenBLAS
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import dpreduce.dask
from conftest import TERMS, model_of_program, save_rows


@pytest.fixture(scope="module")
def client():
    import dask
    from distributed import Client, LocalCluster
    with dask.config.set({"distributed.scheduler.allowed-failures": 100, "distributed.worker.daemon": True}):
        with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
            with Client(cluster) as client:
                yield client


def test_persons_are_counted_over_all_partitions(x, y):
    persons = np.random.default_rng(5).integers(0, 300, len(y))
    of_persons = dict(rows_per_person=2, method="mean", metric="euclidean", **TERMS)  # weighed: any cut makes the same bytes
    expected = dpreduce.fit(x, y, person=persons, **of_persons).classifier.to_bytes()
    X, Y, P = da.from_array(x, chunks=(450, 5)), da.from_array(y, chunks=450), da.from_array(persons, chunks=450)
    run = dpreduce.dask.fit(X, Y, person=P, **of_persons)
    assert run.classifier.to_bytes() == expected and run.report["privacy"]["unit"] == "person"
    frame = dd.from_pandas(pd.DataFrame(x).assign(label=y, person=[f"{p}" for p in persons]), npartitions=3)
    run = dpreduce.dask.fit(frame.drop(columns=["label", "person"]), frame["label"], person=frame["person"], **of_persons)
    assert run.classifier.to_bytes() == expected
    with pytest.raises(dpreduce.BadInput, match="person has"):
        dpreduce.dask.fit(X, Y, person=P.rechunk(2000), method="mean", **TERMS)


def test_progress_is_of_the_sums(rows, capfd):
    X, Y = da.from_array(rows[0], chunks=(450, 5)), da.from_array(rows[1], chunks=450)
    dpreduce.dask.fit(X, Y, method="gd", rounds=4, progress=True, **TERMS)
    assert "75%" in capfd.readouterr().err
    dpreduce.dask.fit(X, Y, method="mean", **TERMS)
    assert capfd.readouterr().err == ""


def test_data_frames(x, y):
    frame = dd.from_pandas(pd.DataFrame(x).assign(label=y), npartitions=3)
    run = dpreduce.dask.fit(frame.drop(columns="label"), frame["label"], method="mean", **TERMS)
    assert run.classifier.to_bytes() == dpreduce.fit(x, y, method="mean", **TERMS).classifier.to_bytes()
    own = pd.DataFrame(x).add_prefix("f").convert_dtypes()
    named = dd.from_pandas(own, npartitions=3)
    run = dpreduce.dask.fit(named, dd.from_pandas(pd.Series(y), npartitions=3), method="mean", **TERMS)
    assert run.classifier.to_bytes() == dpreduce.fit(own, y, method="mean", **TERMS).classifier.to_bytes()
    assert run.classifier.feature_names == list(own.columns)
    turned = named.map_partitions(lambda part: part[part.columns[::-1]] if part.index[0] else part, meta=own[:0], enforce_metadata=False)
    with pytest.raises(dpreduce.BadInput, match='column 0 is "f15", but in the plan it is "f0"'):
        dpreduce.dask.fit(turned, frame["label"], method="mean", **TERMS)


class Killer:
    """Kills a worker of the cluster now and then, but for the last that is there, until MOST are killed: on a machine that others
    use their successors would never be done starting."""

    MOST = 8

    def __init__(self, client):
        self.client, self.killed = client, 0
        self.stopped, self.chance = threading.Event(), random.Random(3)
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while self.killed < self.MOST and not self.stopped.wait(self.chance.uniform(0.3, 1.2)):
            workers = list(self.client.scheduler_info()["workers"])
            if len(workers) < 2:
                continue  # its successor is starting
            try:
                pids = self.client.run(os.getpid, workers=[self.chance.choice(workers)])
            except Exception:  # it has just gone
                continue
            for pid in pids.values():
                os.kill(pid, signal.SIGKILL)
                self.killed += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stopped.set()
        self.thread.join()


METHODS = {"mean": {}, "ls": {}, "fc": {"rounds": 3}, "adam": {"rounds": 3}}


def test_workers_that_are_killed_do_no_harm(client, x, y, tmp_path):
    """The bytes of the program, for each method, and for 1, 3 and 7 partitions."""
    save_rows(tmp_path, x, y)
    expected = {method: model_of_program(tmp_path, method=method, **options) for method, options in METHODS.items()}
    with Killer(client) as killer:
        for kills, (partitions, methods) in enumerate({1: ["mean"], 3: METHODS, 7: ["fc"]}.items()):
            deadline = time.monotonic() + 60
            while killer.killed < kills and time.monotonic() < deadline:
                time.sleep(0.1)
            chunks = -(-len(y) // partitions)
            X, Y = da.from_array(x, chunks=(chunks, 5)), da.from_array(y, chunks=chunks)
            for method in methods:
                ledger = tmp_path / f"{method}-{partitions}.jsonl"
                run = dpreduce.dask.fit(X, Y, method=method, **METHODS[method], client=client, ledger=ledger, **TERMS)
                assert run.classifier.to_bytes() == expected[method], (method, partitions)
                assert run.account["runs"] == 1
        print(f"{killer.killed} workers were killed")
    assert killer.killed > 1


def test_what_is_no_collection_or_cut_otherwise_is_refused(x, y):
    X = da.from_array(x, chunks=(500, -1))
    with pytest.raises(dpreduce.BadInput, match="4 partitions of rows and y has 2"):
        dpreduce.dask.fit(X, da.from_array(y, chunks=1000), method="mean", **TERMS)
    for collection in (X, x.tolist()):
        with pytest.raises(dpreduce.BadInput, match="not a Dask array"):
            dpreduce.dask.fit(collection, y, method="mean", **TERMS)
    with pytest.raises(dpreduce.BadInput, match="dimensions"):
        dpreduce.dask.fit(da.from_array(x.ravel(), chunks=500), da.from_array(y, chunks=500), method="mean", **TERMS)
