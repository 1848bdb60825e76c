r"""Kernel sums on a line in O(n): Exponential and Matern kernels have the Markov property.

With sorted coordinates and :math:`\kappa(r) = e^{-r} \sum_k c_k r^k`, the sums
:math:`S_k(i) = \sum_{j<i} (x_i - x_j)^k e^{-(x_i - x_j)} w_j` for k = 0, 1, 2 follow from those of
the point before: moving by a step s multiplies by :math:`e^{-s}` and expands
:math:`(r + s)^k` by the binomial formula.
"""

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.loops import njit
from caltest.types import Floats

Counts = NDArray[np.unsignedinteger] | Floats  # or signs
LANES = 8  # independent recursions side by side hide the latency of each


@njit()
def exponential_pair_sums(
    decay: Floats, scale: Floats, shift: Floats, counts: Counts, out: Floats
) -> None:
    """Write sum_{j<i} e^{-(x_i - x_j)} w_i w_j, w = scale (counts - shift), for each row of counts.

    `decay` (n,) holds e^{-step}; `counts` (B, n) are labels or bootstrap counts; `scale` and
    `shift` have length n, or 1 where they are the same for all.
    """
    size, n = counts.shape
    each_scale, each_shift = scale.size == n, shift.size == n
    for start in range(0, size, LANES):
        lanes = min(LANES, size - start)
        carried, total = np.zeros(LANES), np.zeros(LANES)
        for i in range(n):
            v, u = scale[i if each_scale else 0], shift[i if each_shift else 0]
            for lane in range(lanes):
                w = v * (counts[start + lane, i] - u)
                earlier = decay[i] * carried[lane]
                total[lane] += w * earlier
                carried[lane] = earlier + w
        for lane in range(lanes):
            out[start + lane] = total[lane]


@njit()
def markov_pair_sums(
    step: Floats,
    decay: Floats,
    c: Floats,
    scale: Floats,
    shift: Floats,
    counts: Counts,
    out: Floats,
) -> None:
    """Write sum_{j<i} kappa_ij w_i w_j as above, for the three coefficients `c`."""
    size, n = counts.shape
    each_scale, each_shift = scale.size == n, shift.size == n
    for start in range(0, size, LANES):
        lanes = min(LANES, size - start)
        s0, s1, s2 = np.zeros(LANES), np.zeros(LANES), np.zeros(LANES)
        total = np.zeros(LANES)
        for i in range(n):
            s, e = step[i], decay[i]
            v, u = scale[i if each_scale else 0], shift[i if each_shift else 0]
            for lane in range(lanes):
                w = v * (counts[start + lane, i] - u)
                s2[lane] = e * (s2[lane] + s * (2.0 * s1[lane] + s * s0[lane]))
                s1[lane] = e * (s1[lane] + s * s0[lane])
                s0[lane] = e * s0[lane]
                total[lane] += w * (c[0] * s0[lane] + c[1] * s1[lane] + c[2] * s2[lane])
                s0[lane] += w
        for lane in range(lanes):
            out[start + lane] = total[lane]


@njit()
def earlier_sums(step: Floats, decay: Floats, c: Floats, w: Floats) -> Floats:
    """Return sum_{j<i} kappa_ij w_j for every i."""
    out = np.empty(w.size)
    s0 = s1 = s2 = 0.0
    for i in range(w.size):
        s, e = step[i], decay[i]
        s2 = e * (s2 + s * (2.0 * s1 + s * s0))
        s1 = e * (s1 + s * s0)
        s0 = e * s0
        out[i] = c[0] * s0 + c[1] * s1 + c[2] * s2
        s0 += w[i]
    return out


@njit()
def product_pair_sum(
    first: Floats, second: Floats, decay: Floats, a: Floats, b: Floats, w: Floats
) -> float:
    r"""Return sum_{j<i} kappa_ij lambda_ij w_i w_j for two kernels of the coefficients a and b.

    `first` and `second` are their steps, which may be those of two coordinates, and `decay` the
    product of their decays. With the distances r and u from point i,
    :math:`S_{kl} = \sum_{j<i} r^k u^l e^{-r-u} w_j`.
    """
    sums = np.zeros((3, 3))
    total = 0.0
    for i in range(w.size):
        s, t = first[i], second[i]
        for row in range(3):  # u + t
            sums[row, 2] += t * (2.0 * sums[row, 1] + t * sums[row, 0])
            sums[row, 1] += t * sums[row, 0]
        for column in range(3):  # r + s
            sums[2, column] += s * (2.0 * sums[1, column] + s * sums[0, column])
            sums[1, column] += s * sums[0, column]
        here = 0.0
        for row in range(3):
            for column in range(3):
                sums[row, column] *= decay[i]
                here += a[row] * b[column] * sums[row, column]
        total += w[i] * here
        sums[0, 0] += w[i]
    return total
