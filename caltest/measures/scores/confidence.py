"""Measures of the confidence, the largest probability, on right and on wrong predictions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Unpack

import numpy as np
import scipy

from caltest.lenses import Confidence
from caltest.lenses.base import Evaluated
from caltest.measures.base import Measure
from caltest.measures.bound import RowStatistic
from caltest.measures.fits import fitted
from caltest.measures.outcome import Ends
from caltest.numerics.class_sums import wrong_and_right_sums
from caltest.predictions import Predictions
from caltest.types import Floats, Labels
from caltest.units import RowUnits, row_weights

__all__ = [
    "AverageConfidence",
    "ConfidenceRatio",
    "CorrectnessOdds",
    "ECELowerBound",
    "Overconfidence",
    "Sharpness",
    "Underconfidence",
    "average_confidence",
    "confidence_ratio",
    "correctness_odds",
    "ece_lower_bound",
    "overconfidence",
    "sharpness",
    "underconfidence",
]


OWN = {"mean-of-few": "mean of few rows, with one not yet seen"}
MANY = 1000  # rows from which on one more makes no difference
DRAWS, SEED = 9999, 0x5EED  # of the random weights, which are the same for all data


class ConfidenceMeasure(Measure):
    """A function of sums over rows of which class 1 is that the predicted class is right.

    Of the weights of the wrong and of the right predictions, of the confidence on wrong ones, and
    of 1 less the confidence on right ones.
    """

    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    alternative: ClassVar[str] = "two-sided"

    @abstractmethod
    def value(self, sums: Floats) -> Floats:
        """Return the value (B, 1) of these sums, (B, 4)."""

    def undefined(self, sums: Floats) -> tuple[str, ...]:
        """Say what the sums (4,) of the observed labels leave undefined."""
        return ()

    def bind(self, predictions: Predictions) -> RowStatistic:
        units = RowUnits(Confidence()(predictions))
        sums = partial(wrong_and_right_sums, confidence=units.mean, weight=units.scale)

        def values(right: Labels) -> Floats:
            return self.value(sums(right))[:, 0]

        degenerate = self.undefined(sums(units.observed[np.newaxis])[0])
        return RowStatistic(fitted(units, values, scale=1.0, degenerate=degenerate))


@dataclass(frozen=True, kw_only=True)
class MeanOfSome(ConfidenceMeasure):
    """The mean confidence where it is wrong, or the mean of 1 less the confidence where right."""

    own_intervals: ClassVar[Mapping[str, str]] = OWN
    intervals: ClassVar[tuple[str, ...]] = (*OWN, "bca")
    of_right: ClassVar[bool]  # whether the mean is over the right predictions

    def value(self, sums: Floats) -> Floats:
        mass, of = (sums[:, [k + self.of_right]] for k in (0, 2))
        return np.divide(of, mass, np.zeros_like(of), where=mass > 0)

    def undefined(self, sums: Floats) -> tuple[str, ...]:
        if sums[int(self.of_right)]:
            return ()
        side = "right" if self.of_right else "wrong"
        return (f"no prediction is {side}, so {self.title} is taken as 0",)

    def own_interval(self, predictions: Predictions, *, level: float) -> Ends:
        r"""Bound the mean of the rows it is over as if there were one more, at the worst place.

        Resamples of a few rows cannot show how their mean varies. So they get random weights
        :math:`g_i \sim Exp(1)`, and one more row has the largest score of all rows for the upper
        end, the smallest for the lower; the ends are quantiles of these means. From 1000 rows on
        they are those of the normal limit.

        References
        ----------
        Gaffke (2005), Three test statistics for a nonparametric one-sided hypothesis on the mean of
        a nonnegative variable, Math. Methods Stat. 14.
        """
        bound = self.bind(predictions)
        event, weight = bound.predictions, row_weights(predictions)
        counted = (event.labels == self.of_right) & (weight > 0)
        confidence, estimate = event.probs[:, 1], bound.value()
        every = 1.0 - confidence if self.of_right else confidence
        own, mass = every[counted], weight[counted]
        order, a = np.lexsort((mass, own)), (1.0 - level) / 2.0
        low, high = _limits(own[order], mass[order], every[weight > 0], a)
        return Ends(min(low, estimate), max(high, estimate), estimate, OWN["mean-of-few"])


def _limits(scores: Floats, weight: Floats, every: Floats, a: float) -> tuple[float, float]:
    """Return the ends, each missed with probability a, for the mean of the sorted scores."""
    ends = float(every.min()), float(every.max())
    if not scores.size:
        return ends
    mean = float(weight @ scores / weight.sum())
    if scores.size >= MANY:
        sd = float(np.sqrt(np.square(weight * (scores - mean)).sum()) / weight.sum())
        reach = float(scipy.special.ndtri(1.0 - a)) * sd
        return mean - reach, mean + reach
    rng = np.random.default_rng(SEED)
    g = rng.standard_exponential((DRAWS, scores.size)) * weight
    own = rng.standard_exponential(DRAWS) * float(weight.mean())
    low, high = ((g @ scores + own * end) / (g.sum(axis=1) + own) for end in ends)
    return float(np.quantile(low, a)), float(np.quantile(high, 1.0 - a))


@dataclass(frozen=True, kw_only=True)
class Overconfidence(MeanOfSome):
    """The overconfidence; see `overconfidence`."""

    key, title, symbol = "overconfidence", "overconfidence", "o(f)"
    of_right: ClassVar[bool] = False


def overconfidence(
    probs: object, labels: object = None, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute the overconfidence, the mean confidence of the wrong predictions.

    .. math:: o(f) = E[\max_k p_k \mid \arg\max_k p_k \ne Y].

    A calibrated model has a positive one too. Ties are broken by the order of the classes.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In units of probability, in [1/m, 1]; where no prediction is wrong 0, with a
        DegenerateDataWarning. With sample weights a weighted mean.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Wenger, Kjellstroem, Triebel (2020), Non-parametric calibration for classification, AISTATS,
    section 2.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.overconfidence([0.75, 0.5, 0.875], [0, 0, 1])  # wrong with confidence 0.75
    0.75
    """
    return Overconfidence().evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True)
class Underconfidence(MeanOfSome):
    """The underconfidence; see `underconfidence`."""

    key, title, symbol = "underconfidence", "underconfidence", "u(f)"
    of_right: ClassVar[bool] = True


def underconfidence(
    probs: object, labels: object = None, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute the underconfidence, the mean of 1 less the confidence of the right predictions.

    .. math:: u(f) = E[1 - \max_k p_k \mid \arg\max_k p_k = Y].

    A calibrated model has a positive one too. Ties are broken by the order of the classes.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In units of probability, in [0, 1 - 1/m]; where no prediction is right 0, with a
        DegenerateDataWarning. With sample weights a weighted mean.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Wenger, Kjellstroem, Triebel (2020), Non-parametric calibration for classification, AISTATS,
    section 2.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.underconfidence([0.75, 0.5, 0.875], [0, 0, 1])  # right at 0.5 and 0.875
    0.3125
    """
    return Underconfidence().evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True)
class ECELowerBound(ConfidenceMeasure):
    """The lower bound; see `ece_lower_bound`."""

    key, title, symbol = "ece-lower-bound", "lower bound on the confidence ECE", "|conf - acc|"
    alternative: ClassVar[str] = "greater"

    def value(self, sums: Floats) -> Floats:
        wrong, right, sure, unsure = sums[..., np.newaxis].transpose(1, 0, 2)
        return np.asarray(np.abs(sure - unsure) / (wrong + right))

    def mean_gap_tables(self, predictions: Predictions) -> Sequence[Floats]:
        predicted = predictions.predicted[:, None]
        gap = (np.arange(predictions.m) == predicted) - predictions.probs.max(axis=1)[:, None]
        return gap, -gap


def ece_lower_bound(
    probs: object, labels: object = None, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute how far over- and underconfidence are from balance, which bounds the ECE from below.

    With the over- and underconfidence o(f) and u(f),

    .. math:: \bigl| o(f) P(\hat y \ne y) - u(f) P(\hat y = y) \bigr| \le ECE_p(f) \le ECE_q(f),
        \quad 1 \le p \le q \le \infty.

    The left side is the mean confidence less the accuracy, in absolute value: the residuals
    confidence - right are the confidence on wrong predictions and minus the doubt on right
    ones. It bounds the confidence ECE over any bins with the mean confidence of each, since the
    mean of absolute values is not below the absolute mean (Jensen). The inequality need not hold
    for bins with their midpoint in place of the mean confidence.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In units of probability, in [0, 1]. With sample weights, of weighted means.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Wenger, Kjellstroem, Triebel (2020), Non-parametric calibration for classification, AISTATS,
    theorem 1.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.ece_lower_bound([0.75, 0.5, 0.875, 0.875], [0, 0, 1, 1])  # 3/4 - 3/4
    0.0
    """
    return ECELowerBound().evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True)
class CorrectnessOdds(ConfidenceMeasure):
    """The odds; see `correctness_odds`."""

    key, title, symbol = "correctness-odds", "odds of a right prediction", "acc / err"

    def value(self, sums: Floats) -> Floats:
        wrong, right = sums[:, [0]], sums[:, [1]]
        return np.divide(right, wrong, np.full_like(right, np.inf), where=wrong > 0)

    def undefined(self, sums: Floats) -> tuple[str, ...]:
        return () if sums[0] else (f"no prediction is wrong, so the {self.title} are infinite",)


def correctness_odds(
    probs: object, labels: object = None, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute the odds of a right prediction, the accuracy over the error rate.

    .. math:: \frac{P(\hat y = Y)}{P(\hat y \ne Y)}.

    Of a calibrated model they are what `confidence_ratio` is (theorem 1): where that is larger, the
    model is too confident. Ties are broken by the order of the classes.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In [0, inf], infinite with a DegenerateDataWarning where no prediction is wrong. With sample
        weights of weighted shares.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Wenger, Kjellstroem, Triebel (2020), Non-parametric calibration for classification, AISTATS,
    section 2 and theorem 1.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.correctness_odds([0.75, 0.5, 0.875], [0, 0, 1])  # two right, one wrong
    2.0
    """
    return CorrectnessOdds().evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True)
class ConfidenceRatio(ConfidenceMeasure):
    """The ratio; see `confidence_ratio`."""

    key, title, symbol = "confidence-ratio", "ratio of over- to underconfidence", "o(f) / u(f)"

    def value(self, sums: Floats) -> Floats:
        over, under = Overconfidence().value(sums), Underconfidence().value(sums)
        most = np.where(over > 0, np.inf, 0.0)
        return np.divide(over, under, most, where=under > 0)

    def undefined(self, sums: Floats) -> tuple[str, ...]:
        if not sums[0]:
            return (f"no prediction is wrong, so the {self.title} is taken as 0",)
        if sums[3]:
            return ()
        return (f"the underconfidence is 0, so the {self.title} is infinite",)


def confidence_ratio(
    probs: object, labels: object = None, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute the ratio of over- to underconfidence.

    .. math:: \frac{o(f)}{u(f)}.

    Of a calibrated model it equals the odds of a right prediction, `correctness_odds` (theorem 1):
    a larger ratio is that of a model which is too confident. See `overconfidence` and
    `underconfidence`.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In [0, inf], with a DegenerateDataWarning 0 where no prediction is wrong, and infinite where
        the underconfidence is 0. With sample weights of weighted means.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Wenger, Kjellstroem, Triebel (2020), Non-parametric calibration for classification, AISTATS,
    section 2 and theorem 1.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.confidence_ratio([0.75, 0.5, 0.875], [0, 0, 1])  # 0.75 / 0.3125
    2.4
    """
    return ConfidenceRatio().evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True)
class AverageConfidence(ConfidenceMeasure):
    """The mean; see `average_confidence`."""

    key, title, symbol = "average-confidence", "average confidence", "conf"

    def value(self, sums: Floats) -> Floats:
        wrong, right, sure, unsure = sums[..., np.newaxis].transpose(1, 0, 2)
        return np.asarray((sure + right - unsure) / (wrong + right))


def average_confidence(
    probs: object, labels: object = None, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute the average confidence, the mean of the largest probabilities.

    .. math:: E[\max_k p_k].

    Of a calibrated model it is the accuracy; `gap` says how far the two differ. It does not depend
    on the labels.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In units of probability, in [1/m, 1]. With sample weights a weighted mean.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Wenger, Kjellstroem, Triebel (2020), Non-parametric calibration for classification, AISTATS;
    `average_confidence` of the authors' package pycalib.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.average_confidence([0.75, 0.5, 0.875], [0, 0, 1])
    0.7083333333333334
    """
    return AverageConfidence().evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True)
class Sharpness(Measure):
    """The variance; see `sharpness`."""

    key, title, symbol = "sharpness", "sharpness", "sharpness"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    alternative: ClassVar[str] = "two-sided"

    def bind(self, predictions: Predictions) -> RowStatistic:
        units, m = RowUnits(Confidence()(predictions)), predictions.m
        weight, confidence = row_weights(predictions), predictions.probs.max(axis=1)
        n = int(np.count_nonzero(weight))
        variance = float(np.cov(confidence, aweights=weight, ddof=0)) * n / max(n - 1, 1)
        size = 4.0 * (m / (m - 1)) ** 2 * variance
        few = () if n > 1 else ("one row has no spread, so the sharpness is taken as 0",)
        constant = fitted(units, lambda y: np.full(len(y), size), scale=1.0, degenerate=few)
        return RowStatistic(constant)


def sharpness(probs: object, labels: object = None, **rows: Unpack[Evaluated]) -> float | Floats:
    r"""Compute the sharpness, the variance of the confidence in units of its largest.

    .. math:: \frac{4 m^2}{(m - 1)^2} \cdot \frac{1}{n - 1} \sum_i (c_i - \bar c)^2, \quad
        c_i = \max_k p_{ik}.

    The confidence lies in [1/m, 1], so that its variance is at most the inverse of the first
    factor: 0 says that all predictions are equally sure, 1 that half of them are certain and half
    uniform. It does not depend on the labels, and says nothing of calibration: of two calibrated
    models the sharper one is worth more.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In [0, n / (n - 1)]. With sample weights the spread about the weighted mean is weighted, and
        n are the rows of positive weight. Of one row 0, with a DegenerateDataWarning.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Wenger, Kjellstroem, Triebel (2020), Non-parametric calibration for classification, AISTATS,
    section 2 names the notion; the formula is `sharpness` of the authors' package pycalib.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.sharpness([[0.5, 0.5], [1.0, 0.0]], [0, 0])  # 16 * 0.125 of two rows
    2.0
    """
    return Sharpness().evaluate(probs, labels, **rows)
