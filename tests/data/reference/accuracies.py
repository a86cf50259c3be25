"""Test accuracies that tests/cli/accuracy_test.cpp compares `fit --non-private` with.

    python3 accuracies.py PROGRAM       writes accuracies.json beside this file (NumPy 1.24, SciPy 1.10,
                                        scikit-learn 1.2)

PROGRAM is dpreduce: its `synth` makes the rows, the same bytes everywhere, which the stored checksum confirms. Of three
equal shards the first is trained on and the other two, from the same distribution, are tested on.

without_lattice     the solvers of solvers.py in double precision: no rows, weights or residuals on a lattice
scikit_learn        RidgeClassifier(alpha=1) and LogisticRegression(C=1, lbfgs), both with an intercept, on rows of
                    norm 1, as `fit` makes them
"""

import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import scipy.special
from sklearn.linear_model import LogisticRegression, RidgeClassifier

import solvers

HERE = pathlib.Path(__file__).parent
COMMON = "--kind gaussian-mixture --rows 30000 --shards 3 --test-rows 1 --dim 32 --seed 1"
DATA = {
    "balanced": (10, "--classes 10 --separation 3"),
    "long_tail": (10, "--classes 10 --separation 3 --imbalance-ratio 10"),
    "two_unequal": (2, "--classes 2 --separation 1 --majority-share 0.8"),
}


def synth(program, options):
    """(x, y, test_x, test_y) and the SHA-256 of all files."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "synth", "--out", folder, *options.split()], check=True, capture_output=True)
        names = [f"train_{kind}_{shard}.npy" for shard in range(3) for kind in "xy"]
        digest = hashlib.sha256(b"".join((pathlib.Path(folder) / name).read_bytes() for name in names)).hexdigest()
        x0, y0, x1, y1, x2, y2 = (np.load(pathlib.Path(folder) / name) for name in names)
    return (x0, y0, np.concatenate([x1, x2]), np.concatenate([y1, y2])), digest


def accuracy(rows, result, x, y):
    """Of a model that solvers.py made of `rows`, which have norm 1 after every step."""
    v = solvers.unit(solvers.unit(x.astype(np.float64)) - rows.mean)
    projected = v @ rows.projection.T
    scores = v @ np.array(result["weights"]).T / np.linalg.norm(projected, axis=1, keepdims=True)
    scores += np.array(result["bias"])
    if "prototypes" in result:
        cosines = solvers.unit(projected) @ np.array(result["prototypes"]).T
        scores = scipy.special.softmax(scores, axis=1) + scipy.special.softmax(cosines, axis=1)
    return float(np.mean(np.argmax(scores, axis=1) == y))


def without_lattice(x, y, test_x, test_y):
    solvers.rounds_to_lattice = False

    def prepared(rows):
        return rows.intercept(0.02) if rows.classes == 2 else rows

    def ridge(rows):
        return solvers.ridge_regression(prepared(rows))

    cases = [
        ("--method mean", solvers.cosine_means),
        ("--method mean --metric euclidean --center dp", lambda r: solvers.euclidean_means(r.center())),
        ("--method fisher", solvers.fisher),
        ("--method ls --shared-gram --center dp", lambda r: ridge(r.center())),
        ("--method ls --shared-gram --pca 12", lambda r: ridge(r.pca(12))),
        ("--method ls --alpha 1", lambda r: solvers.ridge_regression_by_class(prepared(r), 1)),
        # As many as by default. Before steps are short enough, weights swing, and a swing magnifies whatever is rounded.
        ("--method gd", lambda r: solvers.descent(r, 300)),
        ("--method gd --warm-start --rounds 40", lambda r: solvers.descent(r, 40, warm=True)),
        ("--method adam --rounds 40", lambda r: solvers.adam(r, 40)),
        ("--method newton", lambda r: solvers.newton(r, 6)),
        ("--method fc --center dp", lambda r: solvers.whitened_descent(r.center(), 20)),
    ]
    for options, solve in cases:
        rows = solvers.Rows(x, y)
        yield {"options": options, "accuracy": accuracy(rows, solve(rows), test_x, test_y)}


def scikit_learn(x, y, test_x, test_y):
    def score(model):
        rows, test_rows = (solvers.unit(part.astype(np.float64)) for part in (x, test_x))
        return float(model.fit(rows, y).score(test_rows, test_y))

    return {
        "ridge": score(RidgeClassifier(alpha=1.0, solver="cholesky")),
        "logistic": score(LogisticRegression(C=1.0, max_iter=10_000, tol=1e-8)),
    }


def main():
    sets = []
    for name, (classes, options) in DATA.items():
        rows, digest = synth(sys.argv[1], f"{COMMON} {options}")
        sets.append({"name": name, "classes": classes, "synth": f"{COMMON} {options}", "sha256": digest,
                     "scikit_learn": scikit_learn(*rows), "without_lattice": list(without_lattice(*rows))})
    (HERE / "accuracies.json").write_text(json.dumps(sets, indent=1) + "\n")


if __name__ == "__main__":
    main()
