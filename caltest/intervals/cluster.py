"""Intervals where rows depend on each other: the jackknife over clusters."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.intervals.base import Method
from caltest.intervals.row_functions import GROUPS, row_function
from caltest.measures import Measure
from caltest.measures.base import Ends
from caltest.nulls.cluster import Clusters, cluster_test
from caltest.numerics.tails import student_isf
from caltest.predictions import Predictions

Floats = NDArray[np.float64]

LIMITS = "Student's interval, jackknife over {words}"


def compute(
    measure: Measure,
    predictions: Predictions,
    *,
    level: float,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Ends:
    r"""Interval of a measure by Student's t with the jackknife over clusters.

    With the values :math:`T_c` without one of C clusters,
    :math:`se^2 = \frac{C - 1}{C} \sum_c (T_c - \bar T)^2`, and the ends are :math:`T \pm t_{C-1}
    se`; more than 200 clusters are left out in groups. An error is biased upwards by noise, and by
    what the rows of a cluster share. So its lower end is 0 unless the null "cluster" rejects at 1 -
    level, and no larger than the estimate less the quantile of the errors with flipped signs; its
    upper end keeps the bias.

    References
    ----------
    MacKinnon, Nielsen, Webb (2023), Cluster-robust inference: a guide to empirical practice, J.
    Econometrics 232, section 4 (CV3); Bell, McCaffrey (2002), Bias reduction in standard errors for
    linear regression with multi-stage samples, Survey Methodology 28.
    """
    clusters = Clusters.of(predictions)
    function = row_function(measure, predictions)
    estimate = function(np.arange(predictions.n, dtype=np.int32))
    values = np.array([function(rows) for rows in rows_without(clusters, seed)])
    if not (math.isfinite(estimate) and np.isfinite(values).all()):
        raise NotApplicable(
            f"the {measure.symbol} is infinite for these rows or without a cluster",
            "report the p-value alone",
        )
    groups = values.size
    error = math.sqrt((groups - 1) / groups * float(np.square(values - values.mean()).sum()))
    if error == 0:
        raise NotApplicable(
            f"the {measure.symbol} is the same without any cluster", "report the p-value alone"
        )
    reach = student_isf((1.0 - level) / 2.0, groups - 1) * error
    low, high = estimate - reach, estimate + reach
    if is_error(measure):
        noise = _noise(measure, predictions, level, n_resamples, seed, n_jobs)
        low, high = max(min(low, estimate - noise), 0.0), max(estimate, 0.0) + reach
        if measure.is_squared:
            high += reach * reach / (4.0 * max(estimate, reach / 2.0))
    scores = measure.row_scores(predictions)
    low = low if scores is None else max(low, scores.least)
    words = LIMITS.format(words=clusters.words())
    return Ends(low, high, estimate, words, clusters.notes())


def is_error(measure: Measure) -> bool:
    """Tell whether a measure is an error that grows from 0, and not a score or a coefficient."""
    return measure.alternative == "greater" and "plug-in" in measure.intervals


def rows_without(clusters: Clusters, seed: int) -> list[NDArray[np.int32]]:
    """Return the rows without each cluster, or where there are many, without groups of them."""
    order = np.arange(clusters.count)
    if clusters.count > GROUPS:
        order = np.random.default_rng(seed).permutation(order)
    group_of = np.empty(clusters.count, dtype=np.int64)
    groups = np.array_split(order, min(clusters.count, GROUPS))
    for number, group in enumerate(groups):
        group_of[group] = number
    own = group_of[clusters.codes]
    return [np.flatnonzero(own != number).astype(np.int32) for number in range(len(groups))]


def _noise(
    measure: Measure,
    predictions: Predictions,
    level: float,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> float:
    """Return how large the error is with flipped signs; infinite where the test does not reject."""
    test = cluster_test(measure, predictions, n_resamples=n_resamples, seed=seed, n_jobs=n_jobs)
    if test.pvalue > 1.0 - level or test.distribution is None:
        return math.inf
    if test.statistic_name != measure.symbol:
        return 0.0
    return float(np.quantile(test.distribution, 0.5 + level / 2.0))


METHOD = Method("cluster", "Student's limit, jackknife over clusters", compute, resamples=True)
