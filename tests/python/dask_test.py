"""dpreduce.dask on a local cluster whose workers are killed."""
import contextlib
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
from conftest import TERMS, bytes_of, model_of_program, refuses, save_rows
from dpreduce import BadInput


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
    expected = bytes_of(x, y, person=persons, **of_persons)
    X, Y, P = da.from_array(x, chunks=(450, 5)), da.from_array(y, chunks=450), da.from_array(persons, chunks=450)
    run = dpreduce.dask.fit(X, Y, person=P, **of_persons)
    assert run.classifier.to_bytes() == expected and run.report["privacy"]["unit"] == "person"
    frame = dd.from_pandas(pd.DataFrame(x).assign(label=y, person=[f"{p}" for p in persons]), npartitions=3)
    run = dpreduce.dask.fit(frame.drop(columns=["label", "person"]), frame["label"], person=frame["person"], **of_persons)
    assert run.classifier.to_bytes() == expected
    refuses(BadInput, "person has", lambda: dpreduce.dask.fit(X, Y, person=P.rechunk(2000), method="mean", **TERMS))


def test_progress_is_of_the_sums(rows, capfd):
    X, Y = da.from_array(rows[0], chunks=(450, 5)), da.from_array(rows[1], chunks=450)
    dpreduce.dask.fit(X, Y, method="gd", rounds=4, progress=True, **TERMS)
    assert "75%" in capfd.readouterr().err
    dpreduce.dask.fit(X, Y, method="mean", **TERMS)
    assert capfd.readouterr().err == ""


def test_data_frames(x, y):
    unnamed = dd.from_pandas(pd.DataFrame(x).assign(label=y), npartitions=3)
    run = dpreduce.dask.fit(unnamed.drop(columns="label"), unnamed["label"], method="mean", **TERMS)
    assert run.classifier.to_bytes() == bytes_of(x, y, method="mean", **TERMS)
    own = pd.DataFrame(x).add_prefix("f").convert_dtypes()
    named, labels = (dd.from_pandas(one, npartitions=3) for one in (own, pd.Series(y)))
    run = dpreduce.dask.fit(named, labels, method="mean", **TERMS)
    assert run.classifier.to_bytes() == bytes_of(own, y, method="mean", **TERMS)
    assert run.classifier.feature_names == list(own.columns)
    turned = named.map_partitions(lambda part: part[part.columns[::-1]] if part.index[0] else part, meta=own[:0], enforce_metadata=False)
    refuses(BadInput, 'column 0 is "f15", but in the plan it is "f0"', dpreduce.dask.fit, turned, labels, method="mean", **TERMS)


@contextlib.contextmanager
def killer(client, most=8):
    """Kills a worker of the cluster now and then, but for the last that is there, until so many are killed: on a machine that
    others use their successors would never be done starting. Gives the list of those that it has killed."""
    killed, stopped, chance = [], threading.Event(), random.Random(3)

    def run():
        while len(killed) < most and not stopped.wait(chance.uniform(0.3, 1.2)):
            workers = list(client.scheduler_info()["workers"])
            if len(workers) < 2:
                continue  # its successor is starting
            try:
                pids = client.run(os.getpid, workers=[chance.choice(workers)])
            except Exception:  # it has just gone
                continue
            for pid in pids.values():
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield killed
    finally:
        stopped.set()
        thread.join()


METHODS = {"mean": {}, "ls": {}, "fc": {"rounds": 3}, "adam": {"rounds": 3}}


def test_workers_that_are_killed_do_no_harm(client, x, y, tmp_path):
    """The bytes of the program, for each method, and for 1, 3 and 7 partitions."""
    save_rows(tmp_path, x, y)
    expected = {method: model_of_program(tmp_path, method=method, **options) for method, options in METHODS.items()}
    with killer(client) as killed:
        for kills, (partitions, methods) in enumerate({1: ["mean"], 3: METHODS, 7: ["fc"]}.items()):
            deadline = time.monotonic() + 60
            while len(killed) < kills and time.monotonic() < deadline:
                time.sleep(0.1)
            chunks = -(-len(y) // partitions)
            X, Y = da.from_array(x, chunks=(chunks, 5)), da.from_array(y, chunks=chunks)
            for method in methods:
                ledger = tmp_path / f"{method}-{partitions}.jsonl"
                run = dpreduce.dask.fit(X, Y, method=method, **METHODS[method], client=client, ledger=ledger, **TERMS)
                assert run.classifier.to_bytes() == expected[method], (method, partitions)
                assert run.account["runs"] == 1
        print(f"{len(killed)} workers were killed")
    assert len(killed) > 1


def test_what_is_no_collection_or_cut_otherwise_is_refused(x, y):
    X, Y = da.from_array(x, chunks=(500, -1)), da.from_array(y, chunks=500)
    for rows, labels, words in ((X, da.from_array(y, chunks=1000), "4 partitions of rows and y has 2"), (X, y, "not a Dask array"),
                                (x.tolist(), y, "not a Dask array"), (da.from_array(x.ravel(), chunks=500), Y, "dimensions")):
        refuses(BadInput, words, dpreduce.dask.fit, rows, labels, method="mean", **TERMS)
