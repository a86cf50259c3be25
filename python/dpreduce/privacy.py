"""Accounting; no data involved. The functions are the subcommands of `dpreduce privacy`, with their options as keywords.

    calibrate(epsilon=1, delta=1e-6)["sigma"]
    compose(gaussian=["10:50", "4"], delta=1e-6)["epsilon"]
"""
from __future__ import annotations

import json
import typing

from . import _library
from .keywords import words_of

__all__ = ["calibrate", "convert", "compose", "split"]


def _result(name: str, options: dict[str, typing.Any]) -> dict[str, typing.Any]:
    return json.loads(_library.core().call(name, words_of(options)))


def calibrate(**options: typing.Any) -> dict[str, typing.Any]:
    """The noise that a budget needs, rounded up: {"sigma", "epsilon", "delta", "mu", "rho", ...}.

    Keywords: epsilon and delta, rho, or mu; accountant, sensitivity, adjacency, steps, sampling_rate."""
    return _result("calibrate", options)


def convert(**options: typing.Any) -> dict[str, typing.Any]:
    """One budget, or one sigma, as every accountant states it: {"epsilon", "mu", "rho", "epsilon_gdp", ...}.

    Keywords: epsilon and delta, rho, mu, or sigma; sensitivity."""
    return _result("convert", options)


def compose(**options: typing.Any) -> dict[str, typing.Any]:
    """What several mechanisms on the same data cost together: {"epsilon", "mu", "rho", "epsilon_pld", ...}.

    Keywords: gaussian, subsampled, exponential (a word as "10:50", or a list of them); delta, adjacency, group."""
    return _result("compose", options)


def split(**options: typing.Any) -> dict[str, typing.Any]:
    """The noise of several blocks under one budget, for the least weighted loss: {"blocks": [{"name", "sigma", ...}], ...}.

    Keywords: block (words NAME:D[:W]); epsilon and delta, rho, or mu; accountant."""
    return _result("split", options)
