"""The likelihood of softmax(w z + b), one weight and one bias per class, and its maximum."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from caltest.numerics.loops import map_threads
from caltest.numerics.newton import backtrack, damped_factor
from caltest.numerics.scaled_softmax import Point, objective

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

STEPS = 200
TOLERANCE = 1e-7  # of the decrement: what remains after a step of this size is rounding
LARGE_STEP = 1e-4  # in log odds: there is no maximum nearby, however flat the likelihood is
SHIFT = 1e-11  # of the Hessian with unit diagonal, above the rounding errors of 2000 parameters
SINGULAR = 1e-9  # the smallest pivot of a Hessian that determines the parameters
SLACK = 1e-14  # rounding error of the objective


class Optimum(NamedTuple):
    """Where Newton's method stopped, and whether that is the only minimum."""

    point: Point
    unique: bool


def minimise(z: Floats, y: Codes, weight: Floats, start: Floats, ridge: float = 0.0) -> Optimum:
    """Minimise the mean loss + ridge/2 (|w - 1|^2 + |b|^2) by Newton's method.

    The loss is the negative log likelihood of the classes `y`; `z` (n, m) are finite, `weight`
    (n,) sums to 1. Where there is no minimum, the steps stay long while the loss converges.
    """
    task = (z, y, weight, start, ridge)
    (optimum,) = map_threads(_minimise, [task], None)  # for its one thread of BLAS
    return optimum


def _minimise(z: Floats, y: Codes, weight: Floats, start: Floats, ridge: float) -> Optimum:
    m = z.shape[1]
    scale = np.sqrt(weight @ (z * z))
    w, b = np.where(scale > 0, start[:m], 1.0), start[m:]  # of zeros no weight matters
    point = objective(z, y, weight, np.concatenate([w, b - b.mean()]), ridge)
    size = np.concatenate([scale, np.ones(m)])
    for _ in range(STEPS):
        step, pivot = newton_step(point)
        decrement = math.sqrt(max(-float(point.gradient @ step), 0.0))
        moved = _moved(z, y, weight, point, step, ridge)
        point = point if moved is None else moved
        if decrement <= TOLERANCE or moved is None:
            break
    longest = float(np.abs(step * size).max())
    return Optimum(point, longest < LARGE_STEP and pivot > SINGULAR)


def _moved(
    z: Floats, y: Codes, weight: Floats, point: Point, step: Floats, ridge: float
) -> Point | None:
    """Return the point after a part of the step that is short enough, if there is one."""

    def at(length: float) -> tuple[float, Point]:
        trial = objective(z, y, weight, point.theta + length * step, ridge)
        return trial.value, trial

    slack = SLACK * abs(point.value)
    found = backtrack(at, point.value + slack, float(point.gradient @ step))
    return None if found is None else found[1][1]


def newton_step(point: Point) -> tuple[Floats, float]:
    """Return the Newton step, and the smallest pivot of the Hessian scaled to unit diagonal.

    The same number added to each b changes no probability: the step has no part along it.
    """
    scale, scaled = _scaled(point.hessian)
    factor, shift = damped_factor(scaled, SHIFT)
    step: Floats = scipy.linalg.cho_solve(factor, -point.gradient / scale) / scale
    m = len(step) // 2
    step[m:] -= step[m:].mean()
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
    (diagonal,) = map_threads(_variances, [(hessian,)], None)  # for its one thread of BLAS
    return diagonal


def _variances(hessian: Floats) -> Floats:
    scale, scaled = _scaled(hessian)
    factor, _ = damped_factor(scaled, SHIFT)
    inverse = scipy.linalg.cho_solve(factor, np.eye(len(scale))) / scale / scale[:, np.newaxis]
    m = len(scale) // 2
    inverse[m:] -= inverse[m:].mean(axis=0)
    inverse[:, m:] -= inverse[:, m:].mean(axis=1, keepdims=True)
    return np.where(hessian.diagonal() > 0, inverse.diagonal(), np.inf)
