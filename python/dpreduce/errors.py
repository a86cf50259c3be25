"""The errors of dpreduce, one class each, with the words that the command prints and the code that it exits with."""


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
    """A checkpoint of another run."""

    exit_code = 7


class ClaimRefuted(Error):
    """An audit has proven more loss than is claimed."""

    exit_code = 8


class PrivacyWarning(UserWarning):
    """A promise that is weaker than it may look."""


class DataDependentClassesWarning(PrivacyWarning):
    """Classes were taken from the labels of the rows, which no guarantee covers."""


class RepeatedFitWarning(PrivacyWarning):
    """Several fits have been charged: their costs add up."""


_INTERRUPTED = 130
_BY_EXIT_CODE = {own.exit_code: own for own in (UsageError, BadInput, BudgetRefused, AggregationAborted, LedgerCorrupt,
                                                ResumeMismatch, ClaimRefuted)}


def error_of(code, words, name=""):
    """The exception of an error of the library: by the name of its class where that is given, else by its exit code."""
    if code == _INTERRUPTED:
        return KeyboardInterrupt(words)
    if name:
        return globals()[name](words)
    return _BY_EXIT_CODE.get(code, InternalError)(words)
