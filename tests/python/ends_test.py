"""Pickles of every protocol, and interpreters that end while a thread fits."""
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import dpreduce
from conftest import CLASSES, DIM, labeled_rows, save_rows


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_of_every_protocol_are_read(protocol, rows):
    def sent(value):
        return pickle.loads(pickle.dumps(value, protocol))
    terms = {"classes": CLASSES, "epsilon": 1, "delta": 1e-6, "method": "mean"}
    run = dpreduce.fit(*rows, **terms)
    assert sent(run).classifier.to_bytes() == run.classifier.to_bytes()
    plan = sent(dpreduce.Plan(DIM, **terms))
    session = plan.start()
    session.step(sent(plan.partial(*rows, "p", sent(session.task))))
    assert session.result().classifier.classes == CLASSES
    persons = sent(dpreduce.Plan(DIM, **terms, rows_per_person=2))
    assert sent(persons.count(np.arange(9), "p")).partitions == ["p"]


FITS = """
import sys, threading, time
import numpy as np
import dpreduce
x, y = np.load("x.npy"), np.load("y.npy")
begun = threading.Event()
def fit():
    {work}
threading.Thread(target=fit, daemon=True).start()
begun.wait(20)
time.sleep({pause})
sys.exit(3)
"""
LONG = "dpreduce.fit(x, y, classes=4, epsilon=1, delta=1e-6, method='adam', rounds=4000, ledger='ledger.jsonl', progress={progress})"
TOLD = """from dpreduce import fitting
    class Telling(fitting._Bar):
        def __call__(self, doing, share):
            begun.set()
    fitting._Bar = Telling
    """ + LONG.format(progress=True)
UNTOLD = "begun.set()\n    " + LONG.format(progress=False)
PREDICT = """run = dpreduce.fit(x, y, classes=4, epsilon=1, delta=1e-6, method='mean')
    begun.set()
    while True:
        run.scores(x)"""


@pytest.mark.parametrize("work, pause", [(TOLD, 0), (UNTOLD, 0.3), (PREDICT, 0)], ids=["told", "untold", "predict"])
def test_an_interpreter_that_ends_meanwhile_does_not_abort(work, pause, tmp_path):
    save_rows(tmp_path, *labeled_rows(20000))
    done = subprocess.run([sys.executable, "-c", FITS.format(work=work, pause=pause)], cwd=tmp_path, text=True, capture_output=True,
                          timeout=60, check=False, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert (done.returncode, done.stderr) == (3, "")
