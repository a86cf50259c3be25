"""Differentially private classifiers from one exact, noised sum.

    from dpreduce import DPClassifier
    DPClassifier(epsilon=1, delta=1e-6, classes=range(10)).fit(X, y).score(X_test, y_test)

Names are imported when they are first used, so that importing the package takes no time.
"""
import importlib

from ._blas import choose_kernels

choose_kernels()
# name -> the module that has it
_NAMES = {
    "fit": "fitting",
    "FittedRun": "fitting",
    "Evaluation": "evaluation",
    "DPScore": "evaluation",
    "RowFolds": "folds",
    "Plan": "plans",
    "PartialSum": "plans",
    "PersonCounts": "plans",
    "Session": "plans",
    "DPClassifier": "estimators",
    "DPMeanClassifier": "estimators",
    "DPRegressor": "estimators",
    "Privacy": "promise",
    "read_ledger": "ledger",
    "dp_events": "ledger_events",
    "export_onnx": "commands",
    "export_card": "commands",
    "export_page": "commands",
    "sweep": "commands",
    "audit": "commands",
    "load": "model",
    "Model": "model",
    "Statistics": "statistics",
    "Error": "errors",
    "UsageError": "errors",
    "BadInput": "errors",
    "BudgetRefused": "errors",
    "AggregationAborted": "errors",
    "LedgerCorrupt": "errors",
    "ResumeMismatch": "errors",
    "ClaimRefuted": "errors",
    "EntropyFailure": "errors",
    "InternalError": "errors",
    "PrivacyWarning": "errors",
    "DataDependentClassesWarning": "errors",
    "RepeatedFitWarning": "errors",
}
_MODULES = {"commands", "errors", "estimators", "evaluation", "fitting", "ledger", "model", "privacy", "dask", "plans", "silos", "statistics"}

__all__ = [*_NAMES, "privacy"]


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module("." + name, __name__)
    if name in _NAMES:
        value = getattr(importlib.import_module("." + _NAMES[name], __name__), name)
        globals()[name] = value
        return value
    if name == "__version__":
        from . import _library
        return _library.core().version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__, *_MODULES, "__version__"})
