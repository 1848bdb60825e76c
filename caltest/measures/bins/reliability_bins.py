"""The bins of a reliability diagram, with the frequencies that a calibrated model would show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Unpack

import numpy as np
import scipy

from caltest import checks
from caltest.lenses.base import Seen
from caltest.measures.binning import quantile_cells, uniform_cells
from caltest.measures.fits import ReadOnly, by_member
from caltest.numerics.bins import sort_by_cell
from caltest.predictions import Predictions
from caltest.sources import Cells
from caltest.types import AnyArray, Floats, Ints
from caltest.units import check_one_dimension

__all__ = ["ReliabilityBins", "reliability_bins"]

BINNINGS = ("uniform", "quantile")
EXPONENT = 40.0  # what is left out is below e^-40, 4e-18
ROWS_ON_GRID, GRID = 512, 4096  # of a bin with weights, and the points of the grid of their sum
SLACK = 1e-12  # a level that is reached up to rounding counts as reached
ROWS = 4096  # factors of the characteristic function at a time


@dataclass(frozen=True, eq=False)
class ReliabilityBins(ReadOnly):
    """Predictions and observed frequencies in bins, with consistency limits.

    Attributes
    ----------
    left, right : (bins,) array
        The smallest and the largest prediction in each occupied bin, in ascending order.
    count : (bins,) array of int
        Number of rows.
    mass : (bins,) array
        Sum of their weights; without weights, their number.
    mean : (bins,) array
        Mean prediction.
    frequency : (bins,) array
        Share of the rows in which the event happened.
    lower, upper : (bins,) array
        Limits between which the frequency of a calibrated model lies, with probability `level` at
        least in each bin.
    level : float
        The probability of the limits.
    binning : str
        "uniform" or "quantile".
    n : int

    Examples
    --------
    >>> import caltest as ct
    >>> bins = ct.measures.reliability_bins([0.5] * 10, [1] * 10)
    >>> bins.frequency, bins.lower, bins.upper
    (array([1.]), array([0.2]), array([0.8]))
    """

    left: Floats
    right: Floats
    count: Ints
    mass: Floats
    mean: Floats
    frequency: Floats
    lower: Floats
    upper: Floats
    level: float
    binning: str
    n: int


def reliability_bins(
    probs: object,
    labels: object = None,
    *,
    binning: str = "uniform",
    bins: int = 15,
    confidence: float = 0.95,
    **rows: Unpack[Seen],
) -> ReliabilityBins | list[ReliabilityBins]:
    r"""Compute the bins of a reliability diagram and the consistency limits of each.

    In a bin with predictions :math:`p_1, ..., p_k` a calibrated model has :math:`N = \sum_i Y_i`
    events, :math:`Y_i \sim \mathrm{Bernoulli}(p_i)`. The limits are the quantiles
    :math:`\alpha / 2` and :math:`1 - \alpha / 2` of :math:`N / k`, with :math:`\alpha` = 1 -
    `confidence`: exact ones of the Poisson-binomial distribution, at every k. They hold for each
    bin by itself.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives a list.
    binning : {"uniform", "quantile"}
        Bins of equal width ((k - 1)/B, k/B], 0 in the first; or of equal mass, where ties are never
        split.
    bins : int, default 15
        B, the number of bins; empty ones are left out.
    confidence : float, default 0.95
        Probability of the limits.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`.

    Returns
    -------
    ReliabilityBins
        Sample weights count an observation w_i times; the limits are then those of the weighted sum
        of the events: on a grid in bins of up to 512 rows, by the expansion of Cornish and Fisher
        in larger ones.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If the lens leaves more than two classes.

    References
    ----------
    Broecker, Smith (2007), Increasing the reliability of reliability diagrams, Weather and
    Forecasting 22 (consistency bars, by resampling); Hong (2013), On computing the distribution
    function for the Poisson binomial distribution, Computational Statistics & Data Analysis 59,
    section 2.2.

    Examples
    --------
    >>> import caltest as ct
    >>> bins = ct.measures.reliability_bins([0.1, 0.3, 0.7, 0.9], [0, 1, 1, 1], bins=2)
    >>> bins.mean, bins.frequency
    (array([0.2, 0.8]), array([0.5, 1. ]))
    """
    checks.check_choice(binning, BINNINGS, "binning")
    checks.check_count(bins)
    level = checks.check_confidence(confidence)
    found = partial(bins_of_rows, binning=binning, bins=bins, level=level)
    return by_member(probs, labels, found, reliability_bins, rows)


def bins_of_rows(
    predictions: Predictions, binning: str, bins: int, level: float
) -> ReliabilityBins:
    """Compute the bins of predictions of two classes; see `reliability_bins`."""
    check_one_dimension(predictions, "a reliability diagram")
    weight = predictions.sample_weight
    if weight is not None and not weight.all():
        predictions = predictions.subset(weight > 0)
    cells = (uniform_cells if binning == "uniform" else quantile_cells)(predictions, bins)
    order, ends = sort_by_cell(*cells)
    event, labels, error = predictions.probs[order, 1], predictions.labels[order], (1 - level) / 2
    ones = np.ones(event.size, np.int64)
    if predictions.sample_weight is None:
        w: AnyArray = ones
        limits = [limit / np.diff(ends) for limit in count_limits(event, ends, error)]
    else:
        w = predictions.sample_weight[order]
        scaled = w / w.max()  # powers of large weights have no place in a double
        sums = sum_limits(event, scaled, ends, error, float(-scipy.special.ndtri(error)))
        most = np.add.reduceat(scaled, ends[:-1])
        limits = [np.minimum(limit / most, 1.0) for limit in sums]
    every = ones, w, w * event, w * labels
    return _of_units((event, event), every, ends[:-1], limits, level, binning)


def _of_units(
    ends: tuple[Floats, Floats],
    sums: tuple[AnyArray, ...],
    start: Ints,
    limits: Sequence[Floats],
    level: float,
    binning: str,
) -> ReliabilityBins:
    """Return the bins, which begin at `start`, of sorted rows or cells (U,).

    `ends` are the smallest and largest predictions of the units, `sums` their rows, weight,
    expected events and events.
    """
    rows, size, predicted, happened = (np.add.reduceat(some, start) for some in sums)
    return ReliabilityBins(
        left=np.minimum.reduceat(ends[0], start),
        right=np.maximum.reduceat(ends[1], start),
        count=rows,
        mass=size.astype(np.float64),
        mean=predicted / size,
        frequency=happened / size,
        lower=limits[0],
        upper=limits[1],
        level=level,
        binning=binning,
        n=int(rows.sum()),
    )


def bins_of_cells(cells: Cells, binning: str, bins: int, level: float) -> ReliabilityBins:
    """Compute the bins of the rows of cells; see `reliability_bins`.

    Bins of equal width are those of the rows where the cells were counted for as many; other bins,
    and those of equal mass, end where cells do, up to 2^-16 beyond. The limits take the predictions
    of a cell as equal.
    """
    if binning == "uniform":
        codes = cells.bins.get(bins)
        if codes is None:
            codes = np.clip(np.ceil(cells.mean * bins) - 1.0, 0.0, bins - 1.0).astype(np.int64)
        start = np.flatnonzero(np.append(True, np.diff(codes) > 0))
    else:  # as `quantile_cuts`
        total = cells.rows if cells.weights is None else cells.mass
        targets = -(np.arange(1, bins) * total // -bins)
        last = np.unique(np.searchsorted(np.cumsum(cells.n), targets))
        start = np.append(0, last[last < len(cells) - 1] + 1)
    mass, expected = (np.add.reduceat(sums, start) for sums in (cells.n, cells.expected))
    found: tuple[AnyArray, AnyArray]
    if cells.weights is None:
        ends = np.append(start, len(cells))
        found = count_limits(cells.mean, ends, (1.0 - level) / 2.0, cells.counts)
    else:
        quantile = float(scipy.special.ndtri(0.5 + 0.5 * level))
        second, third, fourth = (np.add.reduceat(k, start) for k in cells.weights.cumulants)
        lower, upper = _expansion_limits(expected, second, third, fourth, quantile)
        found = lower, np.minimum(upper, mass)
    limits = [limit / mass for limit in found]
    sums = cells.counts, cells.n, cells.expected, cells.events
    return _of_units((cells.least, cells.most), sums, start, limits, level, binning)


def count_limits(
    event: Floats, start: Ints, error: float, size: Ints | None = None
) -> tuple[Ints, Ints]:
    """Return the `error` and 1 - `error` quantiles of the number of events in each bin.

    Parameters
    ----------
    event : (n,) array
        P(Y = 1), sorted by bin.
    start : (bins + 1,) array
        Where each bin starts, and where the last one ends; no bin is empty.
    error : float
        At most 1/2.
    size : (n,) array, optional
        How many rows have each probability; by default one.

    Returns
    -------
    lower : (bins,) array
        The smallest counts k with P(N <= k) >= error.
    upper : (bins,) array
        The smallest counts k with P(N > k) <= error.
    """
    bins = start.size - 1
    lower, upper = np.empty(bins, np.int64), np.empty(bins, np.int64)
    for b in range(bins):
        some = slice(start[b], start[b + 1])
        first, pmf = count_distribution(event[some], None if size is None else size[some])
        lower[b], upper[b] = first + _limits(pmf, error)
    return lower, upper


def _limits(pmf: Floats, error: float) -> Ints:
    """Return the indices between which all is but `error` on either side."""
    low = _exceeding(pmf, error * (1.0 - SLACK))
    return np.array([low, pmf.size - 1 - _exceeding(pmf[::-1], error * (1.0 + SLACK))])


def _exceeding(pmf: Floats, error: float) -> int:
    """Return the first index up to which the sum exceeds the error."""
    above = np.cumsum(pmf) > error
    return int(np.argmax(above)) if above[-1] else pmf.size - 1


def count_distribution(event: Floats, size: Ints | None = None) -> tuple[int, Floats]:
    """Return P(N = first), P(N = first + 1), ... with N the number of events, and `first`.

    What is left out has less than 1e-16 of the mass. `size` is how many rows have each probability.
    """
    rows = np.ones(1) if size is None else size.astype(np.float64)
    mean, variance = float(np.sum(rows * event)), float(np.sum(rows * event * (1.0 - event)))
    # Bernstein's bound of P(|N - mean| > reach) is 2 e^-40.
    third = EXPONENT / 3.0
    reach = third + math.sqrt(third * third + 2.0 * EXPONENT * variance)
    first = max(0, math.floor(mean - reach))
    last = min(event.size if size is None else int(size.sum()), math.ceil(mean + reach))
    length = last - first + 1
    # E exp(2 pi i k (N - first) / length) as long as it can matter: its modulus is at most
    # exp(-variance (1 - cos t)), from |1 - p + p e^it|^2 = 1 - 2 p (1 - p) (1 - cos t); the
    # frequencies above length / 2 are the conjugates of those below.
    k = np.arange(length // 2 + 1)
    k = k[variance * (1.0 - np.cos(2.0 * np.pi * k / length)) <= EXPONENT]
    half = np.pi * k / length
    step = -2.0 * np.sin(half) ** 2 + 1j * np.sin(2.0 * half)  # e^it - 1 without cancellation
    values = np.ones(k.size, complex)
    for start in range(0, event.size, ROWS):
        some = slice(start, start + ROWS)
        factors = 1.0 + event[some, None] * step
        values *= np.prod(factors if size is None else factors ** size[some, None], axis=0)
    # k * first is taken modulo the size: large angles would lose digits.
    values *= np.exp(-2j * np.pi * (k * first % length) / length)
    return first, np.maximum(np.fft.irfft(values.conj(), length), 0.0)


def sum_limits(
    event: Floats, weight: Floats, start: Ints, error: float, quantile: float
) -> tuple[Floats, Floats]:
    """Return the limits of `count_limits` for the weighted sum of the events, (bins,).

    In bins of up to 512 rows the distribution is convolved on a grid, exactly where all weights are
    multiples of the smallest; larger ones take the expansion of Cornish and Fisher to the fourth
    cumulant.
    `quantile` is the 1 - `error` quantile of the standard normal distribution.
    """
    bins = start.size - 1
    lower, upper = np.empty(bins), np.empty(bins)
    for b in range(bins):
        p, w = event[start[b] : start[b + 1]], weight[start[b] : start[b + 1]]
        if p.size <= ROWS_ON_GRID:
            pmf, step = _sum_distribution(p, w)
            lower[b], upper[b] = step * _limits(pmf, error)
        else:
            v = p * (1.0 - p)
            cumulants = w**2 @ v, w**3 @ (v * (1.0 - 2.0 * p)), w**4 @ (v * (1.0 - 6.0 * v))
            lower[b], upper[b] = _expansion_limits(w @ p, *cumulants, quantile)
        upper[b] = min(upper[b], w.sum())
        lower[b] = min(lower[b], upper[b])  # multiples of the step round
    return lower, upper


def _sum_distribution(event: Floats, weight: Floats) -> tuple[Floats, float]:
    """Return the distribution of the weighted sum on the multiples of a step, and the step.

    A weight between two multiples is split between them so that its mean stays.
    """
    total, step = float(weight.sum()), float(weight.min())
    if total > GRID * step or np.any(np.abs(weight / step - np.rint(weight / step)) > 1e-9):
        step = total / GRID
    pmf = np.zeros(math.ceil(total / step) + event.size + 1)
    pmf[0] = 1.0
    for p, steps in zip(event, weight / step, strict=True):
        k = math.floor(steps + 1e-9)
        part = steps - k if steps - k > 1e-9 else 0.0
        before = p * pmf
        pmf -= before
        pmf[k:] += (1.0 - part) * before[: pmf.size - k]
        pmf[k + 1 :] += part * before[: pmf.size - k - 1]
    return pmf, step


def _expansion_limits(
    mean: Floats, variance: Floats, third: Floats, fourth: Floats, quantile: float
) -> tuple[Floats, Floats]:
    """Return limits of sums with these cumulants."""
    deviation, size = np.sqrt(variance), np.where(variance > 0, variance, 1.0)
    skew, excess = third / size**1.5, fourth / size**2
    ends = []
    for z in (-quantile, quantile):  # Cornish and Fisher 1938
        at = z + (z * z - 1.0) * skew / 6.0 + (z**3 - 3.0 * z) * excess / 24.0
        ends.append(mean + deviation * (at - (2.0 * z**3 - 5.0 * z) * skew**2 / 36.0))
    # With very few expected events the expansion may cross itself.
    return np.clip(ends[0], 0.0, mean), np.maximum(ends[1], mean)
