"""Temperature scaling, Guo et al. 2017."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from caltest.calibrators.base import CalibrationSet, Calibrator, Coefficient
from caltest.calibrators.inputs import SMALLEST_PROBABILITY, Inputs
from caltest.calibrators.linear.softmax_regression import logit_rows
from caltest.numerics.logistic import PLAIN, newton_sums
from caltest.numerics.loops import njit
from caltest.numerics.softmax import softmax
from caltest.types import Codes, Floats

__all__ = ["TemperatureScaling"]

Pair = tuple[float, float]


Derivatives = Callable[[float], Pair]


BLOCK = 2**15  # numbers that stay in the cache between the loops over them


FEW = 256  # rows that tell most often that nothing is separated


SAMPLE = 2**16  # numbers whose solution is a good start for more of them


TOLERANCE = 1e-8  # relative to beta: what remains after a Newton step of this size is rounding


EPSILON = 4e-16


STEPS = 200  # bisection alone takes about 60


def inverse_temperature(
    z: Floats, y: Codes, weight: Floats, bounds: Pair, start: float = 1.0
) -> Pair:
    """Return the beta within `bounds` of the least mean loss, and the curvature there.

    `z` (n, m) are finite, `weight` (n,) are positive. The loss, the negative log likelihood, is
    convex in beta; where it still decreases at a bound, the bound itself is returned.
    """
    if _separable(z[:FEW], y[:FEW]) and _separable(z, y):
        return bounds[1], 0.0
    every = -(-z.size // SAMPLE)
    if every > 1:
        rows = np.ascontiguousarray(z[::every])
        guess, _ = inverse_temperature(rows, y[::every], weight[::every].copy(), bounds, start)
        # A sample of separable rows has no optimum, and is no guide.
        start = guess if bounds[0] < guess < bounds[1] else start
    return _root(derivatives(z, y, weight), start, bounds)


def _separable(z: Floats, y: Codes) -> bool:
    """Return whether each observed class has the largest logit of its row: beta is infinite."""
    return bool((z[np.arange(len(z)), y] >= z.max(axis=1)).all())


def _root(slopes: Derivatives, start: float, bounds: Pair) -> Pair:
    """Solve slope = 0 by Newton steps, by bisection where they leave the bracket or are slow."""
    least, most = bounds
    low, high = 0.0, math.inf  # a bound belongs to the bracket once it was tried
    beta = min(max(start, least), most)
    before, last = math.inf, math.inf  # the sizes of the last two steps
    for _ in range(STEPS):
        slope, curvature = slopes(beta)
        if slope == 0 or (beta >= most if slope < 0 else beta <= least):
            break
        low, high = (low, beta) if slope > 0 else (beta, high)
        newton = beta - slope / curvature if curvature > 0 else math.copysign(math.inf, -slope)
        if newton >= most and high == math.inf:
            target = most
        elif newton <= least and low == 0:
            target = least
        elif low < newton < high and abs(newton - beta) < 0.9 * before:
            target = newton
        else:
            target = math.sqrt(max(low, least)) * math.sqrt(min(high, most))
        before, last = last, abs(target - beta)
        beta = target
        if last <= (TOLERANCE if target == newton else EPSILON) * beta:
            break
    return beta, curvature


def derivatives(z: Floats, y: Codes, weight: Floats) -> Derivatives:
    """Return the function of beta that gives both derivatives of the weighted mean loss.

    They are the means of E_p[z] - z_y and of Var_p[z] where p = softmax(beta z).
    """
    return _of_two(z, y, weight) if z.shape[1] == 2 else _of_more(z, y, weight)


def _of_two(z: Floats, y: Codes, weight: Floats) -> Derivatives:
    """With the logit a of the other class less that of the observed one, log(1 + exp(beta a))."""
    a = z[:, 1] - z[:, 0]
    a *= 1.0 - 2.0 * y
    total = float(weight.sum())
    slope, curvature = np.empty(1), np.empty((1, 1))

    def both(beta: float) -> Pair:
        newton_sums(np.array([beta]), a[np.newaxis], weight, PLAIN, slope, curvature)
        return float(slope[0]) / total, float(curvature[0, 0]) / total

    return both


def _of_more(z: Floats, y: Codes, weight: Floats) -> Derivatives:
    top = z.max(axis=1)
    observed = z[np.arange(len(z)), y] - top
    size = max(1, BLOCK // (z.shape[1] // 2))
    total = float(weight.sum())

    def both(beta: float) -> Pair:
        sums = []
        for start in range(0, len(z), size):
            rows = slice(start, start + size)
            # numpy's exponential is faster than one inside of a compiled loop.
            d = z[rows] - top[rows, np.newaxis]
            e = beta * d
            sums.append(_sums(d, np.exp(e, out=e), observed[rows], weight[rows]))
        return math.fsum(s[0] for s in sums) / total, math.fsum(s[1] for s in sums) / total

    return both


@njit(fastmath={"contract", "nsz", "reassoc"})
def _sums(d: Floats, e: Floats, observed: Floats, weight: Floats) -> Pair:
    """Sum both derivatives; d = z less the largest logit of its row, e = exp(beta d)."""
    slope = curvature = 0.0
    for i in range(d.shape[0]):
        s0 = s1 = s2 = 0.0
        for j in range(d.shape[1]):
            s0 += e[i, j]
            s1 += e[i, j] * d[i, j]
            s2 += e[i, j] * d[i, j] * d[i, j]
        mean = s1 / s0
        slope += weight[i] * (mean - observed[i])
        curvature += weight[i] * max(s2 / s0 - mean * mean, 0.0)
    return slope, curvature


SMALLEST_TEMPERATURE = 1e-6


LARGEST_TEMPERATURE = 1e6


@dataclass(kw_only=True, eq=False, repr=False)
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

    clip: float = SMALLEST_PROBABILITY

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
