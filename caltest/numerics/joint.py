"""Several statistics of the same resamples: how far out each is, and adjusted p-values."""

from __future__ import annotations

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BY_RANK = 10  # from this many values on the rank is the p-value; beyond, it is extrapolated
TIES = 100 * np.finfo(float).eps


def tie_tolerance(values: Floats | float, scale: float) -> Floats:
    """Return how far from each value others are ties; infinite ones tie with infinite ones only."""
    size = np.abs(values)
    return np.where(np.isfinite(size), TIES * np.maximum(scale, size), 0.0)


def tail_scores(values: Floats, scale: float, *, two_sided: bool) -> Floats:
    r"""Return -log p of each of the values among all of them, without the floor of their ranks.

    Parameters
    ----------
    values : (B + 1,) array
        A statistic for the observed and for B redrawn labels.
    scale : float
        Size of the terms of the statistic: ties are measured by it.
    two_sided : bool
        Whether small values are far out too.

    Returns
    -------
    (B + 1,) array
        A function that treats all values alike, so that those of exchangeable values are
        exchangeable. Up to the tenth largest value, p is the share of values at least as large.
        Beyond it, the log of p falls by as much as that of the upper tail of a shifted gamma
        distribution with the mean, variance and skewness of the values, by the approximation of
        Wilson and Hilferty (1931).
    """
    upper = _log_tail(values, scale)
    if not two_sided:
        return -upper
    lower = _log_tail(-values, scale)
    return np.asarray(-np.minimum(0.0, np.log(2.0) + np.minimum(upper, lower)))


def _log_tail(values: Floats, scale: float) -> Floats:
    ordered = np.sort(values)
    at_least = values.size - np.searchsorted(ordered, values - tie_tolerance(values, scale))
    by_rank = np.log(at_least / values.size)
    finite = np.isfinite(values)
    few = (at_least < BY_RANK) & finite
    if not few.any() or values.size < BY_RANK:
        return np.asarray(by_rank)
    tenth = ordered[-BY_RANK]
    if not np.isfinite(tenth):
        return np.asarray(by_rank)
    among = values.size - np.searchsorted(ordered, tenth - float(tie_tolerance(tenth, scale)))
    shape = values[finite]
    beyond = _gamma_log_tail(values[few], shape) - _gamma_log_tail(np.array([tenth]), shape)
    by_rank[few] = np.log(among / values.size) + beyond
    # An infinite value is farther out than any finite one.
    by_rank[values == np.inf] += by_rank.min(initial=0.0)
    return np.asarray(by_rank)


def _gamma_log_tail(x: Floats, values: Floats) -> Floats:
    """Return the log of the upper tail of the gamma distribution with the moments of values."""
    t = (x - values.mean()) / values.std()
    standard = (values - values.mean()) / values.std()
    skewness = float(np.mean(standard**3))
    if abs(skewness) > 1e-6:
        t = 6.0 / skewness * (np.cbrt(1.0 + 0.5 * skewness * t) - 1.0) + skewness / 6.0
    return np.asarray(scipy.special.log_ndtr(-t))


def step_down(scores: Floats) -> Floats:
    r"""Return the p-values of Westfall and Young, adjusted for all rows together.

    Parameters
    ----------
    scores : (K, B + 1) array
        Scores of K hypotheses, those of the observed labels in the first column and those of B
        redrawn ones in the others; large ones speak against a hypothesis.

    Returns
    -------
    (K,) array
        From 1 / (B + 1) to 1, whatever K. The probability that one of the true hypotheses has a
        p-value of at most :math:`\alpha` is at most :math:`\alpha` where the columns are
        exchangeable, since each true hypothesis is compared with the largest score over a set that
        holds all true ones.

    References
    ----------
    Westfall, Young (1993), Resampling-based multiple testing, algorithm 2.8 and section 2.6 (free
    step-down maxT); Romano, Wolf (2005), Exact and approximate stepdown methods for multiple
    hypothesis testing, JASA 100.
    """
    loudest_first = np.argsort(-scores[:, 0], kind="stable")
    ordered = scores[loudest_first]
    largest = np.maximum.accumulate(ordered[::-1], axis=0)[::-1]
    pvalues = np.mean(largest >= ordered[:, :1], axis=1)
    adjusted = np.empty(len(scores))
    adjusted[loudest_first] = np.maximum.accumulate(pvalues)
    return adjusted
