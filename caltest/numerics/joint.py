"""Several statistics of the same resamples: how far out each is, and adjusted p-values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from caltest.types import Floats, Ints, Singles

AT_A_TIME = 1024  # rows of scores
BY_RANK = 10  # from this many values on the rank is the p-value; beyond, it is extrapolated
FARTHEST = -1e6  # the log of the p-value of an infinite statistic
ROUNDING = 1e-9  # scores that are no farther apart are ties
TIES = 100 * np.finfo(float).eps


def tie_tolerance(values: Floats | float, scale: Floats | float) -> Floats:
    """Return how far from each value others are ties; infinite ones tie with infinite ones only."""
    size = np.abs(values)
    return np.where(np.isfinite(size), TIES * np.maximum(scale, size), 0.0)


def cleared(values: Floats | float, scale: Floats | float) -> Floats:
    """Return values, and 0 for those that tie with it: rounding errors of terms of that size."""
    return np.where(np.abs(values) <= TIES * np.asarray(scale), 0.0, values)


def tail_scores(values: Floats, scale: float, *, two_sided: bool, by_rank: bool = False) -> Floats:
    r"""Return -log p of each of the values among all of them, without the floor of their ranks.

    Parameters
    ----------
    values : (B + 1,) array
        A statistic for the observed and for B redrawn labels.
    scale : float
        Size of the terms of the statistic: ties are measured by it.
    two_sided : bool
        Whether small values are far out too.
    by_rank : bool
        Whether p is the share of values at least as large beyond the tenth too.

    Returns
    -------
    (B + 1,) array
        A function that treats all values alike, so that those of exchangeable values are
        exchangeable. Up to the tenth largest value, p is the share of values at least as large.
        Beyond it, the log of p falls by as much as that of the upper tail of a shifted gamma
        distribution with the mean, variance and skewness of all the other values, by the
        approximation of Wilson and Hilferty (1931).
    """
    upper = _log_tail(values, scale, by_rank=by_rank)
    if not two_sided:
        return -upper
    lower = _log_tail(-values, scale, by_rank=by_rank)
    return np.asarray(-np.minimum(0.0, np.log(2.0) + np.minimum(upper, lower)))


def _log_tail(values: Floats, scale: float, *, by_rank: bool) -> Floats:
    ordered = np.sort(values)
    at_least = values.size - np.searchsorted(ordered, values - tie_tolerance(values, scale))
    log_p = np.log(at_least / values.size)
    if by_rank or values.size < 2 * BY_RANK or not np.isfinite(ordered[-BY_RANK]):
        return np.asarray(log_p)
    anchor = float(ordered[-BY_RANK])
    few = at_least < BY_RANK
    if few.any():
        level = log_p[values == anchor][0]
        finite = np.isfinite(values)
        log_p[few] = -np.inf  # of an infinite value, farther out than any finite one
        beyond, known = few & finite, ordered[np.isfinite(ordered)]
        # The moments are those of the other values, so that one far out does not hide itself.
        centre, count = float(np.median(known)), known.size - 1
        unit = np.ldexp(1.0, np.frexp(np.abs(known - centre).max())[1] - 1)  # cubes may overflow
        deviations, own = (known - centre) / unit, (values[beyond] - centre) / unit
        first, second, third = ((np.sum(deviations**k) - own**k) / count for k in (1, 2, 3))
        variance = second - first**2
        with np.errstate(invalid="ignore", divide="ignore"):  # the others may be constant
            sd = np.sqrt(np.maximum(variance, 0.0))
            skewness = (third - 3.0 * first * variance - first**3) / sd**3
            ends = [(x - first) / sd for x in (own, (anchor - centre) / unit)]
            far, near = (scipy.special.log_ndtr(-standard_deviates(t, skewness)) for t in ends)
            fall = np.where(sd > 0, np.minimum(far - near, 0.0), -np.inf)
        log_p[beyond] = level + fall
        log_p = np.maximum(log_p, FARTHEST)
    return np.asarray(log_p)


def standard_deviates(t: Floats, skewness: Floats) -> Floats:
    """Return about standard normal deviates for those of shifted gamma distributions."""
    # One far out in the other tail would feign an upper limit.
    g = np.maximum(skewness, 1e-4)
    return np.asarray(6.0 / g * (np.cbrt(1.0 + 0.5 * g * t) - 1.0) + g / 6.0)


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
        exchangeable in the rows of all true hypotheses together, since each of them is compared
        with the largest score over a set that holds all of them.

    References
    ----------
    Westfall, Young (1993), Resampling-based multiple testing, algorithm 2.8 and section 2.6 (free
    step-down maxT); Romano, Wolf (2005), Exact and approximate stepdown methods for multiple
    hypothesis testing, JASA 100.
    """
    return stepped_down(scores[:, 0], scores[:, 1:])


def stepped_down(first: Floats, redrawn: Floats | Singles) -> Floats:
    """Return the same from scores for the observed labels (K,) and for redrawn ones (K, B)."""
    order = np.argsort(-first, kind="stable")
    size, pvalues = first.size, np.empty(first.size)
    largest = np.full(redrawn.shape[1], -np.inf, redrawn.dtype)
    for stop in range(size, 0, -AT_A_TIME):  # the least extreme first, without a copy of all
        some = order[max(stop - AT_A_TIME, 0) : stop]
        upto = np.maximum.accumulate(redrawn[some][::-1], axis=0)[::-1]
        np.maximum(upto, largest, out=upto)
        beyond = np.count_nonzero(upto >= first[some, None] - ROUNDING, axis=1)
        pvalues[stop - some.size : stop] = (1 + beyond) / (1 + largest.size)
        largest = upto[0]
    adjusted = np.empty(size)
    adjusted[order] = np.maximum.accumulate(pvalues)
    return adjusted


def most_extreme_first(scores: Floats) -> tuple[Ints, Floats, Floats]:
    """Return the order of rows (K, B + 1) by what their first column shows, and p-values.

    Returns
    -------
    order : (K,) array
        The numbers of the rows, the smallest adjusted p-value first.
    pvalues, adjusted : (K,) array
        Of each row by itself, and for all rows together; see `step_down`.
    """
    pvalues = np.mean(scores >= scores[:, :1] - 1e-12, axis=1)
    adjusted = np.maximum(step_down(scores), pvalues)
    return np.lexsort((-scores[:, 0], adjusted)), pvalues, adjusted


def log_mean_exp(scores: Floats, weight: Sequence[float] | None = None) -> Floats:
    """Return the log of the weighted mean over rows of exp(score), (K, B) -> (B,)."""
    largest = scores.max(axis=0)
    return np.asarray(largest + np.log(np.average(np.exp(scores - largest), 0, weight)))
