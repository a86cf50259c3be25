"""A ledger as events of Google's accounting library, dp_accounting, so that others can check our figures with theirs.

    Gaussian release of mu              GaussianDpEvent(noise_multiplier = 1 / mu, rounded down)
    round on a Poisson sample           PoissonSampledDpEvent(sampling_probability, GaussianDpEvent)
    selection, exponential mechanism    ExponentialMechanismDpEvent(epsilon), whose range is epsilon
    selection, permute-and-flip         PermuteAndFlipDpEvent(epsilon), of ledgers that have one
    the same several times              SelfComposedDpEvent(event, count)
    one after the other                 ComposedDpEvent(events)

A noise multiplier is sigma over the whole distance between neighbors, as that of a sum is in dp_accounting under
ADD_OR_REMOVE_ONE. So events are for an accountant of that relation, whatever the adjacency, but for an exchange where
there are rounds on samples: for these alone the relation is REPLACE_ONE, under which a multiplier is sigma over what
one record adds, and neighbors are twice that apart.
"""
from __future__ import annotations

import fractions
import itertools
import json
import math
import os
import typing

from . import _library
from .errors import UsageError

_ADJACENCIES = ("add-remove", "replace-one")
_LARGEST_MULTIPLIER = 1e9  # of src/common/accounting/mechanism.hpp
_SELECTIONS = {"exponential": "ExponentialMechanismDpEvent", "permute-and-flip": "PermuteAndFlipDpEvent"}


def _multiplier_of_samples(mu):
    """At most 1 / mu, with 24 binary digits, as src/common/ledger/spending.hpp has it."""
    import numpy
    most = 1 / mu
    if most >= _LARGEST_MULTIPLIER:
        return _LARGEST_MULTIPLIER
    rounded = numpy.float32(most)
    return float(rounded if float(rounded) < most else numpy.nextafter(rounded, numpy.float32(0)))


def _composed(events):
    return {"class": "ComposedDpEvent", "events": events}


def _repeated(event, count):
    return event if count == 1 else {"class": "SelfComposedDpEvent", "event": event, "count": count}


class _Terms:
    """The neighbors that events are for."""

    def __init__(self, question, is_replace_one):
        self.question, self.is_replace_one = question, is_replace_one

    def event_of(self, line, adjacency):
        """The event of one release or selection that was charged under `adjacency`, and why it is more than that costs, or None."""
        is_twice = self.question == "replace-one" and adjacency == "add-remove"
        loose = "charged under add-remove: an exchange counts as a group of two" if is_twice else None
        selection = line.get("selection", line)
        if "mechanism" in selection:
            return {"class": _SELECTIONS[selection["mechanism"]], "epsilon": selection["epsilon"] * (2 if is_twice else 1)}, loose
        if "sampling_rate" in line:
            multiplier = _multiplier_of_samples(line["mu"] / (2 if adjacency == "replace-one" else 1))
            return {"class": "PoissonSampledDpEvent", "sampling_probability": line["sampling_rate"],
                    "event": {"class": "GaussianDpEvent", "noise_multiplier": multiplier}}, None
        mu = math.nextafter(line["mu"] * (2 if is_twice else 1), math.inf)
        exact = fractions.Fraction(2 if self.is_replace_one else 1) / fractions.Fraction(mu)
        multiplier = float(exact)
        if fractions.Fraction(multiplier) >= exact:  # no event promises more than the charge
            multiplier = math.nextafter(multiplier, 0)
        return {"class": "GaussianDpEvent", "noise_multiplier": multiplier}, loose

    def charges_of(self, lines, adjacency):
        """[{"name", "event", "loose"}] of (name, line, how often), neighbors that are alike in one."""
        charges = [(name, *self.event_of(line, adjacency), count) for name, line, count in lines]
        result = []
        for (event, loose), alike in itertools.groupby(charges, lambda charge: charge[1:3]):
            alike = list(alike)
            first, last = alike[0][0], alike[-1][0]
            result.append({"name": first if first == last else f"{first} to {last}",
                           "event": _repeated(event, sum(count for *_, count in alike))})
            if loose:
                result[-1]["loose"] = loose
        return result


def dp_events(path: str | os.PathLike[str], adjacency: str | None = None) -> dict[str, typing.Any]:
    """What private runs have charged on a ledger and what open runs may still charge, as events of dp_accounting: classes and arguments
    by name, in the form of docs/reference/schemas/dp-events.schema.json. `adjacency` says which neighbors the composition is for:
    "add-remove" or "replace-one"; by default the strictest of the lines.

    Throws BadInput where there is no such file, LedgerCorrupt where it does not verify."""
    if adjacency not in (None, *_ADJACENCIES):
        raise UsageError(f"adjacency={adjacency!r}: must be one of {', '.join(_ADJACENCIES)}")
    path = os.fspath(path)
    shown = json.loads(_library.core().ledger(path, None))
    silos = _library.core().ledger_silos(path)
    question = adjacency or shown["adjacency"]
    open_runs = {run["run"]: run for run in shown["open_runs"]}
    lines = shown["releases"] + [release for run in shown["open_runs"] for release in run["releases"]]
    terms = _Terms(question, question == "replace-one" and any("sampling_rate" in line for line in lines))
    charged = {}
    for line in shown["releases"]:
        charged.setdefault(line["release"].split("/", 1)[0], []).append(line)

    runs, not_private = [], []
    for run in [*charged, *(run for run in open_runs if run not in charged)]:
        own, remains = charged.get(run, []), open_runs.get(run, {"releases": [], "selections": []})
        said = own[0] if own else remains
        if not said["private"]:
            not_private.append(run)
            continue
        spent = [(line["release"].split("/", 1)[-1], line, 1) for line in own]
        reserved = [(line["name"], line, line["rounds"]) for line in remains["releases"]] + \
            [(line["name"], line, 1) for line in remains["selections"]]
        runs.append({"run": run, "method": said["method"], "adjacency": said["adjacency"],
                     "spent": terms.charges_of(spent, said["adjacency"]), "reserved": terms.charges_of(reserved, said["adjacency"])})
        if run in silos:
            runs[-1]["silos"] = silos[run]
    first = (shown["releases"] + shown["open_runs"] + [{}])[0]
    return {"format": "dpreduce-dp-events", "format_version": 1, "version": _library.core().version(), "adjacency": question,
            "neighboring_relation": "REPLACE_ONE" if terms.is_replace_one else "ADD_OR_REMOVE_ONE", "unit": first.get("unit", "record"),
            "spent": _composed([charge["event"] for run in runs for charge in run["spent"]]),
            "reserved": _composed([charge["event"] for run in runs for charge in run["reserved"]]),
            "runs": runs, "not_private": not_private}
