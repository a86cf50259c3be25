"""Weights that every solver should end in without noise, computed once more, for tests/cli/reference_test.cpp.

    python3 solvers.py        writes solvers_*.npy and solvers.json beside this file (NumPy 1.24, SciPy 1.10)

After the equations of docs/explanation/methods and docs/reference/data.md, without any code of the program. Rows come to the integer
lattice as there; from these integers on everything that has another formulation takes it: least squares by QR of
stacked rows instead of Gram matrices, components and whitening by SVD of the rows, the Fisher rule by log densities,
the end of many rounds by SciPy's root finder. Rounds are the documents' update rules in plain NumPy,
with the program's roundings of weights and residuals. The center's second step is rounded as the program's is.

Legend: q lattice rows (n x d, integers), X = q / scale in feature units, y labels, K classes, C clip norm, S = 32767.
"""

import json
import pathlib

import numpy as np
import scipy.linalg
import scipy.optimize
import scipy.special
import scipy.stats

HERE = pathlib.Path(__file__).parent
S = 32767
K = 4
INTERCEPT = 0.1  # of rounds
INTERCEPT_OF_WHITENED = 0.05


# --- rows ---------------------------------------------------------------------------------------------------------


def make_rows(seed, n, d):
    """Classes of unequal size that overlap, around a common mean."""
    rng = np.random.default_rng(seed)
    means = np.random.default_rng(1).normal(size=(K, d)) * 0.45 + 0.3
    y = rng.choice(K, size=n, p=[0.4, 0.3, 0.2, 0.1])
    spread = np.linspace(0.5, 1.5, d)
    return (means[y] + spread * rng.normal(size=(n, d))).astype(np.float32), y.astype(np.int64)


def lattice_scale(clip, d):
    return (S - np.ceil(np.sqrt(d) / 2)) / clip


rounds_to_lattice = True  # False: accuracies.py asks what lattices cost


def to_lattice(u, clip):
    exact = u * lattice_scale(clip, u.shape[1])
    if not rounds_to_lattice:
        return exact
    q = np.rint(exact).astype(np.int64)
    assert (np.sum(q * q, axis=1) <= S * S).all()
    return q


def on_weight_lattice(w):
    """Each row of w rounded to 16 bits of its largest entry."""
    if not rounds_to_lattice:
        return w
    largest = np.max(np.abs(w), axis=1, keepdims=True)
    largest[largest == 0] = 1
    scaled = w / largest * S
    return np.sign(scaled) * np.floor(np.abs(scaled) + 0.5) * largest / S


class Rows:
    """Rows as they are prepared, step by step."""

    def __init__(self, x, y, clip=1.0, pool=1, normalize="l2"):
        self.y, self.clip, self.normalize = y, clip, normalize
        self.classes = int(y.max()) + 1
        x = x.astype(np.float64)
        pooled = np.stack([x[:, a : a + pool].mean(axis=1) for a in range(0, x.shape[1], pool)], axis=1)
        self.whole = self.u = self.scaled(pooled)
        self.projection = np.eye(self.u.shape[1])  # what has been done to `whole` since, as a matrix
        self.has_intercept = False
        self.mean = np.zeros(self.u.shape[1])  # what was subtracted from rows

    def scaled(self, u):
        norm = np.linalg.norm(u, axis=1, keepdims=True)
        return u * (self.clip / norm if self.normalize == "l2" else np.minimum(1, self.clip / norm))

    def center(self, of=None):
        """By the mean of the rows, which is found in two steps; or by that of the public rows `of`, in one."""
        self.mean = of.first_mean() if of else (self.first_mean() + self.second_mean()) / 2
        self.whole = self.u = self.scaled(self.u - self.mean)
        return self

    def first_mean(self):
        return self.q.mean(axis=0) / self.scale

    def second_mean(self):
        """The mean of what is left of rows about z, the lattice point next to the first mean, in a ball of radius 2 C.

        The ball holds every row. It has S steps from its center to its edge, and what is left of a row is cut down to
        whole steps, toward the center. Without noise this mean weighs as much as the first.
        """
        z = to_lattice(self.first_mean()[None], self.clip) / self.scale
        left = (self.x - z) * S / (2 * self.clip)
        return (z + 2 * self.clip / S * (np.trunc(left) if rounds_to_lattice else left).mean(axis=0))[0]

    def project(self, matrix):
        self.projection = matrix @ self.projection
        exact = to_lattice(self.whole, self.clip) / lattice_scale(self.clip, self.whole.shape[1])
        self.u = self.scaled(exact @ on_weight_lattice(self.projection).T)
        return self

    def pca(self, k, of=None):
        # Right singular vectors of the rows: eigenvectors of their Gram matrix.
        return self.project(scipy.linalg.svd((of or self).x, full_matrices=False)[2][:k])

    def select(self, m):
        kept = farthest(unit(class_sums(self)), m)
        self.u = self.scaled(self.u[:, kept])
        self.projection = self.projection[kept]
        return self

    def intercept(self, share):
        ones = np.full((len(self.u), 1), np.sqrt(share) * self.clip)
        self.u = np.hstack([np.sqrt(1 - share) * self.u, ones])
        self.share, self.has_intercept = share, True
        return self

    @property
    def q(self):
        return to_lattice(self.u, self.clip)

    @property
    def scale(self):
        return lattice_scale(self.clip, self.u.shape[1])

    @property
    def x(self):
        return self.q / self.scale

    def result(self, w, bias=None, prototypes=None):
        """Weights and prototypes as they act on pooled (and centered) features, and biases, of w in the rows' own coordinates."""
        if self.has_intercept:
            bias = w[:, -1] * np.sqrt(self.share) * self.clip
            w = w[:, :-1] * np.sqrt(1 - self.share)
        if bias is None:
            bias = np.zeros(len(w))
        result = {"weights": (w @ self.projection).tolist(), "bias": np.asarray(bias).tolist()}
        if prototypes is not None:
            result["prototypes"] = (prototypes @ self.projection).tolist()
        return result


# --- one release --------------------------------------------------------------------------------------------------


def class_sums(rows):
    return np.stack([rows.q[rows.y == c].sum(axis=0) for c in range(rows.classes)])


def unit(v):
    return v / np.linalg.norm(v, axis=1, keepdims=True)


def farthest(means, m, divisor=1.0):
    distances = sum(abs(a - b) for c, a in enumerate(means) for b in means[c + 1 :]) / divisor
    return np.sort(np.argsort(-distances, kind="stable")[:m])


def only(kept, v):
    result = np.zeros_like(v)
    result[:, kept] = v[:, kept]
    return result


def cosine_means(rows, select=0):
    sums = class_sums(rows).astype(np.float64)
    return rows.result(unit(only(farthest(unit(sums), select), sums) if select else sums))


def euclidean_means(rows, select=0):
    means = np.stack([rows.x[rows.y == c].mean(axis=0) for c in range(rows.classes)])
    if select:
        means = only(farthest(means, select), means)
    return rows.result(means, -0.5 * np.sum(means**2, axis=1))


def ridge_regression(rows):
    """argmin |X W^T - onehot(y)|^2 + C^2 |W|^2, by QR of the stacked rows."""
    d = rows.x.shape[1]
    stacked = np.vstack([rows.x, rows.clip * np.eye(d)])
    targets = np.vstack([np.eye(rows.classes)[rows.y], np.zeros((d, rows.classes))])
    return rows.result(scipy.linalg.lstsq(stacked, targets)[0].T)


def ridge_regression_by_class(rows, alpha, lam=None):
    """argmin sum_(y = j) (theta x - 1)^2 + alpha sum (theta x)^2 + lambda |theta|^2, by QR of the stacked rows."""
    lam = (1 + alpha) * rows.clip**2 if lam is None else lam
    d = rows.x.shape[1]
    theta = []
    for j in range(rows.classes):
        own = rows.x[rows.y == j]
        stacked = np.vstack([own, np.sqrt(alpha) * rows.x, np.sqrt(lam) * np.eye(d)])
        targets = np.concatenate([np.ones(len(own)), np.zeros(len(rows.x) + d)])
        theta.append(scipy.linalg.lstsq(stacked, targets)[0])
    return rows.result(np.stack(theta))


def fisher(rows, select=0, by_t=False):
    """ln(n_c / n) + ln N(x; m_c, D) - ln N(x; m, D), which is linear in x: read off at 0 and at unit vectors."""
    x, y = rows.x, rows.y
    means = np.stack([x[y == c].mean(axis=0) for c in range(rows.classes)])
    deviation = np.sqrt(np.mean((x - means[y]) ** 2, axis=0))
    d = x.shape[1]
    kept = farthest(means, select, deviation if by_t else 1.0) if select else np.arange(d)

    def scores(at):
        def log_density(m):
            return scipy.stats.norm.logpdf(at[:, kept], m[kept], deviation[kept]).sum(axis=1)

        shared = log_density(x.mean(axis=0))
        return np.stack([np.log(np.mean(y == c)) + log_density(means[c]) - shared for c in range(rows.classes)])

    bias = scores(np.zeros((1, d)))[:, 0]
    return rows.result(scores(np.eye(d)) - bias[:, None], bias)


# --- rounds -------------------------------------------------------------------------------------------------------


def probabilities(scores, loss):
    if loss == "softmax":
        return scipy.special.softmax(scores, axis=1)
    return scipy.special.expit(scores) if loss == "sigmoid" else scores


LONGEST = 1.0  # Z: what residuals are clipped to as vectors, without noise


def clipped(r):
    return r * np.minimum(1, LONGEST / np.maximum(np.linalg.norm(r, axis=1, keepdims=True), 1e-300))


class Gradient:
    """sum_i r_i x_i^T at W, on the lattices of weights and residuals; with a warm start of the residual loss."""

    def __init__(self, rows, loss, warm=False):
        self.rows, self.loss = rows, loss
        self.x, self.q, self.targets = rows.x, rows.q, np.eye(rows.classes)[rows.y]
        self.prototypes = None
        if warm:
            self.prototypes = unit(class_sums(rows)[:, :-1].astype(np.float64))
            directions = unit(on_weight_lattice(self.prototypes))
            cosines = unit(self.q[:, :-1].astype(np.float64)) @ directions.T
            self.prior = np.sum(probabilities(cosines, "softmax") * self.targets, axis=1, keepdims=True)

    def probabilities(self, w):
        return probabilities(self.x @ on_weight_lattice(w).T, self.loss)

    def share(self, p):
        own = np.sum(p * self.targets, axis=1, keepdims=True)
        return own / (own + self.prior)

    def __call__(self, w):
        p = self.probabilities(w)
        r = p - self.targets
        if self.prototypes is not None:
            r = r * self.share(p)
        rho = to_lattice(clipped(r), LONGEST)
        return rho.T @ self.q / (lattice_scale(LONGEST, r.shape[1]) * self.rows.scale)


def iterate(rows, gradient, step, rounds, start=0.0, average=False):
    w = np.zeros((rows.classes, rows.x.shape[1]))
    w[:, -1] = start / (np.sqrt(rows.share) * rows.clip)
    total = np.zeros_like(w)
    for t in range(1, rounds + 1):
        w = step(w, gradient(w), t)
        total += w
    return rows.result(total / rounds if average else w, prototypes=gradient.prototypes)


def descent(rows, rounds, loss="softmax", rate=None, radius=np.inf, warm=False, average=False):
    rows.intercept(INTERCEPT)
    reach = 1 if loss == "square" else 20
    squares = 0.0

    def step(w, g, _):
        nonlocal squares
        squares += np.sum(g * g)
        w = w - (rate or reach * np.sqrt(rows.classes) / (rows.clip * np.sqrt(squares))) * g
        return w * min(1, radius / np.linalg.norm(w))

    return iterate(rows, Gradient(rows, loss, warm), step, rounds, -10 if loss == "sigmoid" else 0, average)


def adam(rows, rounds, loss="softmax", rate=None, warm=False, average=False):
    rows.intercept(INTERCEPT)
    rate = rate or (1 if loss == "square" else 8) / (rows.clip * np.sqrt(rows.x.shape[1]))
    m = v = 0.0

    def step(w, g, t):
        nonlocal m, v
        m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        return w - rate * (m / (1 - 0.9**t)) / np.sqrt(v / (1 - 0.99**t))

    return iterate(rows, Gradient(rows, loss, warm), step, rounds, -10 if loss == "sigmoid" else 0, average)


def newton(rows, rounds, loss="softmax", warm=False, average=False):
    rows.intercept(INTERCEPT)
    gradient = Gradient(rows, loss, warm)
    eta = 1 - 1 / rows.classes if loss == "softmax" else 1.0

    def step(w, g, _):
        p = gradient.probabilities(w)
        share = gradient.share(p) if warm else 1
        w = w.copy()
        for c, root in enumerate(np.sqrt(share * p * (1 - p)).T):
            v = root[:, None] * rows.q
            v = (np.rint(v) if rounds_to_lattice else v) / rows.scale
            hessian = v.T @ v + rows.clip**2 * np.eye(v.shape[1])
            direction = scipy.linalg.solve(hessian, g[c], assume_a="pos")
            w[c] -= eta * min(1.0, 20.0 / (rows.clip * np.linalg.norm(direction))) * direction
        return w

    return iterate(rows, gradient, step, rounds, average=average)


def whitened_descent(rows, rounds, loss="softmax", warm=False, average=False):
    _, lengths, directions = np.linalg.svd(rows.x, full_matrices=False)
    energy = np.sum(lengths**2)
    regular = lengths**2 + energy / len(lengths) + rows.clip**2
    curvature = lengths**2 / regular
    curvature *= (1 - INTERCEPT_OF_WHITENED) * energy / np.sum(curvature)
    e = np.append(curvature, INTERCEPT_OF_WHITENED * energy) + rows.clip**2
    rows.project(directions / np.sqrt(regular)[:, None]).intercept(INTERCEPT_OF_WHITENED)

    length = 1 if loss == "square" else 2 * np.sqrt(rows.classes)

    def step(w, g, _):
        return w - length * g / e

    return iterate(rows, Gradient(rows, loss, warm), step, rounds, average=average)


def resting_point(rows):
    """Where no step leads away: sum_i r_i x_i^T = 0 with r = softmax(W x) - onehot(y) held to norm Z, by SciPy.

    No lattice of weights or residuals. Weights add up to 0 over classes: softmax does not see their mean.
    """
    rows.intercept(INTERCEPT)
    x, targets = rows.x, np.eye(rows.classes)[rows.y]
    shape = (rows.classes, x.shape[1])

    def sums(flat):
        w = flat.reshape(shape)
        r = scipy.special.softmax(x @ w.T, axis=1) - targets
        r = clipped(r)
        return (r.T @ x + w.mean(axis=0)).ravel()

    found = scipy.optimize.root(sums, np.zeros(np.prod(shape)), method="hybr", tol=1e-12)
    assert np.linalg.norm(found.fun) < 1e-8, found
    return {**rows.result(found.x.reshape(shape)), "tolerance": 1e-3, "mean_is_free": True}


# --- cases --------------------------------------------------------------------------------------------------------


def all_cases(x, y, public_x):
    def rows(**how):
        return Rows(x, y, **how)

    def two():
        return Rows(x, np.minimum(y, 1))

    def public(prepared):
        return Rows(public_x, np.zeros(len(public_x), dtype=np.int64), clip=prepared.clip)

    # name, options, result; a model agrees to 1e-6, or to the "tolerance" of the result
    yield "cosine_means", "--method mean", cosine_means(rows())
    yield "cosine_means_pooled_clipped", "--method mean --pool 3 --normalize none --clip 3", cosine_means(
        rows(pool=3, normalize="none", clip=3.0))
    yield "cosine_means_selected", "--method mean --select 3", cosine_means(rows(), select=3)
    yield "euclidean_means", "--method mean --metric euclidean", euclidean_means(rows())
    yield "euclidean_means_centered", "--method mean --metric euclidean --center dp", euclidean_means(rows().center())
    yield "euclidean_means_selected", "--method mean --metric euclidean --select 3", euclidean_means(rows(), select=3)
    yield "ridge", "--method ls --shared-gram", ridge_regression(rows())
    yield "ridge_clipped", "--method ls --shared-gram --normalize none --clip 2.5", ridge_regression(
        rows(normalize="none", clip=2.5))
    yield "ridge_centered", "--method ls --shared-gram --center dp", ridge_regression(rows().center())
    yield "ridge_publicly_centered", "--method ls --shared-gram --center public --public-x public_x.npy", (
        ridge_regression(rows().center(public(rows()))))
    yield "ridge_of_two_classes", "--method ls --shared-gram", ridge_regression(two().intercept(0.02))
    yield "ridge_by_class_of_two_classes", "--method ls --alpha 2", ridge_regression_by_class(two().intercept(0.02), 2)
    yield "ridge_of_centered_moments", "--method ls --shared-gram --center moments", ridge_regression(rows().intercept(0.02))
    yield "ridge_by_class_of_centered_moments", "--method ls --alpha 3 --center moments", ridge_regression_by_class(
        rows().intercept(0.02), 3)
    yield "ridge_selected", "--method ls --shared-gram --select 5", ridge_regression(rows().select(5))
    yield "ridge_on_components", "--method ls --shared-gram --pca 3", ridge_regression(rows().pca(3))
    yield "ridge_on_public_components", "--method ls --shared-gram --pca 3 --public-x public_x.npy", ridge_regression(
        rows().pca(3, public(rows())))
    yield "ridge_on_selected_components", "--method ls --shared-gram --center dp --pca 6 --select 4", ridge_regression(
        rows().center().pca(6).select(4))
    for alpha, options in ((1, ""), (10, " --alpha 10"), (0.3, " --alpha 0.3"), (0, " --alpha 0")):
        yield f"ridge_by_class_alpha_{alpha}".replace(".", "_"), "--method ls" + options, ridge_regression_by_class(
            rows(), alpha)
    yield "ridge_by_class_lambda", "--method ls --alpha 2 --lambda 0.7", ridge_regression_by_class(rows(), 2, 0.7)
    yield "fisher", "--method fisher", fisher(rows())
    yield "fisher_selected", "--method fisher --select 3", fisher(rows(), select=3)
    yield "fisher_selected_by_t", "--method fisher --select 3 --select-by t", fisher(rows(), select=3, by_t=True)
    for loss in ("softmax", "sigmoid", "square"):
        yield f"fc_{loss}", f"--method fc --rounds 5 --loss {loss}", whitened_descent(rows(), 5, loss)
        yield f"gd_{loss}", f"--method gd --rounds 6 --loss {loss}", descent(rows(), 6, loss)
        yield f"adam_{loss}", f"--method adam --rounds 6 --loss {loss}", adam(rows(), 6, loss)
    for loss in ("softmax", "sigmoid"):
        yield f"newton_{loss}", f"--method newton --rounds 4 --loss {loss}", newton(rows(), 4, loss)
    average = " --iterate average"
    yield "fc_averaged", "--method fc --rounds 4" + average, whitened_descent(rows(), 4, average=True)
    yield "gd_averaged", "--method gd --rounds 4" + average, descent(rows(), 4, average=True)
    yield "adam_averaged", "--method adam --rounds 4" + average, adam(rows(), 4, average=True)
    yield "newton_averaged", "--method newton --rounds 3" + average, newton(rows(), 3, average=True)
    yield "fc_centered", "--method fc --rounds 4 --center dp", whitened_descent(rows().center(), 4)
    yield "fc_selected", "--method fc --rounds 4 --select 5", whitened_descent(rows().select(5), 4)
    yield "gd_in_a_ball", "--method gd --rounds 5 --radius 3 --learning-rate 0.5", descent(
        rows(), 5, rate=0.5, radius=3.0)
    yield "gd_on_components", "--method gd --rounds 4 --pca 3", descent(rows().pca(3), 4)
    yield "adam_with_a_rate", "--method adam --rounds 4 --learning-rate 0.3 --clip 2", adam(
        rows(clip=2.0), 4, rate=0.3)
    yield "fc_warm", "--method fc --rounds 4 --warm-start", whitened_descent(rows(), 4, warm=True)
    yield "gd_warm", "--method gd --rounds 4 --warm-start", descent(rows(), 4, warm=True)
    yield "adam_warm", "--method adam --rounds 4 --warm-start", adam(rows(), 4, warm=True)
    yield "newton_warm", "--method newton --rounds 4 --warm-start", newton(rows(), 4, warm=True)
    # The end of many rounds, whatever their rule: as near as weights and residuals of 16 bits come.
    end = resting_point(rows())
    yield "end_of_newton", "--method newton --rounds 1500", end
    yield "end_of_gd", "--method gd --rounds 6000 --learning-rate 0.1", end


def main():
    x, y = make_rows(7, 200, 8)
    public_x, _ = make_rows(8, 60, 8)
    np.save(HERE / "solvers_x.npy", x)
    np.save(HERE / "solvers_y.npy", y)
    np.save(HERE / "solvers_public_x.npy", public_x)
    cases = [{"name": name, "classes": len(result["weights"]), "options": options, **result}
             for name, options, result in all_cases(x, y, public_x)]
    lines = ",\n".join(json.dumps(case) for case in cases)
    (HERE / "solvers.json").write_text("[\n" + lines + "\n]\n")


if __name__ == "__main__":
    main()
