"""What fits by Newton's method share: steps that exist, short enough, approximate, and bounded.

J. Nocedal and S. J. Wright, Numerical Optimization, 2nd edition (2006), algorithms 3.1
(backtracking), 3.3 (a multiple of the identity added), 4.1 and 4.3 (region of trust), 5.3 and 7.1
(conjugate gradients).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import scipy

from caltest.types import Floats

Solver = Callable[[Floats], Floats]
Trial = TypeVar("Trial", bound=tuple[Any, ...])

HALVINGS = 60
SUFFICIENT = 1e-4  # part of the decrease that the slope promises, Armijo's rule

STEPS = 500
SECULAR_STEPS = 60
ENOUGH = 1e-13  # of the gain that a step promises, relative to the value


def backtrack(
    at: Callable[[float], Trial],
    value: float,
    slope: float,
    also: Callable[[Trial], bool] | None = None,
) -> tuple[float, Trial] | None:
    """Halve a step until the objective falls by enough (Armijo).

    Parameters
    ----------
    at : callable
        Returns the objective after a part of the step, in [0, 1], as the first of what it returns.
    value, slope : float
        The objective, and its slope along the step, where the step starts.
    also : callable, optional
        Whether a point will do that fails Armijo's rule, as near a minimum, where rounding errors
        hide the decrease.

    Returns
    -------
    tuple of float and tuple, or None
        The part of the step, and what `at` returned for it; None where all are too long.
    """
    length = 1.0
    for _ in range(HALVINGS):
        trial = at(length)
        if trial[0] <= value + SUFFICIENT * length * slope or (also is not None and also(trial)):
            return length, trial
        length /= 2
    return None


def conjugate_gradients(
    product: Solver, precondition: Solver, right: Floats, forcing: float, most: int
) -> tuple[Floats, int]:
    """Solve H x = right to a relative residual of `forcing`, as the preconditioner measures it.

    Parameters
    ----------
    product, precondition : callable
        Return H v, and about H^-1 v, of an array of the shape of `right`.
    right : array
        Of any shape.
    forcing : float
        Size of the last residual, relative to the first.
    most : int
        Products with H.

    Returns
    -------
    tuple of array and int
        The solution, and the products used. Where H has no curvature along a direction, the
        solution so far.
    """
    x, residual = np.zeros_like(right), right.copy()
    z = direction = precondition(residual)
    rz = float(np.vdot(residual, z))
    enough = forcing**2 * rz
    for used in range(1, most + 1):
        image = product(direction)
        curvature = float(np.vdot(direction, image))
        if curvature <= 0:
            return (x if used > 1 else z), used
        length = rz / curvature
        x += length * direction
        residual -= length * image
        z = precondition(residual)
        before, rz = rz, float(np.vdot(residual, z))
        if rz <= enough:
            break
        direction = z + rz / before * direction
    return x, used


def damped_factor(H: Floats, shift: float) -> tuple[tuple[Floats, bool], float]:
    """Factor H (Cholesky), of a diagonal of about 1 and positive definite up to rounding errors.

    Along directions without curvature, as of separated labels or collinear features, H is singular:
    the shift is added to its diagonal in place, 100 times as much until it suffices.

    Returns
    -------
    factor : tuple
        For `scipy.linalg.cho_solve`.
    shift : float
        What was added.

    Raises
    ------
    numpy.linalg.LinAlgError
        If H is not finite.
    """
    places = np.arange(len(H))
    diagonal = H[places, places]
    while math.isfinite(shift):
        H[places, places] = diagonal + shift
        try:
            return scipy.linalg.cho_factor(H, lower=True, check_finite=False), shift
        except scipy.linalg.LinAlgError:
            shift *= 100
    raise scipy.linalg.LinAlgError("the matrix is not finite")


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
