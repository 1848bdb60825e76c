"""Likelihood ratios of logistic recalibration, for two classes and for more."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from caltest.errors import NotApplicable
from caltest.measures.base import Labels, Limit
from caltest.measures.recalibration import (
    NO_SLOPE,
    BoundLikelihood,
    BoundRecalibration,
    raised,
    varying,
)
from caltest.numerics.multinomial_recalibration import class_sums, fit, make_task
from caltest.predictions import Predictions
from caltest.validation import check_class, check_unused

Floats = NDArray[np.float64]

HYPOTHESES = {
    "both": "intercept 0 and slope 1",
    "intercept": "intercept 0 for slope 1",
    "slope": "slope 1 with the intercept free",
}
SLOPES = ("common", "reference")


class BinaryRatio(BoundRecalibration):
    """The ratio of two classes, of which the one-parameter tests are parts."""

    def __init__(self, predictions: Predictions, tested: str) -> None:
        named = f"the test of {HYPOTHESES[tested]}"
        super().__init__(predictions, named, with_slope=tested != "intercept")
        self._tested = tested
        self.df = {"both": 1 + self.has_slope, "intercept": 1, "slope": int(self.has_slope)}[tested]
        intercept1, intercept, slope = self.recalibrations(self.observed[None])[0][0].tolist()
        self._estimates = {"intercept": intercept1, "slope": slope}
        self.parameters = {"hypothesis": HYPOTHESES[tested]}
        if tested == "both":
            self.parameters |= {"intercept": intercept, "slope": slope}
        self.degenerate = self.messages()

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        _, gains = self.recalibrations(labels)
        gained = gains[:, 0 if self._tested == "intercept" else 1]
        if self._tested == "slope":
            gained = np.maximum(gained - gains[:, 0], 0.0)
        return self.likelihood_ratio(gained, labels)

    def estimate(self, value: float) -> float:
        return float(self._estimates.get(self._tested, value))


class MultinomialRatio(BoundLikelihood):
    """The ratio of several classes."""

    def __init__(self, predictions: Predictions, slopes: str, reference: int) -> None:
        super().__init__(predictions)
        probs = raised(self.predictions.probs)
        self._task = make_task(probs, self.weight, reference if slopes == "reference" else -1)
        possible = int((self.predictions.probs > 0).any(axis=0).sum())
        slope_of = varying(np.log(probs) - np.log(probs[:, [reference]]))
        free = int(slope_of.sum()) if slopes == "reference" else int(slope_of.any())
        self.df = possible - 1 + free
        self.parameters = {"slopes": slopes}
        if slopes == "reference":
            self.parameters |= {"reference": self.predictions.classes[reference]}
        else:
            self.parameters |= {"slope": self._slope()}
        self.degenerate = self.extremes if free else (*self.extremes, NO_SLOPE)

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        sums = class_sums(labels, self._task.features, self.weight)
        gains = np.array([fit(self._task, each).gain for each in sums])
        return self.likelihood_ratio(gains, labels)

    def _slope(self) -> float:
        (sums,) = class_sums(self.observed[None], self._task.features, self.weight)
        return 1.0 + float(fit(self._task, sums).beta[self.predictions.labels[0]])


Ratio = BinaryRatio | MultinomialRatio


def bind_ratio(predictions: Predictions, tested: str, slopes: str, reference: object) -> Ratio:
    """Bind the ratio of two classes, or that of several where both parameters are tested."""
    if predictions.m == 2:
        chosen = None if slopes == "common" else slopes
        check_unused("where the lens leaves two classes", slopes=chosen, reference=reference)
    if predictions.m == 2 or tested != "both":
        return BinaryRatio(predictions, tested)
    column = 0 if reference is None else check_class(reference, predictions.classes, "reference")
    return MultinomialRatio(predictions, slopes, column)


def chi2_limit(bound: Ratio, ratio: float, estimate: float) -> Limit:
    """Return the chi^2 limit of a likelihood ratio."""
    if bound.df == 0:
        raise NotApplicable(f"{NO_SLOPE}; use test='calibration-in-the-large'")
    law = f"chi^2 limit with {bound.df} degree{'s' if bound.df > 1 else ''} of freedom"
    pvalue = float(chdtrc(bound.df, ratio))
    return Limit("LR", ratio, pvalue, estimate, law, bound.parameters, degenerate=bound.degenerate)
