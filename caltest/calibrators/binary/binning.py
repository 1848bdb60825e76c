"""Histogram binning, scaling-binning, and Bayesian binning into quantiles."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy

from caltest import checks
from caltest.calibrators.base import BinaryCalibrator, Coefficient
from caltest.calibrators.binary.parametric import PlattScaling
from caltest.calibrators.inputs import Inputs
from caltest.numerics.bins import quantile_cuts, uniform_bins, uniform_sums
from caltest.numerics.labels import label_dtype
from caltest.numerics.loops import frozen, njit
from caltest.numerics.sorted_scores import distinct_scores, moderate_weight
from caltest.types import Flags, Floats, Ints

BINNINGS = ("uniform", "quantile")
EMPTY = ("midpoint", "zero")


@dataclass(kw_only=True, eq=False, repr=False)
class HistogramBinning(BinaryCalibrator):
    r"""Histogram binning: the frequency of the event in bins of the score.

    .. math:: \hat\mu(p) = \frac{\sum_{i: p_i \in I_k} w_i y_i}{\sum_{i: p_i \in I_k} w_i}
        \quad \text{for } p \in I_k,

    with bins right-closed and 0 in the first. Bins of equal width are
    :math:`I_k = ((k - 1) / B, k / B]`. Bins of equal mass are cut at the smallest scores up to
    which k / B of the weight lies, so that ties are never split and there may be fewer of them.
    Frequencies of 0 and 1 stay as they are. The map need not be monotone.

    Parameters
    ----------
    bins : int, default 15
        Number of bins B.
    binning : {"uniform", "quantile"}, default "uniform"
        Bins of equal width or of equal mass.
    empty : {"midpoint", "zero"}, default "midpoint"
        Value of a bin without observations: the middle of the bin, which is about what the model
        predicted, or 0 as in the programs of Kull et al. (2019). Only bins of equal width can be
        empty.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length 2, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 and 1.

    Attributes
    ----------
    edges_ : (B + 1,) array
        Ends of the bins, from 0 to 1.
    values_ : (B,) array
        Calibrated probability in each bin.
    counts_ : (B,) array
        Sum of the weights in each bin, without weights the number of observations. Weights of
        which the largest is beyond 1e60 or below 1e-60 are scaled to that size.

    References
    ----------
    Zadrozny, Elkan (2001), Obtaining calibrated probability estimates from decision trees and naive
    Bayesian classifiers, ICML, section 4.2.

    Examples
    --------
    >>> from caltest.calibrators import HistogramBinning
    >>> binning = HistogramBinning(bins=2).fit([0.1, 0.2, 0.3, 0.6, 0.8], [0, 0, 1, 1, 1])
    >>> binning.values_
    array([0.33333333, 1.        ])

    Of several classes each may have its own number of bins, that with the least log loss of
    held-out rows, as Kull et al. (2019) chose it:

    >>> import caltest as ct
    >>> from caltest.calibrators import EnsembleCalibrator, OneVsRest
    >>> data = ct.datasets.generative_model("M2", 600, 3, rng=1)
    >>> search = EnsembleCalibrator(HistogramBinning(), param_grid={"bins": [5, 10, 20]})
    >>> [one.best_params_["bins"] for one in OneVsRest(search).fit(data).calibrators_]
    [5, 5, 10]
    """

    key, title = "histogram", "Histogram binning"

    bins: int = 15
    binning: str = "uniform"
    empty: str = "midpoint"

    def _fit_event(self, inputs: Inputs, event: Flags, weight: Floats | None) -> None:
        bins = checks.check_count(self.bins)
        binning = checks.check_choice(self.binning, BINNINGS, "binning")
        empty = checks.check_choice(self.empty, EMPTY, "empty")
        if binning == "uniform":
            edges = np.arange(bins + 1) / bins
            scaled = None if weight is None else moderate_weight(weight)
            sums = uniform_sums(inputs.event, event.astype(np.int64), scaled, bins)
            mass, events = sums[:, 0], sums[:, 2]
        else:
            cuts, mass, events = quantile_bin_sums(inputs.event, event, weight, bins)
            edges = np.concatenate([[0.0], cuts, [1.0]])
        blank = (edges[1:] + edges[:-1]) / 2 if empty == "midpoint" else np.zeros(len(mass))
        self.edges_ = edges
        self.values_ = np.divide(events, mass, out=blank, where=mass > 0)
        self.counts_ = mass

    def _event(self, inputs: Inputs) -> Floats:
        bins = len(self.values_)
        if np.array_equal(self.edges_, np.arange(bins + 1) / bins):
            places = np.empty((inputs.n, 1), label_dtype(bins))
            uniform_bins(frozen(inputs.event[:, np.newaxis]), bins, places)
            return np.asarray(self.values_[places[:, 0]])
        return np.asarray(self.values_[np.searchsorted(self.edges_[1:-1], inputs.event)])

    def coefficients(self) -> Sequence[Coefficient]:
        """Return the value of each bin, with its binomial standard error where it is not 0 or 1.

        Returns
        -------
        sequence of Coefficient
            Named by the bins; those without observations have no standard error.
        """
        ends = _distinct_texts(self.edges_)
        names = [f"({low}, {high}]" for low, high in pairwise(ends)]
        names[0] = f"[0, {ends[1]}]"
        free = (self.counts_ > 0) & (self.values_ > 0) & (self.values_ < 1)
        variance = self.values_ * (1 - self.values_)
        errors = np.sqrt(np.divide(variance, self.counts_, out=variance, where=free)).tolist()
        counts = [n if has else None for n, has in zip(self.counts_.tolist(), free, strict=True)]
        rows = zip(names, self.values_.tolist(), errors, counts, strict=True)
        return [Coefficient(name, v, err if n else None, n=n) for name, v, err, n in rows]


def _distinct_texts(values: Floats) -> list[str]:
    """Write numbers with as many digits as tell them apart, at least 4."""
    for digits in (4, 8, 12):
        texts = [f"{value:.{digits}g}" for value in values]
        if len(set(texts)) == len(np.unique(values)):
            return texts
    return [f"{value:.17g}" for value in values]


def quantile_bin_sums(
    score: Floats, event: Flags, weight: Floats | None, bins: int
) -> tuple[Floats, Floats, Floats]:
    """Return the cuts between at most `bins` bins of equal mass, and the sums in the bins."""
    values, mass, events = distinct_scores(score, event, weight)
    cuts = quantile_cuts(values, mass, bins)
    starts = np.concatenate([[0], np.searchsorted(values, cuts, side="right")])
    return cuts, np.add.reduceat(mass, starts), np.add.reduceat(events, starts)


# ---- Scaling-binning, Kumar, Liang and Ma 2019 --------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class ScalingBinning(PlattScaling):
    r"""Scaling-binning: Platt scaling, averaged over bins of equal mass of what it predicts.

    .. math:: \hat\mu(p) = \frac{\sum_{i: g(p_i) \in I_k} w_i g(p_i)}{\sum_{i: g(p_i) \in I_k} w_i}
        \quad \text{for } g(p) \in I_k,

    with g the map of `PlattScaling` and bins as in `HistogramBinning(binning="quantile")`. It takes
    B values, so that its calibration error can be measured without bias, as that of a histogram;
    and since g varies less within a bin than labels do, it needs fewer rows.

    Parameters
    ----------
    bins : int, default 15
        Number of bins B; fewer where there are ties.
    scale : {"log-odds", "probability"}, default "log-odds"
        As in `PlattScaling`.
    smooth_targets : bool, default False
        As in `PlattScaling`.
    clip : float, default 2.2e-16
        As in `PlattScaling`.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.

    Attributes
    ----------
    slope_, intercept_ : float
        The parameters of g.
    cuts_ : (B - 1,) array
        Cuts between the bins of g.
    values_ : (B,) array
        Mean of g in each bin.

    Notes
    -----
    Map, bins and means are of the same rows, as in the authors' package uncertainty-calibration;
    the theorems of the paper give each of them rows of its own.

    References
    ----------
    Kumar, Liang, Ma (2019), Verified uncertainty calibration, NeurIPS 32, section 4.1.

    Examples
    --------
    >>> from caltest.calibrators import ScalingBinning
    >>> p, y = [0.1, 0.4, 0.6, 0.8, 0.7, 0.3], [0, 1, 0, 1, 1, 0]
    >>> ScalingBinning(bins=2).fit(p, y).predict_proba([0.2, 0.7])[:, 1].round(4)
    array([0.2015, 0.7985])
    """

    key, title = "scaling-binning", "Scaling-binning"

    bins: int = 15

    def _fit_event(self, inputs: Inputs, event: Flags, weight: Floats | None) -> None:
        bins = checks.check_count(self.bins)
        super()._fit_event(inputs, event, weight)
        scaled = super()._event(inputs)
        self.cuts_ = quantile_bin_sums(scaled, event, weight, bins)[0]
        place = np.searchsorted(self.cuts_, scaled)
        weight = np.ones(scaled.size) if weight is None else moderate_weight(weight)
        self.values_ = np.bincount(place, weight * scaled) / np.bincount(place, weight)

    def _event(self, inputs: Inputs) -> Floats:
        return np.asarray(self.values_[np.searchsorted(self.cuts_, super()._event(inputs))])


# ---- Bayesian binning into quantiles, Naeini, Cooper, Hauskrecht 2015 ---------------------------

MOST_BINS = 5000  # of a model by default: that of 10^8 observations
NEGLIGIBLE = 2.0**-60  # share of a model that no double notices
Counts = tuple[Floats, Floats, Floats]  # distinct scores, sums of events and of others up to each
BATCH = 2**20  # bins of several models at a time
SMALLEST_PRIOR_MEAN = 2.0**-52  # a prior mean of 0 or 1 would allow no other event


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

    key, title = "bbq", "Bayesian binning into quantiles"

    prior_size: float = 2.0
    min_bins: int | None = None
    max_bins: int | None = None
    averaging: bool = True

    def _fit_event(self, inputs: Inputs, event: Flags, weight: Floats | None) -> None:
        size = checks.check_positive(self.prior_size, "prior_size")
        averaging = checks.check_flag(self.averaging, "averaging")
        values, mass, events = distinct_scores(inputs.event, event, weight)
        numbers = self._numbers(max(float(mass.sum()), len(mass)))
        counts = values, np.cumsum(events), np.cumsum(mass - events)
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
        low = checks.check_optional_integer(self.min_bins, "min_bins", most=2 * MOST_BINS)
        high = checks.check_optional_integer(
            self.max_bins, "max_bins", low or 1, most=2 * MOST_BINS
        )
        if high is None:
            high = max(low or 1, int(min(math.ceil(n / 5), math.ceil(10 * root), MOST_BINS)))
        if low is None:
            low = min(high, int(min(max(1, root // 10), MOST_BINS)))
        return np.arange(low, high + 1)

    def _event(self, inputs: Inputs) -> Floats:
        return np.asarray(self.values_[np.searchsorted(self.cuts_, inputs.event)])


def log_scores(counts: Counts, numbers: Ints, size: float) -> tuple[Ints, Floats]:
    """Return the number of bins and the log marginal likelihood of each model.

    Parameters
    ----------
    counts : tuple
        The distinct scores, and the sums of events and of others up to each.
    numbers : (K,) array
        B of each model in ascending order; where ties coincide with cuts there are fewer bins.
    size : float
        N'.
    """
    found = []
    for starts, _, m, n, a, b in _models(counts, numbers, size):
        # Each factor of the product over the bins is a ratio of two beta functions.
        terms = scipy.special.betaln(m + a, n + b) - scipy.special.betaln(a, b)
        found.append((np.diff(starts), np.add.reduceat(terms, starts[:-1])))
    bins, scores = zip(*found, strict=True)
    return np.concatenate(bins), np.concatenate(scores)


def mixture(counts: Counts, numbers: Ints, weight: Floats, size: float) -> tuple[Floats, Floats]:
    """Return the cuts and the values of the mean of the models' posterior means.

    A step function is its first value and its jumps, so the mean takes one pass over all bins.
    """
    values = counts[0]
    first, jump = 0.0, np.zeros(values.size)
    cut = np.zeros(values.size, np.bool_)
    for starts, ends, m, n, a, b in _models(counts, numbers, size):
        share, weight = np.split(weight, [starts.size - 1])
        theta = np.repeat(share, np.diff(starts)) * ((m + a) / (m + n + a + b))
        first += theta[starts[:-1]].sum()
        inner = np.ones(ends.size, np.bool_)
        inner[starts[1:] - 1] = False
        at = np.flatnonzero(inner)
        jump += np.bincount(ends[at], theta[at + 1] - theta[at], values.size)
        cut[ends[at]] = True
    places = np.flatnonzero(cut)
    # Weights of models may sum to more than 1, by rounding.
    return _midpoints(values, places), np.clip(running_sums(first, jump[places]), 0.0, 1.0)


def _models(counts: Counts, numbers: Ints, size: float) -> Iterator[tuple[Any, ...]]:
    """Yield the bins and the terms of some models at a time, so that memory is bounded."""
    part = np.cumsum(numbers) // BATCH
    for batch in np.split(numbers, np.flatnonzero(np.diff(part)) + 1):
        starts, ends = binnings(counts[1] + counts[2], batch)
        yield starts, ends, *beta_terms(counts, starts, ends, size)


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
