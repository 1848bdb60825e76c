"""Platt scaling, Platt 1999: a logistic regression on one score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit

from caltest.calibrators.base import BinaryCalibrator, Coefficient
from caltest.calibrators.binary.log_odds import (
    LogOddsFit,
    LogOddsModel,
    fit_constant,
    is_increasing,
    with_weights,
    within_reach,
)
from caltest.calibrators.inputs import SMALLEST_PROBABILITY, Inputs
from caltest.checks import check_choice, check_flag
from caltest.types import Flags, Floats

__all__ = ["PlattScaling"]

SCALES = ("log-odds", "probability")


@dataclass(kw_only=True, eq=False, repr=False)
class PlattScaling(BinaryCalibrator):
    r"""Platt scaling: logistic regression on a score of the prediction.

    .. math:: P(Y = 1) = \frac{1}{1 + \exp(-(\alpha f + \beta))}

    The slope and intercept maximise the likelihood. The order of the predictions is kept where the
    slope is positive, and turned around where it is negative: then the score speaks against the
    event.

    Parameters
    ----------
    scale : {"log-odds", "probability"}, default "log-odds"
        What f is. Platt's own is the output of a support vector machine: pass such scores with
        `from_logits=True`, where log odds are taken as they are. scikit-learn's "sigmoid"
        takes whatever the classifier gives, so that "probability" is what it does with
        `predict_proba`.
    smooth_targets : bool, default False
        Fit to (N_1 + 1) / (N_1 + 2) where the event occurred and 1 / (N_0 + 2) where not, with N_1
        and N_0 the numbers of such rows (the sums of their weights), as Platt does against
        overfitting, and scikit-learn too.
    clip : float, default 2.2e-16
        In (0, 0.1]; smaller probabilities of either class are raised to it before their log odds
        are taken. Logits are not clipped.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.

    Attributes
    ----------
    slope_, intercept_ : float
        The parameters. Without smoothing: where all labels or all scores are equal, the slope is 0
        and the map is the share of events, within [2.2e-16, 1 - 2.2e-16]; where a threshold
        separates the classes the likelihood has no maximum, and the mean loss is minimised plus
        1e-8 (slope sd)^2 / 2, with sd the standard deviation of the scores, so that the slope is
        at most 1.2e4 / sd.
        In the fit, log odds that are 1e6 times the range of the middle 80 % of them, or 1e6 where
        that range is below 1, away from those, count as no further.
    standard_errors_ : dict
        Those of "slope" and "intercept", from the observed information, with sample weights as
        counts; None where the likelihood has no maximum.

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines, Advances in Large Margin
    Classifiers, section 2 (with the opposite signs), 2.2 for the targets; Lin, Lin, Weng (2007), A
    note on Platt's probabilistic outputs for support vector machines, Machine Learning 68.

    Examples
    --------
    >>> from caltest.calibrators import PlattScaling
    >>> platt = PlattScaling().fit([0.1, 0.4, 0.6, 0.8, 0.7, 0.3], [0, 1, 0, 1, 1, 0])
    >>> round(platt.slope_, 4), round(platt.intercept_, 4)
    (1.6175, 0.0771)
    >>> platt.predict_proba([0.9]).round(4)
    array([[0.0258, 0.9742]])
    """

    key: ClassVar[str] = "platt"
    title: ClassVar[str] = "Platt scaling"

    scale: str = "log-odds"
    smooth_targets: bool = False
    clip: float = SMALLEST_PROBABILITY

    def _fit_event(self, inputs: Inputs, event: Flags, weight: Floats | None) -> None:
        check_choice(self.scale, SCALES, "scale")
        smooth = check_flag(self.smooth_targets, "smooth_targets")
        score, event, weight = with_weights(weight, self._score(inputs), event)
        if self.scale == "log-odds":
            score = within_reach(score)
        targets = _smoothed(event, weight) if smooth else event.astype(np.float64)
        fit = self._best(score, event, targets, weight)
        names = ("slope", "intercept")[-1 - len(fit.coef) :]
        self.slope_, self.intercept_ = (*fit.coef.tolist(), 0.0)[0], fit.intercept
        self.standard_errors_: dict[str, float | None] = {"slope": None, "intercept": None}
        if fit.stderr is not None:
            self.standard_errors_ |= dict(zip(names, fit.stderr.tolist(), strict=True))

    def _best(
        self, score: Floats, event: Flags, targets: Floats, weight: Floats | None
    ) -> LogOddsFit:
        if targets.min() == targets.max():
            return fit_constant(targets, weight, intercept=True)
        model = LogOddsModel(score[np.newaxis], weight, intercept=True)
        if not model.is_determined:
            self._note("all scores are equal: the slope is set to 0")
            return fit_constant(targets, weight, intercept=True)
        separated = not self.smooth_targets and (
            is_increasing(score, event) or is_increasing(score, ~event)
        )
        if separated:
            self._note(
                "the scores separate the classes: the slope is infinite and set to its limit"
            )
        return model.fit(targets, separated=separated)

    def _score(self, inputs: Inputs) -> Floats:
        inputs = inputs.clipped(self.clip)
        return inputs.log_odds if self.scale == "log-odds" else inputs.event

    def _event(self, inputs: Inputs) -> Floats:
        with np.errstate(over="ignore"):  # to log odds of inf, the probability 1
            log_odds = self.slope_ * self._score(inputs) + self.intercept_
        event: Floats = expit(log_odds)
        return event

    def coefficients(self) -> Sequence[Coefficient]:
        values = {"slope": self.slope_, "intercept": self.intercept_}
        # On the scale of probabilities no slope and intercept are the identity.
        neutral = {"slope": 1.0, "intercept": 0.0} if self.scale == "log-odds" else {}
        return [
            Coefficient(name, v, self.standard_errors_[name], neutral.get(name))
            for name, v in values.items()
        ]


def _smoothed(event: Flags, weight: Floats | None) -> Floats:
    """Return Platt's targets; huge weights leave them inside of (0, 1) too."""
    if weight is None:
        events, others = float(event.sum()), float((~event).sum())
    else:
        largest = float(weight.max())  # so that no sum overflows
        events = largest * float((weight[event] / largest).sum())
        others = largest * float((weight[~event] / largest).sum())
    low, high = 1 / (others + 2), 1 - 1 / (events + 2)
    return np.where(event, min(high, 1 - SMALLEST_PROBABILITY), max(low, SMALLEST_PROBABILITY))
