"""The errors of dpreduce, one class each, with the words that the command prints, options as keywords, and the code that
it exits with."""
import functools
import re
import sys
import warnings

from . import _library
from .keywords import parameter_of


class Error(Exception):
    """What dpreduce refuses or fails at. `exit_code` is that of the command for the same."""

    exit_code = 1


class InternalError(Error):
    """Our own bug, or a failure of the machine that has no class of its own."""


class EntropyFailure(InternalError):
    """The operating system gave no secure random bytes."""


class UsageError(Error, ValueError):
    """Options that do not parse, contradict each other or are out of range."""

    exit_code = 2


class BadInput(Error, ValueError):
    """Arrays or files that cannot be read or do not fit."""

    exit_code = 3


class NoNumber(BadInput, TypeError):
    """An element that is neither a number nor a string, where numbers are asked for: a TypeError, as NumPy has it."""


class BudgetRefused(Error):
    """The fit would pass the budget of its data set."""

    exit_code = 4


class AggregationAborted(Error):
    """A rank was lost."""

    exit_code = 5


class LedgerCorrupt(Error):
    """The ledger does not verify."""

    exit_code = 6


class ResumeMismatch(Error):
    """A saved run that does not fit its ledger, or a release that is charged already."""

    exit_code = 7


class ClaimRefuted(Error):
    """An audit has proven more loss than is claimed."""

    exit_code = 8


class PrivacyWarning(UserWarning):
    """A promise that is weaker than it may look."""


class DataDependentClassesWarning(PrivacyWarning):
    """Classes were taken from the labels of the rows, so that the fit is not private."""


class RepeatedFitWarning(PrivacyWarning):
    """Several fits have been charged: their costs add up."""


_INTERRUPTED = 130
_BY_EXIT_CODE = {own.exit_code: own for own in (UsageError, BadInput, BudgetRefused, AggregationAborted, LedgerCorrupt,
                                                ResumeMismatch, ClaimRefuted)}


# What has another name in Python than as an option, or none as a keyword.
_NAMES = {"train-x": "X", "train-y": "y", "train-person": "person", "train-weight": "sample_weight", "test-x": "X", "test-y": "y", "test-person": "person"}
_FLAGS = {"overwrite", "public-model"}  # beside those of fit()
_IN_MEMORY = re.compile(r"--((?:train|public|validation)-(?:[xy]|person|weight)|targets) "
                        r"(?:(?:training|public|validation) (?:features|labels|rows)|identifiers of persons|weights of rows|targets) in memory")
# The command's own lines stay as they are: what follows "dpreduce" or "fit", to the end of the clause.
_OPTION = re.compile(r"\b(?:dpreduce|fit) [^;:,)`]*|(?<![\w-])--([a-z][a-z0-9-]*)(?: ([^\s,;:)]+)(?=(:?)))?")
_METAVARS = {"FILE", "FOLDER"}


@functools.cache
def _types():
    return {parameter_of(name): kind for name, _, kind in _library.core().fit_keywords()}


def _is_number(word):
    try:
        float(word)
    except ValueError:
        return False
    return True


def in_keywords(words):
    """`words` with the command's options as a caller of Python writes them: --bad-rows zero is bad_rows="zero"."""
    def keyword(found):
        option, value, colon = found.groups()
        if option is None:
            return found[0]
        name = _NAMES.get(option, parameter_of(option.replace("-", "_")))
        kind = _types().get(name)
        if option in _FLAGS or kind == "":
            name += "=True"
        elif value is not None and (value in (kind or "").split("|") or (colon and kind is not None and not _is_number(value))):
            return f'{name}="{value}"'
        elif value is not None and _is_number(value):
            return f"{name}={value}"
        return name if value is None or value in _METAVARS else f"{name} {value}"
    return _OPTION.sub(keyword, _IN_MEMORY.sub(r"--\1", words))


def error_of(code, words, name=""):
    """The exception of an error of the library: by the name of its class where that is given, else by its exit code."""
    words = in_keywords(words)
    if code == _INTERRUPTED:
        return KeyboardInterrupt(words)
    if name:
        return globals()[name](words)
    return _BY_EXIT_CODE.get(code, InternalError)(words)


def warn_of(words):
    """Warns of a fit that is paid for. A filter that makes warnings errors must not throw that away: then it is printed."""
    try:
        warnings.warn(words, PrivacyWarning, stacklevel=5)
    except PrivacyWarning:
        print(f"PrivacyWarning: {words}", file=sys.stderr)
