"""Structured vector and matrix scaling: temperature first, and penalties that grow with freedom."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from caltest.calibrators.base import CalibrationSet, Coefficient
from caltest.calibrators.inputs import Inputs
from caltest.calibrators.linear import scaling
from caltest.calibrators.linear.linear_maps import SMALLEST_TOTAL
from caltest.calibrators.linear.softmax_regression import LogitRows, Problem, logit_rows, minimise
from caltest.checks import check_positive
from caltest.numerics.softmax import smoothed_logs, softmax
from caltest.numerics.sorted_scores import shares
from caltest.types import Floats

MOST = 1e100  # a penalty


@dataclass(kw_only=True, eq=False, repr=False)
class StructuredScaling(scaling.LogitMap):
    """Common parent of the two structured maps, which document the options."""

    diagonal_lam: float = 1.0
    intercept_lam: float = 1.0

    @abstractmethod
    def _minimise(self, rows: LogitRows, unit: float) -> tuple[Floats, Floats]:
        """Return weights and biases; `unit` is the second derivative of a penalty m/n w^2."""

    def _fit(self, data: CalibrationSet) -> None:
        self.temperature_ = self._temperature(data)
        total = max(shares(data.weight, data.inputs.n)[1], SMALLEST_TOTAL)
        self.smoothing_ = 1 / (total + 1)
        rows = logit_rows(data, self._scores)
        self.weights_, self.biases_ = self._minimise(rows, 2 * data.inputs.m / total)

    def _penalty(self, name: str, unit: float) -> float:
        """Return an option as the second derivative of its penalty, whose square is a number."""
        return min(unit * check_positive(getattr(self, name), name), MOST)

    def _scores(self, inputs: Inputs) -> Floats:
        return smoothed_logs(self._logits(inputs), 1 / self.temperature_, self.smoothing_)

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

    def _minimise(self, rows: LogitRows, unit: float) -> tuple[Floats, Floats]:
        m = rows.logits.shape[1]
        strength = [self._penalty(name, unit) for name in ("diagonal_lam", "intercept_lam")]
        start, ridge = np.repeat([1.0, 0.0], m), np.repeat(strength, m)
        found, _ = scaling.minimise(rows.logits, rows.codes, rows.weight, start, ridge)
        return found.theta[:m].copy(), found.theta[m:].copy()

    def _calibrate(self, inputs: Inputs) -> Floats:
        return softmax(self._scores(inputs), self.weights_, self.biases_)


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

    def _minimise(self, rows: LogitRows, unit: float) -> tuple[Floats, Floats]:
        n, m = rows.logits.shape
        penalty = np.full((m, m + 1), self._penalty("off_diagonal_lam", unit * (m - 1)))
        np.fill_diagonal(penalty, self._penalty("diagonal_lam", unit))
        penalty[:, m] = self._penalty("intercept_lam", unit)
        X, start = np.column_stack([rows.logits, np.ones(n)]), np.eye(m, m + 1)
        entries = penalty, start, np.ones(start.shape, np.bool_)
        task = Problem(X, rows.codes, rows.weight, *entries, scale=False, centre=start)
        found = minimise(task)
        if not found.converged:
            self._note(f"no minimum after {found.steps} Newton steps, gradient {found.norm:.1e}")
        return found.theta[:, :m].copy(), found.theta[:, m].copy()

    def _calibrate(self, inputs: Inputs) -> Floats:
        return softmax(self._scores(inputs) @ self.weights_.T, 1.0, self.biases_)
