r"""Sums over the cells of nested dyadic partitions of [0, 1], all scales in one pass.

At scale b = 1, 2, ..., S the unit interval has 2^b right-closed cells. For residuals :math:`e_i`
the pass gives

.. math:: T_b = \sum_c \frac{(\sum_{i \in c} e_i)^2 - \sum_{i \in c} e_i^2}{|c|}.

Cells with the same rows at several scales are one node of a binary tree, which sorted rows visit
from left to right with a stack: row i is pushed, and the two topmost nodes are merged as often as
`merges[i]` says. A merge gives a node that is a cell at the scales from `coarse` + 1 to `fine`.
"""

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Labels = NDArray[np.unsignedinteger]

LANES = 8  # resamples side by side hide the latency of each


@numba.njit(nogil=True, cache=True)
def shared_scales(event: Floats, scales: int) -> Ints:
    """Return the finest scale at which row i and row i + 1 of the sorted `event` share a cell.

    It is 0 where there is none; the last row shares none.
    """
    out = np.zeros(event.size, np.int64)
    before = 0
    for i in range(event.size):
        cell = max(int(np.ceil(event[i] * 2.0**scales)) - 1, 0)
        if i > 0:
            differ, scale = cell ^ before, scales
            while differ > 0:
                differ >>= 1
                scale -= 1
            out[i - 1] = max(scale, 0)
        before = cell
    return out


@numba.njit(nogil=True, cache=True)
def merge_program(shared: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the merges after each row, and the scales and the size of the node of each merge."""
    n = shared.size
    merges = np.zeros(n, np.int64)
    coarse, fine, size = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    left, sizes = np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    top = count = 0
    for i in range(n):
        left[top] = shared[i - 1] if top > 0 else 0  # the scale that joins it with the node below
        sizes[top] = 1
        while top > 0 and left[top] >= shared[i]:
            sizes[top - 1] += sizes[top]
            fine[count] = left[top]
            coarse[count] = max(left[top - 1], shared[i])
            top -= 1
            size[count] = sizes[top]
            count += 1
            merges[i] += 1
        top = 0 if shared[i] == 0 else top + 1
    return merges, coarse[:count].copy(), fine[:count].copy(), size[:count].copy()


@numba.njit(nogil=True, cache=True)
def dyadic_sums(
    labels: Labels,
    event: Floats,
    shared: Ints,
    merges: Ints,
    coarse: Ints,
    fine: Ints,
    size: Ints,
    scales: int,
) -> Floats:
    """Return T_b of the residuals of each row of `labels` (B, n), (B, scales)."""
    out = np.zeros((labels.shape[0], scales))
    sums, squares = np.zeros((scales + 2, LANES)), np.zeros((scales + 2, LANES))
    for start in range(0, labels.shape[0], LANES):
        lanes = min(LANES, labels.shape[0] - start)
        at = np.zeros((scales + 1, LANES))
        top = node = 0
        for i in range(event.size):
            for lane in range(lanes):
                e = labels[start + lane, i] - event[i]
                sums[top, lane] = e
                squares[top, lane] = e * e
            for _ in range(merges[i]):
                _add(sums[top], sums[top - 1])
                _add(squares[top], squares[top - 1])
                top -= 1
                if coarse[node] < fine[node]:
                    part = 1.0 / size[node]
                    _add_cell(sums[top], squares[top], part, at[fine[node]], at[coarse[node]])
                node += 1
            top = 0 if shared[i] == 0 else top + 1
        for b in range(scales, 0, -1):
            at[b - 1] += at[b]
            out[start : start + lanes, b - 1] = at[b, :lanes]
    return out


@numba.njit(nogil=True, cache=True, inline="always")
def _add(values: Floats, to: Floats) -> None:
    for lane in range(LANES):
        to[lane] += values[lane]


@numba.njit(nogil=True, cache=True, inline="always")
def _add_cell(sums: Floats, squares: Floats, part: float, fine: Floats, coarse: Floats) -> None:
    """Add a cell to the sums of its scales, which are running sums from `fine` to `coarse`."""
    for lane in range(LANES):
        term = (sums[lane] * sums[lane] - squares[lane]) * part
        fine[lane] += term
        coarse[lane] -= term


@numba.njit(nogil=True, cache=True)
def dyadic_variances(
    event: Floats,
    shared: Ints,
    merges: Ints,
    coarse: Ints,
    fine: Ints,
    size: Ints,
    scales: int,
) -> Floats:
    r"""Return the variance of every T_b where the labels are drawn from `event`, (scales,).

    With the variances v of the residuals a cell of c rows adds
    :math:`2 c^{-2} \sum_{i \ne j} v_i v_j`.
    """
    sums, squares = np.zeros(scales + 2), np.zeros(scales + 2)
    out = np.zeros(scales)
    top = node = 0
    for i in range(event.size):
        sums[top] = event[i] * (1.0 - event[i])
        squares[top] = sums[top] ** 2
        for _ in range(merges[i]):
            sums[top - 1] += sums[top]
            squares[top - 1] += squares[top]
            top -= 1
            pairs = max(sums[top] ** 2 - squares[top], 0.0)
            out[coarse[node] : fine[node]] += 2.0 * pairs / float(size[node]) ** 2
            node += 1
        top = 0 if shared[i] == 0 else top + 1
    return out
