"""Temperature, vector and structured scaling: weights of logits, for all, of each, or a matrix."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy

from caltest.calibrators.base import CalibrationSet, Calibrator, Coefficient
from caltest.calibrators.inputs import SMALLEST_PROBABILITY, Inputs
from caltest.calibrators.linear import softmax_regression
from caltest.calibrators.linear.linear_maps import SMALLEST_TOTAL
from caltest.checks import check_positive, listing
from caltest.numerics import softmax
from caltest.numerics.loops import one_blas_thread
from caltest.numerics.newton import backtrack, damped_factor
from caltest.numerics.sorted_scores import shares
from caltest.types import Codes, Floats

Minimise = Callable[[float], tuple[softmax.Point, bool]]  # of a ridge
FLAT = 1e3  # times the spread of logits, a temperature at which predictions are uniform


@dataclass(kw_only=True, eq=False, repr=False)
class LogitMap(Calibrator):
    """Common parent of the maps of logits, or of logarithms of clipped probabilities."""

    clip: float = SMALLEST_PROBABILITY

    def _logits(self, inputs: Inputs) -> Floats:
        return inputs.clipped(self.clip).logits

    def _temperature(self, data: CalibrationSet) -> float:
        """Return the temperature of `TemperatureScaling`, and note what that notes."""
        first = TemperatureScaling(clip=self.clip, from_logits=self.from_logits)
        first.fit_set(data, self.classes_)
        self._note(*first.notes())
        return first.temperature_

    def _optimum(
        self, rows: softmax_regression.LogitRows, minimise: Minimise, reason: str, remedy: str
    ) -> tuple[softmax.Point, bool]:
        """Return the minimum, and whether no penalty was needed for it to be the only one."""
        absent = np.bincount(rows.codes, minlength=len(self.classes_)) == 0
        if absent.any():
            reason = f"no label is {listing(self.classes_[absent].tolist())}"
        else:
            optimum, unique = minimise(0.0)
            if unique:
                return optimum, True
        text = f"the likelihood has no single maximum, since {reason}"
        self._note(f"{text}: {remedy} with strength {RIDGE:g}")
        return minimise(RIDGE)[0], False


class TemperatureScaling(LogitMap):
    r"""Temperature scaling: one number that makes all predictions more or less confident.

    .. math:: \hat p = \mathrm{softmax}(z / T),

    where z are the logits, or the logarithms of the probabilities, and T > 0 minimises the weighted
    mean log loss. The loss is convex in 1/T, and Newton's method finds its minimum to the last
    digits, with bisection as a safeguard. The order of the classes of a prediction does not change,
    and neither does its most probable class.

    T lies between 1e-6 and 1e6, or 1000 times the largest difference of two logits of a row where
    that is more, with a DegenerateDataWarning at both ends: the loss falls down to T = 0 where each
    label is the most probable class of its row, and up to infinite T where the labels have lower
    logits than other classes on average. T = 1, likewise with a warning, where each row predicts
    the uniform distribution.

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

    key, title = "temperature", "Temperature scaling"

    def _fit(self, data: CalibrationSet) -> None:
        rows = softmax_regression.logit_rows(data, self._logits)
        spread = float(np.ptp(rows.logits, axis=1).max())
        least, most = softmax.SMALLEST_TEMPERATURE, max(softmax.LARGEST_TEMPERATURE, FLAT * spread)
        task = rows.logits, rows.codes, rows.weight, (1 / most, 1 / least)
        beta, curvature = softmax.inverse_temperature(*task)
        self.temperature_, self.temperature_stderr_ = 1 / beta, None
        inside = 1 / most < beta < 1 / least
        if inside and curvature > 0:
            information = math.sqrt(curvature) * math.sqrt(rows.total)
            self.temperature_stderr_ = self.temperature_**2 / information
            return
        if inside or spread == 0:
            self.temperature_ = 1.0
            why = "each row predicts the uniform distribution: any temperature fits"
            self._note(f"{why}, T = 1 is kept")
            return
        if beta == 1 / most:
            self.temperature_, where = most, "is least where predictions are uniform"
            why = "the labels have lower logits than other classes on average"
        elif curvature > 0:
            self.temperature_, where = least, "is less at lower temperatures"
            why = "the logits of each row are nearly equal"
        else:
            self.temperature_, where = least, "is least where predictions are certain"
            why = "each label is the most probable class of its row"
        self._note(f"{why}: the log loss {where}, and T = {self.temperature_:g}")

    def _calibrate(self, inputs: Inputs) -> Floats:
        return softmax.softmax(self._logits(inputs), 1 / self.temperature_)

    @property
    def linear_(self) -> tuple[Floats, Floats]:
        """W and b of softmax(W z + b)."""
        m = len(self.classes_)
        return np.eye(m) / self.temperature_, np.zeros(m)

    def coefficients(self) -> Sequence[Coefficient]:
        value, stderr = self.temperature_, self.temperature_stderr_
        return (Coefficient("temperature", value, stderr, neutral=1.0, scale="log"),)


# ---- Vector scaling, Guo et al. 2017 ------------------------------------------------------------

NEWTON_STEPS = 200


DECREMENT = 1e-7  # of the decrement: what remains after a step of this size is rounding


LARGE_STEP = 1e-4  # in log odds: there is no maximum nearby, however flat the likelihood is


SHIFT = 1e-11  # of the Hessian with unit diagonal, above the rounding errors of 2000 parameters


SINGULAR = 1e-9  # the smallest pivot of a Hessian that determines the parameters


SLACK = 1e-14  # rounding error of the objective


def minimise(
    z: Floats, y: Codes, weight: Floats, start: Floats, ridge: Floats | float = 0.0
) -> tuple[softmax.Point, bool]:
    """Minimise the mean loss + ridge/2 (|w - 1|^2 + |b|^2) by Newton's method.

    `ridge` is one number, or one for each parameter.

    The loss is the negative log likelihood of the classes `y`; `z` (n, m) are finite, `weight`
    (n,) sums to 1. Where there is no minimum, the steps stay long while the loss converges.
    """
    m = z.shape[1]
    with one_blas_thread():
        scale = np.sqrt(weight @ (z * z))
        w, b = np.where(scale > 0, start[:m], 1.0), start[m:]  # of zeros no weight matters
        at = partial(softmax.objective, z, y, weight, ridge=ridge)
        start = np.concatenate([w, b - b.mean()])
        point, step, pivot = newton(at, start, newton_step, DECREMENT)
    longest = float(np.abs(step * np.concatenate([scale, np.ones(m)])).max())
    return point, longest < LARGE_STEP and pivot > SINGULAR


def newton(
    at: Callable[[Floats], softmax.Point],
    start: Floats,
    step_at: Callable[[softmax.Point], tuple[Floats, float]],
    enough: float,
) -> tuple[softmax.Point, Floats, float]:
    """Return where Newton's method ends, its last step, and the smallest pivot that it met there.

    `step_at` gives both at a point; steps end where the decrement is at most `enough`, or where
    no part of one lowers the objective.
    """
    point = at(start)
    for _ in range(NEWTON_STEPS):
        step, pivot = step_at(point)
        decrement = math.sqrt(max(-float(point.gradient @ step), 0.0))
        moved = _moved(at, point, step)
        point = point if moved is None else moved
        if decrement <= enough or moved is None:
            break
    return point, step, pivot


def _moved(
    at: Callable[[Floats], softmax.Point], point: softmax.Point, step: Floats
) -> softmax.Point | None:
    """Return the point after a part of the step that is short enough, if there is one."""

    def after(length: float) -> tuple[float, softmax.Point]:
        trial = at(point.theta + length * step)
        return trial.value, trial

    found = backtrack(after, point.value + SLACK * abs(point.value), float(point.gradient @ step))
    return None if found is None else found[1][1]


def newton_step(point: softmax.Point) -> tuple[Floats, float]:
    """Return the Newton step, and the smallest pivot of the Hessian scaled to unit diagonal.

    The same number added to each b changes no probability: the step has no part along it.
    """
    step, pivot = scaled_step(point, *_scaled(point.hessian))
    m = len(step) // 2
    step[m:] -= step[m:].mean()
    return step, pivot


def scaled_step(point: softmax.Point, scale: Floats, scaled: Floats) -> tuple[Floats, float]:
    """Return the Newton step of a Hessian scaled to unit diagonal, and its smallest pivot."""
    factor, shift = damped_factor(scaled, SHIFT)
    step: Floats = scipy.linalg.cho_solve(factor, -point.gradient / scale) / scale
    return step, float(factor[0].diagonal().min()) ** 2 if shift == SHIFT else 0.0


def _scaled(hessian: Floats) -> tuple[Floats, Floats]:
    """Scale to unit diagonal, and make regular along what changes nothing."""
    diagonal = hessian.diagonal()
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = hessian / scale
    scaled /= scale[:, np.newaxis]
    m = len(scale) // 2
    null = scale[m:] / np.linalg.norm(scale[m:])
    scaled[m:, m:] += null * null[:, np.newaxis]
    scaled[diagonal <= 0, diagonal <= 0] = 1.0
    return scale, scaled


def variances(hessian: Floats) -> Floats:
    """Return the diagonal of the pseudo-inverse of the Hessian of a loss, for b with sum 0.

    It is infinite for a weight without influence, whose row is zero.
    """
    with one_blas_thread():
        scale, scaled = _scaled(hessian)
        factor, _ = damped_factor(scaled, SHIFT)
        inverse = scipy.linalg.cho_solve(factor, np.eye(len(scale))) / scale / scale[:, np.newaxis]
    m = len(scale) // 2
    inverse[m:] -= inverse[m:].mean(axis=0)
    inverse[:, m:] -= inverse[:, m:].mean(axis=1, keepdims=True)
    return np.where(hessian.diagonal() > 0, inverse.diagonal(), np.inf)


RIDGE = 1e-6


BOUNDS = 1e-150, 1e6  # of the weight with which Newton's method starts


class VectorScaling(LogitMap):
    r"""Vector scaling: a weight and a bias for the logit of each class.

    .. math:: \hat p = \mathrm{softmax}(w \odot z + b),

    where z are the logits, or the logarithms of the probabilities; w and b minimise the weighted
    mean log loss, which is convex, by Newton's method with the exact Hessian. The same number added
    to each bias changes nothing: they sum to 0. On logits the result depends on what was added to
    the rows, since each class has its own weight; on probabilities it is the Dirichlet calibration
    of Kull et al. with zeros off the diagonal.

    Where the loss has no minimum or several, the penalty
    :math:`10^{-6} (\|w - 1\|^2 + \|b\|^2) / 2` makes the answer unique and finite, with a
    DegenerateDataWarning: classes without a label (their probabilities become small, not 0), labels
    that the logits separate, logits that are constant or collinear. A class whose logits are all 0
    is a reference class, as class 0 is where log odds are given, and keeps its weight of 1.

    A step of Newton's method takes O(n m^2 + m^3): 1000 classes are seconds. It takes the threads
    that `joblib.parallel_config` sets, one by default.

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
    weights_ : (m,) array
        w.
    biases_ : (m,) array
        b, with sum 0.
    weights_stderr_, biases_stderr_ : (m,) arrays or None
        Standard errors from the pseudo-inverse of the observed information of the weighted sample;
        infinite for the weight of a reference class, None where the penalty was needed.
    linear_ : tuple of (m, m) array and (m,) array
        W and b of softmax(W z + b), W diagonal.

    References
    ----------
    Guo et al. (2017), On calibration of modern neural networks, ICML, section 4.2; Kull et al.
    (2019), Beyond temperature scaling, NeurIPS, section 3.

    Examples
    --------
    >>> from caltest.calibrators import VectorScaling
    >>> event = [0.2, 0.2, 0.2, 0.4, 0.4, 0.4, 0.4, 0.8, 0.8]
    >>> calibrator = VectorScaling().fit(event, [0, 0, 1, 0, 0, 0, 1, 0, 1])
    >>> calibrator.predict_proba([0.2, 0.4, 0.8])[:, 1].round(6)  # three parameters
    array([0.333333, 0.25    , 0.5     ])
    """

    key, title = "vector", "Vector scaling"

    def _fit(self, data: CalibrationSet) -> None:
        rows = softmax_regression.logit_rows(data, self._logits)
        m = data.inputs.m
        task = partial(minimise, rows.logits, rows.codes, rows.weight, _start(rows))
        reason = "the labels are separable, or logits are constant or collinear"
        remedy = "weights are drawn to 1 and biases to 0"
        optimum, unique = self._optimum(rows, task, reason, remedy)
        theta = optimum.theta
        self.weights_, self.biases_ = theta[:m].copy(), theta[m:] - theta[m:].mean()
        self.weights_stderr_ = self.biases_stderr_ = None
        if unique:
            stderr = np.sqrt(variances(optimum.hessian)) / np.sqrt(rows.total)
            self.weights_stderr_, self.biases_stderr_ = stderr[:m], stderr[m:]

    def _calibrate(self, inputs: Inputs) -> Floats:
        return softmax.softmax(self._logits(inputs), self.weights_, self.biases_)

    @property
    def linear_(self) -> tuple[Floats, Floats]:
        """W and b of softmax(W z + b)."""
        return np.diag(self.weights_), self.biases_

    def coefficients(self) -> Sequence[Coefficient]:
        values = np.concatenate([self.weights_, self.biases_]).tolist()
        names = [f"{letter}[{name}]" for letter in "wb" for name in self.classes_.tolist()]
        errors = [None] * len(values)
        if self.weights_stderr_ is not None:
            stderr = np.concatenate([self.weights_stderr_, self.biases_stderr_])
            errors = [error if np.isfinite(error) else None for error in stderr.tolist()]
        neutral = [1.0] * len(self.weights_) + [0.0] * len(self.biases_)
        return tuple(map(Coefficient, names, values, errors, neutral))


def _start(rows: softmax_regression.LogitRows) -> Floats:
    """Return a point from which Newton's method needs few steps.

    The weights are the optimum of temperature scaling, unless it is beyond all bounds; with the
    biases the mean prediction of each class is nearly its share of the labels.
    """
    beta, _ = softmax.inverse_temperature(rows.logits, rows.codes, rows.weight, BOUNDS)
    beta = beta if beta < BOUNDS[1] else 1.0
    m = rows.logits.shape[1]
    observed = np.bincount(rows.codes, rows.weight, m)
    predicted = np.maximum(rows.weight @ softmax.softmax(rows.logits, beta), SMALLEST_PROBABILITY)
    biases = np.log(np.where(observed > 0, observed, predicted) / predicted)
    return np.concatenate([np.full(m, beta), biases])


# ---- structured: temperature first, and penalties that grow with freedom -------------------------

MOST = 1e100  # a penalty


@dataclass(kw_only=True, eq=False, repr=False)
class StructuredScaling(LogitMap):
    """Common parent of the two structured maps, which document the options."""

    diagonal_lam: float = 1.0
    intercept_lam: float = 1.0

    @abstractmethod
    def _minimise(self, rows: softmax_regression.LogitRows, unit: float) -> tuple[Floats, Floats]:
        """Return weights and biases; `unit` is the second derivative of a penalty m/n w^2."""

    def _fit(self, data: CalibrationSet) -> None:
        self.temperature_ = self._temperature(data)
        total = max(shares(data.weight, data.inputs.n)[1], SMALLEST_TOTAL)
        self.smoothing_ = 1 / (total + 1)
        rows = softmax_regression.logit_rows(data, self._scores)
        self.weights_, self.biases_ = self._minimise(rows, 2 * data.inputs.m / total)

    def _penalty(self, name: str, unit: float) -> float:
        """Return an option as the second derivative of its penalty, whose square is a number."""
        return min(unit * check_positive(getattr(self, name), name), MOST)

    def _scores(self, inputs: Inputs) -> Floats:
        return softmax.smoothed_logs(self._logits(inputs), 1 / self.temperature_, self.smoothing_)

    def coefficients(self) -> Sequence[Coefficient]:
        names = [str(name) for name in self.classes_.tolist()]
        weights = [f"w[{i}]" for i in names]
        if self.weights_.ndim == 2:
            weights = [f"W[{i}, {j}]" for i in names for j in names]
        labels = ["temperature", *weights, *(f"b[{i}]" for i in names)]
        values = np.concatenate([[self.temperature_], self.weights_.ravel(), self.biases_])
        return tuple(map(Coefficient, labels, values.tolist()))


class StructuredVectorScaling(StructuredScaling):
    r"""Structured vector scaling: temperature scaling, then a weight and a bias drawn to 1 and 0.

    With the logits z of n rows and m classes, or the logarithms of the probabilities,

    .. math:: s = \ln\Big(\frac{n}{n + 1}\,\mathrm{softmax}(z / T) + \frac{1}{(n + 1)\,m}\Big),
        \quad \hat p = \mathrm{softmax}(w \odot s + b),

    where T is the temperature of `TemperatureScaling`, and w and b minimise the weighted mean log
    loss plus

    .. math:: \frac{m}{n} \sum_i \big(\lambda_d (w_i - 1)^2 + \lambda_b b_i^2\big).

    Few rows of many classes so keep the map near temperature scaling, and many rows let it become
    `VectorScaling`. The objective is strictly convex; Newton's method with the exact Hessian finds
    its minimum to the last digits.

    Parameters
    ----------
    diagonal_lam, intercept_lam : float, default 1.0
        The penalties of weights and biases, above 0.
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
        T.
    smoothing_ : float
        1 / (n + 1), with n the sum of the sample weights.
    weights_, biases_ : (m,) arrays
        w and b.

    References
    ----------
    Berta, Holzmueller, Jordan, Bach (2025), Structured matrix scaling for multi-class calibration,
    arXiv 2511.03685; the constants are those of their package probmetrics.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=300, m=3, rng=1)
    >>> calibrator = ct.calibrators.StructuredVectorScaling().fit(data)
    >>> calibrator.predict_proba([[0.2, 0.3, 0.5]]).round(2)
    array([[0.72, 0.12, 0.16]])
    """

    key, title = "structured-vector", "Structured vector scaling"

    def _minimise(self, rows: softmax_regression.LogitRows, unit: float) -> tuple[Floats, Floats]:
        m = rows.logits.shape[1]
        strength = [self._penalty(name, unit) for name in ("diagonal_lam", "intercept_lam")]
        start, ridge = np.repeat([1.0, 0.0], m), np.repeat(strength, m)
        found, _ = minimise(rows.logits, rows.codes, rows.weight, start, ridge)
        return found.theta[:m].copy(), found.theta[m:].copy()

    def _calibrate(self, inputs: Inputs) -> Floats:
        return softmax.softmax(self._scores(inputs), self.weights_, self.biases_)


@dataclass(kw_only=True, eq=False, repr=False)
class StructuredMatrixScaling(StructuredScaling):
    r"""Structured matrix scaling: temperature scaling, then a matrix drawn to the identity.

    With the logits z of n rows and m classes, or the logarithms of the probabilities,

    .. math:: s = \ln\Big(\frac{n}{n + 1}\,\mathrm{softmax}(z / T) + \frac{1}{(n + 1)\,m}\Big),
        \quad \hat p = \mathrm{softmax}(W s + b),

    where T is the temperature of `TemperatureScaling`, and W and b minimise the weighted mean log
    loss plus

    .. math:: \frac{m}{n} \Big(\lambda_d \sum_i (w_{ii} - 1)^2 + \lambda_b \sum_i b_i^2
        + \lambda_o (m - 1) \sum_{i \ne j} w_{ij}^2\Big).

    The more parameters a part of the map has, the stronger it is penalised, and all penalties fade
    with the number of rows: few rows of many classes keep the map near temperature scaling. The
    objective is strictly convex; Newton's method finds its minimum, to a gradient below 1e-9 of
    that at W = I, b = 0, as far as rounding allows.

    Parameters
    ----------
    diagonal_lam, intercept_lam, off_diagonal_lam : float, default 1.0
        The penalties of diagonal weights, biases and other weights, above 0.
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
        T.
    smoothing_ : float
        1 / (n + 1), with n the sum of the sample weights.
    weights_ : (m, m) array
        W.
    biases_ : (m,) array
        b.

    References
    ----------
    Berta, Holzmueller, Jordan, Bach (2025), Structured matrix scaling for multi-class calibration,
    arXiv 2511.03685; the constants are those of their package probmetrics.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=300, m=3, rng=1)
    >>> calibrator = ct.calibrators.StructuredMatrixScaling().fit(data)
    >>> calibrator.predict_proba([[0.2, 0.3, 0.5]]).round(2)
    array([[0.72, 0.12, 0.15]])
    """

    key, title = "structured-matrix", "Structured matrix scaling"

    off_diagonal_lam: float = 1.0

    def _minimise(self, rows: softmax_regression.LogitRows, unit: float) -> tuple[Floats, Floats]:
        n, m = rows.logits.shape
        penalty = np.full((m, m + 1), self._penalty("off_diagonal_lam", unit * (m - 1)))
        np.fill_diagonal(penalty, self._penalty("diagonal_lam", unit))
        penalty[:, m] = self._penalty("intercept_lam", unit)
        X, start = np.column_stack([rows.logits, np.ones(n)]), np.eye(m, m + 1)
        entries = penalty, start, np.ones(start.shape, np.bool_)
        task = softmax_regression.Problem(
            X, rows.codes, rows.weight, *entries, scale=False, centre=start
        )
        found = softmax_regression.minimise(task)
        if not found.converged:
            self._note(f"no minimum after {found.steps} Newton steps, gradient {found.norm:.1e}")
        return found.theta[:, :m].copy(), found.theta[:, m].copy()

    def _calibrate(self, inputs: Inputs) -> Floats:
        return softmax.softmax(self._scores(inputs) @ self.weights_.T, 1.0, self.biases_)
