"""Logistic regression on one to three features by Newton's method, in fused passes."""

import math

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BLOCK = 1024  # rows whose probabilities stay in the cache
STRIDES = (64, 8)  # of the rows that give the starting point
FEWEST = 4096  # rows worth a starting point
START_RIDGE = 1e-6  # so that a part of the rows has a minimum too
MOST_STEPS = 100
MOST_HALVINGS = 60

INVERSE_LOG_2 = 1.4426950408889634
LOG_2_HIGH = 6.93147180369123816490e-01  # the first 33 bits, so that k times it is exact
LOG_2_LOW = 1.90821492927058770002e-10
WHOLE = 1.5 * 2.0**52  # a float of this size has no digits after the point


def fit_logistic(X: Floats, t: Floats, w: Floats, ridge: Floats) -> tuple[Floats, Floats]:
    """Minimise sum_i w_i [log(1 + exp(eta_i)) - t_i eta_i] + ridge'beta^2 / 2, eta = beta'X.

    Large samples start from the minimum of every 64th, then every 8th row: their estimates are so
    close that two or three passes over all rows are left.

    Parameters
    ----------
    X : (k, n) array
        Features of about unit size, among them a row of ones where there is an intercept.
    t : (n,) array
        Targets in [0, 1].
    w : (n,) array
        Weights that sum to 1.
    ridge : (k,) array
        Penalties.

    Returns
    -------
    beta : (k,) array
        The minimum.
    hessian : (k, k) array
        Second derivatives there, penalty included.
    """
    beta = np.zeros(len(X))
    for stride in STRIDES:
        part = w[::stride].copy()
        if part.size < FEWEST or part.sum() == 0:
            continue
        rows = np.ascontiguousarray(X[:, ::stride])
        beta, _ = _newton(
            rows, t[::stride].copy(), part / part.sum(), ridge + START_RIDGE, beta, 1e-2
        )
    return _newton(X, t, w, ridge, beta, 1e-7)


@np.errstate(over="ignore", invalid="ignore")  # steps beyond all bounds are shortened
def _newton(
    X: Floats, t: Floats, w: Floats, ridge: Floats, beta: Floats, enough: float
) -> tuple[Floats, Floats]:
    """Take Newton steps until one changes no eta by more than `enough`; its error is the square."""
    linear, largest = target_sums(X, t, w)
    for _ in range(MOST_STEPS):
        first, second = newton_sums(X, w, beta)
        gradient = first - linear + ridge * beta
        hessian = second + np.diag(ridge)
        step = -_solve(hessian, gradient)
        reach = float(np.abs(step) @ largest)
        # A step that changes no eta by more than 1 goes down whatever the data (Bach 2010,
        # self-concordance: the curvature along it grows by a factor of at most e).
        if reach > 1:
            step = _shorten(X, t, w, ridge, beta, step)
        beta = beta + step
        if reach <= enough or not step.any():
            break
    return beta, hessian


def _solve(hessian: Floats, gradient: Floats) -> Floats:
    """Solve a small system, the shortest solution where the curvature vanishes."""
    try:
        step = np.linalg.solve(hessian, gradient)
    except np.linalg.LinAlgError:
        step = np.full(gradient.size, np.nan)
    if not np.isfinite(step).all():
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
    return np.asarray(step, dtype=np.float64)


def _shorten(X: Floats, t: Floats, w: Floats, ridge: Floats, beta: Floats, step: Floats) -> Floats:
    """Halve a step until it goes down; zero where rounding leaves nowhere to go."""
    before = penalised_loss(X, t, w, ridge, beta)
    for _ in range(MOST_HALVINGS):
        if penalised_loss(X, t, w, ridge, beta + step) < before:
            return step
        step = step / 2
    return np.zeros(step.size)


def penalised_loss(X: Floats, t: Floats, w: Floats, ridge: Floats, beta: Floats) -> float:
    """Return what `fit_logistic` minimises."""
    return mean_loss(X, t, w, beta) + float((ridge * beta) @ beta) / 2


@numba.njit(nogil=True, cache=True)
def standardize(features: Floats, w: Floats, X: Floats, centred: bool) -> tuple[Floats, Floats]:  # noqa: FBT001
    """Write features over their standard deviation into the rows of X; return means and scales.

    Features that are not centred are divided by their root mean square, and their means are 0.
    """
    mean, scale = np.zeros(len(features)), np.zeros(len(features))
    for j in range(len(features)):
        x, z = features[j], X[j]
        if centred:
            mean[j] = _dot(x, w)
        total = 0.0
        for start in range(0, x.size, BLOCK):
            end = min(start + BLOCK, x.size)
            _subtract(x[start:end], mean[j], z[start:end])
            total += _sum_of_squares(z[start:end], w[start:end])
        scale[j] = math.sqrt(total)
        if scale[j] > 0.0:
            _divide(z, scale[j])
    return mean, scale


@numba.njit(nogil=True, cache=True)
def target_sums(X: Floats, t: Floats, w: Floats) -> tuple[Floats, Floats]:
    """Return sum_i w_i t_i x_i, and the largest size of each feature."""
    k, n = X.shape
    linear, largest = np.zeros(k), np.zeros(k)
    product = np.empty(BLOCK)
    for start in range(0, n, BLOCK):
        end = min(start + BLOCK, n)
        _multiply(w[start:end], t[start:end], product)
        for j in range(k):
            linear[j] += _dot(product, X[j, start:end])
            largest[j] = max(largest[j], _largest(X[j, start:end]))
    return linear, largest


@numba.njit(nogil=True, cache=True)
def weighted_product(x: Floats, y: Floats, w: Floats) -> float:
    """Return sum_i w_i x_i y_i."""
    product = np.empty(BLOCK)
    total = 0.0
    for start in range(0, x.size, BLOCK):
        end = min(start + BLOCK, x.size)
        _multiply(x[start:end], y[start:end], product)
        total += _dot(product, w[start:end])
    return total


@numba.njit(nogil=True, cache=True)
def newton_sums(X: Floats, w: Floats, beta: Floats) -> tuple[Floats, Floats]:
    """Return sum_i w_i p_i x_i and sum_i w_i p_i (1 - p_i) x_i x_i', p = sigmoid(beta'X)."""
    k, n = X.shape
    first, second = np.zeros(k), np.zeros((k, k))
    eta, p, h = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, n, BLOCK):
        end = min(start + BLOCK, n)
        eta[:] = 0.0
        for j in range(k):
            _add_multiple(beta[j], X[j, start:end], eta)
        _probabilities(eta, w[start:end], p, h)
        for j in range(k):
            first[j] += _dot(p, X[j, start:end])
            _multiply(h, X[j, start:end], eta)
            for l in range(j + 1):
                second[j, l] += _dot(eta, X[l, start:end])
    for j in range(k):
        for l in range(j):
            second[l, j] = second[j, l]
    return first, second


@numba.njit(nogil=True, cache=True)
def _add_multiple(b: float, x: Floats, eta: Floats) -> None:
    for i in range(x.size):
        eta[i] += b * x[i]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _probabilities(eta: Floats, w: Floats, p: Floats, h: Floats) -> None:
    for i in range(w.size):
        e = exp_minus(abs(eta[i]))
        q = 1.0 / (1.0 + e)
        p[i] = w[i] * (q if eta[i] >= 0.0 else e * q)
        h[i] = w[i] * (e * q * q)


@numba.njit(nogil=True, cache=True)
def _multiply(x: Floats, y: Floats, product: Floats) -> None:
    for i in range(y.size):
        product[i] = x[i] * y[i]


@numba.njit(nogil=True, cache=True, error_model="numpy")
def exp_minus(x: float) -> float:
    """Return exp(-x) for x of at least 0, within 4e-16 relative; at most 708 counts of x.

    Plain arithmetic, so that a loop over it is compiled to vector instructions, which calls of the
    library's exp prevent: 2^k e^r with |r| <= log(2) / 2, e^r by its series, 2^k by its bits.
    """
    v = -min(x, 708.0)
    k = np.floor(v * INVERSE_LOG_2 + 0.5)
    r = (v - k * LOG_2_HIGH) - k * LOG_2_LOW
    s = 1.0 / 479001600.0
    s = s * r + 1.0 / 39916800.0
    s = s * r + 1.0 / 3628800.0
    s = s * r + 1.0 / 362880.0
    s = s * r + 1.0 / 40320.0
    s = s * r + 1.0 / 5040.0
    s = s * r + 1.0 / 720.0
    s = s * r + 1.0 / 120.0
    s = s * r + 1.0 / 24.0
    s = s * r + 1.0 / 6.0
    s = s * r + 0.5
    s = s * r + 1.0
    s = s * r + 1.0
    # The last bits of k + 1.5 * 2^52 are the integer k.
    bits = (np.float64(k + WHOLE).view(np.int64) + 1023) << 52
    return float(s * np.int64(bits).view(np.float64))


@numba.njit(nogil=True, cache=True, fastmath={"contract", "nsz", "reassoc"})
def _dot(x: Floats, y: Floats) -> float:
    total = 0.0
    for i in range(y.size):
        total += x[i] * y[i]
    return total


@numba.njit(nogil=True, cache=True, fastmath={"contract", "nsz", "reassoc"})
def _sum_of_squares(x: Floats, w: Floats) -> float:
    total = 0.0
    for i in range(x.size):
        total += w[i] * x[i] * x[i]
    return total


@numba.njit(nogil=True, cache=True, fastmath={"nnan", "nsz", "reassoc"})
def _largest(x: Floats) -> float:
    largest = 0.0
    for i in range(x.size):
        largest = max(largest, abs(x[i]))
    return largest


@numba.njit(nogil=True, cache=True)
def _subtract(x: Floats, mean: float, z: Floats) -> None:
    for i in range(x.size):
        z[i] = x[i] - mean


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _divide(z: Floats, scale: float) -> None:
    for i in range(z.size):
        z[i] /= scale


@numba.njit(nogil=True, cache=True)
def mean_loss(X: Floats, t: Floats, w: Floats, beta: Floats) -> float:
    """Return sum_i w_i [log(1 + exp(eta_i)) - t_i eta_i]."""
    k, n = X.shape
    total = 0.0
    for start in range(0, n, BLOCK):
        part = 0.0
        for i in range(start, min(start + BLOCK, n)):
            eta = 0.0
            for j in range(k):
                eta += beta[j] * X[j, i]
            # Without the difference of large numbers: t log(1 + e^-eta) + (1 - t) log(1 + e^eta).
            small = math.log1p(math.exp(-abs(eta)))
            part += w[i] * (small + ((1.0 - t[i]) * eta if eta >= 0 else -t[i] * eta))
        total += part
    return total


@numba.njit(nogil=True, cache=True)
def class_ranges(score: Floats, event: NDArray[np.bool_]) -> Floats:
    """Return the smallest and largest score without and with the event, (2, 2); inf where none."""
    ranges = np.array([[np.inf, -np.inf], [np.inf, -np.inf]])
    for i in range(score.size):
        c = 1 if event[i] else 0
        ranges[c, 0] = min(ranges[c, 0], score[i])
        ranges[c, 1] = max(ranges[c, 1], score[i])
    return ranges


@numba.njit(nogil=True, cache=True)
def any_between(
    score: Floats,
    event: NDArray[np.bool_],
    which: bool,  # noqa: FBT001
    low: float,
    high: float,
) -> bool:
    """Return whether a row with that label has a score strictly between two bounds."""
    for i in range(score.size):  # noqa: SIM110 (no generators in compiled code)
        if event[i] == which and low < score[i] < high:
            return True
    return False
