"""Intervals where rows depend on each other: the jackknife over clusters."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from caltest.errors import NotApplicable
from caltest.intervals.base import Method
from caltest.intervals.bootstrap import GROUPS, Jackknife, jackknife, upper_end
from caltest.measures import Measure
from caltest.measures.outcome import Ends, Outcome, outcome_of
from caltest.measures.tolerance import Deviation, Tolerance, tolerance_of
from caltest.nulls.base import Draws, resampling_pvalue
from caltest.nulls.cluster import Clusters, cluster_test, dependence_parameters, plural
from caltest.numerics.tails import student_isf, student_sf
from caltest.predictions import Predictions
from caltest.types import Floats
from caltest.units import Flipped, check_unweighted

FEWEST_WITH_EVENTS = 10
STUDENT = "Student's t is exact where their sums are normal, with one variance"
LIMITS = "Student's interval, jackknife over {words}"


def compute(measure: Measure, predictions: Predictions, level: float, draws: Draws) -> Ends:
    r"""Interval of a measure by Student's t with the jackknife over clusters.

    With the values :math:`T_c` without one of C clusters,
    :math:`se^2 = \frac{C - 1}{C} \sum_c (T_c - \bar T)^2`, and the ends are :math:`T \pm t_{C-1}
    se`; more than 200 clusters are left out in groups. An error is biased upwards by noise, and by
    what the rows of a cluster share; its upper end keeps the bias, and `agreeing` with the test of
    the null "cluster" lowers the other.

    References
    ----------
    MacKinnon, Nielsen, Webb (2023), Cluster-robust inference: a guide to empirical practice, J.
    Econometrics 232, section 4 (CV3); Bell, McCaffrey (2002), Bias reduction in standard errors for
    linear regression with multi-stage samples, Survey Methodology 28.
    """
    clusters = Clusters.of(predictions)
    found = jackknife(measure, predictions, draws.seed, clusters.codes)
    estimate = found.estimate
    reach = student_isf((1.0 - level) / 2.0, found.degrees) * found.error
    low, high = estimate - reach, estimate + reach
    if measure.is_error:
        low, high = max(low, 0.0), upper_end(measure, estimate, reach)
    low = low if measure.least_score is None else max(low, measure.least_score)
    words = LIMITS.format(words=clusters.words())
    return Ends(low, high, estimate, words, clusters.notes(STUDENT))


def cluster_tolerance_test(
    measure: Measure, predictions: Predictions, *, tolerance: Tolerance, **resamples: Any
) -> Outcome:
    r"""Test a tolerance where rows depend on each other: the interval above, inverted.

    For "at most :math:`\tau`", p is the larger of that of Student's t for
    :math:`(T - \tau) / se` and of the share of flipped signs with an error of :math:`T - \tau` or
    more. For "at least", it is that of :math:`(\tau - T) / se`, and no less than the tail of
    numbers of events that independent rows have at the tolerance; a squared error has the largest
    standard error that it can have at the tolerance, see `squared_deviation`.

    Raises
    ------
    NotApplicable
        If the measure has no tolerance, or fewer than 10 clusters hold events of either kind.
    """
    known, draws = tolerance_of(measure), Draws(**resamples)
    check_unweighted(predictions, "a tolerance", "leave out tolerance=")
    clusters = Clusters.of(predictions)
    hits = predictions.labels == predictions.predicted
    for kind in (hits, ~hits):
        count = np.unique(clusters.codes[kind]).size
        if count < FEWEST_WITH_EVENTS:
            raise NotApplicable(
                f"{count} {plural(clusters.unit)} hold events of one kind, and fewer than "
                f"{FEWEST_WITH_EVENTS} do not show how much the error varies",
                "collect more of them",
            )
    # A root has no jackknife error where it is 0; its square has one.
    squares = tolerance.equivalence and known.tolerance_method == "limit"
    used = measure.unrooted if squares else measure
    tau = tolerance.value if used is measure else tolerance.value**2
    found = jackknife(used, predictions, draws.seed, clusters.codes)
    z, degrees = (found.estimate - tau) / found.error, float(found.degrees)
    if squares:
        z = squared_deviation(used, predictions, clusters, found).z(tau)
        degrees = min(degrees, effective_count(clusters) - 1.0)
    drawn: int | None = None
    if tolerance.equivalence:
        floor = known.boundary_tail(predictions, tolerance)
    else:
        flipped = cluster_test(measure, predictions, draws).distribution
        floor = 0.0 if flipped is None else resampling_pvalue(found.estimate - tau, flipped)
        drawn = None if flipped is None else flipped.size
    pvalue = max(student_sf(tolerance.signed(z), degrees), floor)
    text = LIMITS.format(words=clusters.words()).replace("interval", "limit")
    estimate = found.estimate if used is measure else math.sqrt(max(found.estimate, 0.0))
    text += ", at least that of flipped signs" if drawn else ""
    about: dict[str, Any] = {"alternative": tolerance.alternative, "n_resamples": drawn}
    about["notes"] = clusters.notes(STUDENT)
    about["parameters"] = {"tolerance": tolerance.value, **dependence_parameters(predictions)}
    return outcome_of("t", z, pvalue, text, estimate, **about)


def squared_deviation(
    measure: Measure, predictions: Predictions, clusters: Clusters, found: Jackknife
) -> Deviation:
    r"""Return what the standard error of a squared error is made of, with clusters as the rows.

    With M the products of the sums of two clusters, in units of the error, and 0 on its diagonal,
    the variance of the estimate is about :math:`2 \|M\|_F^2` where the error is 0, and at an error
    of 1 at most 4 times the largest eigenvalue of the covariance of the sums, which is at most
    :math:`(\mathrm{tr} M^4)^{1/4}`. Where rows of a cluster are alike, the estimate is too large,
    which speaks against a small error.
    """
    (statistic,) = measure.residual_statistics(predictions)
    groups, count = clusters.codes, clusters.count
    if count > GROUPS:
        groups, count = groups * GROUPS // count, GROUPS
    products = pair_products(statistic.flipped(groups, count), count)
    square = products @ products
    return Deviation(
        value=found.estimate,
        variance=found.error**2,
        degenerate=2.0 * float(np.trace(square)),
        largest=4.0 * math.sqrt(float(np.linalg.norm(square))),
    )


def pair_products(quadratic: Flipped, count: int) -> Floats:
    """Return the matrix (C, C) of a quadratic form of the signs, 0 on its diagonal.

    A sign of 0 leaves a cluster out, so that pairs and single clusters give the products.
    """
    single = np.eye(count)
    none, alone = quadratic(np.zeros((1, count)))[0], quadratic(single)
    out = np.zeros((count, count))
    for c in range(1, count):
        both = quadratic(single[:c] + single[c])
        out[c, :c] = 0.5 * (both - alone[:c] - alone[c] + none)
    return out + out.T


def effective_count(clusters: Clusters) -> float:
    """Return how many clusters of equal size vary as much in their squares (Kish)."""
    sizes = clusters.sizes.astype(float)
    return float(sizes.sum() ** 2 / np.square(sizes).sum())


METHOD = Method("cluster", "Student's limit, jackknife over clusters", compute, resamples=False)
