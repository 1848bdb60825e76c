"""Numbers of labels where the SKCE is a tolerance: in which rows, and how many more than expected.

The unit of all of this is the share of labels that are redirected: other than predicted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from caltest.kernels.fitted import FittedKernel
from caltest.measures.tolerance import designated_labels
from caltest.numerics.event_tails import FewEvents, both_sides
from caltest.predictions import Predictions

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

HALVINGS = 6  # regions of half, a quarter, ... of the rows at either end
SAMPLE = 100  # rows of a region whose pairs tell how near to each other they are


def cases_of_regions(
    predictions: Predictions, kernel: FittedKernel, share: float
) -> Iterator[FewEvents]:
    r"""Yield too few and too many labels of one kind in regions that have all of the error.

    Where labels are redirected in a share s of all rows, evenly over a region R, the SKCE is
    :math:`s^2 B \bar\kappa_R` at most, with B the largest value of h and :math:`\bar\kappa_R` the
    mean of the kernel over pairs of rows in R, 1 where they are equal. So the share is at least
    `share`, :math:`\sqrt{\tau / B}`, over :math:`\sqrt{\bar\kappa_R}`. Regions are all rows, and
    halves, quarters, ... of the rows with the smallest or the largest probability of the label.
    """
    for probs, hits in designated_labels(predictions, share * predictions.n):
        order = np.lexsort((predictions.probs[:, 0], probs))
        for rows in _regions(order):
            excess = share * predictions.n / math.sqrt(mean_kernel(kernel, rows))
            yield from both_sides(probs[rows], hits[rows], excess)


def _regions(order: Rows) -> Iterator[Rows]:
    yield order
    for k in range(1, HALVINGS + 1):
        size = -(-order.size // 2**k)
        yield order[:size]
        yield order[-size:]


def mean_kernel(kernel: FittedKernel, rows: Rows) -> float:
    """Return the mean of the kernel, scaled to 1 at distance 0, over pairs of rows."""
    some = rows[np.linspace(0, rows.size - 1, min(rows.size, SAMPLE)).round().astype(int)]
    left, right = np.triu_indices(some.size, 1)
    sizes = [float(np.abs(term.matrix).max()) for term in kernel.terms]
    off = np.zeros(left.size)
    for term, size in zip(kernel.terms, sizes, strict=True):
        off += size / sum(sizes) * term.pairs(some[left], some[right])
    return float((some.size + 2.0 * off.sum()) / some.size**2)
