"""Keywords of the package, as mypy sees them: right ones pass, and each wrong one is an error that names it."""
import os
import pathlib
import re
import subprocess

import dpreduce

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
    places = {}
    for error in errors:
        place = re.fullmatch(r"wrong\.py:(\d+): error: (.*)", error)
        assert place, error
        places.setdefault(int(place[1]) - head, []).append(place[2])
    assert len(places) == len(errors) == len(WRONG), done.stdout
    for number, (line, words) in enumerate(WRONG.items(), 1):
        assert places[number][0].startswith(words), line
