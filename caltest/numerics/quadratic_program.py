"""Small convex quadratic programmes, exact, with constraints that are found as they are needed."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import lsq_linear, nnls

Floats = NDArray[np.float64]
Cuts = tuple[Floats, Floats]

TOLERANCE = 1e-11  # of a constraint whose row has norm 1
ROUNDS = 200
PASSES = 100  # of the solver for each constraint


def minimum_under(G: Floats, c: Floats, cuts: Callable[[Floats], Cuts]) -> Floats:
    """Minimise y'G y / 2 - c'y under constraints A y >= b that `cuts(y)` lists where they matter.

    `cuts` returns rows A and bounds b, among them one that y breaks unless y is feasible. They
    are added until none is broken by more than `TOLERANCE`: cutting planes, each programme solved
    exactly.
    """
    A, b = np.empty((0, len(c))), np.empty(0)
    y = quadratic_minimum(G, c, A, b)
    for _ in range(ROUNDS):
        rows, bounds = cuts(y)
        norm = np.linalg.norm(rows, axis=1)
        broken = bounds - rows @ y > TOLERANCE * norm
        if not broken.any():
            break
        A = np.vstack([A, rows[broken] / norm[broken, np.newaxis]])
        b = np.append(b, bounds[broken] / norm[broken])
        y = quadratic_minimum(G, c, A, b)
    return y


def quadratic_minimum(G: Floats, c: Floats, A: Floats, b: Floats) -> Floats:
    """Minimise y'G y / 2 - c'y under A y >= b, with G positive definite and an inner point.

    With G = L L' and z = L'(y - G^-1 c) it is the shortest z under B z >= e: least-distance
    programming, which is one non-negative least-squares problem (Lawson, Hanson 1974, chapter 23).
    """
    # Not by triangular solves: BLAS gives those of a matrix to threads, however small it is.
    inverse = np.linalg.inv(np.linalg.cholesky(G))
    y0: Floats = inverse.T @ (inverse @ c)
    e = b - A @ y0
    if not np.any(e > 0):
        return y0
    B = A @ inverse.T
    norm = np.linalg.norm(B, axis=1)
    B, e = B / norm[:, np.newaxis], e / norm
    unit = e.max()
    z = unit * _shortest(B, e / unit)
    y: Floats = y0 + inverse.T @ z
    return y


def _shortest(B: Floats, e: Floats) -> Floats:
    """Return the shortest z under B z >= e; on the active constraints to the last digits."""
    E = np.vstack([B.T, e])
    target = np.append(np.zeros(B.shape[1]), 1.0)
    multiplier = _least_squares(E, target)
    residual = target - E @ multiplier
    z: Floats = -residual[:-1] / residual[-1]
    active = multiplier > 0
    polished = np.linalg.lstsq(B[active], e[active], rcond=None)[0].astype(np.float64)
    feasible = np.all(B @ polished - e >= -TOLERANCE)
    near = np.all(np.abs(polished - z) <= np.sqrt(TOLERANCE))
    return polished if feasible and near else z


def _least_squares(E: Floats, target: Floats) -> Floats:
    """Return the x >= 0 with the least |E x - target|."""
    try:
        x: Floats = nnls(E, target, maxiter=PASSES * E.shape[1])[0]
    except RuntimeError:  # SciPy 1.12 to 1.15 may cycle among constraints that nearly agree
        found = lsq_linear(E, target, bounds=(0.0, np.inf), method="bvls", tol=1e-15)
        x = np.asarray(found.x, dtype=np.float64)
    return x
