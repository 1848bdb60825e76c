"""Ensemble temperature scaling: a mixture of scaled, unscaled and uniform predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import nnls

from caltest.calibrators.base import CalibrationSet, Calibrator, Coefficient
from caltest.calibrators.inputs import SMALLEST_PROBABILITY, Inputs
from caltest.calibrators.linear.scaling import TemperatureScaling
from caltest.calibrators.linear.softmax_regression import logit_rows
from caltest.numerics.newton import backtrack
from caltest.numerics.softmax import softmax
from caltest.types import Floats

STEPS = 100
ENOUGH = 1e-15  # of the decrease that a step promises
RIDGE = 1e-13  # of the curvature: of parts that agree, none has a weight of its own


@dataclass(kw_only=True, eq=False, repr=False)
class EnsembleTemperatureScaling(Calibrator):
    r"""Ensemble temperature scaling: a mixture of scaled, unscaled and uniform predictions.

    .. math:: \hat p = w_1 \,\mathrm{softmax}(z / T) + w_2 \,\mathrm{softmax}(z) + w_3 / m,
        \qquad w \ge 0, \quad w_1 + w_2 + w_3 = 1,

    where z are the logits, or the logarithms of the probabilities, and T is the temperature of
    `TemperatureScaling`. Given T, the weighted mean log loss is convex in the weights, and its
    minimum is found to the last digits by Newton steps within :math:`w \ge 0`. The order of the
    classes of a prediction does not change, and neither does its most probable class.

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
        T.
    weights_ : (3,) array
        Weights of the scaled, the unscaled and the uniform predictions.

    Notes
    -----
    The authors' program fits T and the weights to the Brier score by default, and to the log loss
    as an option.

    References
    ----------
    Zhang, Kailkhura, Han (2020), Mix-n-Match: ensemble and compositional methods for uncertainty
    calibration in deep learning, ICML, section 3.2.

    Examples
    --------
    >>> from caltest.calibrators import EnsembleTemperatureScaling
    >>> probs = [[0.9, 0.1]] * 10 + [[0.5, 0.5]] * 2
    >>> calibrator = EnsembleTemperatureScaling().fit(probs, [0] * 7 + [1] * 3 + [0, 1])
    >>> calibrator.predict_proba([[0.9, 0.1]]).round(6)
    array([[0.7, 0.3]])
    """

    key: ClassVar[str] = "ensemble-temperature"
    title: ClassVar[str] = "Ensemble temperature scaling"

    clip: float = SMALLEST_PROBABILITY

    def _fit(self, data: CalibrationSet) -> None:
        first = TemperatureScaling(clip=self.clip, from_logits=self.from_logits)
        self.temperature_ = first.fit_set(data, self.classes_).temperature_
        for text in first.notes():
            self._note(text)
        rows = logit_rows(data, self._logits)
        own = np.arange(len(rows.codes)), rows.codes
        parts = np.column_stack([part[own] for part in self._parts(rows.logits)])
        self.weights_ = mixture_weights(parts, rows.weight)

    def _logits(self, inputs: Inputs) -> Floats:
        return inputs.clipped(self.clip).logits

    def _parts(self, z: Floats) -> tuple[Floats, Floats, Floats]:
        return softmax(z, 1 / self.temperature_), softmax(z, 1.0), np.full(z.shape, 1 / z.shape[1])

    def _calibrate(self, inputs: Inputs) -> Floats:
        scaled, unscaled, uniform = self._parts(self._logits(inputs))
        w = self.weights_
        mixture: Floats = w[0] * scaled + w[1] * unscaled + w[2] * uniform
        return mixture

    def coefficients(self) -> Sequence[Coefficient]:
        names = ("temperature", "w[scaled]", "w[unscaled]", "w[uniform]")
        return tuple(map(Coefficient, names, [self.temperature_, *self.weights_.tolist()]))


def mixture_weights(parts: Floats, weight: Floats) -> Floats:
    r"""Return the w >= 0 with sum 1 that minimises the mean of -log(parts w).

    The sum need not be constrained: where the mean of -log(parts w) plus the sum of w is least, it
    is 1. Its gradient is 1 - B'r, its second derivatives B'B, with the rows of B those of
    r parts / (parts w) and r the roots of the row weights; since B w = r, each Newton step goes to
    the least squares solution for w >= 0 (Kim et al. 2020, A fast algorithm for maximum likelihood
    estimation of mixture proportions using sequential quadratic programming, section 3).

    Parameters
    ----------
    parts : (n, k) array
        Probabilities of what was observed, in each row one that is positive.
    weight : (n,) array
        Weights that sum to 1.

    Returns
    -------
    (k,) array
        The weights of the parts.
    """
    k = parts.shape[1]
    w, root = np.full(k, 1 / k), np.sqrt(weight)

    def at(length: float, start: Floats, step: Floats) -> tuple[float]:
        moved = start + length * step
        with np.errstate(divide="ignore"):
            return (float(moved.sum() - weight @ np.log(parts @ moved)),)

    value = at(0.0, w, w)[0]
    for _ in range(STEPS):
        B = parts * (root / (parts @ w))[:, None]
        gradient, H = 1 - root @ B, B.T @ B
        R = cholesky(H + RIDGE * np.trace(H) * np.eye(k))
        step = nnls(R, solve_triangular(R, H @ w - gradient, trans="T"))[0] - w
        slope = float(gradient @ step)
        found = backtrack(partial(at, start=w, step=step), value, slope)
        if found is None:
            break
        w, value = w + found[0] * step, found[1][0]
        if slope > -ENOUGH:
            break
    total: Floats = w / w.sum()
    return total
