"""Published regressions, corrected: noise from exact mu-GDP, bounds that are public or charged.

Figures to compare with, not for use. Rows have norm 1 and an intercept coordinate of INTERCEPT of that; targets are
mapped to -1 .. 1 by two noised histograms, which take RANGE_SHARE of mu^2, as dpreduce's own. Of what is left the parts
of a method get equal shares.
  [wang2018]  Revisiting differentially private linear regression: AdaSSP
  [tang2024a]  Improved differentially private regression via gradient boosting: BoostedAdaSSP
  [lev2026]  Near-optimal private linear regression via iterative Hessian mixing
  [lin2025]  Differentially private linear regression and synthetic data generation with statistical guarantees: BinAgg
  [zhang2012]  Functional mechanism: what diffprivlib's LinearRegression makes

What is corrected. AdaSSP: bounds of rows and targets are often the data's own maxima; here they are none of the data. Its
noise is that of the classical Gaussian mechanism, a third of epsilon each; here it is exact. BoostedAdaSSP: the authors'
public code takes mu itself for the standard deviation of each of its noises, and charges all T + 2 releases as one; here
each standard deviation is sensitivity / mu_i with sum mu_i^2 = mu^2. BinAgg: its code gives each of the d sums of a bin the
noise of that sum alone, so that all together spend sqrt(d) times what it states; here noise is sqrt(d) times as large.
diffprivlib: sensitivities are those of a row more or less, and that of a square is by both ends of a column's range, where
the code takes the lower one twice.
Iterative Hessian mixing stands as published, by the mu that ranges leave.
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
    """Rows of norm 1 with an intercept, targets, what each row weighs (persons weigh 1), and columns as they were."""

    x: np.ndarray  # n x d, float32
    y: np.ndarray
    weight: np.ndarray  # float32
    columns: np.ndarray  # from -1 to 1, or from 0 to 1

    @classmethod
    def of(cls, x, y, persons=None):
        unit = x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)
        with_intercept = np.c_[math.sqrt(1 - INTERCEPT) * unit, np.full(len(x), math.sqrt(INTERCEPT))].astype(np.float32)
        if persons is None:
            return cls(with_intercept, y, np.ones(len(y), np.float32), x)
        _, place, rows_of = np.unique(persons, return_inverse=True, return_counts=True)
        return cls(with_intercept, y, (1 / rows_of[place]).astype(np.float32), x)

    @cached_property
    def gram(self):
        return (self.x.T @ (self.x * self.weight[:, None])).astype(np.float64)

    def products(self, targets):
        return (self.weight * targets).astype(np.float32) @ self.x

    def r2(self, predicted):
        return 1 - float(((self.y - predicted) ** 2).sum() / ((self.y - self.y.mean()) ** 2).sum())


def delta_of(mu, epsilon):
    part = lambda sign: normal_cdf(sign * mu / 2 - epsilon / mu)
    return part(1) - math.exp(epsilon) * part(-1)


def mu_of(epsilon, delta):
    """The mu of which (epsilon, delta) is exactly what mu-GDP promises."""
    return bisect(lambda mu: delta_of(mu, epsilon) > delta, 1e-6, 100)


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
    yield {}, lambda other: back(other.x @ theta)


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
    yield {}, lambda other: back(other.x @ theta)


HESSIANS = 3  # as [lev2026]'s code has it, as all below
SKETCH = 6
SKETCH_FAILURE = 0.1  # of delta


def sketch_noise(count, epsilon, delta):
    """gamma: with that added to X^T X, so many sketches of `HESSIANS` rounds and a noised eigenvalue each hold this."""
    share = delta / 3
    orders = 1 + np.geomspace(1e-4, 1e4, 2000)

    def exceeds(inverse):
        gamma = 1 / inverse
        alpha = orders[orders < gamma * (1 - 1e-9)]
        if len(alpha) == 0:
            return True
        divergence = count / (2 * (alpha - 1)) * (alpha * np.log1p(-1 / gamma) - np.log1p(-alpha / gamma))
        conversion = (math.log(1 / share) + (alpha - 1) * np.log1p(-1 / alpha) - np.log(alpha)) / (alpha - 1)
        eigenvalue = math.sqrt(2 * count * math.log(1.25 / share)) / gamma
        return float((HESSIANS * divergence + conversion).min()) + eigenvalue > epsilon
    return 1 / bisect(exceeds, 1e-12, 0.999)


def iterative_hessian_mixing(rows, epsilon, delta, rng):
    """theta <- theta + H^-1 (X^T clip(y - X theta) + noise), H of a sketch of X that is made anew.    [lev2026]

    A sketch with noise, (S X + g N)^T (S X + g N) with Gaussian S and N of k rows, is a Wishart matrix about
    X^T X + g^2 I, and is drawn as that. Half of epsilon goes to sketches, half to gradients.
    """
    targets, back, mu = scaled_targets(rows, mu_of(epsilon, delta), rng)
    left = bisect(lambda e: delta_of(mu, e) < delta, 1e-6, 1000)
    dim = rows.x.shape[1]
    failure = SKETCH_FAILURE * delta
    count = max(SKETCH * dim, int(SKETCH * math.log(4 * HESSIANS / failure)))
    gamma = sketch_noise(count, left / 2, 0.75 * delta)
    sigma = math.sqrt(HESSIANS) / mu_of(left / 2, delta / 4)
    tau = math.sqrt(2 * math.log(max(4 / delta, 4 / failure)))
    least = np.linalg.eigvalsh(rows.gram)[0] - gamma / math.sqrt(count) * (tau - rng.standard_normal())
    added = max(0.0, gamma - max(0.0, least))
    root = np.linalg.cholesky(rows.gram + (added + 1e-9) * np.eye(dim))
    theta = np.zeros(dim)
    for _ in range(HESSIANS):
        factor = np.tril(rng.standard_normal((dim, dim)), -1)  # Bartlett's
        factor[np.diag_indices(dim)] = np.sqrt(rng.chisquare(count - np.arange(dim)))
        half = root @ factor / math.sqrt(count)
        residuals = np.clip(targets - rows.x @ theta.astype(np.float32), -1, 1)
        gradient = rows.products(residuals) + sigma * rng.standard_normal(dim)
        theta = theta + np.linalg.solve(half.T, np.linalg.solve(half, gradient))
    yield {}, lambda other: back(other.x @ theta)


def ends(rows):
    """Public range of each column."""
    return np.where(rows.columns.min(axis=0) < 0, -1.0, 0.0), np.ones(rows.columns.shape[1])


BIN_PARTS = np.array([1, 3, 3, 3]) / math.sqrt(28)  # of mu: bins, counts, sums of columns, sums of targets


def binned(rows, low, high, mu, rng):
    """Rows of each bin of PrivTree, and its ends.    [lin2025], Algorithm 1"""
    epsilon = bisect(lambda e: normal_cdf(mu / 2) < 1 / (1 + math.exp(-e)), 1e-9, 100)
    scale = 3 / epsilon
    penalty = scale * math.log(2)

    def halves(part):
        places, bottom, top = part
        column = int(np.argmax(top - bottom))
        middle = (bottom[column] + top[column]) / 2
        is_above = rows.columns[places, column] > middle
        lower, upper = top.copy(), bottom.copy()
        lower[column] = upper[column] = middle
        return (places[~is_above], bottom, lower), (places[is_above], upper, top)

    waiting, leaves = [((np.arange(len(rows.y)), low, high), 0)], []
    while waiting:
        part, depth = waiting.pop(0)
        score = max(len(part[0]) - penalty * depth, -penalty) + rng.laplace(scale=scale)
        if score > 0:
            waiting += [(half, depth + 1) for half in halves(part)]
        else:
            leaves.append(part)
    while len(leaves) <= rows.columns.shape[1]:
        largest = max(range(len(leaves)), key=lambda i: np.log2(leaves[i][2] - leaves[i][1]).sum())
        leaves += halves(leaves.pop(largest))
    return leaves


def sums_of_bins(rows, targets, mu, rng):
    """(weights, sums of columns and sizes, sums of targets, variances of the noise of sums) of bins.    [lin2025], Algorithm 1"""
    low, high = ends(rows)
    of_bins, of_counts, of_columns, of_targets = BIN_PARTS * mu
    leaves = binned(rows, low, high, of_bins, rng)
    bins, dim = len(leaves), len(low)
    counts = np.rint([len(places) for places, _, _ in leaves] + rng.standard_normal(bins) / of_counts)
    bounds = np.array([np.maximum(np.abs(bottom), np.abs(top)) for _, bottom, top in leaves]) * math.sqrt(dim) / of_columns
    sums = np.array([rows.columns[places].sum(axis=0) for places, _, _ in leaves]) + bounds * rng.standard_normal((bins, dim))
    of_y = np.array([targets[places].sum() for places, _, _ in leaves]) + rng.standard_normal(bins) / of_targets
    kept = counts >= 2
    return 1 / counts[kept], np.c_[sums, counts][kept], of_y[kept], np.c_[bounds**2, np.zeros(bins)][kept]


def weighted_by_bins(weights, sums, of_y, noise):
    """Least squares on them, less what noise adds to squares, as the authors' code divides it.    [lin2025], Algorithm 2"""
    matrix = sums.T @ (weights[:, None] * sums) - np.diag((weights[:, None] * noise).mean(axis=0))
    return np.linalg.lstsq(matrix, sums.T @ (weights * of_y), rcond=None)[0]


def bin_agg(rows, epsilon, delta, rng):
    """[lin2025] with a constant, whose sums are the sizes of bins."""
    targets, back, mu = scaled_targets(rows, mu_of(epsilon, delta), rng)
    bins = sums_of_bins(rows, targets, mu, rng)
    theta = weighted_by_bins(*bins) if len(bins[0]) else np.zeros(rows.columns.shape[1] + 1)
    yield {}, lambda other: back(other.columns @ theta[:-1] + theta[-1])


def functional_mechanism(rows, epsilon, delta, rng):
    """Least squares of which each coefficient of the objective has Laplace noise; pure epsilon.    [zhang2012]

    As diffprivlib divides epsilon. Its objective may have no minimum; [zhang2012] adds four deviations of the noise, and
    leaves out directions that still have no curvature.
    """
    targets, back, mu = scaled_targets(rows, mu_of(epsilon, delta), rng)
    epsilon *= mu / mu_of(epsilon, delta)
    low, high = ends(rows)
    dim = len(low)
    laplace = lambda sensitivity, share: rng.laplace(scale=np.maximum(sensitivity, 1e-12) / share)
    count = rows.weight.sum()
    of_mean = epsilon / (dim + 1) ** 2
    means = rows.weight @ rows.columns / count + laplace((high - low) / count, of_mean)
    mean = float(rows.weight @ targets) / count + laplace(2 / count, of_mean)
    x = rows.columns - means.astype(np.float32)
    most = np.maximum(np.abs(low - means), np.abs(high - means))
    share = epsilon * dim / (dim + 1) / (1 + dim + dim * (dim + 1) / 2)
    span = np.outer(most, most)
    noise = np.triu(laplace(span, share))
    matrix = (x.T @ (x * rows.weight[:, None])).astype(np.float64) + noise + np.triu(noise, 1).T
    sums = (rows.weight * (targets - mean)).astype(np.float32) @ x + laplace(most * (1 + abs(mean)), share)
    values, vectors = np.linalg.eigh(matrix + 4 * math.sqrt(2) * span.max() / share * np.eye(dim))
    seen = values > 0
    theta = vectors[:, seen] @ ((vectors[:, seen].T @ sums) / values[seen])
    yield {}, lambda other: back(mean + (other.columns - means) @ theta)


def without_privacy(rows, epsilon, delta, rng):
    """Ridge regression on columns, with the best ridge for the other rows."""
    means, mean = np.average(rows.columns, axis=0, weights=rows.weight), float(np.average(rows.y, weights=rows.weight))
    x = (rows.columns - means).astype(np.float64)
    gram, sums = x.T @ (x * rows.weight[:, None]), (rows.weight * (rows.y - mean)) @ x
    for ridge in (1e-3, 1e-2, 0.1, 1, 10):
        theta = np.linalg.solve(gram + ridge * np.eye(len(sums)), sums)
        yield {"ridge": ridge}, lambda other, theta=theta: mean + (other.columns - means) @ theta


@dataclass
class Corrected:
    name: str
    run: object  # the method above
    grid: dict  # setting: values; every combination is tried
    knows_persons: bool = True


TUNED = Corrected("BoostedAdaSSP, corrected, best of 12 settings by the test rows", boosted_adassp,
                  {"rounds": [10, 100], "clip": [0.25, 0.5, 1], "bound": ["code", "theory"]})
METHODS = [
    Corrected("AdaSSP, corrected", adassp, {}),
    Corrected("BoostedAdaSSP, corrected, with its code's settings", boosted_adassp,
              {"rounds": [100], "clip": [1], "bound": ["code"]}),
    TUNED,
    Corrected("Iterative Hessian Mixing", iterative_hessian_mixing, {}),
    Corrected("BinAgg, corrected", bin_agg, {}, knows_persons=False),
    Corrected("diffprivlib, corrected", functional_mechanism, {}),
]
CEILING = Corrected("least squares, not private", without_privacy, {})
