"""Bayesian binning into quantiles, Naeini, Cooper, Hauskrecht 2015."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy

from caltest.calibrators.base import BinaryCalibrator
from caltest.calibrators.inputs import Inputs
from caltest.checks import check_flag, check_optional_integer, check_positive
from caltest.numerics.loops import njit
from caltest.types import Flags, Floats, Ints

__all__ = ["BBQ"]

MOST_BINS = 5000  # of a model by default: that of 10^8 observations
NEGLIGIBLE = 2.0**-60  # share of a model that no double notices
Counts = tuple[Floats, Floats, Floats]  # distinct scores, sums of events and of others up to each
BATCH = 2**20  # bins of several models at a time
SMALLEST_PRIOR_MEAN = float(
    np.finfo(np.float64).eps
)  # a prior mean of 0 or 1 would allow no other event


@dataclass(kw_only=True, eq=False, repr=False)
class BBQ(BinaryCalibrator):
    r"""Bayesian binning into quantiles: the mean of many equal-mass binnings.

    Models with B bins of equal mass are weighted by their marginal likelihood, the prior over
    models being uniform, and the prior of the frequency in bin b the beta distribution with
    parameters :math:`\alpha_b = N' p_b / B` and :math:`\beta_b = N' (1 - p_b) / B`, where
    :math:`p_b` is the midpoint of the bin's interval. With :math:`m_b` events and :math:`n_b`
    others in the bin,

    .. math:: \mathrm{Score}(M) = \prod_{b=1}^B
        \frac{B(m_b + \alpha_b, n_b + \beta_b)}{B(\alpha_b, \beta_b)}, \quad
        \hat\mu(p) = \frac{\sum_M \mathrm{Score}(M)\, \hat\mu_M(p)}{\sum_M \mathrm{Score}(M)}, \quad
        \hat\mu_M(p) = \frac{m_b + \alpha_b}{m_b + n_b + N' / B}.

    B goes from :math:`n^{1/3} / 10` to :math:`10 n^{1/3}`, but to at most n / 5. Ties are never
    split: where cuts coincide, the model has fewer bins. A cut lies midway between two scores, and
    belongs to the lower bin. The map is never 0 or 1 but for rounding, and need not be monotone.

    Packages differ: the authors' program takes :math:`N' = 2B`, keeps :math:`p_b` in
    [0.005, 0.995] and drops models of low score; netcal weights by log likelihoods, bins of equal
    width by default; probcal takes :math:`\alpha_b = \beta_b = 1/2` and 2 to :math:`\sqrt n` bins.

    Parameters
    ----------
    prior_size : float, default 2.0
        The equivalent number of observations N' of the prior.
    min_bins, max_bins : int, optional
        Fewest and most bins of a model; by default as above, and at most 5000.
    averaging : bool, default True
        Average the models; otherwise take the one with the highest score, the smallest of several.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length 2, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 and 1.

    Attributes
    ----------
    cuts_ : (k,) array
        Cuts of all models that count. The map is constant between them.
    values_ : (k + 1,) array
        Calibrated probability up to each cut, and after the last.
    bins_ : (K,) array of int
        Number of bins of each model.
    log_scores_ : (K,) array
        Logarithm of the score of each model.
    model_weights_ : (K,) array
        Weight of each model in the mean.

    Notes
    -----
    Weights count observations: a weight of 2 is a row twice.

    References
    ----------
    Naeini, Cooper, Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian
    binning, AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> from caltest.calibrators import BBQ
    >>> scores = np.arange(1, 100) / 100
    >>> labels = (scores > 0.3).astype(int)  # the event happens above 0.3
    >>> BBQ().fit(scores, labels).predict_proba([0.1, 0.5])[:, 1].round(3)
    array([0.001, 0.989])
    """

    key: ClassVar[str] = "bbq"
    title: ClassVar[str] = "Bayesian binning into quantiles"

    prior_size: float = 2.0
    min_bins: int | None = None
    max_bins: int | None = None
    averaging: bool = True

    def _fit_event(self, inputs: Inputs, event: Flags, weight: Floats | None) -> None:
        from caltest.numerics.ordered import distinct_scores

        size = check_positive(self.prior_size, "prior_size")
        averaging = check_flag(self.averaging, "averaging")
        values, mass, events = distinct_scores(inputs.event, event, weight)
        numbers = self._numbers(max(float(mass.sum()), len(mass)))
        counts = cumulated(values, mass, events)
        self.bins_, self.log_scores_ = log_scores(counts, numbers, size)
        best = self.log_scores_.max()
        if averaging:
            share = np.exp(self.log_scores_ - best)
            share[share < NEGLIGIBLE] = 0.0
        else:
            share = np.zeros(len(numbers))
            share[np.argmax(self.log_scores_)] = 1.0
        self.model_weights_ = share / share.sum()
        kept = share > 0
        self.cuts_, self.values_ = mixture(counts, numbers[kept], self.model_weights_[kept], size)

    def _numbers(self, n: float) -> Ints:
        """Return the numbers of bins of the models."""
        root = float(np.cbrt(n))
        low = check_optional_integer(self.min_bins, "min_bins")
        high = check_optional_integer(self.max_bins, "max_bins", low or 1)
        if high is None:
            high = max(low or 1, int(min(math.ceil(n / 5), math.ceil(10 * root), MOST_BINS)))
        if low is None:
            low = min(high, int(min(max(1, root // 10), MOST_BINS)))
        return np.arange(low, high + 1)

    def _event(self, inputs: Inputs) -> Floats:
        from caltest.calibrators.binary.histogram import look_up

        return look_up(inputs.event, self.cuts_, self.values_)


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
        terms = scipy.special.betaln(m + a, n + b) - scipy.special.betaln(a, b)
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


@njit()
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
    p = np.clip((low + high) / 2, SMALLEST_PRIOR_MEAN, 1 - SMALLEST_PRIOR_MEAN)
    return m, n, prior * p, prior * (1 - p)


def _midpoints(values: Floats, places: Ints) -> Floats:
    """Return the middle between each of some scores and the next, below the next."""
    low, high = values[places], values[places + 1]
    middle = low + (high - low) / 2
    return np.where(middle < high, middle, low)


@njit()
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
