#!/usr/bin/python3
"""One cell of the tables that peers_page.py writes: a method of dpreduce or of a peer on one set at one budget.

    peers.py FOLDER '{"task": "classes", "set": "drawn", "method": "dpreduce", "epsilon": 1, "seeds": 5}'

prints {"figures": [...], "seconds": s, "mib": m} as JSON: of each seed its figures; the least CPU seconds of a fit; and the most memory that
the process had, NumPy and rows included. FOLDER has the peers' repositories, by the names that git clone gives them. Nothing of
them is imported but what the cell needs.
"""
import json
import logging
import os
import resource
import sys
import time
import types
import warnings

import dpreduce  # before NumPy: it chooses the kernels of OpenBLAS
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DELTA = 1e-6
REPOSITORIES = {  # name -> (address, folder of its Python package)
    "differential-privacy-library": ("https://github.com/IBM/differential-privacy-library", "."),
    "differential-privacy": ("https://github.com/google/differential-privacy", "python/dp_accounting"),
    "opacus": ("https://github.com/pytorch/opacus", "."),
    "BinAgg": ("https://github.com/Shuronglin/BinAgg", "src"),
}


def reach(folder, name):
    sys.path.insert(0, os.path.join(folder, name, REPOSITORIES[name][1]))


# ---- sets ------------------------------------------------------------------------------------------------------


def drawn_classes(rows=10_000, dim=20, scale=float(os.environ.get("SCALE", 1))):
    """Two classes about points that lie 1.5 apart, in so many features."""
    random = np.random.default_rng(11)
    away = random.normal(size=dim)
    away *= 0.75 / np.linalg.norm(away)

    def draw(count):
        y = random.integers(0, 2, count)
        return (random.normal(size=(count, dim)) + np.where(y[:, None] == 1, away, -away)).astype(np.float32), y
    return *draw(int(rows * scale)), *draw(10_000)


def images(rows=5000):
    """The first images of Fashion-MNIST as scattering features, which launch/quickstart makes."""
    folder = os.environ.get("FEATURES", f"{ROOT}/data/fashion_mnist")
    x, y, test_x, test_y = (np.load(f"{folder}/{name}.npy") for name in ("train_x_00", "train_y_00", "test_x", "test_y"))
    return x[:rows].astype(np.float32), y[:rows], test_x.astype(np.float32), test_y


def drawn_numbers(rows, dim, scale=float(os.environ.get("SCALE", 1))):
    """Features between -1 and 1, numbers X b + .5 e, b normal, without a constant. Returns the range of numbers that is public, and b, as well."""
    random = np.random.default_rng(12)
    b = random.normal(size=dim)

    def draw(count):
        x = random.uniform(-1, 1, (count, dim))
        return x, x @ b + 0.5 * random.normal(size=count)
    return *draw(int(rows * scale)), *draw(10_000), float(np.abs(b).sum() + 1.5), b


CLASSES = {"10,000 x 20, two classes": drawn_classes, "5,000 x 1,296, ten classes": images}
NUMBERS = {"2,000 x 5": lambda: drawn_numbers(2000, 5), "10,000 x 10": lambda: drawn_numbers(10_000, 10)}


# ---- classes ---------------------------------------------------------------------------------------------------


def of_length_one(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def within(x):
    """Rows as methods get them that need a range of all features, and that range: close about the values, and public here."""
    return (x, (-4, 4)) if x.shape[1] == 20 else (of_length_one(x), (-0.2, 0.2))


def with_mean_loss(module):
    """diffprivlib asks for scikit-learn 1.4, whose logistic loss is a mean of rows; before it is a sum, and noise for a mean would
    be too little for it."""
    import sklearn
    if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 4):
        return

    class MeanLoss(module.LinearModelLoss):
        def loss_gradient(self, coef, X, y, sample_weight, l2_reg_strength):
            return super().loss_gradient(coef, X, y, sample_weight / len(X), l2_reg_strength)
    module.LinearModelLoss = MeanLoss


def fit_dpreduce(folder, epsilon, classes):
    return lambda x, y: dpreduce.fit(x, y, classes=classes, epsilon=epsilon, delta=DELTA), lambda x: x


def fit_logistic(folder, epsilon, classes):
    reach(folder, "differential-privacy-library")
    from diffprivlib.models import LogisticRegression, logistic_regression
    with_mean_loss(logistic_regression)
    return lambda x, y: LogisticRegression(epsilon=epsilon, data_norm=1).fit(x, y), of_length_one


def fit_bayes(folder, epsilon, classes):
    reach(folder, "differential-privacy-library")
    from diffprivlib.models import GaussianNB
    return lambda x, y: GaussianNB(epsilon=epsilon, bounds=within(x)[1]).fit(x, y), lambda x: within(x)[0]


def fit_forest(folder, epsilon, classes):
    reach(folder, "differential-privacy-library")
    from diffprivlib.models import RandomForestClassifier
    return (lambda x, y: RandomForestClassifier(epsilon=epsilon, bounds=within(x)[1], classes=list(range(classes))).fit(x, y),
            lambda x: within(x)[0])


OF_CLASSES = {"dpreduce": fit_dpreduce, "diffprivlib LogisticRegression": fit_logistic, "diffprivlib GaussianNB": fit_bayes,
              "diffprivlib RandomForestClassifier": fit_forest}


def classify(folder, cell):
    x, y, test_x, test_y = CLASSES[cell["set"]]()
    fit, prepared = OF_CLASSES[cell["method"]](folder, cell["epsilon"], int(y.max()) + 1)
    x, test_x = prepared(x), prepared(test_x)
    for _ in range(cell["seeds"]):
        begun = time.process_time()
        model = fit(x, y)
        yield time.process_time() - begun, {"accuracy": float((model.predict(test_x) == test_y).mean())}


# ---- numbers ---------------------------------------------------------------------------------------------------


def regress_dpreduce(folder, epsilon, dim, largest):
    def fit(x, y):
        model = dpreduce.DPRegressor(epsilon=epsilon, delta=DELTA, feature_range=(-1, 1), target_range=(-largest, largest)).fit(x, y)
        return getattr(model, "coef_", None), model.predict  # none where rows were scaled to one length
    return fit


def regress_binagg(folder, epsilon, dim, largest):
    reach(folder, "BinAgg")
    from binagg import dp_linear_regression
    mu = dpreduce.privacy.convert(epsilon=epsilon, delta=DELTA)["mu"]

    def fit(x, y):
        model = dp_linear_regression(x, y, [(-1, 1)] * dim, (-largest, largest), mu)
        return model.coefficients, lambda rows: rows @ model.coefficients
    return fit


def regress_diffprivlib(folder, epsilon, dim, largest):
    reach(folder, "differential-privacy-library")
    from diffprivlib.models import LinearRegression

    def fit(x, y):
        model = LinearRegression(epsilon=epsilon, bounds_X=(-1, 1), bounds_y=(-largest, largest)).fit(x, y)
        return model.coef_, model.predict
    return fit


def regress_plainly(folder, epsilon, dim, largest):
    def fit(x, y):
        coefficients = np.linalg.lstsq(x, y, rcond=None)[0]
        return coefficients, lambda rows: rows @ coefficients
    return fit


OF_NUMBERS = {"dpreduce": regress_dpreduce, "BinAgg": regress_binagg, "diffprivlib LinearRegression": regress_diffprivlib,
              "least squares, not private": regress_plainly}


def regress(folder, cell):
    x, y, test_x, test_y, largest, b = NUMBERS[cell["set"]]()
    fit = OF_NUMBERS[cell["method"]](folder, cell["epsilon"], x.shape[1], largest)
    for _ in range(cell["seeds"]):
        begun = time.process_time()
        coefficients, predict = fit(x, y)
        seconds = time.process_time() - begun
        r2 = 1 - ((test_y - predict(test_x)) ** 2).sum() / ((test_y - test_y.mean()) ** 2).sum()
        yield seconds, {"r2": float(r2), "error": None if coefficients is None else float(np.abs(coefficients - b).mean())}


# ---- accountants -----------------------------------------------------------------------------------------------

COMPOSED = {  # what is asked -> noise multiplier, sampling rate, times
    "1 sum, sigma 4.22467": (4.22467, 1, 1),
    "20 sums, sigma 20": (20.0, 1, 20),
    "1,000 rounds, sigma 1, rate .01": (1.0, 0.01, 1000),
    "10,000 rounds, sigma .8, rate .001": (0.8, 0.001, 10_000),
}


def count_dpreduce(folder, sigma, rate, times):
    terms = {"gaussian": f"{sigma}:{times}"} if rate == 1 else {"subsampled": f"{sigma}:{rate}:{times}"}
    return dpreduce.privacy.compose(**terms, delta=DELTA)["epsilon"]


def count_dp_accounting(kind):
    def count(folder, sigma, rate, times):
        reach(folder, "differential-privacy")
        absl = types.ModuleType("absl")  # its logging is all that is used of it
        absl.logging = logging
        sys.modules |= {"absl": absl, "absl.logging": logging}
        import dp_accounting
        event = dp_accounting.GaussianDpEvent(sigma)
        event = event if rate == 1 else dp_accounting.PoissonSampledDpEvent(rate, event)
        accountant = {"PLD": dp_accounting.pld.PLDAccountant, "RDP": dp_accounting.rdp.RdpAccountant}[kind]()
        begun = time.process_time()
        accountant.compose(dp_accounting.SelfComposedDpEvent(event, times))
        return accountant.get_epsilon(DELTA), time.process_time() - begun
    return count


def count_opacus(kind):
    def count(folder, sigma, rate, times):
        opacus = types.ModuleType("opacus")  # without its own start, which needs PyTorch; accountants do not
        opacus.__path__ = [os.path.join(folder, "opacus", "opacus")]
        optimizers = types.ModuleType("opacus.optimizers")
        optimizers.DPOptimizer = object
        sys.modules |= {"opacus": opacus, "opacus.optimizers": optimizers}
        from opacus.accountants import create_accountant
        accountant = create_accountant(kind)
        accountant.history = [(sigma, rate, times)]
        begun = time.process_time()
        return accountant.get_epsilon(delta=DELTA), time.process_time() - begun
    return count


OF_ACCOUNTANTS = {"dpreduce": count_dpreduce, "dp_accounting PLD": count_dp_accounting("PLD"), "Opacus PRV": count_opacus("prv"),
                  "Opacus GDP": count_opacus("gdp"), "dp_accounting RDP": count_dp_accounting("RDP"), "Opacus RDP": count_opacus("rdp")}


def count(folder, cell):
    for _ in range(cell["seeds"]):
        begun = time.process_time()
        told = OF_ACCOUNTANTS[cell["method"]](folder, *COMPOSED[cell["set"]])
        epsilon, seconds = told if isinstance(told, tuple) else (told, time.process_time() - begun)
        yield seconds, {"epsilon": float(epsilon)}


def main(folder, cell):
    warnings.simplefilter("ignore")  # of fits on no ledger, of classes, of lbfgs
    runs = list({"classes": classify, "numbers": regress, "accountants": count}[cell["task"]](folder, cell))
    print(json.dumps({"figures": [figures for _, figures in runs], "seconds": min(seconds for seconds, _ in runs),
                      "mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], json.loads(sys.argv[2]))
