"""Kernels on a line: sums over all pairs in O(n) once the points are sorted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caltest.kernels.fitted import FittedTerm, event_coordinates
from caltest.numerics.recursion import (
    earlier_sums,
    exponential_pair_sums,
    markov_pair_sums,
    product_pair_sum,
)
from caltest.types import Floats

Counts = NDArray[np.unsignedinteger] | Floats  # or signs

NO_DECAY_BEYOND = 800.0  # exp(-800) = 0: larger scaled gaps are all the same


class LineKernel:
    """A term kappa A for two classes, where delta_i = d_i (-1, 1): delta_i' A delta_j = a d_i d_j.

    Parameters
    ----------
    term : FittedTerm
        With one Exponential or Matern factor, see `is_line_term`.
    event : (n,) array
        P(Y = 1), sorted.

    Attributes
    ----------
    factor : float
        a = A[0, 0] - A[0, 1] - A[1, 0] + A[1, 1].
    """

    def __init__(self, term: FittedTerm, event: Floats) -> None:
        (scalar,) = term.factors
        self.factor = term.factor
        c = scalar.kernel.polynomial
        self.coefficients = np.array(c + (0.0,) * (3 - len(c)))
        x = event_coordinates(scalar.kernel, event)
        self.step = np.zeros(x.size)
        np.subtract(x[1:], x[:-1], out=self.step[1:])
        self.step *= scalar.kernel.rate * scalar.unit / scalar.bandwidth
        np.minimum(self.step, NO_DECAY_BEYOND, out=self.step)
        self.decay = np.negative(self.step)
        np.exp(self.decay, out=self.decay)

    def pair_sums(self, scale: Floats, shift: Floats, counts: Counts) -> Floats:
        """Return sum_{j<i} a kappa_ij d_i d_j for each row, d = scale (counts - shift)."""
        out = np.empty(len(counts))
        if self.coefficients[1] == 0:
            exponential_pair_sums(self.decay, scale, shift, counts, out)
        else:
            c = self.coefficients
            markov_pair_sums(self.step, self.decay, c, scale, shift, counts, out)
        return np.multiply(out, self.factor, out=out)

    def all_sums(self, d: Floats) -> Floats:
        """Return the sum of a kappa_ij d_i d_j over all i and j for each row of d, (B, n)."""
        own = np.einsum("bc,bc->b", d, d)
        return np.asarray(2.0 * self.pair_sums(np.ones(1), np.zeros(1), d) + self.factor * own)

    def row_sums(self, d: Floats) -> Floats:
        """Return d_i sum_{j != i} a kappa_ij d_j for every i."""
        return np.asarray(self.factor * d * self.other_sums(d))

    def product_sum(self, other: LineKernel, w: Floats) -> float:
        """Return sum_{j<i} a kappa_ij w_i w_j times a kappa_ij of another kernel of the points."""
        decay = self.decay * other.decay
        steps, c = (self.step, other.step), (self.coefficients, other.coefficients)
        return self.factor * other.factor * float(product_pair_sum(*steps, decay, *c, w))

    def other_sums(self, d: Floats) -> Floats:
        """Return sum_{j != i} kappa_ij d_j for every i."""
        earlier = earlier_sums(self.step, self.decay, self.coefficients, d)
        step = np.append(0.0, self.step[:0:-1])
        later = earlier_sums(step, np.exp(-step), self.coefficients, d[::-1])[::-1]
        return np.asarray(earlier + later)


def is_line_term(term: FittedTerm) -> bool:
    """Tell whether sums over this term can be taken on a line."""
    if len(term.matrix) != 2 or len(term.factors) != 1:
        return False
    kernel = term.factors[0].kernel
    return bool(kernel.polynomial) and not callable(kernel.metric)
