"""A concave function climbed to its supremum, also where that lies at infinity.

J. Nocedal and S. J. Wright, Numerical Optimization, 2nd edition (2006), algorithms 4.1 and 4.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STEPS = 500
SECULAR_STEPS = 60
ENOUGH = 1e-13  # of the gain that a step promises, relative to the value


def climb(
    value: Callable[[Floats], tuple[Floats, float]],
    factor: Callable[[Floats], Floats],
    x: Floats,
    noise: float,
) -> Floats:
    """Return the point where a step in a region of trust promises no more.

    `value` gives the gradient (p,) and the value at a point, and `factor` a matrix R with
    R'R = minus the second derivatives. A slope below `noise` counts as none.
    """
    slope, height = value(x)
    radius = 1.0
    for _ in range(STEPS):
        _, scales, directions = np.linalg.svd(factor(x), full_matrices=True)
        curvature = np.zeros(x.size)
        curvature[: scales.size] = scales * scales
        along = directions @ slope
        along[np.abs(along) <= noise] = 0.0
        promised = math.inf
        gained = -1.0
        while gained < 0.1 * promised and promised > ENOUGH * max(1.0, abs(height)):
            move = bounded_step(curvature, along, radius)
            promised = float(move @ (along - curvature * move / 2))
            trial = value(x + move @ directions)
            gained = trial[1] - height
            length = float(np.linalg.norm(move))
            if gained < 0.25 * promised:
                radius = length / 4
            elif length > 0.99 * radius:
                radius *= 4 if gained > 0.75 * promised else 2
        if gained >= 0:
            x, (slope, height) = x + move @ directions, trial
        if promised <= ENOUGH * max(1.0, abs(height)):
            break
    return x


def bounded_step(curvature: Floats, slope: Floats, radius: float) -> Floats:
    """Return the best step of a length up to `radius` for a concave quadratic in its own axes."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        free = np.where(slope == 0.0, 0.0, slope / curvature)
        if np.linalg.norm(free) <= radius:
            return np.asarray(free)
    size = float(np.linalg.norm(slope))
    low, high = 0.0, size / radius
    damping = high
    for _ in range(SECULAR_STEPS):
        step = slope / (curvature + damping)
        length = float(np.linalg.norm(step))
        if abs(length - radius) <= 1e-3 * radius:
            break
        low, high = (damping, high) if length > radius else (low, damping)
        growth = float(step @ (step / (curvature + damping)))
        damping += (length - radius) / radius * length * length / growth
        if not low < damping < high:
            damping = math.sqrt(low * high) if low > 0 else high * 1e-3
    return np.asarray(slope / (curvature + damping))
