#!/usr/bin/python3
"""option_types.py: writes python/dpreduce/_options.pyi, the types of the keywords of a fit, from the table that the program reads.
It needs the built package: PYTHONPATH=build/release/python docs/generator/option_types.py"""
import pathlib
import re

from dpreduce import _core
from dpreduce.estimators import OF_CLASSES, OTHERWISE, DPClassifier
from dpreduce.keywords import parameter_of

STUB = pathlib.Path(__file__).resolve().parents[2] / "python/dpreduce/_options.pyi"
HEAD = '''"""Types of the keywords of a fit. Written by docs/generator/option_types.py."""
import os
import typing

'''
_OWN = {"FILE": "str | os.PathLike[str]", "DIR": "str | os.PathLike[str]", "COUNT": "int", "B": "int", "MIB": "int", "LO,HI": "typing.Sequence[float]"}
# Keywords that estimators have a parameter of their own for.
OF_FIT = OTHERWISE | DPClassifier.__init__.__kwdefaults__.keys()
_LEDGER = "ledger"


def type_of(kind):
    """As a type: "" is a flag, "a|b" are choices, of which NUMBER is a number, and all else is a number."""
    if not kind:
        return "bool"
    words = kind.split("|")
    choices = [word for word in words if not word.isupper()]
    literal = f"typing.Literal[{', '.join(repr(word) for word in choices)}]".replace("'", '"')
    numbers = [_OWN.get(word, "float") for word in words if word.isupper()]
    return " | ".join(numbers + ([literal] if choices else []))


def text():
    types = {parameter_of(name): type_of(kind) for name, _, kind in _core.fit_keywords() if name != _LEDGER}
    def dict_of(name, base, own):
        lines = "".join(f"    {key}: {types[key]} | None\n" for key in own)
        return f"class {name}({base}, total=False):\n{lines}"
    of_estimators = [key for key in types if key not in OF_FIT]
    return (HEAD + dict_of("RegressorOptions", "typing.TypedDict", [key for key in of_estimators if key not in OF_CLASSES])
            + "\n" + dict_of("EstimatorOptions", "RegressorOptions", [key for key in of_estimators if key in OF_CLASSES])
            + "\n" + dict_of("FitOptions", "EstimatorOptions", [key for key in types if key in OF_FIT]))


if __name__ == "__main__":
    STUB.write_text(text())
