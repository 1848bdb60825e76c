r"""Sparse variational Gaussian processes, whitened.

The inducing variables have :math:`q(u) = N(L m, L S L')` with :math:`S = C C'` and
:math:`L L' = k(Z, Z)`. With :math:`A = L^{-1} k(Z, X)` the marginals of q are

.. math:: f(x) \sim N(a' m, \; k(x, x) - a' a + a' C C' a).

Nothing here knows the kernel or the dimension of the inputs. Derivatives are those of a number F:
`by_A` stands for dF/dA.
"""

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from caltest.types import Floats

EPS = float(np.finfo(np.float64).eps)


def whiten(L: Floats, B: Floats) -> Floats:
    """Return A = L^-1 B for B = k(Z, X), (M, n)."""
    return np.asarray(solve_triangular(L, B, lower=True, check_finite=False))


def whiten_back(L: Floats, A: Floats, by_A: Floats) -> tuple[Floats, Floats]:
    """Return the derivatives by L, (M, M), and by B = k(Z, X), (M, n); see `cholesky_back`."""
    by_B: Floats = solve_triangular(L, by_A, lower=True, trans="T", check_finite=False)
    return -np.tril(by_B @ A.T), by_B


def cholesky_back(L: Floats, by_L: Floats) -> Floats:
    """Return the derivative by the symmetric matrix L L', from that by its root L.

    Murray (2016), Differentiation of the Cholesky decomposition, equation 10.
    """
    lower = np.tril(L.T @ np.tril(by_L))
    lower[np.diag_indices_from(lower)] *= 0.5
    half = solve_triangular(L, lower + lower.T, lower=True, trans="T", check_finite=False)
    return 0.5 * np.asarray(solve_triangular(L, half.T, lower=True, trans="T", check_finite=False))


def marginals(A: Floats, prior: Floats | float, m: Floats, C: Floats) -> tuple[Floats, Floats]:
    """Return the means and variances of q(f), both (n,).

    Parameters
    ----------
    A : (M, n) array
        From `whiten`.
    prior : (n,) array or float
        The prior variances k(x, x).
    m : (M,) array
        Means.
    C : (M, M) array
        Lower triangle.
    """
    spread = C.T @ A
    variance = prior - np.einsum("in,in->n", A, A) + np.einsum("in,in->n", spread, spread)
    # Rounding may leave less than nothing where the inducing variables say all.
    return m @ A, np.maximum(variance, 0.0)


def marginals_back(
    A: Floats, m: Floats, C: Floats, by_mean: Floats, by_variance: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the derivatives by A, m and C; that by the prior variances is `by_variance`."""
    spread = C.T @ A
    by_A = np.outer(m, by_mean) + 2 * (C @ spread - A) * by_variance
    by_C = 2 * (A * by_variance) @ spread.T
    return by_A, by_mean @ A.T, np.tril(by_C)


def divergence(m: Floats, C: Floats) -> tuple[float, Floats]:
    """Return KL(q || p), and its derivative by C; that by m is m."""
    value = 0.5 * (np.sum(C**2) + np.sum(m**2) - m.size) - np.log(np.abs(np.diag(C))).sum()
    return float(value), C - np.diag(1 / np.diag(C))


def inverse_root(H: Floats) -> Floats:
    """Return the lower triangular C with C C' = (I + H)^-1, for H symmetric and not negative."""
    M = len(H)
    symmetric, jitter = (H + H.T) / 2, M * EPS * np.abs(H).max()
    while True:
        # Sums over many rows leave rounding errors that may exceed I.
        precision = symmetric + (1 + jitter) * np.eye(M)
        try:
            backward = cholesky(precision[::-1, ::-1], lower=True, check_finite=False)
        except np.linalg.LinAlgError:
            jitter *= 10
        else:
            inverse = solve_triangular(backward, np.eye(M), lower=True, check_finite=False)
            return np.ascontiguousarray(inverse.T[::-1, ::-1])


def unpack_root(values: Floats, M: int) -> Floats:
    """Return C, (M, M), from its entries row by row; those on the diagonal are logarithms.

    So C has a positive diagonal, and a step of the same size means the same at every precision.
    """
    C, at = np.zeros((M, M)), np.diag_indices(M)
    C[np.tril_indices(M)] = values
    C[at] = np.exp(C[at])
    return C


def unpack_root_back(C: Floats, by_C: Floats) -> Floats:
    """Return the derivative by the values of `unpack_root`, (M (M + 1) / 2,)."""
    by_values, at = by_C.copy(), np.diag_indices_from(C)
    by_values[at] *= C[at]
    return np.asarray(by_values[np.tril_indices_from(C)])
