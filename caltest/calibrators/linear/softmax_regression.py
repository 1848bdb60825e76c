"""Log loss of softmax(theta x) with quadratic penalties: value, derivatives, and its minimum.

The objective is sum_i w_i l(theta; x_i, y_i) + 1/2 sum_kj penalty_kj (theta_kj - centre_kj)^2, with
weights that sum to 1 and theta of shape (m, d). It is convex. Products with its Hessian cost as
much as the gradient; the Hessian itself, of (m d)^2 entries, is only formed to precondition small
problems.

Probabilities lie class by class, (m, n): sums over few classes are then sums of long rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Mask = NDArray[np.bool_]

BLOCK = 2**16  # entries of a block of rows: it stays in the cache
SAMPLE = 20_000  # rows that tell a good multiple of the start


def row_blocks(n: int, m: int) -> list[slice]:
    """Split n rows of m entries into blocks of half a megabyte, or of 1024 rows."""
    size = max(1024, BLOCK // m)
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def value_and_gradient(
    theta: Floats,
    X: Floats,
    codes: Codes,
    weight: Floats,
    penalty: Floats,
    centre: Floats | float = 0.0,
) -> tuple[float, Floats, Floats]:
    """Return the objective, its gradient and the probabilities, (m, n)."""
    probs = np.empty((len(theta), len(X)))
    away = theta - centre
    gradient = penalty * away
    value = 0.5 * float(np.vdot(gradient, away))
    for rows in row_blocks(len(X), len(theta)):
        z = np.matmul(theta, X[rows].T, out=probs[:, rows])
        loss, residual = _residual(z, codes[rows], weight[rows])
        value += loss
        gradient += residual @ X[rows]
    return value, gradient, probs


def _residual(z: Floats, codes: Codes, weight: Floats) -> tuple[float, Floats]:
    """Turn scores into probabilities in place; return the log loss and w (p - e_y)."""
    observed = codes, np.arange(len(codes))
    z -= z.max(axis=0)
    score = z[observed]
    np.exp(z, out=z)
    total = z.sum(axis=0)
    z /= total
    residual = z * weight
    residual[observed] -= weight
    return float(weight @ (np.log(total) - score)), residual


def hessian_product(V: Floats, probs: Floats, X: Floats, weight: Floats, penalty: Floats) -> Floats:
    """Return the product of the Hessian with V, (m, d)."""
    product = penalty * V
    for rows in row_blocks(len(X), len(V)):
        p = probs[:, rows]
        u = V @ X[rows].T
        u -= np.einsum("ij,ij->j", p, u)
        u *= p
        u *= weight[rows]
        product += u @ X[rows]
    return product


def hessian(probs: Floats, X: Floats, weight: Floats) -> Floats:
    """Return the Hessian of the log loss, (m d, m d), without the penalty."""
    (m, n), d = probs.shape, X.shape[1]
    H = np.zeros((m * d, m * d))
    for rows in row_blocks(n, m * d):
        p, x, w = probs[:, rows], X[rows].T, weight[rows]
        z = (p[:, None, :] * (np.sqrt(w) * x)).reshape(m * d, -1)
        product = z @ z.T
        for k, q in enumerate(p):
            # As p (1 - p): a difference of sums would lose all digits where p is near 1.
            block = slice(k * d, (k + 1) * d)
            product[block, block] = -(x * (w * q * (1 - q))) @ x.T
        H -= product
    return H


def scaled_start(
    start: Floats,
    X: Floats,
    codes: Codes,
    weight: Floats,
    penalty: Floats,
    centre: Floats | float = 0.0,
) -> Floats:
    """Return the best multiple of the start, roughly: Newton's iteration in one dimension."""
    if len(X) > SAMPLE:
        rows, weight = drawn_rows(weight, SAMPLE)
        X, codes = X[rows], codes[rows]
    z = start @ X.T
    z -= z.max(axis=0)
    observed = z[codes, np.arange(len(codes))]
    curvature = float(np.vdot(penalty * start, start))
    pull = float((penalty * start * centre).sum())
    t = 1.0
    for _ in range(150):
        p = np.exp(t * z)
        p /= p.sum(axis=0)
        mean = np.einsum("ij,ij->j", p, z)
        slope = float(weight @ (mean - observed)) + t * curvature - pull
        p *= z
        second = float(weight @ (np.einsum("ij,ij->j", p, z) - mean**2)) + curvature
        # Of separated labels every multiple is better than the one before: 10 is enough.
        moved = t - slope / max(second, 1e-290)
        before, t = t, min(float(np.clip(moved, t / 10, 10 * t)), 10.0)
        if abs(t - before) < 0.02 * t:
            break
    return start * t


def drawn_rows(weight: Floats, size: int) -> tuple[NDArray[np.int64], Floats]:
    """Draw rows without replacement; return them and their weights, which sum to 1."""
    rows = np.random.default_rng(0).choice(len(weight), size, replace=False)
    return rows, weight[rows] / max(float(weight[rows].sum()), 1e-300)


def project(V: Floats, free: Mask, *, tied: bool) -> Floats:
    """Project on the allowed directions: zero where not free, one value on a tied diagonal."""
    projected = np.where(free, V, 0.0)
    if tied:
        diagonal = np.arange(len(V))
        projected[diagonal, diagonal] = projected[diagonal, diagonal].mean()
    return projected
