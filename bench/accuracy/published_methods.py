"""The papers' methods as they are printed: their noise, their accounting, exact n where they divide by it.

Nothing here is private as stated in every case (each method's note says where), nor made to be used: these are the figures to
compare with. Legend: X is n x d with rows of norm at most 1, Y is n x K one-hot, m = K classes, W is K x d.
Papers by their titles:
  [means]       Mean estimation strikes back! An efficient solution to private classification
  [features]    Differentially private image classification from features
  [prototypes]  Differentially private prototypes for imbalanced transfer learning
  [collapse]    Neural collapse meets differential privacy
"""
import math
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Callable

import numpy as np


@dataclass
class Rows:
    """Rows as all papers clip them: x min(1, 1 / ||x||)."""

    x: np.ndarray  # n x d, float32
    y: np.ndarray  # n labels 0 .. K - 1
    classes: int

    @classmethod
    def clipped(cls, x, y, classes):
        norms = np.linalg.norm(x, axis=1, keepdims=True)
        return cls(x / np.maximum(norms, 1).astype(np.float32), y, classes)

    @property
    def shape(self):
        return len(self.x), self.x.shape[1], self.classes

    @cached_property
    def counts(self):
        return np.bincount(self.y, minlength=self.classes)

    @cached_property
    def by_class(self):
        return [np.flatnonzero(self.y == j) for j in range(self.classes)]

    @cached_property
    def class_sums(self):  # b_j, K x d
        return np.array([self.x[rows].sum(axis=0, dtype=np.float64) for rows in self.by_class])

    @cached_property
    def class_grams(self):  # A_j, K x d x d
        return np.array([self.x[rows].T @ self.x[rows] for rows in self.by_class])

    @cached_property
    def gram(self):  # G, d x d
        return self.class_grams.sum(axis=0, dtype=np.float64)


# ---- accounting, as printed ----------------------------------------------------------------------------------------------------


def normal_cdf(t):
    return 0.5 * math.erfc(-t / math.sqrt(2))


def bisect(increasing, low, high):
    """The t in [low, high] at which `increasing` turns true."""
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if increasing(middle) else (middle, high)
    return high


def sigma_of_means(epsilon, delta):
    """Least sigma with Phi(1/(2s) - s eps/2) - e^eps Phi(-1/(2s) - s eps/2) <= delta / 2.    [means], Theorem 2.1

    As printed. The factor should be e^(eps/2): the guarantee does not hold.
    """
    def holds(s):
        a, b = 1 / (2 * s), s * epsilon / 2
        return normal_cdf(a - b) - math.exp(epsilon) * normal_cdf(-a - b) <= delta / 2
    return bisect(holds, 1e-3, 1e4)


def zcdp_of(epsilon, delta):
    """Largest rho that implies (epsilon, delta): eps = min_a a rho + ln(1 - 1/a) - (ln delta + ln a) / (a - 1).

    The conversion of the Renyi accountant in TensorFlow Privacy, which [features], B.1, relies on.
    """
    orders = 1 + np.logspace(-3, 5, 4000)
    rest = np.log1p(-1 / orders) - (math.log(delta) + np.log(orders)) / (orders - 1)
    return bisect(lambda rho: np.min(orders * rho + rest) > epsilon, 0, 1e3)


def zcdp_simple(epsilon, delta):
    """rho with eps = rho + 2 sqrt(rho ln(1 / delta)).    [collapse], after Definition 2.1"""
    log = math.log(1 / delta)
    return (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2


# ---- methods in one shot -------------------------------------------------------------------------------------------------------


def means(rows, epsilon, delta, rng, metric):
    """S_j + N(0, sigma^2 I), n_j + N(0, sigma^2), q_j = S_j / n_j; the nearest q_j.    [means], Algorithm 1"""
    sigma = sigma_of_means(epsilon, delta)
    sums = rows.class_sums + sigma * rng.standard_normal(rows.class_sums.shape)
    counts = rows.counts + sigma * rng.standard_normal(rows.classes)
    if metric == "cosine":
        return sums / np.linalg.norm(sums, axis=1, keepdims=True), 0
    centres = sums / counts[:, None]
    return centres, -0.5 * (centres**2).sum(axis=1)


def prototypes(rows, epsilon, delta, rng, pool):
    """mean of class c + N(0, 2 r^2 / (n_c^2 rho) I), nearest direction.    [prototypes], (7), "k_pool" """
    n, d, k = rows.shape
    pooling = np.kron(np.eye(d // pool), np.full((pool, 1), 1 / pool))  # averages of `pool` consecutive features
    pooled = rows.x @ pooling.astype(np.float32)
    r = 1 / math.sqrt(pool)  # no average of a row of norm 1 is longer
    sums = np.array([pooled[c].sum(axis=0, dtype=np.float64) for c in rows.by_class])
    sigma = math.sqrt(2 * r**2 / zcdp_of(epsilon, delta)) / np.maximum(rows.counts, 1)
    centres = sums / np.maximum(rows.counts, 1)[:, None] + sigma[:, None] * rng.standard_normal(sums.shape)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    return centres @ pooling.T, 0


def least_squares(rows, epsilon, delta, rng, alpha, ridge):
    """theta_j = [A_j + alpha G + lambda I]^-1 b_j, all noised with sigma; 3 / (2 sigma^2)-zCDP.    [features], Algorithm 2

    Noise of a Gram matrix has d x d independent entries, as printed. lambda = (1 + alpha) ridge.
    """
    n, d, k = rows.shape
    sigma = math.sqrt(3 / (2 * zcdp_of(epsilon, delta)))
    identity = np.eye(d, dtype=np.float32)
    gram = rows.gram + sigma * rng.standard_normal((d, d))
    weights = np.empty((k, d))
    for j in range(k):
        class_gram = rows.class_grams[j] + np.float32(sigma) * rng.standard_normal((d, d), dtype=np.float32)
        class_sum = rows.class_sums[j] + sigma * rng.standard_normal(d)
        matrix = class_gram + alpha * gram + (1 + alpha) * ridge * identity
        weights[j] = np.linalg.solve(matrix.astype(np.float32), class_sum.astype(np.float32))
    return weights, 0


# ---- methods in rounds ---------------------------------------------------------------------------------------------------------


def clipped_gradient(rows, weights, bias, clip, residuals):
    """sum_i clip(r_i (x_i, 1)^T), r_i = residuals(logits_i) - y_i; a rank-one gradient's norm is ||r|| ||(x, 1)||."""
    r = rows.x @ weights.T.astype(np.float32)
    r += bias.astype(np.float32)
    r = residuals(r)
    r[np.arange(len(r)), rows.y] -= 1
    norms = np.sqrt(np.einsum("ij,ij->i", r, r) * (1 + np.einsum("ij,ij->i", rows.x, rows.x)))
    r *= np.minimum(1, clip / np.maximum(norms, 1e-30)).astype(np.float32)[:, None]
    return (r.T @ rows.x).astype(np.float64), r.sum(axis=0, dtype=np.float64)
