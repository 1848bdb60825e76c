"""Quadratic scaling: logistic regression on the log odds and their square."""

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
    is_interval,
    with_weights,
    within_reach,
)
from caltest.calibrators.inputs import SMALLEST_PROBABILITY, Inputs
from caltest.types import Flags, Floats

NAMES = ("intercept", "slope", "quadratic")


@dataclass(kw_only=True, eq=False, repr=False)
class QuadraticScaling(BinaryCalibrator):
    r"""Quadratic scaling: logistic regression on the log odds and their square.

    .. math:: \ln \frac{\mu(p)}{1 - \mu(p)} = \beta_0 + \beta_1 s + \beta_2 s^2,
        \qquad s = \ln \frac{p}{1 - p}

    The parameters maximise the likelihood. It is the map that is right where the log odds of either
    class are normal, with variances that may differ; of equal ones :math:`\beta_2 = 0`, as in
    `PlattScaling`. A map with :math:`\beta_2 \ne 0` turns the order of predictions around beyond
    :math:`s = -\beta_1 / 2 \beta_2`, which may lie within the data.

    Parameters
    ----------
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
    intercept_, slope_, quadratic_ : float
        The parameters. Where all labels or all predictions are equal, slope and quadratic are 0 and
        the map is the share of events; where the predictions take two values, the quadratic is 0.
        Where an interval separates the classes, the mean loss is minimised plus 1e-8 / 2 times the
        sum of squares of the slopes per standard deviation of their features.
    standard_errors_ : dict
        Those of "intercept", "slope" and "quadratic", from the observed information, with sample
        weights as counts; None where a parameter is set to 0 or the likelihood has no maximum.

    References
    ----------
    Berta, Holzmueller, Jordan, Bach (2025), Structured matrix scaling for multi-class calibration,
    arXiv 2511.03685, which calls it quadratic scaling.

    Examples
    --------
    >>> from caltest.calibrators import QuadraticScaling
    >>> p, y = [0.1, 0.4, 0.6, 0.8, 0.7, 0.3, 0.9], [0, 1, 0, 1, 1, 0, 1]
    >>> quadratic = QuadraticScaling().fit(p, y)
    >>> quadratic.predict_proba([0.4, 0.8])[:, 1].round(4)
    array([0.3437, 0.9286])
    """

    key: ClassVar[str] = "quadratic"
    title: ClassVar[str] = "Quadratic scaling"

    clip: float = SMALLEST_PROBABILITY

    def _fit_event(self, inputs: Inputs, event: Flags, weight: Floats | None) -> None:
        score = within_reach(inputs.clipped(self.clip).log_odds)
        score, event, weight = with_weights(weight, score, event)
        fit = self._best(score, event, weight)
        values = [fit.intercept, *fit.coef.tolist(), 0.0, 0.0]
        self.intercept_, self.slope_, self.quadratic_ = values[:3]
        self.standard_errors_: dict[str, float | None] = dict.fromkeys(NAMES)
        if fit.stderr is not None:
            errors = np.roll(fit.stderr, 1).tolist()
            self.standard_errors_ |= dict(zip(NAMES, errors, strict=False))

    def _best(self, score: Floats, event: Flags, weight: Floats | None) -> LogOddsFit:
        targets = event.astype(np.float64)
        if event.min() == event.max():
            return fit_constant(targets, weight, intercept=True)
        both = np.stack([score, score**2])
        for features in (both, both[:1]):
            model = LogOddsModel(features, weight, intercept=True)
            if not model.is_determined:
                continue
            if len(features) == 2:
                separated = is_interval(score, event)
            else:
                self._note("the predictions take too few values: the quadratic is set to 0")
                separated = is_increasing(score, event) or is_increasing(score, ~event)
            if separated:
                text = "the slopes are infinite and set to their limits"
                self._note(f"the predictions separate the classes: {text}")
            return model.fit(targets, separated=separated)
        self._note("all predictions are equal: slope and quadratic are set to 0")
        return fit_constant(targets, weight, intercept=True)

    def _event(self, inputs: Inputs) -> Floats:
        s = inputs.clipped(self.clip).log_odds
        with np.errstate(over="ignore", invalid="ignore"):  # to log odds of inf
            log_odds = self.intercept_ + (self.slope_ + self.quadratic_ * s) * s
        event: Floats = expit(log_odds)
        return event

    def coefficients(self) -> Sequence[Coefficient]:
        values = (self.intercept_, self.slope_, self.quadratic_)
        return [
            Coefficient(name, value, self.standard_errors_[name], float(name == "slope"))
            for name, value in zip(NAMES, values, strict=True)
        ]
