"""Calibration in the large: observed less expected events, and their ratio with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Unpack, cast

import numpy as np
import scipy

from caltest import checks
from caltest.errors import NotApplicable
from caltest.lenses.base import Evaluated, Seen
from caltest.measures.base import MeanScore, Measure, event_table, event_terms
from caltest.measures.fits import by_member
from caltest.measures.gap import Gap, event_rows, gap_of, share_limits
from caltest.measures.outcome import Ends, Outcome, RowTerms, two_sided_normal
from caltest.measures.residual_sums import Flippable, of_row_terms
from caltest.numerics.class_sums import residual_sums
from caltest.predictions import Predictions
from caltest.types import Floats
from caltest.units import RowUnits, ScoreSums, Statistic, Units
from caltest.units.units import check_one_dimension, check_unweighted

__all__ = [
    "ExpectedObserved",
    "ExpectedObservedRatio",
    "MeanCalibration",
    "expected_observed_interval",
    "expected_observed_ratio",
    "mean_calibration",
]


METHODS = ("log", "poisson", "clopper-pearson")
OF_SUMS = ("convolution", "saddlepoint")  # nulls
OWN = {"event-count": "limits of the observed count"}
WITH_CLUSTERS = "use method='clopper-pearson'"
ALTERNATIVES = "use method='poisson' or 'clopper-pearson'"


@dataclass(frozen=True, kw_only=True)
class MeanCalibration(MeanScore):
    """The difference of means; see `mean_calibration`."""

    key, title, symbol = "mean-calibration", "calibration in the large", "mean(y) - mean(p)"
    least_score: ClassVar[float | None] = -math.inf  # residuals are of either sign
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    forms: ClassVar[tuple[str, ...]] = ("rows",)
    nulls: ClassVar[tuple[str, ...]] = ("exact", "consistency", "asymptotic", *OF_SUMS)

    def scores(self, units: Units) -> ScoreSums:
        check_one_dimension(cast("RowUnits", units).predictions, self.title)
        return ScoreSums(
            units,
            lambda p: np.arange(2.0) - p[:, 1:],
            fused=lambda y: residual_sums(y, units.mean, units.scale[np.newaxis])[:, 0],
        )

    def row_terms(self, predictions: Predictions) -> RowTerms:
        """Return the events of each row, of which the residuals are a shift."""
        return event_terms(predictions, self.title)

    def calibrated_value(self, predictions: Predictions) -> float:
        """Return 0, the mean residual of calibrated predictions."""
        return 0.0

    def limit(self, predictions: Predictions) -> Outcome:
        r"""Return the normal limit, two-sided, with the variance :math:`\sum_i p_i (1 - p_i)`."""
        units = RowUnits(predictions)
        value = float(self.statistic(units).observed[0])
        sd = float(np.sqrt(units.variance)[0] / units.total[0])
        if sd == 0:
            reason = "all predictions are 0 or 1, so that the labels have no variance"
            raise NotApplicable(reason, "use null='exact'")
        return two_sided_normal(value / sd, value, {"standard deviation": sd})


def mean_calibration(
    probs: object, labels: object = None, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute the mean outcome less the mean prediction of two classes.

    .. math:: \frac{1}{n} \sum_i (y_i - p_i)

    Positive where events are more frequent than predicted. It is on the scale of probabilities;
    the same name stands for the intercept of a logistic recalibration too, which is
    `calibration_intercept`, and for its test.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In [-1, 1]; with sample weights a difference of weighted means.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes under the lens.

    References
    ----------
    Yates (1982), External correspondence: decompositions of the mean probability score,
    Organizational Behavior and Human Performance 30, section "Bias"; Van Calster et al. (2019),
    Calibration: the Achilles heel of predictive analytics, BMC Medicine 17.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.mean_calibration([0.25, 0.5, 0.75], [1, 0, 1])  # 2/3 - 1/2
    0.16666...
    """
    return MeanCalibration().evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True)
class ExpectedObservedRatio(Measure):
    """The ratio E/O; see `expected_observed_ratio`."""

    key, title, symbol = "expected-observed-ratio", "ratio of expected to observed events", "E/O"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    alternative: ClassVar[str] = "two-sided"
    own_intervals: ClassVar[Mapping[str, str]] = OWN
    forms: ClassVar[tuple[str, ...]] = ("rows",)
    nulls: ClassVar[tuple[str, ...]] = ("exact", "consistency", *OF_SUMS)
    intervals: ClassVar[tuple[str, ...]] = (*OWN, "bca")

    def row_terms(self, predictions: Predictions) -> RowTerms:
        """Return the events of each row, whose sum divides the expected one."""
        return event_terms(predictions, f"the {self.title}")

    def residual_statistics(self, predictions: Predictions) -> Flippable:
        """Return the sum of the terms of the rows, each less its mean."""
        return of_row_terms(self.row_terms(predictions), predictions)

    def statistic(self, units: Units) -> Statistic:
        check_one_dimension(cast("RowUnits", units).predictions, f"the {self.title}")
        expected = float(units.scale @ units.mean / units.total[0])
        none = math.inf if expected else 1.0
        sums = ScoreSums(units, event_table)

        def ratio(events: Floats) -> Floats:
            share, out = events / units.total, np.full(events.shape, none)
            np.divide(expected, share, out, where=share > 0)
            return out

        value = "infinite" if expected else "taken as 1, since none was expected"
        never = (f"no event was observed: E/O is {value}",)
        return Statistic(
            sums=sums,
            value=ratio,
            scale=units.rounding,
            degenerate=() if sums.observed()[0, 0] else never,
        )

    def calibrated_value(self, predictions: Predictions) -> float:
        """Return 1.0, as many events as expected."""
        return 1.0

    def own_interval(self, predictions: Predictions, *, level: float) -> Ends:
        """Interval of E/O by Clopper-Pearson limits of the observed count, E as it is.

        `expected_observed_interval` is the same, with other limits to choose from.
        """
        found = _interval(predictions, level, "clopper-pearson")
        method_text = "Clopper-Pearson limits of the observed count"
        return Ends(found.low, found.high, found.ratio, method_text)


@dataclass(frozen=True)
class ExpectedObserved:
    """The expected and the observed number of events, and their ratio with its interval.

    Attributes
    ----------
    expected : float
        The sum of the predicted probabilities.
    observed : int
        The number of events.
    ratio : float
        Expected over observed; below 1 where events are more frequent than predicted.
    low, high : float
        The confidence interval of the ratio; `high` may be infinite.
    level : float
        Its coverage.
    method : str
        How it was computed; see `expected_observed_interval`.

    Examples
    --------
    >>> ExpectedObserved(4.0, 5, 0.8, 0.34, 2.46, 0.95, "poisson").ratio
    0.8
    """

    expected: float
    observed: int
    ratio: float
    low: float
    high: float
    level: float
    method: str


def expected_observed_ratio(
    probs: object, labels: object = None, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute the ratio of the expected to the observed number of events of two classes.

    .. math:: \frac{E}{O} = \frac{\sum_i p_i}{\sum_i y_i}.

    Below 1 where events are more frequent than predicted. Its interval is
    `expected_observed_interval`.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        At least 0. Where no event was observed infinite, or 1 if none was expected, with a
        DegenerateDataWarning. With sample weights a ratio of weighted sums.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes under the lens.

    References
    ----------
    Debray et al. (2017), A guide to systematic review and meta-analysis of prediction model
    performance, BMJ 356, i6460 (as O:E).

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.expected_observed_ratio([0.25, 0.5, 0.75], [1, 0, 1])  # 1.5 / 2
    0.75
    """
    return ExpectedObservedRatio().evaluate(probs, labels, **rows)


def expected_observed_interval(
    probs: object,
    labels: object = None,
    *,
    confidence: float = 0.95,
    method: str = "clopper-pearson",
    **rows: Unpack[Seen],
) -> ExpectedObserved | list[ExpectedObserved]:
    r"""Compute the confidence interval of the ratio of expected to observed events.

    The expected number E is taken as it is, and the observed one as

    - "clopper-pearson": a binomial count of n trials, exact equal-tailed limits;
    - "poisson": a Poisson count, exact equal-tailed limits (Garwood), wider;
    - "log": log(E/O) with the standard error :math:`\sqrt{(1 - O/n) / O}` of a binomial count and
      normal quantiles.

    A count of events of unequal probabilities has less variance than a binomial one, so that all
    three are conservative for a calibrated model. Where rows depend, "clopper-pearson" has an
    effective number of rows, by the jackknife over their clusters.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives a list.
    confidence : float, default 0.95
        Coverage, in (0, 1).
    method : {"clopper-pearson", "poisson", "log"}
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`.

    Returns
    -------
    ExpectedObserved
        Counts, ratio and interval; without an event the ratio and `high` are infinite.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes under the lens, no event is expected, there are sample
        weights, no event was observed and method is "log", or rows depend and it is not
        "clopper-pearson".

    References
    ----------
    Debray et al. (2017), A guide to systematic review and meta-analysis of prediction model
    performance, BMJ 356, i6460, appendix 7; Clopper, Pearson (1934), Biometrika 26; Garwood (1936),
    Fiducial limits for the Poisson distribution, Biometrika 28.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = [0.4] * 10, [1] * 5 + [0] * 5
    >>> interval = ct.measures.expected_observed_interval(p, y)
    >>> round(interval.ratio, 4), round(interval.low, 4), round(interval.high, 4)
    (0.8, 0.4921, 2.1381)
    """
    level = checks.check_confidence(confidence)
    checks.check_choice(method, METHODS, "method")
    interval = partial(_interval, level=level, method=method)
    return by_member(probs, labels, interval, expected_observed_interval, rows)


def _interval(predictions: Predictions, level: float, method: str) -> ExpectedObserved:
    title = "the interval of E/O"
    check_one_dimension(predictions, title)
    check_unweighted(predictions, title, "use the ratio alone")
    if predictions.has_dependence:
        if method != METHODS[-1]:
            raise NotApplicable(f"the method {method!r} takes rows as independent", WITH_CLUSTERS)
        gap, n = gap_of(event_rows(predictions), "event", "all rows").at(level), predictions.n
        found = ratio_of_counts(n * gap.predicted, round(n * gap.observed), n, level)
        low, high = ratio_limits(gap)
        return replace(found, low=low, high=high)
    expected, observed = float(predictions.probs[:, 1].sum()), int(predictions.labels.sum())
    return ratio_of_counts(expected, observed, predictions.n, level, method)


def ratio_limits(gap: Gap) -> tuple[float, float]:
    """Return the limits of the ratio of a mean prediction to the share that was observed."""
    low, high = (max(gap.predicted + end, 0.0) for end in (gap.low, gap.high))
    return gap.predicted / high, gap.predicted / low if low > 0 else math.inf


def ratio_of_counts(
    expected: float, observed: int, n: int, level: float, method: str = "clopper-pearson"
) -> ExpectedObserved:
    """Return the ratio of expected to observed events of n rows, with its interval."""
    if expected == 0:
        raise NotApplicable("E/O has no interval where no event is expected", "use test='cox'")
    tail = (1.0 - level) / 2.0
    if method == "log":
        if observed == 0:
            raise NotApplicable("log(E/O) is infinite where no event was observed", ALTERNATIVES)
        reach = float(-scipy.special.ndtri(tail)) * math.sqrt((1.0 - observed / n) / observed)
        low, high = observed * math.exp(-reach), observed * math.exp(reach)
    elif method == "poisson":
        low = float(scipy.special.gammaincinv(observed, tail)) if observed else 0.0
        high = float(scipy.special.gammainccinv(observed + 1, tail))
    else:
        low, high = (n * float(share) for share in share_limits(observed / n, n, level))
    ratio, upper = (expected / count if count > 0 else math.inf for count in (observed, low))
    return ExpectedObserved(expected, observed, ratio, expected / high, upper, level, method)
