"""Measures of the partial sums of labels minus scores, in the order of the scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Unpack

import numpy as np

from caltest.checks import check_flag, option
from caltest.errors import NotApplicable
from caltest.lenses.base import Evaluated
from caltest.measures.base import Measure
from caltest.measures.outcome import Outcome, outcome_of
from caltest.measures.tolerance import Tolerance, ToleranceBootstrap, ToleranceTest, unseen_chance
from caltest.numerics.crossings import crossing_tails
from caltest.numerics.event_tails import largest_prefix_tail
from caltest.numerics.loops import njit
from caltest.numerics.sorted_scores import step_ends
from caltest.numerics.tails import modulus_sf, range_sf
from caltest.predictions import Predictions
from caltest.types import Events, Floats
from caltest.units import CellUnits, Norm, PartialSums, RowUnits, Statistic, Units
from caltest.units.sums import Tails
from caltest.units.units import check_one_dimension, sorted_columns

__all__ = ["KSError", "KuiperError", "ks_error", "kuiper_error"]

NO_VARIANCE = (
    "all predictions are 0 or 1, so that the labels have no variance to scale by",
    "use scaled=False and null='exact'",
)


RECURSION = "the distribution of partial sums of independent events, by recursion"


@dataclass(frozen=True, kw_only=True)
class PartialSumMeasure(Measure):
    """A functional of the partial sums with a Brownian limit."""

    scaled: bool = option(default=False, check=check_flag)

    name: ClassVar[str]
    # The value from the largest and the smallest partial sum, 0 among them.
    functional: ClassVar[Callable[..., Floats]]
    # The sums, 0 the first, whose difference is the value, in order, and its sign.
    span: ClassVar[Callable[..., tuple[int, int, float]]]
    # The upper tail of the functional of Brownian motion on [0, 1].
    brownian_sf: ClassVar[Callable[..., float]]
    largest: ClassVar[float] = 1.0
    nulls: ClassVar[tuple[str, ...]] = ("exact", "consistency", "asymptotic")

    @property
    def bounds_mean_gap(self) -> bool:  # type: ignore[override]
        return not self.scaled

    @property
    def symbol(self) -> str:
        return f"scaled {self.name}" if self.scaled else self.name

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
        """Return the error as a norm of the partial sums at the end of each step.

        Its mean gap has 1 or -1 between the two sums whose difference is the error, else 0.
        """

        def gaps(residuals: Floats, mass: Floats) -> Floats:
            return np.asarray(sums.all(residuals) / mass.sum(axis=1, keepdims=True))

        def norm(gaps: Floats) -> Floats:
            extremes = np.maximum(gaps.max(axis=1), 0.0), np.minimum(gaps.min(axis=1), 0.0)
            return np.asarray(self.functional(*extremes))

        def mean_gap() -> Floats:
            residuals, ends = sums.units.residuals, np.append(0, sums.at + 1)
            first, last, sign = self.span(np.append(0.0, np.cumsum(residuals))[ends])
            inside = np.zeros(residuals.size)
            inside[ends[first] : ends[last]] = sign
            return inside

        return Norm(gaps, norm, mean_gap=mean_gap)

    def limit(self, predictions: Predictions) -> Outcome:
        """Return the Brownian limit of the value over the standard deviation of the whole sum."""
        found = self.statistic(RowUnits(predictions))
        units, value = found.units, float(found.observed[0])
        variance = units.positive(units.variance, *NO_VARIANCE)
        sd = float((np.sqrt(variance) / units.total)[0])
        statistic = value if self.scaled else value / sd
        text = "Brownian limit; conservative where scores are tied"
        given = f"scaled {self.name}", statistic, self.brownian_sf(statistic), text, value
        return outcome_of(*given, parameters={"standard deviation": sd})

    @property
    def intervals(self) -> tuple[str, ...]:
        return super().intervals if self.scaled else ("convex", *super().intervals)

    @property
    def interval_instead(self) -> str | None:  # type: ignore[override]
        return "scaled=False" if self.scaled else None


LARGE = 1e5  # variance of the number of events from which on tails are those of Brownian motion


@dataclass(frozen=True, kw_only=True)
class KSError(ToleranceTest, PartialSumMeasure):
    """The KS error, scaled or not; see `ks_error`."""

    key, title = "ks", "Kolmogorov-Smirnov calibration error"
    function: ClassVar[str] = "ks_error"
    name: ClassVar[str] = "KS"
    brownian_sf: ClassVar[Callable[..., float]] = staticmethod(modulus_sf)

    def tolerance_test(self, predictions: Predictions, tolerance: Tolerance) -> ToleranceBootstrap:
        """Return the bootstrap of the directional derivative, at an error of the tolerance."""
        if self.scaled:
            grows = "the scaled KS of an uncalibrated model grows with n"
            raise NotApplicable(f"{grows}, so that no tolerance suits it", "use scaled=False")
        return near_maximum(predictions, tolerance, self.title)

    def boundary_tail(self, predictions: Predictions, tolerance: Tolerance) -> float:
        """Return the largest tail of the number of events up to a score, of all scores.

        At the one where the deviation is the tolerance or more, so is the excess or the lack of
        events up to it.
        """
        event, labels, _ = sorted_columns(predictions)
        excess = tolerance.value * predictions.n
        tail = largest_prefix_tail(event, labels == 1, step_ends(event), excess)
        return max(tail, unseen_chance(tolerance.value, predictions.n))

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
    probs: object, labels: object = None, *, scaled: bool = False, **rows: Unpack[Evaluated]
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
    return KSError(scaled=scaled).evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True)
class KuiperError(PartialSumMeasure):
    """The Kuiper error, scaled or not; see `kuiper_error`."""

    key, title = "kuiper", "Kuiper calibration error"
    function: ClassVar[str] = "kuiper_error"
    name: ClassVar[str] = "Kuiper"
    brownian_sf: ClassVar[Callable[..., float]] = staticmethod(range_sf)

    @staticmethod
    def functional(high: Floats, low: Floats) -> Floats:
        return high - low

    @staticmethod
    def span(sums: Floats) -> tuple[int, int, float]:
        low, high = int(np.argmin(sums)), int(np.argmax(sums))
        return min(low, high), max(low, high), float(np.sign(high - low))


def kuiper_error(
    probs: object, labels: object = None, *, scaled: bool = False, **rows: Unpack[Evaluated]
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
    return KuiperError(scaled=scaled).evaluate(probs, labels, **rows)


LANES = 8  # independent sums side by side hide the latency of each


def near_maximum(predictions: Predictions, tolerance: Tolerance, title: str) -> ToleranceBootstrap:
    r"""Bootstrap the KS error at the places where the deviation may be as large as the tolerance.

    With :math:`S(t)` the mean of :math:`(y - p) 1[p \le t]`, KS has a derivative in directions
    only: its error has the distribution of the largest deviation over the places where
    :math:`\pm S` is largest, and there may be many.

    Up to the tolerance, the least favourable of the errors that agree with the data are resampled:
    the partial sums as they are, plus or minus a standard error, but within the tolerance, and with
    the errors G of the bootstrap

    .. math:: KS^* = \max_t \max_{\pm} \{ \min(\tau, \pm S(t) + \sigma(t) / \sqrt n) \pm G(t) \}.

    So all places count that may be as far off as the tolerance, on either side, not only those near
    the largest sum. It increases with the tolerance in each resample.

    Where the error is at least the tolerance, KS is at least the deviation at any one of the places
    with :math:`\pm S(t) \ge KS - \tfrac{1}{2} \sqrt{\log n} \, \sigma / \sqrt{n}`, :math:`\sigma`
    the largest standard deviation, and the one that varies most is resampled: the distribution of
    the maximum would be too wide.

    References
    ----------
    Andrews, Soares (2010), Inference for parameters defined by moment inequalities using
    generalized moment selection, Econometrica 78; Fang, Santos (2019), Inference on directionally
    differentiable functions, Rev. Econ. Stud. 86, theorem 3.2; Dette, Kokot, Aue (2020), Functional
    data analysis in the Banach space of continuous functions, Ann. Stat. 48, section 3; Berger
    (1982), Multiparameter hypothesis testing and acceptance sampling, Technometrics 24
    (intersection-union test).
    """
    check_one_dimension(predictions, f"the {title}")
    event, labels, _ = sorted_columns(predictions)
    n, residuals = event.size, labels - event
    if np.ptp(residuals) == 0:
        reason = "a tolerance needs residuals y - p that vary, and these do not"
        raise NotApplicable(reason, "use more data, or null='exact' without tolerance")
    ends = step_ends(event)
    sums = np.cumsum(residuals) / n
    variance = np.cumsum(np.square(residuals)) / n - np.square(sums)
    size = np.where(ends, np.abs(sums), 0.0)
    value, slack = float(size.max()), 0.5 * math.sqrt(math.log(n) * float(variance[ends].max()) / n)
    if tolerance.equivalence:
        near = ends & (size >= value - slack)
        one = np.arange(n) == np.argmax(np.where(near, variance, -1.0))
        places = "the most variable of the partial sums near the largest"
        sides = one & (sums >= 0), one & (sums < 0)
        up, down = (np.where(side, 0.0, -np.inf) for side in sides)
    else:
        places = "the partial sums, those beyond the tolerance moved to it"
        most = np.sqrt(np.maximum(variance, 0.0) / n) - tolerance.value
        sides = np.minimum(sums + most, 0.0), np.minimum(most - sums, 0.0)
        up, down = (np.where(ends, side, -np.inf) for side in sides)
    return ToleranceBootstrap(
        value=value,
        n=n,
        resample=partial(resampled_extremes, residuals=residuals, up=up, down=down),
        null_text=f"Poisson bootstrap of {places}",
    )


@njit()
def resampled_extremes(counts: Events, residuals: Floats, up: Floats, down: Floats) -> Floats:
    """Return the largest up + G and down - G with G(k) = sum_{i<=k} (c_i - mean c) r_i / n.

    For each row c of `counts` (B, n). Places that do not count are -inf, but one must.
    """
    size, n = counts.shape
    out = np.empty(size)
    for start in range(0, size, LANES):
        lanes = min(LANES, size - start)
        mean, carried, top = np.zeros(LANES), np.zeros(LANES), np.empty(LANES)
        for lane in range(lanes):
            top[lane] = -np.inf
            mean[lane] = counts[start + lane].sum() / n
        for i in range(n):
            for lane in range(lanes):
                carried[lane] += residuals[i] * (counts[start + lane, i] - mean[lane])
            if up[i] > -np.inf:
                for lane in range(lanes):
                    top[lane] = max(top[lane], n * up[i] + carried[lane])
            if down[i] > -np.inf:
                for lane in range(lanes):
                    top[lane] = max(top[lane], n * down[i] - carried[lane])
        for lane in range(lanes):
            out[start + lane] = top[lane] / n
    return out
