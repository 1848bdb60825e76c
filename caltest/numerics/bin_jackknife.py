"""The unbiased squared error over bins, and what it is without each of the rows."""

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@numba.njit(nogil=True, cache=True)
def unbiased_bin_errors(
    delta: Floats, start: Ints, single: float
) -> tuple[float, Floats, float, float]:
    r"""Return the estimate, the n estimates without one row, and two moments.

    With S the sum and Q the sum of squares of the n_b rows of `delta` (n, m) in cell b, a cell adds

    .. math:: c_b = (|S|^2 - Q) / (n_b - 1), \quad
        (|S|^2 - 2 S \delta_i + 2 |\delta_i|^2 - Q) / (n_b - 2) \text{ without row i},

    and the estimate is their sum over n. A cell of one row adds `single` times its square. The
    moments are the variance of the estimate where all cells have mean 0,

    .. math:: \frac{2}{n^2} \sum_b \frac{n_b}{n_b - 1}
        \overline{(\delta_i \cdot \delta_{i+1})^2},

    from neighbours in the cell, and the largest mean square of a cell.
    """
    n, m = delta.shape
    without, sums = np.empty(n), np.empty(m)
    total = spread = largest = 0.0
    for b in range(start.size - 1):
        first, last = start[b], start[b + 1]
        count = last - first
        square = products = 0.0
        sums[:] = 0.0
        for i in range(first, last):
            product = 0.0
            for k in range(m):
                sums[k] += delta[i, k]
                square += delta[i, k] * delta[i, k]
                if i > first:
                    product += delta[i, k] * delta[i - 1, k]
            products += product * product
        if count == 1:
            total += single * square
            without[first] = -single * square
            continue
        cell = (_norm(sums) - square) / (count - 1)
        total += cell
        spread += products * count / (count - 1.0) ** 2
        largest = max(largest, square / count)
        for i in range(first, last):
            cross = own = 0.0
            for k in range(m):
                cross += sums[k] * delta[i, k]
                own += delta[i, k] * delta[i, k]
            if count == 2:
                rest = single * (square - own)
            else:
                rest = (_norm(sums) - 2.0 * cross + 2.0 * own - square) / (count - 2)
            without[i] = rest - cell
    for i in range(n):
        without[i] = (total + without[i]) / (n - 1)
    return total / n, without, 2.0 * spread / n**2, largest


@numba.njit(nogil=True, cache=True, inline="always")
def _norm(sums: Floats) -> float:
    total = 0.0
    for k in range(sums.size):
        total += sums[k] * sums[k]
    return total
