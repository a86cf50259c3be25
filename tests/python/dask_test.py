"""dpreduce.dask on a local cluster whose workers are killed."""
import os
import random
import signal
import threading
import time

import dask.array as da
import pytest

import dpreduce
import dpreduce.dask
from conftest import CLASSES, DIM

TERMS = dict(classes=CLASSES, epsilon=1, delta=1e-6, seed=7)


@pytest.fixture(scope="module")
def client():
    import dask
    from distributed import Client, LocalCluster
    with dask.config.set({"distributed.scheduler.allowed-failures": 100, "distributed.worker.daemon": True}):
        with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
            with Client(cluster) as client:
                yield client


@pytest.mark.parametrize("partitions", [1, 3, 7])
def test_arrays_give_the_bytes_of_one_fit(partitions, rows):
    x, y = rows
    chunks = (-(-len(y) // partitions),)
    X, Y = da.from_array(x, chunks=chunks + (5,)), da.from_array(y, chunks=chunks)
    for method in ("mean", "ls", "fc", "adam"):
        options = {} if method in ("mean", "ls") else {"rounds": 3}
        run = dpreduce.dask.fit(X, Y, method=method, **options, **TERMS)
        assert run.classifier.to_bytes() == dpreduce.fit(x, y, method=method, **options, **TERMS).classifier.to_bytes()


def test_data_frames(rows):
    import dask.dataframe as dd
    import pandas as pd
    x, y = rows
    frame = dd.from_pandas(pd.DataFrame(x).assign(label=y), npartitions=3)
    run = dpreduce.dask.fit(frame.drop(columns="label"), frame["label"], method="mean", **TERMS)
    assert run.classifier.to_bytes() == dpreduce.fit(x, y, method="mean", **TERMS).classifier.to_bytes()


def test_workers_that_are_killed_do_no_harm(client, rows, tmp_path):
    x, y = rows
    X, Y = da.from_array(x, chunks=(150, -1)), da.from_array(y, chunks=150)
    stopped = threading.Event()
    killed = []

    def kill_now_and_then():
        chance = random.Random(3)
        while not stopped.wait(0.7):
            workers = list(client.scheduler_info()["workers"])
            if len(workers) < 2:
                continue  # its successor is starting
            try:
                pid = client.run(os.getpid, workers=[chance.choice(workers)])
            except Exception:  # it has just gone
                continue
            for of_worker in pid.values():
                os.kill(of_worker, signal.SIGKILL)
                killed.append(of_worker)

    killer = threading.Thread(target=kill_now_and_then)
    killer.start()
    try:
        deadline = time.monotonic() + 60
        while not killed and time.monotonic() < deadline:
            time.sleep(0.1)
        run = dpreduce.dask.fit(X, Y, method="fc", rounds=4, client=client, ledger=tmp_path / "ledger.jsonl", **TERMS)
    finally:
        stopped.set()
        killer.join()
    assert killed
    assert run.classifier.to_bytes() == dpreduce.fit(x, y, method="fc", rounds=4, **TERMS).classifier.to_bytes()
    assert run.account["runs"] == 1


def test_what_is_no_collection_or_cut_otherwise_is_refused(rows):
    x, y = rows
    X = da.from_array(x, chunks=(500, -1))
    with pytest.raises(dpreduce.BadInput, match="4 partitions of rows and y has 2"):
        dpreduce.dask.fit(X, da.from_array(y, chunks=1000), method="mean", **TERMS)
    with pytest.raises(dpreduce.BadInput, match="no Dask array"):
        dpreduce.dask.fit(X, y, method="mean", **TERMS)
    with pytest.raises(dpreduce.BadInput, match="dimensions"):
        dpreduce.dask.fit(da.from_array(x.ravel(), chunks=500), da.from_array(y, chunks=500), method="mean", **TERMS)


def test_a_list_is_no_collection(rows):
    x, y = rows
    with pytest.raises(dpreduce.BadInput, match="no Dask array"):
        dpreduce.dask.fit(x.tolist(), y, method="mean", **TERMS)
