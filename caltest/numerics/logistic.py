"""Logistic regression on one to three features by Newton's method, in fused passes."""

import math

import numpy as np

from caltest.numerics.loops import njit
from caltest.numerics.newton import backtrack
from caltest.types import Floats

BLOCK = 1024  # rows whose probabilities stay in the cache
LOSSES = 2**15  # rows of a temporary array of losses
STRIDES = (64, 8)  # of the rows that give the starting point
ROWS_FOR_START = 4096  # rows worth a starting point
START_RIDGE = 1e-6  # so that a part of the rows has a minimum too
MOST_STEPS = 100
PLAIN = np.empty((3, 0))  # the base of a model that is no deviation from another

INVERSE_LOG_2 = 1.4426950408889634
LOG_2_HIGH = 6.93147180369123816490e-01  # the first 33 bits, so that k times it is exact
LOG_2_LOW = 1.90821492927058770002e-10
SERIES = tuple(1.0 / math.factorial(k) for k in range(12, -1, -1))  # of the exponential
NO_FRACTION = 1.5 * 2.0**52  # a float of this size has no digits after the point


def clipped_log_odds(p: Floats, least: float) -> Floats:
    """Return log p / (1 - p), of p within [least, 1 - least]."""
    inside = np.clip(p, least, 1.0 - least)
    return np.asarray(np.log(inside) - np.log1p(-inside))


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
        if part.size < ROWS_FOR_START or part.sum() == 0:
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
    linear, largest = X @ (w * t), np.maximum(X.max(axis=1), -X.min(axis=1))
    first, second = np.empty(len(X)), np.empty((len(X), len(X)))
    for _ in range(MOST_STEPS):
        newton_sums(beta, X, w, PLAIN, first, second)
        gradient = first - linear + ridge * beta
        hessian = second + np.diag(ridge)
        step = -_solve(hessian, gradient)
        reach = float(np.abs(step) @ largest)
        # A step that changes no eta by more than 1 goes down whatever the data (Bach 2010,
        # self-concordance: the curvature along it grows by a factor of at most e).
        if reach > 1:

            def loss(length: float, beta: Floats = beta, step: Floats = step) -> tuple[float]:
                return (penalised_loss(X, t, w, ridge, beta + length * step),)

            found = backtrack(loss, *loss(0.0), float(gradient @ step))
            step = step * (found[0] if found else 0.0)
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


def penalised_loss(X: Floats, t: Floats, w: Floats, ridge: Floats, beta: Floats) -> float:
    """Return what `fit_logistic` minimises."""
    total = float((ridge * beta) @ beta) / 2
    for start in range(0, w.size, LOSSES):
        rows = slice(start, start + LOSSES)
        eta = beta @ X[:, rows]
        # Without the difference of large numbers: t log(1 + e^-eta) + (1 - t) log(1 + e^eta).
        away = np.where(eta >= 0, 1 - t[rows], -t[rows])
        total += float(w[rows] @ (np.log1p(np.exp(-np.abs(eta))) + away * eta))
    return total


@njit(fastmath={"contract", "nsz", "reassoc"}, error_model="numpy")
def newton_sums(
    beta: Floats, X: Floats, w: Floats, base: Floats, first: Floats, second: Floats
) -> None:
    """Write sum_i w_i (q_i - p_i) x_i and sum_i w_i q_i (1 - q_i) x_i x_i'.

    Parameters
    ----------
    beta : (k,) array
        Coefficients: q = sigmoid(z + beta'X).
    X : (k or more, n) array
        Features in rows, of which the first k count.
    w : (n,) array
        Weights.
    base : (3, n) or (3, 0) array
        z, p = sigmoid(z) and 1 - p, where q is close to p and their difference keeps its digits;
        nothing for z = 0, and 0 instead of p.
    first, second : (k,) and (k, k) arrays
        Where to write.
    """
    k, n = beta.size, w.size
    eta, d, h = np.empty(min(BLOCK, n)), np.empty(min(BLOCK, n)), np.empty(min(BLOCK, n))
    none = 0 if base.size else min(BLOCK, n)
    z, p, c = np.zeros(none), np.zeros(none), np.ones(none)
    first[:] = 0.0
    second[:] = 0.0
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        eta[:] = 0.0
        for j in range(k):
            x = X[j, start : start + size]
            for i in range(size):
                eta[i] += beta[j] * x[i]
        some = slice(start, start + size)
        if base.size:
            z, p, c = base[0, some], base[1, some], base[2, some]
        _residuals(eta, w[some], z, p, c, d, h)
        for j in range(k):
            x = X[j, start : start + size]
            # A loop that adds up in any order writes nothing: compiled with a check whether arrays
            # overlap, it would add in an order that depends on where they lie.
            total = 0.0
            for i in range(size):
                total += d[i] * x[i]
            first[j] += total
            for i in range(size):
                eta[i] = h[i] * x[i]
            for l in range(j + 1):
                y = X[l, start : start + size]
                total = 0.0
                for i in range(size):
                    total += eta[i] * y[i]
                second[j, l] += total
                second[l, j] = second[j, l]


@njit(error_model="numpy")
def _residuals(
    eta: Floats, w: Floats, z: Floats, p: Floats, c: Floats, d: Floats, h: Floats
) -> None:
    """Write w (q - p) and w q (1 - q), where c = 1 - p."""
    for i in range(w.size):
        v = z[i] + eta[i]
        e = exp_minus(abs(v))
        q = 1.0 / (1.0 + e)
        high = q if v >= 0.0 else e * q
        low = e * q if v >= 0.0 else q
        below, above = high - p[i], c[i] - low  # equal, but for digits where one is near 1
        d[i] = w[i] * (below if p[i] < c[i] else above)
        h[i] = w[i] * (e * q * q)


@njit(error_model="numpy")
def exp_minus(x: float) -> float:
    """Return exp(-x) for x of at least 0, within 4e-16 relative; at most 708 counts of x.

    Plain arithmetic, so that a loop over it is compiled to vector instructions, which calls of the
    library's exp prevent: 2^k e^r with |r| <= log(2) / 2, e^r by its series, 2^k by its bits.
    """
    v = -min(x, 708.0)
    k = np.floor(v * INVERSE_LOG_2 + 0.5)
    r = (v - k * LOG_2_HIGH) - k * LOG_2_LOW
    s = 0.0
    for coefficient in SERIES:
        s = s * r + coefficient
    # The last bits of k + 1.5 * 2^52 are the integer k.
    bits = (np.float64(k + NO_FRACTION).view(np.int64) + 1023) << 52
    return float(s * np.int64(bits).view(np.float64))
