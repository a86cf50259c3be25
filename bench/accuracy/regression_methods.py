"""AdaSSP and BoostedAdaSSP, corrected: noise from exact mu-GDP, bounds that are public or charged.

Figures to compare with, not for use. Rows have norm 1 and an intercept coordinate of INTERCEPT of that; targets are
mapped to -1 .. 1 by two noised histograms, which take RANGE_SHARE of mu^2, as dpreduce's own. Of what is left the parts
of a method get equal shares.
  [wang2018]  Revisiting differentially private linear regression: AdaSSP
  [tang2024a]  Improved differentially private regression via gradient boosting: BoostedAdaSSP

What is corrected. AdaSSP: bounds of rows and targets are often the data's own maxima; here they are none of the data. Its
noise is that of the classical Gaussian mechanism, a third of epsilon each; here it is exact. BoostedAdaSSP: the authors'
public code takes mu itself for the standard deviation of each of its noises, and charges all T + 2 releases as one; here
each standard deviation is sensitivity / mu_i with sum mu_i^2 = mu^2.
"""
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from published_methods import bisect, normal_cdf

INTERCEPT = 0.1
RANGE_SHARE = 0.05
FAILURE = 0.05  # of a bound on eigenvalues


@dataclass
class Rows:
    """Rows of norm 1 with an intercept, targets, and what each row weighs: persons weigh 1."""

    x: np.ndarray  # n x d, float32
    y: np.ndarray
    weight: np.ndarray  # float32

    @classmethod
    def of(cls, x, y, persons=None):
        unit = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
        with_intercept = np.c_[math.sqrt(1 - INTERCEPT) * unit, np.full(len(x), math.sqrt(INTERCEPT))].astype(np.float32)
        if persons is None:
            return cls(with_intercept, y, np.ones(len(y), np.float32))
        _, place, rows_of = np.unique(persons, return_inverse=True, return_counts=True)
        return cls(with_intercept, y, (1 / rows_of[place]).astype(np.float32))

    @cached_property
    def gram(self):
        return (self.x.T @ (self.x * self.weight[:, None])).astype(np.float64)

    def products(self, targets):
        return (self.weight * targets).astype(np.float32) @ self.x

    def r2(self, predicted):
        return 1 - float(((self.y - predicted) ** 2).sum() / ((self.y - self.y.mean()) ** 2).sum())


def mu_of(epsilon, delta):
    """The mu of which (epsilon, delta) is exactly what mu-GDP promises."""
    def exceeds(mu):
        part = lambda sign: normal_cdf(sign * mu / 2 - epsilon / mu)
        return part(1) - math.exp(epsilon) * part(-1) > delta
    return bisect(exceeds, 1e-6, 100)


# ---- where targets lie -----------------------------------------------------------------------------------------------


def noised_counts(bins, count, weight, sigma, rng):
    """A histogram with noise. Counts below 5 sigma are taken to be 0, and those below 3 sigma within 3 bins of larger ones."""
    counts = np.bincount(bins, weight, count) + sigma * rng.standard_normal(count)
    near = np.convolve(counts >= 5 * sigma, np.ones(7), "same") > 0
    return np.where(near & (counts >= 3 * sigma), counts, 0)


def exponents(values, bins_per_doubling):
    """floor(log |v|) in so many steps a doubling, from 2^-60 to 2^60, as bins from 0."""
    logs = np.log2(np.clip(np.abs(values), 2.0**-60, 2.0**60))
    return np.floor(logs * bins_per_doubling).astype(int) + 60 * bins_per_doubling


def median_by_histogram(values, weight, sigma, rng):
    half = 121
    bins = np.where(values >= 0, half + exponents(values, 1), half - 1 - exponents(values, 1))
    counts = noised_counts(bins, 2 * half, weight, sigma, rng)
    if not counts.any():
        return 0.0
    below = np.cumsum(counts)
    place = int(np.searchsorted(below, below[-1] / 2))
    within = 1 - (below[place] - below[-1] / 2) / counts[place]
    if place >= half:
        return 2.0 ** (place - half - 60) * (1 + within)
    return -(2.0 ** (half - 1 - place - 60)) * (2 - within)


def range_by_histograms(values, weight, mu, rng):
    """(center, scale): the median, and a distance from it that two in a hundred are beyond."""
    sigma = math.sqrt(2) / mu
    center = median_by_histogram(values, weight, sigma, rng)
    counts = noised_counts(exponents(values - center, 2), 241, weight, sigma, rng)
    if not counts.any():
        return center, abs(center) or 1.0
    above = counts.sum() - np.cumsum(counts)
    return center, 2.0 ** ((int(np.argmax(above <= 0.02 * counts.sum())) + 1) / 2 - 60)


def scaled_targets(rows, mu, rng):
    """(targets in -1 .. 1, from such a number to the target, what is left of mu)"""
    center, scale = range_by_histograms(rows.y, rows.weight, mu * math.sqrt(RANGE_SHARE), rng)
    return np.clip((rows.y - center) / scale, -1, 1), lambda scores: center + scale * scores, mu * math.sqrt(1 - RANGE_SHARE)


# ---- methods: each yields (setting, predictions of other rows) --------------------------------------------------------------


def noised_gram(rows, mu, bound, rng):
    """G + N + lambda I, lambda by a noised bound below the least eigenvalue: each part with mu.    [wang2018], Algorithm 2"""
    dim = len(rows.gram)
    noise = np.triu(rng.standard_normal((dim, dim)) / mu)
    noise += np.triu(noise, 1).T
    least = np.linalg.eigvalsh(rows.gram)[0] + rng.standard_normal() / mu
    return rows.gram + noise + max(0.0, bound / mu - max(0.0, least - 1.96 / mu)) * np.eye(dim)


def bound_of_theory(dim):
    return math.sqrt(dim * math.log(2 * dim**2 / FAILURE))


def adassp(rows, epsilon, delta, rng):
    """theta = (G + N + lambda I)^-1 (b + noise), three parts.    [wang2018], Algorithm 2"""
    targets, back, mu = scaled_targets(rows, mu_of(epsilon, delta), rng)
    part = mu / math.sqrt(3)
    dim = rows.x.shape[1]
    sums = rows.products(targets) + rng.standard_normal(dim) / part
    theta = np.linalg.solve(noised_gram(rows, part, bound_of_theory(dim), rng), sums)
    yield {}, lambda x: back(x @ theta)


def boosted_adassp(rows, epsilon, delta, rng, rounds, clip, bound):
    """theta <- theta + (G + N + lambda I)^-1 (X^T clip(y - X theta) + noise), T times.    [tang2024a], Algorithm 2

    bound: of |N|: "code", 1.96 sqrt(d) as the authors' code has it, or "theory", that of AdaSSP.
    """
    targets, back, mu = scaled_targets(rows, mu_of(epsilon, delta), rng)
    part = mu / math.sqrt(3)
    dim = rows.x.shape[1]
    inverse = np.linalg.inv(noised_gram(rows, part, 1.96 * math.sqrt(dim) if bound == "code" else bound_of_theory(dim), rng))
    theta = np.zeros(dim)
    sigma = clip * math.sqrt(rounds) / part
    for _ in range(rounds):
        gradient = rows.products(np.clip(targets - rows.x @ theta.astype(np.float32), -clip, clip)) + sigma * rng.standard_normal(dim)
        theta = theta + inverse @ gradient
    yield {}, lambda x: back(x @ theta)


def without_privacy(rows, epsilon, delta, rng):
    """Ridge regression, with the best ridge for the other rows."""
    mean = float(np.average(rows.y, weights=rows.weight))
    sums = rows.products(rows.y - mean)
    for ridge in (1e-3, 1e-2, 0.1, 1, 10):
        theta = np.linalg.solve(rows.gram + ridge * np.eye(len(sums)), sums)
        yield {"ridge": ridge}, lambda x, theta=theta: mean + x @ theta


@dataclass
class Corrected:
    name: str
    run: object  # the method above
    grid: dict  # setting: values; every combination is tried


METHODS = [
    Corrected("AdaSSP, corrected", adassp, {}),
    Corrected("BoostedAdaSSP, corrected, with its code's settings", boosted_adassp,
              {"rounds": [100], "clip": [1], "bound": ["code"]}),
    Corrected("BoostedAdaSSP, corrected, best of 12 settings by the test rows", boosted_adassp,
              {"rounds": [10, 100], "clip": [0.25, 0.5, 1], "bound": ["code", "theory"]}),
]
CEILING = Corrected("ridge regression, not private", without_privacy, {})
