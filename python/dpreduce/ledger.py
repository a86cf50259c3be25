"""Ledgers: what runs have charged."""
from __future__ import annotations

import json
import os
import typing

from . import _library


def read_ledger(path: str | os.PathLike[str], delta: float | None = None) -> dict[str, typing.Any]:
    """What `dpreduce ledger show --format json` prints of the ledger, epsilons at `delta`, by default that of the runs: a
    dict with "releases", "runs", "deltas_of_runs", "mu", "rho", "adjacency" (the strictest of the lines) and "open_runs".
    Where pandas is installed, "releases" and "runs" are data frames, one row each; else lists of dicts.

    Throws BadInput where there is no such file, LedgerCorrupt where it does not verify."""
    shown = json.loads(_library.core().ledger(os.fspath(path), delta))
    try:
        import pandas
    except ImportError:
        return shown
    for name in ("releases", "runs"):
        shown[name] = pandas.json_normalize(shown[name])
    return shown
