"""Net benefit of decisions by predicted risks, Vickers and Elkin 2006."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Unpack

import numpy as np

from caltest import checks
from caltest.errors import invalid, shown
from caltest.lenses.base import Seen
from caltest.measures.fits import ReadOnly, by_member
from caltest.measures.gap import EventRows, gap_of
from caltest.numerics.tails import student_isf
from caltest.predictions import Predictions
from caltest.types import Floats
from caltest.units import check_one_dimension, row_weights

__all__ = ["NetBenefit", "net_benefit"]

THRESHOLDS = tuple(k / 100 for k in range(1, 100))
LEAST = 1e-9  # of the weight, without a row or cluster


@dataclass(frozen=True, eq=False)
class NetBenefit(ReadOnly):
    """Net benefits at threshold probabilities, beside those of treating all; of none it is 0.

    Attributes
    ----------
    threshold : (k,) array
        Threshold probabilities in ascending order.
    model, low, high : (k,) array
        Net benefit of treating where the prediction is at least the threshold, and the ends of its
        interval at each threshold by itself.
    treat_all : (k,) array
        Net benefit of treating everybody.
    level : float
    n : int

    Examples
    --------
    >>> import caltest as ct
    >>> found = ct.measures.net_benefit([0.1, 0.4, 0.8, 0.9], [0, 0, 1, 1], thresholds=[0.5])
    >>> found.model, found.treat_all
    (array([0.5]), array([0.]))
    """

    threshold: Floats
    model: Floats
    low: Floats
    high: Floats
    treat_all: Floats
    level: float
    n: int


def net_benefit(
    probs: object,
    labels: object = None,
    *,
    thresholds: object = THRESHOLDS,
    confidence: float = 0.95,
    **rows: Unpack[Seen],
) -> NetBenefit | list[NetBenefit]:
    r"""Compute the net benefit of treating where the predicted risk is at least a threshold.

    With the true and false positives at the threshold probability t,

    .. math:: NB(t) = \frac{TP}{n} - \frac{FP}{n} \frac{t}{1 - t},

    which counts a false positive as the odds of the threshold do. It is a mean over rows; its
    interval is the normal one of a mean, and Student's by the jackknife over clusters where rows
    belong to these.
    Where few rows or none are above the threshold, or have the event, the limits of Clopper and
    Pearson for the shares of true and false positives, combined as independent ones, reach farther
    and are taken; none leaves what is possible, -t / (1 - t) to 1. At thresholds from 0.1 to 0.5
    the intervals of 95 % held the net benefit in 94 to 96 % of 4,000 data sets of 200 and 1,000
    rows, of a calibrated and of an overconfident model, and in 93 to 95 % of such with 50 rows; of
    2 % of events and 50 rows in nearly all.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives a list.
    thresholds : (k,) array, default 0.01, 0.02, ..., 0.99
        Threshold probabilities, at least 0 and less than 1.
    confidence : float, default 0.95
        Of the intervals.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`.

    Returns
    -------
    NetBenefit
        Sample weights count an observation w_i times.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If the lens leaves more than two classes.

    References
    ----------
    Vickers, Elkin (2006), Decision curve analysis: a novel method for evaluating prediction models,
    Medical Decision Making 26; Pfeiffer, Gail (2020), Estimating the decision curve and its
    precision from three study designs, Biometrical Journal 62, for its variance; Zou, Donner
    (2008), Construction of confidence limits about effect measures: a general approach, Statistics
    in Medicine 27, equation 3.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", n=500, m=2, alpha=1.0, rng=1)
    >>> found = ct.measures.net_benefit(data, thresholds=[0.2, 0.5])
    >>> bool((found.model > found.treat_all).all())
    True
    """
    level = checks.check_confidence(confidence)
    at = np.unique(checks.as_numbers(thresholds, "thresholds").astype(np.float64))
    if at.size == 0 or not ((at >= 0) & (at < 1)).all():
        rule = "thresholds must hold probabilities of at least 0 and less than 1"
        raise invalid(rule, shown(thresholds), "pass thresholds=[0.1, 0.2]")
    found = partial(_net_benefit, at=at, level=level)
    return by_member(probs, labels, found, net_benefit, rows)


def _net_benefit(predictions: Predictions, at: Floats, level: float) -> NetBenefit:
    check_one_dimension(predictions, "the net benefit")
    weight, event = row_weights(predictions), predictions.labels == 1
    odds, total = at / (1.0 - at), float(weight.sum())
    clusters = np.zeros(1) if predictions.clusters is None else predictions.clusters
    number, df = np.arange(weight.size), math.inf
    if np.ptp(clusters) > 0:
        number = np.unique(clusters, return_inverse=True)[1]
        df = float(number.max())
    others = np.maximum(1.0 - np.bincount(number, weight) / total, LEAST)
    reach = student_isf(0.5 - 0.5 * level, df)
    model, error, unseen = np.empty(at.size), np.empty(at.size), np.empty((2, at.size))
    given = predictions.sample_weight, predictions.clusters
    rows = EventRows(np.zeros(predictions.n), event, *given)
    for k, threshold in enumerate(at.tolist()):
        treated = predictions.probs[:, 1] >= threshold
        gain = np.where(treated, np.where(event, 1.0, -odds[k]), 0.0)
        model[k] = weight @ gain / total
        # What the mean changes by without each row or cluster: the jackknife.
        change = np.bincount(number, weight * (gain - model[k])) / (total * others)
        error[k] = np.sqrt(np.square(change).sum() * (1.0 - 1.0 / change.size))
        parts = (rows._replace(happened=treated & one) for one in (event, ~event))
        both = (gap_of(one, "event", "").at(level) for one in parts)
        (a, b), (c, d) = ((one.observed - one.low, one.high - one.observed) for one in both)
        unseen[:, k] = math.hypot(a, odds[k] * d), math.hypot(b, odds[k] * c)
    rate = float(weight @ event / total)
    return NetBenefit(
        threshold=at,
        model=model,
        low=np.maximum(model - np.maximum(reach * error, unseen[0]), -odds),
        high=np.minimum(model + np.maximum(reach * error, unseen[1]), 1.0),
        treat_all=rate - (1.0 - rate) * odds,
        level=level,
        n=predictions.n,
    )
