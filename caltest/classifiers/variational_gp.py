"""Sparse variational Gaussian-process classification, and the bound that it maximises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import cho_solve
from scipy.linalg.blas import dtrmm

from caltest.checks import check_integer
from caltest.classifiers.base import PRECISION, GPClassifier, in_parts, kernel_of, normal_samples
from caltest.classifiers.rbf import RBFParameters, inducing_points, kernel_gradient, rbf
from caltest.classifiers.regressions import root_of_kernel
from caltest.numerics.loops import map_threads, njit
from caltest.numerics.newton import conjugate_gradients
from caltest.numerics.variational import cholesky_back, inverse_root, whiten, whiten_back
from caltest.types import Codes, Floats

Expected = tuple[float, Floats, Floats]  # sum over rows, derivatives by means and by variances
Expectation = Callable[[Floats, Floats, Codes], Expected]
CHUNK = 2**20  # entries of k(Z, X) in a block
KEPT = 2**26  # entries of k(Z, X) up to which it is kept between steps
GAIN = 1e-6  # nats per row; the steps end where one gains less
MOST_STEPS = 50
MOST_PRODUCTS = 50  # of conjugate gradients
RESIDUE = 1e-2  # of the slope, where conjugate gradients end
SMALLEST_SHARE = 1e-3  # of a step
SMALLEST = 1e-12  # variance; below it differences of log-likelihoods are rounding errors


@dataclass(frozen=True)
class Inducing:
    """The variational distribution: m, (L, M), and lower triangles C, (L, M, M)."""

    m: Floats
    C: Floats


@dataclass(frozen=True)
class Labelled:
    """Rows, their classes, inducing inputs, and the expected log-likelihood of a label."""

    X: Floats
    codes: Codes
    Z: Floats
    expectation: Expectation
    n_jobs: int | None = None


@dataclass(frozen=True)
class Prior:
    """The kernel on the inducing inputs and, where they are kept, the whitened k(Z, X)."""

    data: Labelled
    kernel: RBFParameters
    L: Floats
    projections: list[Floats] | None = None

    def over_blocks(self, function: Callable[[slice, Floats], Any]) -> Iterator[tuple[slice, Any]]:
        """Yield blocks of rows, and function(rows, A) with A = L^-1 k(Z, X) of each."""
        data, size = self.data, max(1, CHUNK // len(self.data.Z))

        def part(b: int, start: int) -> tuple[slice, Any]:
            rows = slice(start, start + size)
            if self.projections is not None:
                return rows, function(rows, self.projections[b])
            A = whiten(self.L, rbf(data.Z, data.X[rows], *self.kernel))
            return rows, function(rows, np.ascontiguousarray(A))

        return map_threads(part, enumerate(range(0, len(data.X), size)), data.n_jobs)


# The bound at some q, and the step from there: precisions less I, roots, changes of the means.
Step = tuple[float, Floats, Floats, Floats]


def start(latents: int, M: int) -> Inducing:
    """Return the prior as q."""
    return Inducing(np.zeros((latents, M)), np.tile(np.eye(M), (latents, 1, 1)))


def prior(data: Labelled, kernel: RBFParameters) -> Prior:
    """Return what depends on the kernel alone."""
    known = Prior(data, kernel, root_of_kernel(data.Z, kernel))
    if len(data.X) * len(data.Z) > KEPT:
        return known
    return replace(known, projections=[A for _, A in known.over_blocks(lambda _, A: A)])


def carried(q: Inducing, old: Prior, new: Prior) -> Inducing:
    """Return q of the same inducing variables under another kernel."""
    back = whiten(new.L, old.L)
    return Inducing(q.m @ back.T, np.tril(back @ q.C))


def ascend(known: Prior, q: Inducing) -> tuple[float, Inducing]:
    """Return the bound at its best q for a kernel, and that q."""
    value, precision, roots, change = step_at(known, q)
    enough, eye = GAIN * len(known.data.X), np.eye(q.m.shape[1])
    for _ in range(MOST_STEPS):
        to, share = Inducing(q.m + change, roots), 1.0
        new = step_at(known, to)
        while new[0] < value - enough / 2 and share > SMALLEST_SHARE:
            share /= 2  # to a point on the way there
            here = np.array([cho_solve((C, True), eye) - eye for C in q.C])  # precisions - I
            between = here + share * (precision - here)
            to = Inducing(q.m + share * change, np.array([inverse_root(H) for H in between]))
            new = step_at(known, to)
        gain = new[0] - value
        if gain > 0:
            q, (value, precision, roots, change) = to, new
        if gain < enough:
            break
    return value, q


def gradient(known: Prior, q: Inducing) -> Floats:
    """Return the partial derivatives of the bound by the kernel, for fixed whitened m and C.

    They are those of `kernel_gradient`, (1 + d,).
    """
    data, (variance, scales) = known.data, known.kernel

    def block(rows: slice, A: Floats) -> tuple[Floats, Floats]:
        X = data.X[rows]
        _, by_mean, by_variance = data.expectation(*moments(A, variance, q), data.codes[rows])
        by_A = q.m.T @ by_mean
        by_A -= 2 * by_variance.sum(axis=0) * A
        for C, slope in zip(q.C, by_variance, strict=True):
            by_A += 2 * slope * _triangular(C, _triangular(C, A, back=True), back=False)
        by_L, by_B = whiten_back(known.L, A, by_A)
        found = kernel_gradient(by_B.T * rbf(X, data.Z, variance, scales), X, data.Z, scales)
        found[0] += variance * float(by_variance.sum())
        return found, by_L

    total, by_L = np.zeros(1 + data.Z.shape[1]), np.zeros_like(known.L)
    for _, (part, by_root) in known.over_blocks(block):
        total += part
        by_L += by_root
    by_inner = cholesky_back(known.L, by_L)
    kernel = rbf(data.Z, data.Z, variance, scales)
    # The jitter, whatever it is, is a share of the variance.
    kernel[np.diag_indices_from(kernel)] = np.einsum("ij,ij->i", known.L, known.L)
    return total + kernel_gradient(by_inner * kernel, data.Z, data.Z, scales)


def moments(A: Floats, variance: float, q: Inducing) -> tuple[Floats, Floats]:
    """Return means and variances of the latent functions in rows, (L, n), from A, (M, n)."""
    unexplained = variance - np.einsum("in,in->n", A, A)
    spreads = (_triangular(C, A, back=True) for C in q.C)
    variances = np.array([unexplained + np.einsum("in,in->n", S, S) for S in spreads])
    # Rounding may leave less than nothing where the inducing variables say all.
    return q.m @ A, np.maximum(variances, 0)


def _triangular(C: Floats, A: Floats, *, back: bool) -> Floats:
    """Return C A or, back, C' A in half the time of a full product; both are in order of rows."""
    return np.asarray(dtrmm(1.0, C.T, A.T, side=1, trans_a=back).T)


def step_at(known: Prior, q: Inducing) -> Step:
    """Return the bound at q, and the step from there."""
    data = known.data

    def block(rows: slice, A: Floats) -> tuple[float, Floats, Floats, Floats]:
        """Return sums over rows, E log p, A g, A D A', and W of the rows."""
        latent, codes = moments(A, known.kernel.variance, q), data.codes[rows]
        value, by_mean, by_variance = data.expectation(*latent, codes)
        grams, half = np.empty_like(q.C), np.empty_like(A)
        # Of points, D may be less than 0 by rounding or chance.
        for gram, weight in zip(grams, np.maximum(-2 * by_variance, 0), strict=True):
            np.multiply(A, np.sqrt(weight), out=half)
            np.matmul(half, half.T, out=gram)
        shares = (codes == np.arange(len(q.m))[:, None]) - by_mean
        return value, by_mean @ A.T, grams, np.maximum(shares, 0)

    logs = np.log(np.diagonal(q.C, axis1=1, axis2=2)).sum()
    # KL(q || p), summed over latent functions.
    value = -float(0.5 * (np.vdot(q.C, q.C) + np.vdot(q.m, q.m) - q.m.size) - logs)
    slope = -q.m
    precision, weights = np.zeros_like(q.C), np.empty((len(q.m), len(data.X)))
    for rows, (part, by_m, by_precision, W) in known.over_blocks(block):
        value += part
        slope += by_m
        precision += by_precision
        weights[:, rows] = W
    roots = np.array(list(map_threads(inverse_root, [(H,) for H in precision], data.n_jobs)))
    if len(slope) == 1:
        return value, precision, roots, _solved(roots, slope)
    change = _newton_step(known, weights, roots, slope)
    # What is common to all latent functions changes no probability, and is 0 at the best q.
    return value, precision, roots, change - (q.m + change).mean(axis=0)


def _newton_step(known: Prior, weights: Floats, roots: Floats, slope: Floats) -> Floats:
    """Solve (I + A (diag(W) - W W') A') change = slope by conjugate gradients."""

    def product(direction: Floats) -> Floats:
        def block(rows: slice, A: Floats) -> Floats:
            own = weights[:, rows]
            pulls = own * (direction @ A)
            pulls -= own * pulls.sum(axis=0)
            return np.asarray(pulls @ A.T)

        return np.asarray(direction + sum(part for _, part in known.over_blocks(block)))

    solve = partial(_solved, roots)
    return conjugate_gradients(product, solve, slope, RESIDUE, MOST_PRODUCTS)[0]


def _solved(roots: Floats, slope: Floats) -> Floats:
    """Return C C' slope for each latent function."""
    return np.array([root @ (root.T @ s) for root, s in zip(roots, slope, strict=True)])


def hermite(size: int) -> tuple[Floats, Floats]:
    """Return nodes and weights of the mean over a standard normal variable."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(size)
    return nodes, weights / weights.sum()


def antithetic(size: int, K: int) -> Floats:
    """Return at least `size` points of K standard normal variables, with their negatives."""
    half = normal_samples((size + 1) // 2, K, np.random.default_rng(0))
    return np.concatenate([half, -half])


@njit()
def bernoulli(
    mean: Floats, variance: Floats, codes: Codes, nodes: Floats, weights: Floats
) -> Expected:
    """Return the sum over rows of E log expit(+-f), and its derivatives by mean and variance.

    Parameters
    ----------
    mean, variance : (1, n) array
        Of the latent variable.
    codes : (n,) array
        0 or 1; f speaks for 1.
    nodes, weights : (S,) array
        From `hermite`.
    """
    n = mean.shape[1]
    by_mean, by_variance = np.zeros((1, n)), np.zeros((1, n))
    value = 0.0
    for i in range(n):
        sign = 2.0 * codes[i] - 1.0
        deviation = np.sqrt(max(variance[0, i], SMALLEST))
        for s in range(nodes.size):
            f = sign * (mean[0, i] + deviation * nodes[s])
            small = np.exp(-abs(f))
            value += weights[s] * (min(f, 0.0) - np.log1p(small))
            rest = weights[s] * sign * (small if f > 0 else 1.0) / (1.0 + small)
            by_mean[0, i] += rest
            by_variance[0, i] += rest * nodes[s]
        by_variance[0, i] /= 2.0 * deviation
    return value, by_mean, by_variance


@njit()
def softmax(mean: Floats, variance: Floats, codes: Codes, points: Floats) -> Expected:
    """Return the sum over rows of E log softmax_y(f), and its derivatives by mean and variance.

    Parameters
    ----------
    mean, variance : (K, n) array
        Of the latent variables.
    codes : (n,) array
        y, 0 to K - 1.
    points : (S, K) array
        From `antithetic`.
    """
    (K, n), S = mean.shape, points.shape[0]
    by_mean, by_variance = np.zeros((K, n)), np.zeros((K, n))
    f, value = np.empty(K), 0.0
    for i in range(n):
        y, deviation = codes[i], np.sqrt(np.maximum(variance[:, i], SMALLEST))
        first, second = np.zeros(K), np.zeros(K)
        for s in range(S):
            top = -np.inf
            for k in range(K):
                f[k] = mean[k, i] + deviation[k] * points[s, k]
                top = max(top, f[k])
            value += (f[y] - top) / S
            total = 0.0
            for k in range(K):
                f[k] = np.exp(f[k] - top)
                total += f[k]
            value -= np.log(total) / S
            for k in range(K):
                share = f[k] / total
                first[k] -= share
                second[k] -= share * points[s, k]
        # The mean of the points of class y is 0: they are antithetic.
        first[y] += S
        for k in range(K):
            by_mean[k, i] = first[k] / S
            by_variance[k, i] = second[k] / (2.0 * deviation[k] * S)
    return value, by_mean, by_variance


INDUCING = 200
SHARES = (64, 8)  # of the rows whose kernel is where the fit to all starts: a 64th, an 8th
ROWS_FOR_SHARE = 1000  # rows worth a fit of their own
NODES = 32  # of the Gauss-Hermite quadrature


@dataclass(kw_only=True, eq=False, repr=False)
class VariationalGPClassifier(GPClassifier):
    r"""Sparse variational Gaussian-process classification.

    Two classes have one latent function and the logistic likelihood, more classes have one each,
    with one RBF kernel, and the softmax. The inducing variables have a normal distribution with
    full covariance, whitened; inducing points are fixed. The evidence lower bound

    .. math:: \sum_i E_q \log p(y_i \mid f(x_i)) - KL(q \,\|\, p)

    is maximised by L-BFGS over the kernel, with the best q for each kernel found by steps on its
    natural parameters. From 8000 rows on it starts at the kernel of an eighth of them, from 64,000
    that at the kernel of a 64th. The expectation is Gauss-Hermite quadrature with 32 nodes for two
    classes and, for more, the mean over `n_points` fixed antithetic quasi-random points; in both
    cases the derivatives are exactly those of what is computed.

    Parameters
    ----------
    n_inducing : int, default 200
        Number of inducing points, all distinct rows where there are no more.
    inducing : {"k-means", "random"}, default "k-means"
        Where they lie: at the centres of k-means, or at random rows.
    ard : bool, default False
        Whether each feature has its own length scale.
    max_iter : int, default 100
        Most steps of L-BFGS. Each parameter of the kernel stays within a factor of 1e5 of
        where it starts, which is where the authors' code does.
    n_points : int, default 128
        Points of the expectation of the softmax.
    n_samples : int, default 1024
        Quasi-random points over which the softmax is averaged in a prediction.
    random_state : int, RandomState or None
        The seed of the inducing points.
    n_jobs : int, optional
        Threads, as in joblib: None is one, -1 all cores.
    verbose : bool, default False
        Whether to print the evidence lower bound at each step.

    Attributes
    ----------
    classes_ : (K,) array
        The labels, sorted.
    variance_ : float
        Variance of the kernel.
    length_scale_ : (1,) or (d,) array
        Length scales of the kernel.
    inducing_points_ : (M, d) array
        Inducing points.
    bound_ : float
        The evidence lower bound.
    n_iter_ : int
        Steps of L-BFGS.
    n_samples_fit_ : int
        Number of rows of the fit.
    fit_time_ : float
        Seconds.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : (d,) array
        Names of the features, where a data frame was given.

    References
    ----------
    Hensman, Matthews, Ghahramani (2015), Scalable variational Gaussian process classification.
    Khan, Lin (2017), Conjugate-computation variational inference. Milios et al. (2018),
    Dirichlet-based Gaussian processes for large-scale calibrated classification, section 5.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from caltest.classifiers import VariationalGPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = VariationalGPClassifier(n_inducing=20, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    title = "Sparse variational Gaussian-process classification"
    bound_name = "evidence lower bound"

    n_inducing: int = INDUCING
    n_points: int = 128

    def _fit(self, X: Floats, codes: Codes, rng: np.random.RandomState) -> None:
        self._check_options()
        check_integer(self.n_points, "n_points")
        size = check_integer(self.n_inducing, "n_inducing")
        Z = inducing_points(X, size, self.inducing, rng)
        self.inducing_points_ = Z
        K = len(self.classes_)
        middle = theta = self._start(X, 1.0)
        q = start(1 if K == 2 else K, len(Z))
        precision = PRECISION if K == 2 else GAIN  # to which the best q is found
        expectation: Expectation = partial(softmax, points=antithetic(self.n_points, K))
        if K == 2:
            nodes, weights = hermite(NODES)
            expectation = partial(bernoulli, nodes=nodes, weights=weights)
        # Samples where there are many rows, whose kernels are close; all.
        order, sizes = rng.permutation(len(X)), [len(X) // share for share in SHARES]
        samples: list[slice | Codes] = [np.sort(order[:s]) for s in sizes if s >= ROWS_FOR_SHARE]
        for rows in [*samples, slice(None)]:
            data = Labelled(X[rows], codes[rows], Z, expectation, self.n_jobs)
            ridge = _Ridge(prior(data, kernel_of(theta)), q)
            climb = partial(self._climb, ridge)
            found = self._maximise(climb, theta, len(data.X), middle=middle, precision=precision)
            # The last kernel that L-BFGS tried need not be the best.
            self.bound_, theta = ridge.climb(kernel_of(found.theta)), found.theta
            q = ridge.q
        self._end(found)
        self.variance_, self.length_scale_ = ridge.known.kernel
        self._root, self._inducing = ridge.known.L, q

    def _climb(self, ridge: _Ridge, theta: Floats) -> tuple[float, Floats]:
        value = ridge.climb(kernel_of(theta))
        return value, self._slope(gradient(ridge.known, ridge.q))

    def _latent(self, X: Floats) -> tuple[Floats, Floats]:
        def part(X: Floats) -> tuple[Floats, Floats]:
            kernel = rbf(self.inducing_points_, X, self.variance_, self.length_scale_)
            A = whiten(self._root, kernel)
            mean, variance = moments(A, self.variance_, self._inducing)
            return mean.T, variance.T

        size = CHUNK // len(self.inducing_points_)
        mean, variance = in_parts(part, (X,), size, self.n_jobs)
        if mean.shape[1] == 1:
            # Of two classes the first latent function is 0.
            zero = np.zeros_like(mean)
            return np.hstack([zero, mean]), np.hstack([zero, variance])
        return mean, variance


@dataclass
class _Ridge:
    """The bound as a function of the kernel, at the best q for it."""

    known: Prior
    q: Inducing

    def climb(self, kernel: RBFParameters) -> float:
        """Move to another kernel and return the bound there."""
        self.known = replace(self.known, projections=None)  # before those of the new kernel
        new = prior(self.known.data, kernel)
        value, self.q = ascend(new, carried(self.q, self.known, new))
        self.known = new
        return value
