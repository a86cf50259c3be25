"""What a fit promises, as an object and in words."""
from __future__ import annotations

import dataclasses
import decimal
import json
import typing

from . import _library
from .errors import in_keywords


def at_most(value: float, digits: int = 3) -> str:
    """What a release costs, with so many digits: rounded up, so that it is a bound still."""
    rounding = decimal.Context(prec=digits, rounding=decimal.ROUND_CEILING)
    return f"{float(rounding.create_decimal(repr(float(value)))):.{digits}g}"


@dataclasses.dataclass(frozen=True, repr=False)
class Privacy:
    """The guarantee of a fit. Figures are None where there is no noise; `mu` and `rho` also where rounds are on samples."""

    private: bool  #: whether it holds: not with a seed, without noise, or with classes that were taken from the rows
    epsilon: float | None
    delta: float | None
    mu: float | None  #: Gaussian DP
    rho: float | None  #: zero-concentrated DP
    adjacency: str  #: which data sets are neighbors: "add-remove" or "replace-one"
    accountant: str
    unit: str  #: whom it protects: "record", a row; or "person", with any number of rows
    rows_per_person: int | None  #: what a person's rows count for together; None where the unit is a row
    releases: list[dict[str, typing.Any]]  #: dicts: name, release, sensitivity, sigma, mu, coordinates
    selections: list[dict[str, typing.Any]]
    ledger: str | None  #: where it is charged; None: accounts are the caller's
    forfeited_by: list[str]  #: why it does not hold though there is noise: "seed", "classes-from-rows"
    words: dict[str, list[str]]  #: heading -> sentences, as `dpreduce privacy explain` says them

    def __repr__(self) -> str:
        figures = "no noise" if self.epsilon is None else f"epsilon {at_most(self.epsilon)} at delta {at_most(self.delta or 0)}"
        return (f"<dpreduce.Privacy: {'private' if self.private else 'not private'}, {figures}, unit {self.unit}, "
                f"{len(self.releases)} releases; print it for words>")

    def __str__(self) -> str:
        return "\n".join(f"{heading.replace('_', ' ')}: {sentence}" for heading, sentences in self.words.items()
                         for sentence in sentences)


def privacy_of(report: dict[str, typing.Any], ledger: str | None, account: dict[str, typing.Any] | None) -> Privacy:
    """The Privacy that a report (a dict) tells of; `ledger` is the path that was charged and `account` what is on it, or None."""
    told = report["privacy"]
    words = {heading: [in_keywords(sentence) for sentence in sentences]
             for heading, sentences in _library.core().explain(json.dumps(report))}
    if account is not None:
        words["account"] = [f"{ledger}, after this fit: {account['runs']} run{'s' if account['runs'] > 1 else ''}; {account['balance']}"]
    elif told["epsilon"] is not None:
        words["account"] = ["no ledger: the caller of fit must add up the costs of all fits on these rows"]
    return Privacy(private=report["private"], epsilon=told["epsilon"], delta=told["delta"], mu=told["mu"], rho=told["rho"],
                   adjacency=told["adjacency"], accountant=told["accountant"], unit=told["unit"],
                   rows_per_person=told.get("rows_per_person"), releases=told["releases"],
                   selections=told["selections"], ledger=ledger, forfeited_by=told.get("forfeited_by", []), words=words)


def method_of(report):
    """The method as readers know it: "ls", or "auto (by fc)" of one that was chosen."""
    asked = report.get("adaptive", {}).get("method", report["method"])
    return asked if asked == report["method"] else f"{asked} (by {report['method']})"
