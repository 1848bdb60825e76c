"""Measures of the partial sums of labels minus scores, in the order of the scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Unpack

import numpy as np

from caltest.errors import NotApplicable
from caltest.lenses import Lens
from caltest.measures.base import Measure
from caltest.measures.cumulative.near_maximum import NearMaximum
from caltest.measures.outcome import Outcome, outcome_of
from caltest.measures.tolerance import Tolerance, ToleranceTest, unseen_chance
from caltest.numerics.crossings import crossing_tails
from caltest.numerics.event_tails import largest_prefix_tail
from caltest.numerics.sorted_scores import step_ends
from caltest.numerics.tails import modulus_sf, range_sf
from caltest.predictions import Measured, Predictions
from caltest.types import Floats
from caltest.units import CellUnits, Norm, PartialSums, RowUnits, Statistic, Units
from caltest.units.statistic import Tails
from caltest.units.units import sorted_columns

__all__ = ["KSError", "KuiperError", "ks_error", "kuiper_error"]

NO_VARIANCE = (
    "all predictions are 0 or 1, so that the labels have no variance to scale by",
    "use scaled=False and null='exact'",
)


RECURSION = "the distribution of partial sums of independent events, by recursion"


@dataclass(frozen=True, kw_only=True)
class PartialSumMeasure(Measure):
    """A functional of the partial sums with a Brownian limit."""

    scaled: bool = False

    @staticmethod
    @abstractmethod
    def functional(high: Floats, low: Floats) -> Floats:
        """Return the value from the largest and the smallest partial sum, 0 among them."""

    @staticmethod
    @abstractmethod
    def span(sums: Floats) -> tuple[int, int, float]:
        """Return the sums, 0 the first, whose difference is the value, in order, and its sign."""

    # The upper tail of the functional of Brownian motion on [0, 1].
    brownian_sf: ClassVar[Callable[..., float]]
    nulls: ClassVar[tuple[str, ...]] = ("exact", "consistency", "asymptotic")

    def statistic(self, units: Units) -> Statistic:
        units = units.ordered(f"the {self.title}")
        sums, unit = PartialSums(units), units.total
        if self.scaled:
            unit = units.positive(np.sqrt(units.variance), *NO_VARIANCE)

        def error() -> float:
            high, low, highest, lowest = sums.widest
            wider = self.functional(highest, lowest) - self.functional(high, low)
            return float((wider / unit).max())

        return Statistic(
            units=units,
            sums=sums,
            value=lambda extremes: np.asarray(self.functional(*extremes) / unit),
            scale=units.rounding * units.total / unit,
            parameters={"scaled": True} if self.scaled else {},
            error=error,
            norm=None if self.scaled else self._norm(sums),
            blind=units.variance == 0 if self.scaled else None,
            tails=self.tails(units, unit),
            tails_text=RECURSION,
        )

    def tails(self, units: Units, unit: Floats) -> Tails | None:
        """Return the tails of the statistics of many groups, where they are known."""
        return None

    def _norm(self, sums: PartialSums) -> Norm:
        """Return the error as a norm of the partial sums at the end of each step."""

        def gaps(residuals: Floats, mass: Floats) -> Floats:
            return np.asarray(sums.all(residuals) / mass.sum(axis=1, keepdims=True))

        def norm(gaps: Floats) -> Floats:
            extremes = np.maximum(gaps.max(axis=1), 0.0), np.minimum(gaps.min(axis=1), 0.0)
            return np.asarray(self.functional(*extremes))

        return Norm(gaps, norm, mean_gap=partial(self._mean_gap, sums))

    def _mean_gap(self, sums: PartialSums) -> Floats:
        """Return 1 or -1 between the two sums whose difference is the error, else 0."""
        residuals = sums.units.residuals
        ends = np.append(0, np.flatnonzero(sums.ends) + 1)
        first, last, sign = self.span(np.append(0.0, np.cumsum(residuals))[ends])
        inside = np.zeros(residuals.size)
        inside[ends[first] : ends[last]] = sign
        return inside

    def limit(self, predictions: Predictions) -> Outcome:
        """Return the Brownian limit of the value over the standard deviation of the whole sum."""
        found = self.statistic(RowUnits(predictions))
        units, value = found.units, float(found.observed[0])
        variance = units.positive(units.variance, *NO_VARIANCE)
        sd = float((np.sqrt(variance) / units.total)[0])
        statistic = value if self.scaled else value / sd
        name = self.symbol if self.scaled else f"scaled {self.symbol}"
        text = "Brownian limit; conservative where scores are tied"
        given = name, statistic, self.brownian_sf(statistic), text, value
        return outcome_of(*given, parameters={"standard deviation": sd})

    @property
    def intervals(self) -> tuple[str, ...]:
        return super().intervals if self.scaled else ("convex", *super().intervals)

    @property
    def interval_instead(self) -> str | None:
        return "scaled=False" if self.scaled else None


LARGE = 1e5  # variance of the number of events from which on tails are those of Brownian motion


@dataclass(frozen=True, kw_only=True)
class KSError(ToleranceTest, PartialSumMeasure):
    """The KS error, scaled or not; see `ks_error`."""

    key: ClassVar[str] = "ks"
    largest: ClassVar[float] = 1.0
    function: ClassVar[str] = "ks_error"
    title: ClassVar[str] = "Kolmogorov-Smirnov calibration error"
    brownian_sf: ClassVar[Callable[..., float]] = staticmethod(modulus_sf)

    @property
    def symbol(self) -> str:
        return "scaled KS" if self.scaled else "KS"

    def tolerance_test(self, predictions: Predictions, tolerance: Tolerance) -> NearMaximum:
        """Return the bootstrap of the directional derivative, at an error of the tolerance."""
        if self.scaled:
            grows = "the scaled KS of an uncalibrated model grows with n"
            raise NotApplicable(f"{grows}, so that no tolerance suits it", "use scaled=False")
        return NearMaximum(predictions, tolerance, self.title)

    def boundary_tail(self, predictions: Predictions, tolerance: Tolerance) -> float:
        """Return the largest tail of the number of events up to a score, of all scores.

        At the one where the deviation is the tolerance or more, so is the excess or the lack of
        events up to it.
        """
        event, labels, _ = sorted_columns(predictions)
        excess = tolerance.value * predictions.n
        tail = largest_prefix_tail(event, labels == 1, step_ends(event), excess)
        return max(tail, unseen_chance(tolerance.value, predictions.n))

    def is_raised_to_exact(self, n: int) -> bool:
        """Tell so at every n: many sums may be as large as the maximum, too many for a limit."""
        return True

    tolerance_method: ClassVar[str] = "bootstrap"

    def tails(self, units: Units, unit: Floats) -> Tails | None:
        """Return the exact tails, by recursion.

        Where the number of events has a variance above 10^5, they are those of Brownian motion,
        which are larger by up to 1 %, since sums are looked at between cells only.
        """
        if not isinstance(units, CellUnits):
            return None
        start, cells, variance = units.start, units.cells, units.variance

        def tails(values: Floats) -> Floats:
            reach, large = values * unit, variance > LARGE
            exact = np.where(large, -1.0, reach)  # left out at once
            found = crossing_tails(start, cells.n, cells.expected, exact)
            found[large] = [self.brownian_sf(x) for x in reach[large] / np.sqrt(variance[large])]
            return found

        return tails

    @staticmethod
    def functional(high: Floats, low: Floats) -> Floats:
        return np.maximum(high, 0.0 - low)  # no negative zero

    @staticmethod
    def span(sums: Floats) -> tuple[int, int, float]:
        last = int(np.argmax(np.abs(sums)))
        return 0, last, float(np.sign(sums[last]))


def ks_error(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    scaled: bool = False,
    **rows: Unpack[Measured],
) -> float | Floats:
    r"""Compute the Kolmogorov-Smirnov calibration error, the largest cumulative deviation.

    With the scores p in ascending order, it compares the cumulative shares of events and of scores,

    .. math:: KS = \max_i |h_i - \tilde h_i|, \quad
        h_i = \frac{1}{n} \sum_{j \le i} y_j, \quad \tilde h_i = \frac{1}{n} \sum_{j \le i} p_j,

    where equal scores form one step, so that their order does not matter. There are no bins. The
    score is the probability of class 1 under the lens: the confidence, that of class k, of one of
    the r largest, ... Starting from the other class can give another value; `kuiper_error` is the
    same from both.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    scaled : bool, default False
        Divide by :math:`\sqrt{\sum_i p_i (1 - p_i)} / n`, the standard deviation of the whole sum:
        the ECCE-MAD of Arrieta-Ibarra et al. over its scale. Of the order of 1 under calibration at
        every n.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In units of probability, in [0, 1], or in standard deviations. Sample weights count an
        observation w_i times; the standard deviation is that of the weighted sum. Takes
        O(n log n).

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes, or `scaled` and all predictions are 0 or 1.

    References
    ----------
    Gupta et al. (2021), Calibration of neural networks using splines, ICLR, equations 11 and 12;
    Arrieta-Ibarra et al. (2022), Metrics of calibration for probabilistic predictions, JMLR 23.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.ks_error([0.25, 0.5, 0.75], [1, 0, 1])  # sums 0.75, 0.25, 0.5 over 3
    0.25
    """
    return KSError(scaled=scaled).evaluate(probs, labels, lens, **rows)


@dataclass(frozen=True, kw_only=True)
class KuiperError(PartialSumMeasure):
    """The Kuiper error, scaled or not; see `kuiper_error`."""

    key: ClassVar[str] = "kuiper"
    largest: ClassVar[float] = 1.0
    function: ClassVar[str] = "kuiper_error"
    title: ClassVar[str] = "Kuiper calibration error"
    brownian_sf: ClassVar[Callable[..., float]] = staticmethod(range_sf)

    @property
    def symbol(self) -> str:
        return "scaled Kuiper" if self.scaled else "Kuiper"

    @staticmethod
    def functional(high: Floats, low: Floats) -> Floats:
        return high - low

    @staticmethod
    def span(sums: Floats) -> tuple[int, int, float]:
        low, high = int(np.argmin(sums)), int(np.argmax(sums))
        return min(low, high), max(low, high), float(np.sign(high - low))


def kuiper_error(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    scaled: bool = False,
    **rows: Unpack[Measured],
) -> float | Floats:
    r"""Compute the Kuiper calibration error, the range of the cumulative deviations.

    With the scores p in ascending order and equal scores as one step,

    .. math:: \max_{0 \le i \le n} C_i - \min_{0 \le i \le n} C_i, \quad
        C_i = \frac{1}{n} \sum_{j \le i} (y_j - p_j), \quad C_0 = 0,

    the largest deviation of any interval of scores. It is the same for both classes, and at least
    as large as the KS error.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    scaled : bool, default False
        Divide by :math:`\sqrt{\sum_i p_i (1 - p_i)} / n`, the standard deviation of the whole sum:
        the ECCE-R of Arrieta-Ibarra et al. over its scale. Of the order of 1 under calibration at
        every n.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In units of probability, in [0, 1], or in standard deviations. Sample weights count an
        observation w_i times; the standard deviation is that of the weighted sum. Takes
        O(n log n).

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes, or `scaled` and all predictions are 0 or 1.

    References
    ----------
    Arrieta-Ibarra et al. (2022), Metrics of calibration for probabilistic predictions, JMLR 23,
    where it is called ECCE-R; Tygert (2021), Cumulative deviation of a subpopulation from the full
    population, Journal of Big Data 8.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.kuiper_error([0.25, 0.5, 0.75], [1, 0, 0])  # sums 0, 0.75, 0.25, -0.5 over 3
    0.41666...
    """
    return KuiperError(scaled=scaled).evaluate(probs, labels, lens, **rows)
