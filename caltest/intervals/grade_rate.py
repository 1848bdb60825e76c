"""Intervals for the default rate of a rating grade: the rates that its test does not reject."""

from __future__ import annotations

from scipy.optimize import brentq
from scipy.special import expit

from caltest.intervals.base import Bounds, Method
from caltest.measures import Measure
from caltest.measures.grades.grade import GradeMeasure, counted
from caltest.measures.grades.normal import Normal
from caltest.predictions import Predictions

LEAST, LARGEST = -50.0, 36.0  # log odds of the rates that are looked at: 2e-22, and 1 - 2e-16
FEW = 10
SPARSE = (
    f"with fewer than {FEW} defaults or survivors the normal law is rough, and the interval can be "
    "too short; that of the test 'binomial' is not"
)


def applies(measure: Measure) -> bool:
    """Tell whether the measure counts the defaults of a grade."""
    return isinstance(measure, GradeMeasure)


def compute(
    measure: Measure,
    predictions: Predictions,
    *,
    level: float,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Bounds:
    r"""Bound the rate by those PDs whose tails both exceed (1 - level) / 2.

    By the law of its test: Clopper-Pearson for "binomial", the equal-tailed interval of the
    posterior for "jeffreys", Wilson's for "normal", and for "vasicek" the PDs from which a year
    with one common factor brings so many defaults. The PD of the grade has no part in it.

    References
    ----------
    Clopper, Pearson (1934), Biometrika 26; Wilson (1927), JASA 22; Brown, Cai, DasGupta (2001),
    Interval estimation for a binomial proportion, Statistical Science 16, sections 3 and 4.
    """
    if not isinstance(measure, GradeMeasure):
        raise TypeError(measure)
    d, n, _, _ = counted(measure, predictions)
    return of_counts(measure, d, n, level=level)


def of_counts(measure: GradeMeasure, d: int, n: int, *, level: float) -> Bounds:
    """Bound the rate from d defaults of n obligors; no rows needed."""
    a = (1.0 - level) / 2.0

    def root(tail: int) -> float:
        def excess(odds: float) -> float:
            return measure.tails(d, n, float(expit(odds)))[tail] - a

        return float(expit(brentq(excess, LEAST, LARGEST, xtol=1e-13)))

    low, high = root(0) if d > 0 else 0.0, root(1) if d < n else 1.0
    few = isinstance(measure, Normal) and min(d, n - d) < FEW
    return Bounds(low, high, d / n, f"inverted test, {measure.law}", (SPARSE,) if few else ())


METHOD = Method(
    "grade-rate", "rates that the test does not reject", applies, compute, resamples=False
)
