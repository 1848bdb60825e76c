"""Temperature scaling, Guo et al. 2017."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from caltest.calibrators.base import CalibrationSet, Calibrator, Coefficient
from caltest.calibrators.inputs import SMALLEST_PROBABILITY, Floats, Inputs
from caltest.calibrators.linear.logit_rows import logit_rows
from caltest.calibrators.linear.temperature_loops import inverse_temperature
from caltest.numerics.softmax import softmax

__all__ = ["TemperatureScaling"]

SMALLEST_TEMPERATURE = 1e-6
LARGEST_TEMPERATURE = 1e6


class TemperatureScaling(Calibrator):
    r"""Temperature scaling: one number that makes all predictions more or less confident.

    .. math:: \hat p = \mathrm{softmax}(z / T),

    where z are the logits, or the logarithms of the probabilities, and T > 0 minimises the weighted
    mean log loss. The loss is convex in 1/T, and Newton's method finds its minimum to the last
    digits, with bisection as a safeguard. The order of the classes of a prediction does not change,
    and neither does its most probable class.

    T lies between 1e-6 and 1e6, with a DegenerateDataWarning at both ends: the loss falls down to
    T = 0 where each label is the most probable class of its row, and up to infinite T where the
    labels have lower logits than other classes on average. T = 1, likewise with a warning, where
    each row predicts the uniform distribution.

    Parameters
    ----------
    clip : float, default 2.2e-16
        In (0, 0.1]; smaller probabilities are raised to it before their logarithm is taken. Logits
        are not clipped.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.

    Attributes
    ----------
    temperature_ : float
        T: above 1 the predictions were too confident.
    temperature_stderr_ : float or None
        Its standard error by the delta method, :math:`T^2 / \sqrt{I(1/T)}` with the observed
        information I of the weighted sample; None at the ends of the range.
    linear_ : tuple of (m, m) array and (m,) array
        W and b of softmax(W z + b): the identity over T, and zeros.

    References
    ----------
    Guo et al. (2017), On calibration of modern neural networks, ICML, equation 9.

    Examples
    --------
    >>> from caltest.calibrators import TemperatureScaling
    >>> probs = [[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.9, 0.1]]
    >>> calibrator = TemperatureScaling().fit(probs, ["no", "no", "yes", "yes"])
    >>> round(calibrator.temperature_, 9)  # three of four are right, and log 9 = 2 log 3
    2.0
    >>> calibrator.predict_proba([[0.9, 0.1]]).round(9)
    array([[0.75, 0.25]])
    """

    key: ClassVar[str] = "temperature"
    title: ClassVar[str] = "Temperature scaling"

    def __init__(
        self,
        *,
        clip: float = SMALLEST_PROBABILITY,
        from_logits: bool = False,
        classes: Sequence[Any] | None = None,
    ) -> None:
        super().__init__(from_logits=from_logits, classes=classes)
        self.clip = clip

    def _logits(self, inputs: Inputs) -> Floats:
        return inputs.clipped(self.clip).logits

    def _fit(self, data: CalibrationSet) -> None:
        rows = logit_rows(data, self._logits)
        bounds = (1 / LARGEST_TEMPERATURE, 1 / SMALLEST_TEMPERATURE)
        beta, curvature = inverse_temperature(rows.logits, rows.codes, rows.weight, bounds)
        self.temperature_, self.temperature_stderr_ = 1 / beta, None
        inside = bounds[0] < beta < bounds[1]
        if inside and curvature > 0:
            information = math.sqrt(curvature) * math.sqrt(rows.total)
            self.temperature_stderr_ = self.temperature_**2 / information
        elif inside or (rows.logits == rows.logits[:, :1]).all():
            self.temperature_ = 1.0
            self._note(
                "each row predicts the uniform distribution: any temperature fits, T = 1 is kept"
            )
        elif beta == bounds[0]:
            self.temperature_ = LARGEST_TEMPERATURE
            self._note(
                "the labels have lower logits than other classes on average: the log loss is least "
                f"where predictions are uniform, and T = {LARGEST_TEMPERATURE:g}"
            )
        else:
            self.temperature_ = SMALLEST_TEMPERATURE
            self._note(
                "each label is the most probable class of its row: the log loss is least where "
                f"predictions are certain, and T = {SMALLEST_TEMPERATURE:g}"
            )

    def _calibrate(self, inputs: Inputs) -> Floats:
        return softmax(self._logits(inputs), 1 / self.temperature_)

    @property
    def linear_(self) -> tuple[Floats, Floats]:
        """W and b of softmax(W z + b)."""
        m = len(self.classes_)
        return np.eye(m) / self.temperature_, np.zeros(m)

    def coefficients(self) -> Sequence[Coefficient]:
        return (
            Coefficient(
                "temperature",
                self.temperature_,
                self.temperature_stderr_,
                neutral=1.0,
                scale="log",
            ),
        )
