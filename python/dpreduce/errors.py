"""The errors of dpreduce, one class each, with the words that the command prints and the code that it exits with."""


class Error(Exception):
    """What dpreduce refuses or fails at. `exit_code` is that of the command for the same."""

    exit_code = 1


class UsageError(Error, ValueError):
    """Options that do not parse, contradict each other or are out of range."""

    exit_code = 2


class BadInput(Error, ValueError):
    """Arrays or files that cannot be read or do not fit."""

    exit_code = 3
