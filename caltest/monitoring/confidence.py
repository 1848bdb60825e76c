"""Confidence sequences: intervals that hold at all times at once."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

BEST_AT = 100.0  # sum of squared residuals at which the interval is narrowest
ROOT = 1e-9


def mean_half_width(squares: float, rows: float, level: float) -> float:
    r"""Return the half width of the confidence sequence of a mean residual.

    The residuals :math:`p_t - y_t` have a range of 1 given :math:`p_t`. The sum of their deviations
    from their conditional means, which may change from row to row, stays within u(V) at all times,
    with V the sum of the squared residuals less a prediction of them: u is the gamma-exponential
    mixture boundary of Howard et al. (2021), proposition 9 with theorem 4, for `level` / 2 on each
    side.

    Parameters
    ----------
    squares, rows : float
        V and the number of rows.
    level : float
        Of the error, such as 0.05.

    Returns
    -------
    float
        Infinite without rows.

    References
    ----------
    Howard, Ramdas, McAuliffe, Sekhon (2021), Time-uniform, nonparametric, nonasymptotic confidence
    sequences, Annals of Statistics 49.
    """
    from scipy.optimize import brentq

    if rows <= 0:
        return math.inf
    target = math.log(2.0) - math.log(level)

    def excess(s: float) -> float:
        return float(log_mixture(s, squares, level)) - target

    top = 1.0
    while excess(top) < 0:
        top *= 2.0
    return float(brentq(excess, 0.0, top, xtol=ROOT * top)) / rows


def log_mixture(sums: ArrayLike, squares: ArrayLike, level: float) -> Floats:
    r"""Return the logarithm of the e-process of a sum of deviations from their means.

    The mixture of :math:`\exp(\lambda s - \psi(\lambda) v)` over :math:`\lambda` in [0, 1), with
    :math:`\psi(\lambda) = -\log(1 - \lambda) - \lambda`. The confidence sequence of a mean misses
    the truth at a time exactly where that of the sum, or of its negative, is above 2 / level.

    Parameters
    ----------
    sums, squares : array_like
        Sum of the deviations so far, and V as for `mean_half_width`; they broadcast.
    level : float
        Of both sides together, for which the mixture is made.

    Returns
    -------
    array
        It increases with the sum.
    """
    from scipy.special import gammainc, gammaln

    target = math.log(2.0) - math.log(level)
    rho = BEST_AT / (2.0 * target + math.log1p(2.0 * target))
    s, v = np.asarray(sums, dtype=np.float64), np.asarray(squares, dtype=np.float64)
    a, x = v + rho, s + v + rho
    scale = rho * math.log(rho) - gammaln(rho) - math.log(gammainc(rho, rho))
    inner = np.log(np.maximum(gammainc(a, x), 1e-300))
    return np.asarray(scale + gammaln(a) + inner - a * np.log(x) + s + v)


def exponents_left(
    exponents: Floats, log_wealth: Floats, log_numerator: float, level: float
) -> tuple[float, float] | None:
    r"""Return the ends of the confidence sequence of an exponent b, labels drawn from p^b.

    Divided by the likelihood of b, an e-process against b = 1 is one against b, so that those stay
    whose wealth is above that of the alternative less log(1 / level). Between two of the grid the
    log likelihood, which is concave, is below the lines through their neighbours.

    Parameters
    ----------
    exponents : (G,) array
        The grid, ascending; 1 need not be in it.
    log_wealth : (G,) array
        Log likelihood ratio of each against 1.
    log_numerator : float
        Logarithm of the e-value of an alternative that is not known before.
    level : float
        Of the error.

    Returns
    -------
    (float, float) or None
        The ends, 0 and infinity where the grid does not bound them; None where none is left.
    """
    order = np.argsort(np.append(exponents, 1.0))
    b, value = np.append(exponents, 1.0)[order], np.append(log_wealth, 0.0)[order]
    bound = log_numerator + math.log(level)
    ends = [
        place
        for i in range(-1, b.size)
        for place in _part_above(_lines(b, value, i), _cell(b, i), bound)
    ]
    return (min(ends), max(ends)) if ends else None


def _cell(b: Floats, i: int) -> tuple[float, float]:
    """Return the ends of the i-th range between the places of the grid."""
    return (float(b[i]) if i >= 0 else 0.0), (float(b[i + 1]) if i + 1 < b.size else math.inf)


def _lines(b: Floats, value: Floats, i: int) -> list[tuple[float, float, float]]:
    """Return place, value and slope of the lines that are above a concave function in a range."""
    pairs = [(i - 1, i)] if i >= 1 else []
    pairs += [(i + 2, i + 1)] if i + 2 < b.size else []
    return [
        (float(b[near]), float(value[near]), float((value[far] - value[near]) / (b[far] - b[near])))
        for far, near in pairs
    ]


def _part_above(
    lines: list[tuple[float, float, float]], cell: tuple[float, float], bound: float
) -> tuple[float, ...]:
    """Return the ends of the part of a range in which all lines are above the bound."""
    low, high = cell
    for place, value, slope in lines:
        if slope == 0.0:
            if value < bound:
                return ()
            continue
        reached = place + (bound - value) / slope
        low, high = (max(low, reached), high) if slope > 0 else (low, min(high, reached))
    return (low, high) if low <= high else ()
