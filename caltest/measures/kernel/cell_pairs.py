"""Sums of h_ij over all pairs of the rows of cells, as functions of their numbers of events."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.kernels.fitted import FittedKernel, FittedTerm, event_coordinates
from caltest.kernels.line import LineKernel, is_line_term
from caltest.kernels.matrix import MatrixKernel
from caltest.measures.cells import BoundCells, Counts
from caltest.measures.kernel.all_pairs import PairMean
from caltest.scale import Cells

Floats = NDArray[np.float64]
PLACES = 2048  # of a kernel that needs all pairs of them
INTERPOLATED = f", and is interpolated between {PLACES} places"
AT_MEAN_WEIGHT = "; squares of residuals at the mean weight of each cell"
Squares = Callable[[Floats], Floats]


class CellPairs(PairMean, BoundCells):
    """The unbiased or the biased mean of h over all pairs of rows, at the mean of their cell.

    For two classes h_ij = a kappa_ij d_i d_j with d = y - p. The sum over all i and j is one over
    cells of their sums of d; the pairs i = j are left out by the sum of d^2 over rows.
    """

    def __init__(self, cells: Cells, kernel: MatrixKernel, *, biased: bool) -> None:
        BoundCells.__init__(self, cells)
        if cells.rows < 2 and not biased:
            raise NotApplicable(
                "the unbiased SKCE needs at least two observations, and there is one",
                "use estimator='biased'",
            )
        self.kernel = fitted_to_cells(kernel, cells)
        on_line = all(is_line_term(term) for term in self.kernel.terms)
        self._is_interpolated = not on_line and len(cells) > PLACES
        self.biased = biased
        self._is_at_mean_weight = not biased and not cells.has_equal_weights
        self.caution = at_mean(self.kernel, cells) + INTERPOLATED * self._is_interpolated
        if self._is_at_mean_weight:
            self.caution += AT_MEAN_WEIGHT
        self.notes, self.degenerate = self.kernel.notes, self.kernel.degenerate
        self.scale = float(sum(np.abs(term.matrix).max() for term in self.kernel.terms))
        self._sums = [self._of_term(term) for term in self.kernel.terms]

    def values(self, labels: Counts, n_jobs: int | None = None) -> Floats:
        excess, mass = np.ascontiguousarray(labels - self.cells.expected), self.cells.mass
        total = np.asarray(sum(full(excess) for full in self._sums))
        if self.biased:
            return self.finished(total / mass**2)
        pairs = mass**2 - float(self.cells.squares.sum())
        return (total - self._factor * self.squares(excess)) / pairs

    def error(self) -> float | None:
        return None if self._is_interpolated or self._is_at_mean_weight else super().error()

    def squares(self, excess: Floats) -> Floats:
        """Return the sum over rows of w^2 (y - p)^2, (B,); see `Cells.square_residuals`."""
        return np.asarray(self.cells.square_residuals(excess).sum(axis=1))

    @cached_property
    def _factor(self) -> float:
        return float(sum(term.factor for term in self.kernel.terms))

    def _of_term(self, term: FittedTerm) -> Squares:
        """Return the function that gives the sum of h over all i and j for each row of d (B, C)."""
        if not is_line_term(term):
            return self._of_places(term)
        line, one, zero = LineKernel(term, self.cells.mean), np.ones(1), np.zeros(1)

        def full(excess: Floats) -> Floats:
            own = np.einsum("bc,bc->b", excess, excess)
            return np.asarray(2.0 * line.pair_sums(one, zero, excess) + line.factor * own)

        return full

    def _of_places(self, term: FittedTerm) -> Squares:
        """Return it for any kernel: between places, which are cells, it is linear."""
        x = term.factors[0].coordinates[:, 0]
        at = places(self.cells, x)
        left, right = np.repeat(at, at.size), np.tile(at, at.size)
        matrix = term.factor * term.pairs(left, right).reshape(at.size, -1)
        run = np.searchsorted(at, np.arange(len(self.cells)), side="right") - 1
        beyond = np.minimum(run + 1, at.size - 1)
        way = np.where(beyond > run, x[at[beyond]] - x[at[run]], 1.0)
        share = (x - x[at[run]]) / np.where(way > 0, way, 1.0)

        def full(excess: Floats) -> Floats:
            sums = np.add.reduceat(excess * (1.0 - share), at, axis=1)
            sums[:, 1:] += np.add.reduceat(excess * share, at, axis=1)[:, :-1]
            return np.asarray(np.einsum("bc,bc->b", sums @ matrix, sums))

        return full


def fitted_to_cells(kernel: MatrixKernel, cells: Cells) -> FittedKernel:
    """Fit a kernel to the mean predictions of cells, with the pairs of their rows."""
    probs = np.column_stack([1.0 - cells.mean, cells.mean])
    return FittedKernel(kernel, probs, size=cells.counts.astype(np.float64))


def at_mean(kernel: FittedKernel, cells: Cells) -> str:
    """Say what the place of the rows in their cells changes: by how much the kernel falls there."""
    falls = []
    for scalar in kernel.scalars:
        low, high = (event_coordinates(scalar.kernel, p) for p in (cells.least, cells.most))
        scaled = (high - low) * scalar.unit / scalar.bandwidth
        falls.append(1.0 - scalar.kernel.profile(scaled))
    fall = float(np.max(falls, axis=0) @ cells.variance) / float(cells.variance.sum() or 1.0)
    return f"kernel at the mean prediction of each cell; it falls by {fall:.1g} across one"


def places(cells: Cells, x: Floats) -> NDArray[np.int64]:
    r"""Return at most `PLACES` + 1 cells, the first and the last among them, for interpolation.

    They are nearer to each other where there is more variance: they have equal parts of the sum of
    :math:`(v_c \Delta_c^4)^{1/5}`, with :math:`\Delta_c` the width of a cell, by which the mean
    square of errors that grow with the square of the distance is least.
    """
    if len(cells) <= PLACES:
        return np.arange(len(cells))
    share = np.cumsum((cells.variance * np.gradient(x) ** 4) ** 0.2)
    place = np.minimum(share / share[-1] * PLACES, PLACES - 1).astype(np.int64)
    first = np.flatnonzero(np.append(True, np.diff(place) != 0))
    return np.union1d(first, len(cells) - 1)
