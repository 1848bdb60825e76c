"""Ordinal scaling: proportional-odds recalibration of classes that are ordered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from scipy.special import expit, log_expit

from caltest.calibrators.base import CalibrationSet, Coefficient
from caltest.calibrators.inputs import Inputs
from caltest.calibrators.linear import scaling
from caltest.calibrators.linear.softmax_regression import LogitRows, logit_rows
from caltest.numerics.loops import one_blas_thread
from caltest.numerics.softmax import Point
from caltest.types import Floats, Ints

DECREMENT = 1e-9  # of the decrement: what remains after a step of this size is rounding
LEAST_GAP = 1e-290  # of log odds, so that it has a logarithm, and a part of it too


def minimum(rows: LogitRows, m: int, ridge: float) -> tuple[Point, bool]:
    r"""Minimise the mean log loss of :math:`u_k = a + b s + r_k(c)`, which is convex, by Newton.

    Parameters
    ----------
    rows : LogitRows
        Their logits are the mean log odds s and the gaps :math:`d_2, \ldots, d_{m-1}`.
    m : int
        The number of classes.
    ridge : float
        The strength of a penalty that has its minimum, 0, where the map is the identity.

    Returns
    -------
    tuple of Point and bool
        The minimum at (a, b, c), and whether it is the only one.
    """
    codes, weight = rows.codes, rows.weight

    def design(k: Ints) -> Floats:
        """Return what threshold k of each row takes of (a, b, c), (n, m)."""
        s, gaps = rows.logits[:, :1], rows.logits[:, 1:]
        return np.hstack([np.ones_like(s), s, gaps * levels(m)[k]])

    # The label is at most k where the log odds of the threshold after it are high, and above k - 1
    # where those of the threshold before it are low.
    upper, lower = design(np.minimum(codes, m - 2)), design(np.maximum(codes - 1, 0))
    has_upper = np.where(codes < m - 1, weight, 0.0)
    has_lower = np.where(codes > 0, weight, 0.0)
    inner = np.flatnonzero((codes > 0) & (codes < m - 1))
    gap_of, own = codes[inner] - 1, weight[inner]
    gap = np.maximum(rows.logits[inner, codes[inner]], LEAST_GAP)

    def at(theta: Floats) -> Point:
        """Return the objective at (a, b, c); it is infinite unless all c are positive."""
        c = theta[2:]
        if not (c > 0).all():
            return Point(theta, math.inf, theta, np.eye(theta.size))
        up, low = upper @ theta, lower @ theta
        small = c[gap_of] * gap
        value = -float(has_upper @ log_expit(up) + has_lower @ log_expit(-low))
        value -= float(own @ np.log(-np.expm1(-small)))
        rise, fall = has_upper * expit(-up), has_lower * expit(low)
        gradient = fall @ lower - rise @ upper
        # d / expm1(c d) and (d / 2 sinh(c d / 2))^2, of any size of c d
        first = small * np.exp(-small) / -np.expm1(-small)
        second = np.square(small * np.exp(-small / 2) / np.expm1(-small))
        sums = [np.bincount(gap_of, own * x, c.size) for x in (first, second)]
        gradient[2:] -= sums[0] / c
        hessian = (upper.T * (rise * expit(up))) @ upper
        hessian += (lower.T * (fall * expit(-low))) @ lower
        curvature = np.append([0.0, 0.0], sums[1] / np.square(c))
        if ridge:
            a, b = theta[0], theta[1] - 1.0
            value += ridge * float(0.5 * (a * a + b * b) + np.sum(c - 1.0 - np.log(c)))
            gradient += ridge * np.append([a, b], 1.0 - 1.0 / c)
            curvature += ridge * np.append([1.0, 1.0], 1.0 / np.square(c))
        hessian[np.diag_indices(theta.size)] += curvature
        return Point(theta, value, gradient, hessian)

    start = np.append([0.0], np.ones(m - 1))
    size = np.sqrt(np.maximum(has_upper @ np.square(upper), LEAST_GAP))
    with one_blas_thread():
        point, step, pivot = scaling.newton(at, start, newton_step, DECREMENT)
    longest = float(np.abs(step * np.append(size[:2], 1.0 / point.theta[2:])).max())
    return point, longest < scaling.LARGE_STEP and pivot > scaling.SINGULAR


def newton_step(point: Point) -> tuple[Floats, float]:
    """Return the Newton step, and the smallest pivot of the Hessian scaled to unit diagonal."""
    diagonal = point.hessian.diagonal()
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    return scaling.scaled_step(point, scale, point.hessian / scale / scale[:, None])


def levels(m: int) -> Floats:
    r"""Return what each :math:`u_k` takes of the gaps :math:`c_j d_j`, (m - 1, m - 2).

    :math:`u_k = a + b s + \sum_{j \le k} c_j d_j` less the mean of the sums over k: the mean of the
    u is a + b s, so that the map of the classes in reverse is the same.
    """
    after = np.tri(m - 1)[:, 1:]
    return np.asarray(after - after.mean(axis=0))


def mapped(columns: Floats, theta: Floats) -> Floats:
    """Return the probabilities (n, m) of the mean log odds and the gaps."""
    gaps = theta[2:] * columns[:, 1:]
    u = theta[0] + theta[1] * columns[:, :1] + gaps @ levels(theta.size).T
    logs = np.zeros((len(u), theta.size))
    logs[:, :-1] += log_expit(u)
    logs[:, 1:] += log_expit(-u)
    logs[:, 1:-1] += np.log(-np.expm1(-np.maximum(gaps, LEAST_GAP)))
    probs = np.exp(logs)
    return np.asarray(probs / probs.sum(axis=1, keepdims=True))


class OrdinalScaling(scaling.LogitMap):
    r"""Ordinal scaling: a proportional-odds model of the log odds of all P(Y <= k).

    With the classes in the order of their columns, let :math:`L_k` be the log odds of P(Y <= k),
    k = 1, ..., m - 1, :math:`s` their mean and :math:`d_k = L_k - L_{k-1} > 0` their gaps. The
    recalibrated log odds :math:`u_k` have the mean and the gaps

    .. math:: \bar u = a + b s, \qquad u_k - u_{k-1} = c_k d_k, \quad c_k > 0,

    so that they are in order for every prediction. a is the level of all thresholds, b the slope,
    and c are the spacings; the map is the identity at a = 0, b = c = 1. They minimise the weighted
    mean log loss, which is convex, by Newton's method. Of predictions of a proportional-odds model,
    whose gaps are the same in all rows, it is the proportional-odds model of s: the m - 1 ordered
    intercepts and the slope of `OrderedModel` of statsmodels. Of two classes it is Platt scaling of
    the log odds. The classes in reverse have the same map.

    Where the loss has no minimum or several, a penalty of strength 1e-6 makes the answer unique and
    finite, with a DegenerateDataWarning: classes without a label, labels in the order of the
    predictions, predictions that are all alike.

    Parameters
    ----------
    clip : float, default 2.2e-16
        In (0, 0.1]; smaller probabilities are raised to it before their logarithm is taken. Logits
        are not clipped.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns, in their order. By default the sorted labels where each class occurs,
        and otherwise 0 to m - 1.

    Attributes
    ----------
    level_ : float
        a: above 0 the predicted classes were too high.
    slope_ : float
        b: below 1 the predictions were too sure of the order.
    spacings_ : (m - 2,) array
        c, of the classes but the first and the last: above 1 their probabilities were too low.
    stderr_ : (m,) array or None
        Standard errors of (a, b, c) from the observed information of the weighted sample; None
        where the penalty was needed.

    References
    ----------
    McCullagh (1980), Regression models for ordinal data, J. R. Statist. Soc. B 42; Edlinger et al.
    (2022), Risk prediction models for discrete ordinal outcomes: calibration and the impact of the
    proportional odds assumption, Statistics in Medicine 41; Pratt (1981), Concavity of the log
    likelihood, J. Am. Stat. Assoc. 76.

    Examples
    --------
    >>> from caltest.calibrators import OrdinalScaling
    >>> probs = [[0.5, 0.25, 0.25]] * 3 + [[0.25, 0.25, 0.5]] * 3
    >>> calibrator = OrdinalScaling().fit(probs, [0, 0, 1, 0, 1, 2])
    >>> calibrator.predict_proba(probs[:1]).round(2)
    array([[0.69, 0.25, 0.07]])
    """

    key, title = "ordinal", "Ordinal scaling"

    def _columns(self, inputs: Inputs) -> Floats:
        """Return the mean log odds of P(Y <= k) and their gaps, (n, m - 1), from logarithms."""
        logs = self._logits(inputs)
        upto = np.logaddexp.accumulate(logs, axis=1)
        above = np.logaddexp.accumulate(logs[:, ::-1], axis=1)[:, ::-1]
        out = np.empty((len(logs), logs.shape[1] - 1))
        out[:, 0] = (upto[:, :-1] - above[:, 1:]).mean(axis=1)
        own = logs[:, 1:-1]
        out[:, 1:] = np.logaddexp(0.0, own - upto[:, :-2]) + np.logaddexp(0.0, own - above[:, 2:])
        return out

    def _fit(self, data: CalibrationSet) -> None:
        rows = logit_rows(data, self._columns)
        reason = "the labels are in the order of the predictions, or these are alike"
        remedy = "the map is drawn to the identity"
        minimise = partial(minimum, rows, data.inputs.m)
        optimum, unique = self._optimum(rows, minimise, reason, remedy)
        self.stderr_ = None
        if unique:
            self.stderr_ = np.sqrt(np.linalg.inv(optimum.hessian).diagonal() / rows.total)
        self.level_, self.slope_ = map(float, optimum.theta[:2])
        self.spacings_ = optimum.theta[2:].copy()

    def _calibrate(self, inputs: Inputs) -> Floats:
        theta = np.concatenate([[self.level_, self.slope_], self.spacings_])
        return mapped(self._columns(inputs), theta)

    def coefficients(self) -> Sequence[Coefficient]:
        errors = [None] * len(self.classes_) if self.stderr_ is None else self.stderr_.tolist()
        spacings = [f"spacing[{name}]" for name in self.classes_[1:-1].tolist()]
        values = zip(spacings, self.spacings_.tolist(), errors[2:], strict=True)
        return (
            Coefficient("level", self.level_, errors[0], neutral=0.0),
            Coefficient("slope", self.slope_, errors[1], neutral=1.0),
            *(Coefficient(*one, neutral=1.0, scale="log") for one in values),
        )
