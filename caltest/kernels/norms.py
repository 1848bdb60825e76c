r"""Norms K_{p;q} = sup_{s,t} ||k(s, t)||_{p;q} of matrix-valued kernels, and their upper bounds."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.kernels.matrix import as_matrix_kernel
from caltest.kernels.scalar import Kernel

Floats = NDArray[np.float64]

ORDERS = (1.0, 2.0, math.inf)


def kernel_norm(kernel: Kernel, m: int, p: float, q: float) -> float:
    r"""Bound :math:`K_{p;q} = \sup_{s,t} \sup_{\|c\|_p = 1} \|k(s, t) c\|_q`.

    Every profile is at most 1 and is 1 at distance 0, so the bound is the norm of
    :math:`\sum_t |A_t|`, entry by entry; for p = q = 2 and a psd kernel that of
    :math:`\sum_t A_t`, since :math:`|u' k(s, t) v|^2 \le u' k(s, s) u \; v' k(t, t) v`.

    Parameters
    ----------
    kernel : Kernel
        Scalar kernels stand for kappa times the identity.
    m : int
        Number of classes.
    p, q : {1, 2, inf}
        Orders; p = 1, q = inf or p = q = 2, the norms that are computed exactly.

    Returns
    -------
    float
        K_{p;q}, or an upper bound where the matrices of several terms have mixed signs.

    Raises
    ------
    NotApplicable
        For the other orders, whose norms are hard to compute.

    References
    ----------
    Widmann et al. (2019), section 6 and appendix G.

    Examples
    --------
    >>> from caltest.kernels import Exponential, kernel_norm
    >>> kernel_norm(Exponential(), m=10, p=2, q=2)
    1.0
    """
    matrix_kernel = as_matrix_kernel(kernel)
    terms = matrix_kernel.terms(m)
    entries = np.sum([np.abs(term.matrix) for term in terms], axis=0)
    if p == 1:
        return float(np.linalg.norm(entries, ord=q, axis=0).max())
    if q == math.inf:
        return float(np.linalg.norm(entries, ord=_conjugate(p), axis=1).max())
    if p == q == 2:
        psd = matrix_kernel.is_psd(m)
        total = np.sum([term.matrix for term in terms], axis=0) if psd else entries
        return float(np.linalg.norm(total, ord=2))
    raise NotApplicable(f"K_{{{p:g};{q:g}}} is hard to compute", "use p = 1, q = inf or p = q = 2")


def error_bound(kernel: Kernel, m: int) -> float:
    r"""Return the smallest :math:`B_{p;q} = 2^{1 + 1/p - 1/q} K_{p;q} \ge |h_{ij}|` at hand.

    Each of them is valid and none looks at the data, so the smallest is.

    Parameters
    ----------
    kernel : Kernel
        Scalar kernels stand for kappa times the identity.
    m : int
        Number of classes.

    Returns
    -------
    float
        B, as large as :math:`|h_{ij}|` can be for predictions of m classes.

    Examples
    --------
    >>> from caltest.kernels import Exponential, error_bound
    >>> error_bound(Exponential(), m=10)
    2.0
    """
    orders = [(1.0, q) for q in ORDERS] + [(2.0, 2.0), (2.0, math.inf), (math.inf, math.inf)]
    return min(
        math.pow(2.0, 1.0 + 1.0 / p - 1.0 / q) * kernel_norm(kernel, m, p, q) for p, q in orders
    )


def _conjugate(p: float) -> float:
    return {2.0: 2.0, math.inf: 1.0}[p]
