"""Bayesian binning into quantiles: equal-mass binnings, their marginal likelihoods, their mixture.

Letters of Naeini, Cooper, Hauskrecht 2015: B bins, in bin b m_b events and n_b others, p_b the
midpoint of its interval, N' the size of the prior.
"""

from collections.abc import Iterator

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Counts = tuple[Floats, Floats, Floats]  # distinct scores, sums of events and of others up to each

BATCH = 2**20  # bins of several models at a time
SMALLEST = float(np.finfo(np.float64).eps)  # a prior mean of 0 or 1 would allow no other event


def cumulated(values: Floats, mass: Floats, events: Floats) -> Counts:
    """Sum events and others over the distinct scores."""
    return values, np.cumsum(events), np.cumsum(mass - events)


def log_scores(counts: Counts, numbers: Ints, size: float) -> tuple[Ints, Floats]:
    """Return the number of bins and the log marginal likelihood of each model.

    Parameters
    ----------
    counts : tuple
        From `cumulated`.
    numbers : (K,) array
        B of each model in ascending order; where ties coincide with cuts there are fewer bins.
    size : float
        N'.
    """
    found = []
    for batch in _batches(numbers):
        starts, ends = binnings(counts[1] + counts[2], batch)
        m, n, a, b = beta_terms(counts, starts, ends, size)
        # Each factor of the product over the bins is a ratio of two beta functions.
        terms = betaln(m + a, n + b) - betaln(a, b)
        found.append((np.diff(starts), np.add.reduceat(terms, starts[:-1])))
    return np.concatenate([f[0] for f in found]), np.concatenate([f[1] for f in found])


def mixture(counts: Counts, numbers: Ints, weight: Floats, size: float) -> tuple[Floats, Floats]:
    """Return the cuts and the values of the mean of the models' posterior means.

    A step function is its first value and its jumps, so the mean takes one pass over all bins.
    """
    values = counts[0]
    first, jump = 0.0, np.zeros(values.size)
    cut = np.zeros(values.size, np.bool_)
    done = 0
    for batch in _batches(numbers):
        starts, ends = binnings(counts[1] + counts[2], batch)
        m, n, a, b = beta_terms(counts, starts, ends, size)
        share = np.repeat(weight[done : done + batch.size], np.diff(starts))
        theta = share * ((m + a) / (m + n + a + b))
        done += batch.size
        first += theta[starts[:-1]].sum()
        inner = np.ones(ends.size, np.bool_)
        inner[starts[1:] - 1] = False
        at = np.flatnonzero(inner)
        jump += np.bincount(ends[at], theta[at + 1] - theta[at], values.size)
        cut[ends[at]] = True
    places = np.flatnonzero(cut)
    return _midpoints(values, places), running_sums(first, jump[places])


def _batches(numbers: Ints) -> Iterator[Ints]:
    """Split the models so that memory is bounded."""
    part = np.cumsum(numbers) // BATCH
    yield from np.split(numbers, np.flatnonzero(np.diff(part)) + 1)


@numba.njit(nogil=True, cache=True)
def binnings(mass: Floats, numbers: Ints) -> tuple[Ints, Ints]:
    """Cut the distinct scores into bins of equal mass, for each number of bins.

    Returns
    -------
    starts : (K + 1,) array
        Where the bins of each model start in `ends`.
    ends : array
        The last score of each bin: the first one up to which k / B of the mass lies.
    """
    d = mass.size
    ends = np.empty(np.minimum(numbers, d).sum(), np.int64)
    starts = np.zeros(numbers.size + 1, np.int64)
    count = 0
    for model in range(numbers.size):
        bins, last = numbers[model], -1
        for k in range(1, bins):
            # Rounded sums must not miss a share that they reach.
            at = np.searchsorted(mass, k / bins * mass[-1] * (1 - 1e-12))
            if last < at < d - 1:
                ends[count] = at
                last = at
                count += 1
        ends[count] = d - 1
        count += 1
        starts[model + 1] = count
    return starts, ends[:count].copy()


def beta_terms(
    counts: Counts, starts: Ints, ends: Ints, size: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return m_b, n_b, alpha_b = N'/B p_b and beta_b = N'/B (1 - p_b) of all bins of all models."""
    values, events, others = counts
    heads = starts[:-1]
    before = np.roll(ends, 1)
    m, n = events[ends] - events[before], others[ends] - others[before]
    m[heads], n[heads] = events[ends[heads]], others[ends[heads]]
    high = _midpoints(values, np.minimum(ends, values.size - 2)) if values.size > 1 else ends * 1.0
    high[starts[1:] - 1] = 1.0
    low = np.roll(high, 1)
    low[heads] = 0.0
    bins = np.diff(starts)
    prior = size / np.repeat(bins, bins)
    p = np.clip((low + high) / 2, SMALLEST, 1 - SMALLEST)
    return m, n, prior * p, prior * (1 - p)


def _midpoints(values: Floats, places: Ints) -> Floats:
    """Return the middle between each of some scores and the next, below the next."""
    low, high = values[places], values[places + 1]
    middle = low + (high - low) / 2
    return np.where(middle < high, middle, low)


@numba.njit(nogil=True, cache=True)
def running_sums(first: float, jumps: Floats) -> Floats:
    """Return first, first + jumps[0], ..., with the rounding errors carried along (Neumaier)."""
    out = np.empty(jumps.size + 1)
    total, lost = first, 0.0
    out[0] = total
    for i in range(jumps.size):
        x = jumps[i]
        t = total + x
        if abs(total) >= abs(x):
            lost += (total - t) + x
        else:
            lost += (x - t) + total
        total = t
        out[i + 1] = total + lost
    return out
