"""The bins of a reliability diagram, with the frequencies that a calibrated model would show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from caltest import validation
from caltest.lenses import Lens, resolve_lens
from caltest.measures.binning import quantile_cells, uniform_cells
from caltest.measures.one_dimension import check_one_dimension
from caltest.numerics.bins import sort_by_cell
from caltest.numerics.poisson_binomial import count_limits, sum_limits
from caltest.predictions import Predictions, as_measured

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BINNINGS = ("uniform", "quantile")


@dataclass(frozen=True, eq=False)
class ReliabilityBins:
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

    def __post_init__(self) -> None:
        for name in ("left", "right", "count", "mass", "mean", "frequency", "lower", "upper"):
            object.__setattr__(self, name, validation.read_only(getattr(self, name)))


def reliability_bins(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    binning: str = "uniform",
    bins: int = 15,
    level: float = 0.95,
) -> ReliabilityBins | list[ReliabilityBins]:
    r"""Compute the bins of a reliability diagram and the consistency limits of each.

    In a bin with predictions :math:`p_1, ..., p_k` a calibrated model has :math:`N = \sum_i Y_i`
    events, :math:`Y_i \sim \mathrm{Bernoulli}(p_i)`. The limits are the quantiles
    :math:`\alpha / 2` and :math:`1 - \alpha / 2` of :math:`N / k`, :math:`\alpha` = 1 - `level`:
    exact ones of the Poisson-binomial law, at every k. They hold for each bin by itself.

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
    level : float, default 0.95
        Probability of the limits.

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
    validation.check_choice(binning, BINNINGS, "binning")
    validation.check_integer(bins, "bins")
    validation.check_level(level)
    predictions = as_measured(probs, labels)
    resolved = resolve_lens(lens)
    found = [
        _bins(member(predictions), binning, bins, level) for member in resolved.members(predictions)
    ]
    return found if resolved.is_family else found[0]


def _bins(predictions: Predictions, binning: str, bins: int, level: float) -> ReliabilityBins:
    check_one_dimension(predictions, "a reliability diagram")
    weight = predictions.sample_weight
    if weight is not None and not weight.all():
        predictions = predictions.subset(weight > 0)
    order, start, weight = _sorted_by_bin(predictions, binning, bins)
    event, labels = predictions.probs[order, 1], predictions.labels[order]
    if weight is None:
        mass = np.diff(start).astype(np.float64)
        lower, upper = (limit / mass for limit in count_limits(event, start, (1.0 - level) / 2.0))
    else:
        mass = np.add.reduceat(weight, start[:-1])
        scaled = weight / weight.max()  # powers of large weights have no place in a double
        error = (1.0 - level) / 2.0
        sums = sum_limits(event, scaled, start, error, float(-ndtri(error)))
        most = np.add.reduceat(scaled, start[:-1])
        lower, upper = (np.minimum(limit / most, 1.0) for limit in sums)
    ones = np.broadcast_to(1.0, event.size) if weight is None else weight
    return ReliabilityBins(
        left=np.minimum.reduceat(event, start[:-1]),
        right=np.maximum.reduceat(event, start[:-1]),
        count=np.diff(start),
        mass=mass,
        mean=np.add.reduceat(ones * event, start[:-1]) / mass,
        frequency=np.add.reduceat(ones * labels, start[:-1]) / mass,
        lower=lower,
        upper=upper,
        level=level,
        binning=binning,
        n=predictions.n,
    )


def _sorted_by_bin(
    predictions: Predictions, binning: str, bins: int
) -> tuple[Ints, Ints, Floats | None]:
    """Return the rows in the order of their bins, where each bin starts, and the weights."""
    cells = (uniform_cells if binning == "uniform" else quantile_cells)(predictions, bins)
    order, start = sort_by_cell(*cells)
    weight = predictions.sample_weight
    return order, start, None if weight is None else weight[order]
