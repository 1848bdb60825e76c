"""Measures of one rating grade: the number of defaults, judged by the law of a credit-risk test."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray
from scipy.special import betainc, ndtr, ndtri

from caltest import validation
from caltest.errors import NotApplicable
from caltest.measures.base import Labels, Limit, Measure
from caltest.measures.label_scores import BinaryScore
from caltest.measures.one_dimension import check_one_dimension
from caltest.numerics.label_scores import binary_event_sums
from caltest.predictions import Predictions

Floats = NDArray[np.float64]
ALTERNATIVES = ("greater", "two-sided")
CERTAIN = (
    "the PD of the grade is {pd:g}, so that its number of defaults is certain: p is 1 where it is "
    "observed, and the least positive number where it is impossible"
)
MIXED = (
    "the predictions of the grade differ, {low:.4g} to {high:.4g}; the law takes their mean for "
    "each, under which the number of defaults varies more"
)
AS_THEY_ARE = "; null='exact' takes them as they are"
Tails = tuple[float, float]
NODES, WEIGHTS = leggauss(16)
FARTHEST = 38.0  # the normal density underflows beyond
STEPS = np.array([0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0])


class BoundGrade(BinaryScore):
    """The number of defaults, class 1 under the lens; with sample weights their sum."""

    def __init__(self, predictions: Predictions, measure: GradeMeasure) -> None:
        check_one_dimension(predictions, measure.title)
        super().__init__(predictions, binary_event_sums)
        self.pd = float(self._event @ self._weight / self._total)
        self.parameters = {"PD": self.pd, "alternative": measure.alternative}

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        return self._sums(labels, self._event, self._weight)

    def estimate(self, value: float) -> float:
        return value / self._total


@dataclass(frozen=True, kw_only=True)
class GradeMeasure(Measure):
    """The number of defaults with the alternative that its test is for."""

    alternative: str = "greater"  # type: ignore[misc]  # an option here, fixed in other measures

    def __post_init__(self) -> None:
        validation.check_choice(self.alternative, ALTERNATIVES, "alternative")

    @property
    def symbol(self) -> str:
        return "defaults"

    @property
    def estimate_symbol(self) -> str:
        return "default rate"

    @property
    def nulls(self) -> tuple[str, ...]:
        return ("closed-form", "exact", "consistency")

    @property
    @abstractmethod
    def law(self) -> str:
        """The law of the number of defaults, in words."""

    @abstractmethod
    def tails(self, d: int, n: int, pd: float) -> Tails:
        """Return P(D >= d) and P(D <= d) for n obligors with 0 < pd < 1."""

    def settings(self, pd: float) -> Mapping[str, object]:
        """Return the parameters of the law."""
        return {"PD": pd}

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundGrade:
        return BoundGrade(predictions, self)

    def closed_form(self, predictions: Predictions, n_jobs: int | None = None) -> Limit:
        """Judge the number of defaults in a grade whose PD is the mean prediction."""
        d, n, pd, notes = counted(self, predictions)
        return self.judge_grade(d, n, pd, notes)

    def judge_grade(self, d: int, n: int, pd: float, notes: tuple[str, ...] = ()) -> Limit:
        """Judge d defaults of n obligors with the probability of default pd; no rows needed."""
        certain = pd in {0.0, 1.0}
        tails = certain_tails(d, n, pd) if certain else self.tails(d, n, pd)
        degenerate = (CERTAIN.format(pd=pd),) if certain else ()
        return Limit(
            name="defaults",
            statistic=float(d),
            pvalue=pvalue_of(tails, self.alternative),
            estimate=d / n,
            law=f"{self.law}, {self.alternative}",
            parameters=self.settings(pd),
            notes=notes,
            degenerate=degenerate,
        )


def counted(
    measure: GradeMeasure, predictions: Predictions
) -> tuple[int, int, float, tuple[str, ...]]:
    """Return defaults, obligors and PD of a grade, and a note where its predictions differ."""
    check_one_dimension(predictions, measure.title)
    if predictions.sample_weight is not None:
        raise NotApplicable(
            f"{measure.title}: its law takes no weights; use the test 'binomial' and null='exact'"
        )
    event = predictions.probs[:, 1]
    low, high = float(event.min()), float(event.max())
    # The mean of equal predictions is that prediction, to the last bit.
    pd = low if low == high else float(event.mean())
    mixed = MIXED.format(low=low, high=high) + AS_THEY_ARE * ("exact" in measure.nulls)
    notes = (mixed,) if high > low else ()
    return int(np.count_nonzero(predictions.labels)), predictions.n, pd, notes


def pvalue_of(tails: Tails, alternative: str) -> float:
    """Return the upper tail, or twice the smaller of both."""
    upper, lower = tails
    return upper if alternative == "greater" else min(1.0, 2.0 * min(upper, lower))


def certain_tails(d: int, n: int, pd: float) -> Tails:
    """Where pd is 0 or 1 the number of defaults is certain."""
    certain = n * round(pd)
    return float(d <= certain), float(d >= certain)


def binomial_tails(d: int, n: int, pd: float) -> Tails:
    """Independent defaults; the tails are incomplete beta functions."""
    upper = float(betainc(d, n - d + 1, pd)) if d > 0 else 1.0
    lower = float(betainc(n - d, d + 1, 1.0 - pd)) if d < n else 1.0
    return upper, lower


def jeffreys_tails(d: int, n: int, pd: float) -> Tails:
    """Posterior probability, from Jeffreys' prior, of a rate of at most pd, and of at least pd."""
    upper = float(betainc(d + 0.5, n - d + 0.5, pd))
    lower = float(betainc(n - d + 0.5, d + 0.5, 1.0 - pd))
    return upper, lower


def normal_score(d: int, n: int, pd: float) -> float:
    """Return the number of defaults in standard deviations from its mean; 0 < pd < 1."""
    return (d - n * pd) / math.sqrt(n * pd * (1.0 - pd))


def factor_tails(d: int, n: int, pd: float, correlation: float) -> Tails:
    """Defaults that are independent given one normal factor, Vasicek 2002; 0 < correlation < 1.

    The binomial tails given the factor z are integrated over its density by Gauss-Legendre
    quadrature in panels, narrow where the conditional rate passes d / n. All terms are positive,
    so that small tails keep their relative precision.
    """
    z, weight = _factor(d, n, pd, correlation)
    mass = weight * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
    x = (ndtri(pd) + math.sqrt(correlation) * z) / math.sqrt(1.0 - correlation)
    upper = float(mass @ betainc(d, n - d + 1, ndtr(x))) if d > 0 else 1.0
    lower = float(mass @ betainc(n - d, d + 1, ndtr(-x))) if d < n else 1.0
    return min(upper, 1.0), min(lower, 1.0)


def factor_limit_tails(d: int, n: int, pd: float, correlation: float) -> Tails:
    """The same for n to infinity, where the default rate given the factor is that of the model."""
    with np.errstate(divide="ignore"):  # no default, or nothing but defaults
        rate = ndtri(d / n)
    z = (math.sqrt(1.0 - correlation) * rate - ndtri(pd)) / math.sqrt(correlation)
    return float(ndtr(-z)), float(ndtr(z))


def _factor(
    d: int, n: int, pd: float, correlation: float
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], ...]:
    """Return nodes and weights for the factor."""
    rate = (d + 0.5) / (n + 1.0)
    x = float(ndtri(rate))
    slope = (
        math.sqrt(correlation / (1.0 - correlation))
        * math.exp(-0.5 * x**2)
        / math.sqrt(2.0 * math.pi)
    )
    centre = (math.sqrt(1.0 - correlation) * x - float(ndtri(pd))) / math.sqrt(correlation)
    width = math.sqrt(rate * (1.0 - rate) / (n + 1.0)) / slope
    cuts = np.concatenate([np.linspace(-FARTHEST, FARTHEST, 77), [centre]])
    cuts = np.concatenate([cuts, centre + width * STEPS, centre - width * STEPS])
    cuts = np.unique(np.clip(cuts, -FARTHEST, FARTHEST))
    half = np.diff(cuts) / 2.0
    nodes = (cuts[:-1] + half)[:, None] + half[:, None] * NODES
    return nodes.ravel(), (half[:, None] * WEIGHTS).ravel()
