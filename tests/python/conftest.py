"""What the tests of the package share: rows of four classes, and the program."""
import importlib.util
import os
import pathlib
import signal
import subprocess
import sys

import dpreduce  # before NumPy: it chooses the kernels of OpenBLAS
import numpy as np
import pytest

SOURCE = pathlib.Path(os.environ["DPREDUCE_SOURCE"])
CLASSES, DIM = 4, 16
TERMS = dict(classes=CLASSES, epsilon=1, delta=1e-6, seed=7)


def labeled_rows(rows, seed=1):
    """x (rows x DIM, float32) of CLASSES classes that lie apart, and y (rows)."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, rows)
    return (rng.normal(size=(rows, DIM)) + 3 * np.eye(CLASSES, DIM)[y]).astype(np.float32), y


def save_rows(folder, x, y, name=""):
    np.save(folder / f"{name}x.npy", x)
    np.save(folder / f"{name}y.npy", y)


def bytes_of(*rows, **terms):
    """The model that fit() makes of rows and terms, as bytes."""
    return dpreduce.fit(*rows, **terms).classifier.to_bytes()


def refuses(error, words, call, /, *given, **terms):
    """The call ends with this error in these words, a pattern; returns the error."""
    __tracebackhide__ = True
    with pytest.raises(error, match=words) as refusal:
        call(*given, **terms)
    return refusal.value


class Tensor:
    """As PyTorch's, which need not be installed."""

    __module__ = "torch"
    requires_grad, dtype = False, "torch.float32"

    def __init__(self, values=(), device="cpu", **terms):
        self.values, self.device = values, type("device", (), {"type": device})
        self.__dict__.update(terms)

    def __array__(self, dtype=None):
        return np.asarray(self.values, dtype)

    def __len__(self):
        return len(self.values)


def peak_memory(anew=False):
    """The most memory that this process has had, in KiB; since now, where it is counted anew."""
    if anew:
        pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    lines = pathlib.Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def module_of(path):
    """The Python file as a module of its own."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def rows():
    return labeled_rows(2000)


@pytest.fixture
def x(rows):
    return rows[0]


@pytest.fixture
def y(rows):
    return rows[1]


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "ledger.jsonl"


@pytest.fixture
def heeds_ctrl_c():
    """Ctrl-C is KeyboardInterrupt, as in a terminal; a process that runs in the background ignores it from the start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def run_program(folder, *words, ranks=0):
    """Runs dpreduce with these words in the folder; returns what it printed."""
    launcher = [os.environ["DPREDUCE_MPIEXEC"], "-n", str(ranks)] if ranks else []
    done = subprocess.run([*launcher, os.environ["DPREDUCE"], *map(str, words)], cwd=folder, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def command(folder, *words, **environment):
    """Runs the package as the command in the folder, with these variables besides."""
    return subprocess.run([sys.executable, "-m", "dpreduce", *map(str, words)], cwd=folder, text=True, capture_output=True,
                          env={**os.environ, **environment}, check=False)


def words_of(options):
    """Options as the words of a command line."""
    words = []
    for name, value in options.items():
        words += ["--" + name.replace("_", "-"), *(value if isinstance(value, list) else [value])]
    return words


def model_of_program(folder, **options):
    """The bytes of the model that the program fits with TERMS and these options to x.npy and y.npy in the folder."""
    run_program(folder, "fit", "--train-x", "x.npy", "--train-y", "y.npy", "--out", "program.safetensors", "--overwrite", "--quiet",
                *words_of({**TERMS, **options}))
    return (folder / "program.safetensors").read_bytes()


@pytest.fixture
def program(tmp_path):
    """Runs dpreduce with these words in a folder of the test's own; returns what it printed."""
    return lambda *words: run_program(tmp_path, *words)


ON_RANKS = """
import os
import dpreduce
import numpy as np
rank, ranks = (int(os.environ["OMPI_COMM_WORLD_" + name]) for name in ("RANK", "SIZE"))
def say(*words):
    with open(f"said.{rank}", "a") as file:
        print(rank, *words, file=file)
"""


@pytest.fixture
def on_ranks(tmp_path):
    """Runs a script, with ON_RANKS before it, on so many ranks of mpirun; returns what they said, all lines sorted."""
    def run(ranks, script, before=""):
        path = tmp_path / "script.py"
        path.write_text(before + ON_RANKS + script)
        done = subprocess.run([os.environ["DPREDUCE_MPIEXEC"], "-n", str(ranks), sys.executable, str(path)],
                              cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120, check=False)
        assert done.returncode == 0, done.stdout
        return sorted(line for path in tmp_path.glob("said.*") for line in path.read_text().splitlines())
    return run
