"""dpreduce: differentially private classifiers from one exact, noised sum.

Names are imported when they are first used, so that `import dpreduce` is fast, and `load` needs NumPy alone.
"""
import importlib

_NAMES = {"load": "model", "Model": "model", "Error": "errors", "UsageError": "errors", "BadInput": "errors"}
__all__ = sorted(_NAMES)


def __getattr__(name):
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_NAMES})
