"""The mean embedding of the errors in the space of a kernel: the witness, and the gap curve."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from caltest.kernels import FittedKernel, MatrixKernel
from caltest.kernels.fitted import COLUMNS, FittedTerm, LineKernel, column_tiles
from caltest.measures.fits import ReadOnly
from caltest.measures.kernel.pairs import pair_weight
from caltest.numerics.loops import blocks, map_threads
from caltest.numerics.tails import path_length_of_products, tube_quantile
from caltest.predictions import Predictions
from caltest.types import Floats

POINTS, ROWS = 256, 4096  # a block of kappa has 8 MiB


class Embedding:
    r"""The function :math:`g(s) = \sum_i w_i k(s, p_i) \delta_i / \sum_i w_i`.

    Its length is the root of the biased SKCE. Two classes with Exponential or Matern kernels take
    O(n log n), others O(n^2 m) in bounded memory.

    Parameters
    ----------
    predictions : Predictions
        As the lens shows them.
    kernel : MatrixKernel
        Its bandwidths are fitted to the predictions, as in the test.
    """

    def __init__(self, predictions: Predictions, kernel: MatrixKernel) -> None:
        self.predictions = predictions
        self.kernel = FittedKernel.of(kernel, predictions)
        self.weight = predictions.weights
        self.weighted = predictions.residuals
        self._on_line = all(term.is_line for term in self.kernel.terms)

    def at(self, points: Floats) -> Floats:
        """Return g at points of the simplex, (q, m) to (q, m)."""
        total, rows = self.weight.sum(), self.predictions.n
        if self._on_line:
            # The points are merged with the rows, at weight 0, for the sums of all on the line.
            merged = np.concatenate([self.predictions.probs[:, 1], points[:, 1]])
            d = np.concatenate([self.weighted[:, 1], np.zeros(len(points))])
            order = np.argsort(merged)
            place = np.empty_like(order)
            place[order] = np.arange(order.size)
            out = np.zeros((len(points), 2))
            for term in self.kernel.terms:
                sums = LineKernel(term, merged[order]).other_sums(d[order])[place[rows:]]
                out += sums[:, None] * (term.matrix @ np.array([-1.0, 1.0]))
            return np.asarray(out / total)

        def block(first: int) -> Floats:
            some = np.ascontiguousarray(points[first : first + POINTS])
            out = np.zeros_like(some)
            for part in blocks(rows, ROWS):
                for term in self.kernel.terms:
                    out += term.cross(some, part).T @ self.weighted[part] @ term.matrix
            return out

        starts = [(first,) for first in range(0, len(points), POINTS)]
        return np.asarray(np.concatenate(list(map_threads(block, starts))) / total)

    @cached_property
    def at_rows(self) -> Floats:
        """The values of g at the predictions, (n, m)."""
        if self._on_line:
            return self.at(self.predictions.probs)
        n, out = self.predictions.n, np.zeros_like(self.weighted)
        starts = [(j0,) for j0 in range(0, n, COLUMNS)]
        for term in self.kernel.terms:
            image = self.weighted @ term.matrix
            out += image  # kappa(s, s) = 1

            def block(j0: int, term: FittedTerm = term, image: Floats = image) -> Floats:
                sums = np.zeros_like(image[j0:])  # of the pairs j < i, for the rows from j0
                for i0, i1, _, j1 in column_tiles(n, j0):
                    tile = term.below(i0, i1, j0, j1)
                    sums[i0 - j0 : i1 - j0] += tile @ image[j0:j1]
                    sums[: j1 - j0] += tile.T @ image[i0:i1]
                return sums

            for some in map_threads(block, starts):
                out[n - len(some) :] += some
        return np.asarray(out / self.weight.sum())

    @cached_property
    def length(self) -> float:
        """The norm of g in the space of the kernel, which is the biased KCE."""
        square = float(np.vdot(self.weighted, self.at_rows) / self.weight.sum())
        return float(np.sqrt(max(square, 0.0)))

    @cached_property
    def contributions(self) -> Floats:
        """What each row and class adds to the unbiased SKCE, (n, m); all add up to it."""
        own = sum(self.weighted @ term.matrix for term in self.kernel.terms)
        others = self.at_rows * self.weight.sum() - own
        return np.asarray(self.weighted * others / pair_weight(self.weight))


@dataclass(frozen=True, eq=False)
class GapCurve(ReadOnly):
    """The mean of the observed less the predicted probability near each prediction.

    Attributes
    ----------
    x : (points,) array
        Predictions in ascending order, over the range of those observed.
    gap : (points,) array
        Observed less predicted, weighted by the kernel.
    limit : (points,) array
        The gaps of calibrated predictions lie between -limit and limit, all of them at once with
        probability `level`.
    level : float
    """

    x: Floats = field(repr=False)
    gap: Floats = field(repr=False)
    limit: Floats = field(repr=False)
    level: float


def gap_curve(embedding: Embedding, points: int, level: float) -> GapCurve:
    """Smooth the gap; the errors are those of labels that are drawn from the predictions."""
    predictions, weight = embedding.predictions, embedding.weight
    event = predictions.probs[:, 1]
    seen = event[weight > 0]
    x = np.linspace(float(seen.min()), float(seen.max()), points)
    at = np.column_stack([1.0 - x, x])
    mass, moment, square = np.zeros((3, points))
    product = np.zeros(points - 1)
    for rows in blocks(predictions.n, ROWS):
        kernel = np.zeros((event[rows].size, points))
        for term in embedding.kernel.terms:
            share = float((term.matrix @ np.array([-1.0, 1.0]))[1])
            kernel += share * term.cross(at, rows)
        moment += embedding.weighted[rows, 1] @ kernel
        kernel *= weight[rows, None]
        mass += kernel.sum(axis=0)
        kernel *= np.sqrt(event[rows] * (1.0 - event[rows]))[:, None]
        square += np.square(kernel).sum(axis=0)
        product += (kernel[:, 1:] * kernel[:, :-1]).sum(axis=0)
    reach = tube_quantile(path_length_of_products(square, product), level)
    scale = np.where(mass > 0, mass, np.inf)
    return GapCurve(x, moment / scale, reach * np.sqrt(square) / scale, level)
