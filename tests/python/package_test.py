"""The package as such: it is imported at no cost, and says what it has."""
import ast
import os
import pathlib
import pickle
import subprocess
import sys

import dpreduce
from conftest import SOURCE, command, module_of, refuses
from dpreduce.errors import error_of, in_keywords


def run_python(code, *words, **terms):
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True, **terms).stdout.strip()


def test_importing_loads_nothing_heavy():
    assert run_python("import sys, dpreduce\nprint([m for m in ('numpy', 'sklearn', 'pandas', 'mpi4py', 'tqdm', 'dpreduce._core') "
                      "if m in sys.modules])") == "[]"


def test_no_library_is_taken_from_the_folder_python_is_started_in(tmp_path):
    for library in ("libfmt.so.9", "libmpi.so.40", "libhdf5_serial.so.103", "liblapacke.so.3"):
        (tmp_path / library).write_text("no library")
    run_python("import dpreduce._core", cwd=tmp_path)


def test_an_estimator_is_imported_without_scikit_learn():
    code = ("import sys\nfrom dpreduce import DPClassifier\nassert 'sklearn' not in sys.modules and 'scipy' not in sys.modules\n"
            "import inspect\nassert 'gram_share' in inspect.signature(DPClassifier).parameters\n")
    assert run_python(code + "from sklearn.base import is_classifier, BaseEstimator\nmodel = DPClassifier()\n"
                      "print(is_classifier(model), issubclass(DPClassifier, BaseEstimator))") == "True True"
    assert run_python(code + "class Own(DPClassifier): pass\nprint(Own._get_param_names() == DPClassifier._get_param_names(),"
                      "isinstance(Own(epsilon=2), Own), Own().get_params()['epsilon'])") == "True True None"
    refuses(subprocess.CalledProcessError, "1", run_python, code + "DPClassifier.nothing")


def test_a_pickled_estimator_is_read_where_nothing_is_imported_yet(tmp_path):
    path = tmp_path / "model.pickle"
    path.write_bytes(pickle.dumps(dpreduce.DPClassifier(epsilon=2)))
    assert run_python("import pickle, sys\nprint(pickle.load(open(sys.argv[1], 'rb')).get_params()['epsilon'])", str(path)) == "2"


def test_messages_speak_in_keywords():
    for words, expected in {
            "mend it, or use --bad-rows zero (for the owner)": 'mend it, or use bad_rows="zero" (for the owner)',
            "--epsilon one: must be a number": 'epsilon="one": must be a number',
            "--lambda auto goes with --alpha 3, not with --pca": 'lambda_="auto" goes with alpha=3, not with pca',
            "the same command with --resume, or `dpreduce ledger release RUN --ledger x`": "the same command with resume=True, or `dpreduce ledger release RUN --ledger x`",
            "--train-y training labels in memory: labels have 2 columns": "y: labels have 2 columns",
            "give a file that fit --report wrote": "give a file that fit --report wrote"}.items():
        assert in_keywords(words) == expected


def test_all_names_are_there(program):
    for name in dpreduce.__all__:
        assert getattr(dpreduce, name) is not None and name in dir(dpreduce)
    assert dpreduce.__version__ == program("--version").split()[1]
    refuses(AttributeError, "nothing_of_that_name", lambda: dpreduce.nothing_of_that_name)


def test_stubs_say_the_same_names():
    folder = pathlib.Path(dpreduce.__file__).parent
    assert (folder / "py.typed").exists()
    def names_of(path):
        return {node.name for node in ast.parse(path.read_text()).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    stub = ast.parse((folder / "__init__.pyi").read_text())
    told = {alias.asname or alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert told == set(dpreduce.__all__)
    from dpreduce import _core
    assert names_of(folder / "_core.pyi") == {name for name in dir(_core) if not name.startswith("_")}


def test_types_of_keywords_are_those_of_the_options():
    source = SOURCE / "docs/generator/option_types.py"
    option_types = module_of(source)
    assert option_types.STUB.read_text() == option_types.text(), f"run {source}, which writes it anew"
    assert (pathlib.Path(dpreduce.__file__).parent / "_options.pyi").exists()
    assert [option_types.type_of(kind) for kind in ("", "COUNT", "NUMBER|auto", "a|b", "Q", "DIR")] == [
        "bool", "int", 'float | typing.Literal["auto"]', 'typing.Literal["a", "b"]', "float", "str | os.PathLike[str]"]
    for call in (dpreduce.fit, dpreduce.Plan.__init__):
        assert call.__annotations__["options"] == "Unpack[FitOptions]"
    for estimator in (dpreduce.DPClassifier, dpreduce.DPMeanClassifier):
        assert estimator.__init__.__annotations__["options"] == "Unpack[EstimatorOptions]"


def test_each_error_has_the_exit_code_of_the_command():
    codes = {"UsageError": 2, "BadInput": 3, "BudgetRefused": 4, "AggregationAborted": 5, "LedgerCorrupt": 6, "ResumeMismatch": 7,
             "ClaimRefuted": 8, "EntropyFailure": 1, "InternalError": 1}
    for name, code in codes.items():
        assert issubclass(getattr(dpreduce, name), dpreduce.Error) and getattr(dpreduce, name).exit_code == code
    assert issubclass(dpreduce.UsageError, ValueError) and issubclass(dpreduce.BadInput, ValueError)
    assert isinstance(error_of(130, "stopped"), KeyboardInterrupt)
    assert isinstance(error_of(1, "no bytes", "EntropyFailure"), dpreduce.EntropyFailure)
    assert isinstance(error_of(77, "of a later version"), dpreduce.InternalError)


def test_the_package_is_the_command(program, tmp_path):
    words = ["privacy", "convert", "--mu", "1", "--delta", "1e-6"]
    assert command(tmp_path, *words).stdout == program(*words)
    refused = command(tmp_path, "fit", "--epsilon", "one")
    assert refused.returncode == 2 and refused.stderr.startswith("dpreduce: --epsilon one: ")


# --- keywords, as mypy sees them: right ones pass, and each wrong one is an error that names it


CONFIGURATION = """
[mypy]
ignore_missing_imports = True
enable_incomplete_feature = Unpack
[mypy-dask.*,distributed.*,pandas.*,sklearn.*,mpi4py.*]
follow_imports = skip
"""
RIGHT = """
import typing
import numpy as np
import dpreduce
import dpreduce.dask
import dpreduce.silos

x = np.zeros((4, 3), np.float32)
y = np.zeros(4, np.int64)
run = dpreduce.fit(x, y, classes=2, epsilon=1, delta=1e-6, method="ls", ledger="l.jsonl", sample_weight=y, weight_bound=2)
run.classifier.labels(x)
run.save("model.safetensors")
person = dpreduce.fit(x, y, person=y, rows_per_person=2, classes=2, mu=.5, lambda_="auto", alpha=1, normalize="none")
model = dpreduce.DPClassifier(epsilon=1, delta=1e-6, classes=range(2), method="fc", rounds=3, class_weight="balanced", weight_bound=1.5)
spent: typing.Optional[float] = model.fit(x, y, sample_weight=np.ones(4)).privacy_.epsilon
dpreduce.DPMeanClassifier(epsilon=1, classes=2).fit(x, y, public_x=x).predict(x)
dpreduce.Plan(3, classes=2, epsilon=1, rounds=3)
"""
WRONG = {  # line: what mypy says of it
    'dpreduce.fit(x, y, classes=2, epsilonn=1)': 'Unexpected keyword argument "epsilonn" for "fit"',
    'dpreduce.fit(x, y, classes="two")': 'Argument "classes" to "fit" has incompatible type "str"',
    'dpreduce.fit(x, y, classes=2, method="svm")': 'Argument "method" to "fit" has incompatible type',
    'dpreduce.fit(x, y, weight_bound="2")': 'Argument "weight_bound" to "fit" has incompatible type "str"',
    'dpreduce.DPClassifier(epsilon="1")': 'Argument "epsilon" to "DPClassifier" has incompatible type "str"',
    'dpreduce.DPClassifier(learning_rat=.1)': 'Unexpected keyword argument "learning_rat" for "DPClassifier"',
    'dpreduce.DPClassifier(class_weight="equal")': 'Argument "class_weight" to "DPClassifier" has incompatible type',
    'dpreduce.DPClassifier(classes=2).fit(x, y, weights=y)': 'Unexpected keyword argument "weights" for "fit"',
    'dpreduce.Plan(3, classes=2, roundss=3)': 'Unexpected keyword argument "roundss" for "Plan"',
    'run.saev("model.safetensors")': '"FittedRun" has no attribute "saev"',
}


def test_mypy_tells_right_keywords_from_wrong_ones_and_finds_nothing_in_the_package(tmp_path):
    (tmp_path / "right.py").write_text(RIGHT)
    head = RIGHT.count("\n")
    (tmp_path / "wrong.py").write_text(RIGHT + "".join(line + "\n" for line in WRONG))
    package = pathlib.Path(dpreduce.__file__).parent
    (tmp_path / "mypy.ini").write_text(CONFIGURATION)
    done = subprocess.run(["mypy", "--cache-dir", os.devnull, "--no-error-summary", "--hide-error-context", "right.py", "wrong.py",
                           *map(str, package.glob("*.pyi"))], cwd=tmp_path, env={**os.environ, "MYPYPATH": str(package.parent)}, capture_output=True, text=True)
    assert done.stderr == ""
    errors = [line for line in done.stdout.splitlines() if ": note:" not in line]
    assert len(errors) == len(WRONG), done.stdout
    for number, (error, words) in enumerate(zip(errors, WRONG.values()), head + 1):
        assert error.startswith(f"wrong.py:{number}: error: {words}")
