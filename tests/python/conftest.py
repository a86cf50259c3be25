"""What the tests of the package share: rows of four classes, and the program."""
import os
import signal
import subprocess
import sys

import dpreduce  # before NumPy: it chooses the kernels of OpenBLAS
import numpy as np
import pytest

CLASSES, DIM = 4, 16


def labeled_rows(rows, seed=1):
    """x (rows x DIM, float32) of CLASSES classes that lie apart, and y (rows)."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, rows)
    return (rng.normal(size=(rows, DIM)) + 3 * np.eye(CLASSES, DIM)[y]).astype(np.float32), y


@pytest.fixture
def rows():
    return labeled_rows(2000)


@pytest.fixture
def heeds_ctrl_c():
    """Ctrl-C is KeyboardInterrupt, as in a terminal; a process that runs in the background ignores it from the start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def run_program(folder, *words):
    """Runs dpreduce with these words in the folder; returns what it printed."""
    done = subprocess.run([os.environ["DPREDUCE"], *map(str, words)], cwd=folder, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def program(tmp_path):
    """Runs dpreduce with these words in a folder of the test's own; returns what it printed."""
    return lambda *words: run_program(tmp_path, *words)


@pytest.fixture
def on_ranks(tmp_path):
    """Runs a script on so many ranks of mpirun; returns what each has appended to the file said.RANK, all lines sorted."""
    def run(ranks, script, *words):
        path = tmp_path / "script.py"
        path.write_text(script)
        done = subprocess.run([os.environ["DPREDUCE_MPIEXEC"], "-n", str(ranks), sys.executable, str(path), *map(str, words)],
                              cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
        assert done.returncode == 0, done.stdout
        return sorted(line for path in tmp_path.glob("said.*") for line in path.read_text().splitlines())
    return run
