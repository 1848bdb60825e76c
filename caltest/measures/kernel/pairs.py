"""Sums of h_ij = delta_i' k(p_i, p_j) delta_j over all pairs or within blocks, for any labels.

Two ways of all pairs, one result: by tiles for any kernel and any m, on a line by sorting.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.kernels import fitted
from caltest.kernels.features import Features, FeatureTotals
from caltest.kernels.fitted import FittedKernel, FittedTerm, LineKernel, Tile
from caltest.kernels.simplex import MatrixKernel
from caltest.measures.bound import BoundCells, BoundChunks, BoundMeasure, Counts
from caltest.measures.outcome import Part
from caltest.measures.residual_sums import ResidualStatistic, of_rows
from caltest.numerics import class_sums
from caltest.numerics.loops import frozen, map_threads
from caltest.numerics.sorted_scores import sort_scores
from caltest.predictions import Predictions, Rows
from caltest.sources import Cells
from caltest.sources.chunks import Survey
from caltest.types import Floats, Ints, Labels, Order, SmallInts
from caltest.units import Flipped

AddPairs = Callable[[Floats, int, int], None]
HTiles = Iterator[tuple[slice, slice, Any]]
MOST_LISTED = 0.75  # labels of a row and less its usual one, with which leaving that out is faster
FEW_CLASSES = 3  # a product of matrices for each is as fast as looking up the pairs
BIASED = "use estimator='biased'"
CLUSTERS = 1024  # up to which the sums over pairs of clusters are kept
RESAMPLES = 1024  # of few classes at a time, in 8 MiB for each class
MOST_TRIPLED = 2000  # rows whose triples are summed over
PLACES = 2048  # of a kernel that needs all pairs of them
INTERPOLATED = f", and is interpolated between {PLACES} places"
AT_MEAN_WEIGHT = "; squares of residuals at the mean weight of each cell"
PAIRS_AT_A_TIME = 1 << 17
LEFT_OUT = "left out by features"


class PairMean(BoundMeasure):
    """A mean of h over pairs, or the square root of it; rounding below 0 counts as 0.

    Attributes
    ----------
    rooted : bool
        Whether the value is the root.
    normaliser : float
        The number of pairs, i = j included where the estimator is biased: with sample weights,
        which count an observation w_i times, the sum of w_i w_j.
    """

    rooted: bool = False

    def fit(self, kernel: FittedKernel) -> None:
        """Take a kernel."""
        self.kernel, self.notes, self.degenerate = kernel, kernel.notes, kernel.degenerate
        self.scale = float(sum(np.abs(term.matrix).max() for term in kernel.terms))

    def count(self, mass: float, pairs: float, *, biased: bool) -> None:
        """Take the weight of the rows, and that of the pairs of different ones."""
        self.biased, self.normaliser = biased, float(mass**2 if biased else pairs)

    def count_rows(self, rows: Rows, *, biased: bool) -> None:
        """Take the number of rows and their weights, `weight`, which is one for all without."""
        weight, n = rows.sample_weight, rows.n
        counted = n if weight is None else int(np.count_nonzero(weight))
        found = "there is one" if weight is None else "one has a positive weight"
        check_two(counted, found, biased=biased)
        self.weight = np.ones(1) if weight is None else weight
        mass, pairs = (n, n * (n - 1)) if weight is None else (weight.sum(), pair_weight(weight))
        self.count(mass, pairs, biased=biased)

    def finished(self, total: Floats) -> Floats:
        """Return the values that sums over pairs stand for."""
        mean = total / self.normaliser
        return np.sqrt(np.maximum(mean, 0.0)) if self.rooted else mean

    def comparable(self, values: Floats) -> Floats:
        # A root makes 1e-8 of a rounding error of 1e-16.
        return np.square(values) if self.rooted else values


class AllPairs(PairMean):
    """The unbiased or the biased mean of h over all pairs of rows: a U-statistic with its sums."""

    def __init__(self, predictions: Predictions, kernel: FittedKernel, *, biased: bool) -> None:
        super().__init__(predictions)
        self.count_rows(predictions, biased=biased)
        self.fit(kernel)

    @abstractmethod
    def row_moments(self) -> tuple[Floats, float]:
        """Return the sums over each row, and the mean of h_ij^2 over i < j.

        The latter bounds the variance of h, and its root the largest eigenvalue of the covariance
        of what h is the inner product of. Unweighted rows only.
        """

    @abstractmethod
    def weighted_sums(self, counts: Labels | Floats) -> Floats:
        """Return sum_{j<i} c_i c_j h_ij for each row c of `counts` (B, n)."""

    @abstractmethod
    def diagonal(self) -> Floats:
        """Return h_ii for every i."""

    @abstractmethod
    def signed_sums(self, clusters: Ints, count: int) -> Flipped:
        """Return sum_{j<i} s_i s_j h_ij as a function of the signs s of `count` clusters."""

    def row_sums(self) -> Floats:
        """Return sum_{j != i} h_ij for every i."""
        return self.row_moments()[0]

    def third_moments(self) -> tuple[float, float]:
        """Return the means of h_ij h_jk h_ki over three rows, and of h_ij^3 over two.

        Of more than `MOST_TRIPLED` rows, over as many that are drawn. Unweighted rows only.
        """
        n = min(self.predictions.n, MOST_TRIPLED)
        drawn = np.random.default_rng(0).choice(self.predictions.n, n, replace=False)
        rows = np.sort(drawn)
        left, right = np.repeat(rows, n), np.tile(rows, n)
        delta, h = self.predictions.residuals[rows], np.zeros((n, n))
        for term in self.kernel.terms:
            z = term.project(delta)
            h += term.pairs(left, right).reshape(n, n) * (z @ z.T)
        np.fill_diagonal(h, 0.0)
        triples, pairs = float(np.vdot(h @ h, h)), float((h**3).sum())
        return triples / max(n * (n - 1) * (n - 2), 1), pairs / (n * (n - 1))

    @property
    def statistic(self) -> ResidualStatistic:
        """The mean over pairs as a statistic of the residuals."""
        own = float(self.diagonal().sum()) if self.biased else 0.0
        scale = 1.0 if self.rooted else self.scale

        def flipped(clusters: Ints, count: int) -> Flipped:
            sums = self.signed_sums(clusters, count)
            return lambda signs: self.finished(2.0 * sums(signs) + own)

        return ResidualStatistic(flipped, scale)


def check_two(n: int, found: str = "there is one", *, biased: bool) -> None:
    """Check that there is a pair of different rows."""
    if n < 2 and not biased:
        reason = f"the unbiased SKCE needs at least two observations, and {found}"
        raise NotApplicable(reason, BIASED)


def pair_weight(weight: Floats) -> float:
    """Return the sum of w_i w_j over i != j; a large w_i^2 hides none of the others."""
    others, largest = weight.sum() - weight, np.argmax(weight)
    others[largest] = np.delete(weight, largest).sum()
    return float(weight @ others)


def all_pairs(predictions: Predictions, kernel: FittedKernel, *, biased: bool) -> AllPairs:
    """Choose the line where the kernel and the number of classes allow it, tiles elsewhere."""
    on_line = all(term.is_line for term in kernel.terms)
    return (LinePairs if on_line else TiledPairs)(predictions, kernel, biased=biased)


class LinePairs(AllPairs):
    """All pairs on a line, in O(n log n): two classes, Exponential or Matern kernels."""

    def __init__(self, predictions: Predictions, kernel: FittedKernel, *, biased: bool) -> None:
        super().__init__(predictions, kernel, biased=biased)
        event, labels = predictions.probs[:, 1], predictions.labels
        if predictions.sample_weight is None:
            self.event, self.observed = sort_scores(event, labels)
        else:
            self.event, self.weight = event[self.order], self.weight[self.order]
            self.observed = labels[self.order].astype(np.uint8)
        self.lines = [LineKernel(term, self.event) for term in kernel.terms]
        self._factor = float(sum(line.factor for line in self.lines))

    @cached_property
    def order(self) -> Order:
        return np.argsort(self.predictions.probs[:, 1])

    def values(self, labels: Labels) -> Floats:
        total = 2.0 * line_sums(self.lines, self.weight, self.event, labels)
        if self.biased:
            squares = np.square(np.broadcast_to(self.weight, self.event.shape))
            total += self._factor * class_sums.binary_brier_sums(labels, self.event, squares)
        return self.finished(total)

    def row_sums(self) -> Floats:
        return np.asarray(sum(line.row_sums(self._residuals) for line in self.lines))

    def row_moments(self) -> tuple[Floats, float]:
        squares = np.square(self._residuals)
        total = sum(one.product_sum(other, squares) for one in self.lines for other in self.lines)
        return self.row_sums(), total / math.comb(squares.size, 2)

    def weighted_sums(self, counts: Labels | Floats) -> Floats:
        return line_sums(self.lines, self._residuals, np.zeros(1), counts)

    def diagonal(self) -> Floats:
        return np.asarray(self._factor * np.square(self._residuals))

    def signed_sums(self, clusters: Ints, count: int) -> Flipped:
        # Rows with equal scores are in another order than `observed`.
        at, own = clusters[self.order], self.predictions.labels[self.order]
        sums = partial(line_sums, self.lines, self.weight * (own - self.event), np.zeros(1))
        return of_rows(sums, at)

    @cached_property
    def _residuals(self) -> Floats:
        return np.asarray(self.weight * (self.observed - self.event))


def line_sums(lines: Sequence[LineKernel], scale: Floats, shift: Floats, counts: Counts) -> Floats:
    """Return the sums of h over the pairs j < i, (B,), for d = scale (counts - shift)."""
    return np.asarray(sum(line.pair_sums(scale, shift, counts) for line in lines))


class TiledPairs(AllPairs):
    """All pairs by tiles of the kernel matrix, any kernel and any m.

    For redrawn labels, with A symmetric and G_i = sum_{j != i} kappa_ij p_j,

        sum_{i != j} h_ij
            = 2 sum_{j<i} kappa_ij A[y_i, y_j] - 2 sum_i (A G_i)[y_i] + sum_i p_i' A G_i,

    so that a resample costs one look-up for each pair with equal labels (A = I). Where a class u_i
    has p > 1/2, e_{y_i} - e_{u_i} and p_i - e_{u_i} may stand for e_{y_i} and p_i: the same sum,
    for which only rows with other labels than u_i are looked up.
    """

    pooled = True

    def __init__(self, predictions: Predictions, kernel: FittedKernel, *, biased: bool) -> None:
        super().__init__(predictions, kernel, biased=biased)
        self._projected = [term.project(predictions.residuals) for term in kernel.terms]

    def value(self) -> float:
        total = 2.0 * self._added(lambda tiles: sum(float(h.sum()) for *_, h in tiles))
        if self.biased:
            total += self.diagonal().sum()
        return float(self.finished(np.asarray(total)))

    def values(self, labels: Labels) -> Floats:
        size = RESAMPLES if self.predictions.m <= FEW_CLASSES else len(labels)
        parts = [labels[b : b + size] for b in range(0, len(labels), size)]
        total = sum(
            np.concatenate([self._term_sums(term, part) for part in parts])
            for term in self.kernel.terms
        )
        return self.finished(np.asarray(total))

    def row_moments(self) -> tuple[Floats, float]:
        n = self.predictions.n

        def moments(tiles: HTiles) -> Floats:
            out = np.zeros(n + 1)  # the last one is the sum of squares
            for rows, columns, h in tiles:
                out[rows] += h.sum(axis=1)
                out[columns] += h.sum(axis=0)
                out[n] += np.vdot(h, h)
            return out

        found = self._added(moments)
        return found[:n], float(found[n]) / max(math.comb(n, 2), 1)

    def weighted_sums(self, counts: Labels | Floats) -> Floats:
        weights = counts.T.astype(float)

        def sums(tiles: HTiles) -> Floats:
            found = (
                np.einsum("ib,ib->b", weights[rows], h @ weights[columns])
                for rows, columns, h in tiles
            )
            return np.asarray(sum(found))

        return np.asarray(self._added(sums))

    def signed_sums(self, clusters: Ints, count: int) -> Flipped:
        if count > CLUSTERS:
            return of_rows(self.weighted_sums, clusters)
        n = clusters.size
        member = scipy.sparse.csr_array((np.ones(n), clusters, np.arange(n + 1)), shape=(n, count))

        def sums(tiles: HTiles) -> Floats:
            found = (member[rows].T @ (h @ member[columns]) for rows, columns, h in tiles)
            return np.asarray(sum(found))

        h = self._added(sums)
        return lambda signs: np.einsum("bc,bc->b", signs, signs @ h)

    def diagonal(self) -> Floats:
        # Every kappa(s, s) is 1.
        return np.asarray(sum(np.square(z).sum(axis=1) for z in self._projected))

    def _added(self, function: Callable[[HTiles], Any]) -> Any:
        """Return the sum of a function of tiles over groups of them."""
        groups = fitted.tile_groups(self.predictions.n, self.predictions.m)
        return sum(map_threads(lambda group: function(self._tiles(group)), groups))

    def _tiles(self, group: list[Tile]) -> HTiles:
        """Yield the rows and columns of tiles with h for j < i, and 0 for the other pairs."""
        for i0, i1, j0, j1 in group:
            rows, columns, h = slice(i0, i1), slice(j0, j1), None
            for term, z in zip(self.kernel.terms, self._projected, strict=True):
                own = term.below(i0, i1, j0, j1)
                own *= z[rows] @ z[columns].T
                h = own if h is None else h + own
            yield rows, columns, h

    def _term_sums(self, term: FittedTerm, labels: Labels) -> Floats:
        """Return sum_ij h_ij (i != j, or all) of one term for each row of labels."""
        n, m, probs = self.predictions.n, self.predictions.m, self.predictions.probs
        weight, usual = np.broadcast_to(self.weight, n), usual_labels(probs)
        # e_{y_i} - p_i = s_i - rest_i, where s_i is 0 for the usual label.
        rest = probs if usual is None else probs - (usual[:, None] == np.arange(m))
        weighted = weight[:, None] * rest
        block_sums = _products if m <= FEW_CLASSES else partial(_look_ups, usual)

        def column_block(j0: int) -> tuple[Floats, Floats]:
            pairs, gram_probs = np.zeros(len(labels)), np.zeros_like(weighted)
            add_pairs = block_sums(term.matrix, labels, j0, pairs)
            for i0, i1, _, j1 in fitted.column_tiles(len(weighted), j0):
                tile = term.below(i0, i1, j0, j1)
                gram_probs[i0:i1] += tile @ weighted[j0:j1]
                gram_probs[j0:j1] += tile.T @ weighted[i0:i1]
                if self.predictions.is_weighted:
                    tile *= weight[i0:i1, None] * weight[j0:j1]
                add_pairs(tile, i0, i1)
            return pairs, gram_probs

        pairs, gram_probs = np.zeros(len(labels)), np.zeros_like(weighted)
        starts = [(j0,) for j0 in range(0, len(weighted), fitted.COLUMNS)]
        for some_pairs, some_gram_probs in map_threads(column_block, starts):
            pairs += some_pairs
            gram_probs += some_gram_probs
        # What depends on one label at a time: cross terms and, if biased, the diagonal.
        own = self.weight[:, None]
        table = -2.0 * own * (gram_probs @ term.matrix)
        constant = -0.5 * float(np.sum(table * rest))
        if usual is not None:
            table -= np.where(usual < m, table[np.arange(n), usual % m], 0.0)[:, None]
        if self.biased:
            image = probs @ term.matrix
            table += np.square(own) * (np.diag(term.matrix) - 2.0 * image)
            constant += float(np.sum(np.square(own) * image * probs))
        if m > FEW_CLASSES:
            singles = class_sums.label_sums(table, labels) + constant
        else:
            rows = np.arange(n)
            singles = np.array([float(table[rows, row].sum()) + constant for row in labels])
        return np.asarray(2.0 * pairs + singles)


def _products(matrix: Floats, labels: Labels, j0: int, pairs: Floats) -> AddPairs:
    """Return a function that adds sum_ij tile_ij A[y_i, y_j] to `pairs` (B,), by matrix products.

    The tile belongs to the rows from i0 to i1 - 1 and to some of the columns from `j0` on.
    """
    images = [row[labels[:, j0 : j0 + fitted.COLUMNS]] for row in matrix]  # A[k, y_j]

    def add(tile: Floats, i0: int, i1: int) -> None:
        for k, image in enumerate(images):
            own = k == labels[:, i0:i1].T
            pairs[:] += np.sum(tile @ image[:, : tile.shape[1]].T, axis=0, where=own)

    return add


def usual_labels(probs: Floats) -> Ints | None:
    """Return the class of each row with p > 1/2, or m; None where few labels are the usual ones."""
    m, most = probs.shape[1], probs.max(axis=1)
    listed = np.minimum(2.0 * (1.0 - most), 1.0).mean()  # of each row, in a resample
    if m <= FEW_CLASSES or listed > MOST_LISTED:
        return None
    return np.asarray(np.where(most > 0.5, probs.argmax(axis=1), m))


def _look_ups(
    usual: Ints | None, matrix: Floats, labels: Labels, j0: int, pairs: Floats
) -> AddPairs:
    """Return a function that adds sum_ij tile_ij s_i' A s_j by look-ups of pairs that are not 0.

    s_i is e_{y_i}, less that of the usual label where there is one.
    """
    # For each class k the classes l with A[k, l] != 0, padded with -1.
    found = [np.flatnonzero(row) for row in matrix]
    partners = np.full((len(matrix), max(map(len, found)) + 1), -1)
    for k, classes in enumerate(found):
        partners[k, : len(classes)] = classes
    lists: list[tuple[NDArray[np.uint16], SmallInts]] = []
    width = 0

    def drawn(first: int, last: int) -> tuple[Labels, Ints | None]:
        block = np.ascontiguousarray(labels[:, first:last])
        return block, None if usual is None else usual[first:last]

    def add(tile: Floats, i0: int, i1: int) -> None:
        nonlocal width
        if width < tile.shape[1]:  # tiles on the diagonal grow
            width = tile.shape[1]
            lists[:] = [class_sums.class_lists(*drawn(j0, j0 + width), len(matrix))]
        class_sums.add_class_sums(tile, *drawn(i0, i1), *lists[0], matrix, partners, pairs)

    return add


class BlockPairs(PairMean):
    """The mean of the unbiased estimates over blocks; an incomplete last block is dropped.

    The linear estimator of Widmann et al. (2019), table 1, has blocks of two.
    """

    pooled = True

    def __init__(self, predictions: Predictions, kernel: FittedKernel, *, size: int) -> None:
        super().__init__(predictions)
        self.fit(kernel)
        self.size = size
        self.n_blocks, self._pairs_in_block = predictions.n // size, size * (size - 1) // 2
        if predictions.n < size:
            needs = f"blocks of {size} need at least {size} observations"
            remedy = "take a smaller block_size or estimator='unbiased'"
            raise NotApplicable(f"{needs}, and there are {predictions.n}", remedy)
        if predictions.is_weighted:
            reason = "the linear and block estimators take no sample weights"
            raise NotApplicable(reason, "use estimator='unbiased' (test='skce')")

    def block_values(self) -> Floats:
        """Return the unbiased estimate of each block."""
        return np.concatenate(self._over_chunks(lambda h: h.mean(axis=1)))

    def second_moment(self) -> float:
        """Return the mean of h^2 over the pairs within blocks."""
        squares = self._over_chunks(lambda h: float(np.square(h).sum()))
        return float(sum(squares)) / (self.n_blocks * self._pairs_in_block)

    def value(self) -> float:
        return float(self.block_values().mean())

    def values(self, labels: Labels) -> Floats:
        sums = map_threads(partial(self._redrawn_sums, labels), self._chunks())
        return np.asarray(sum(sums)) / (self.n_blocks * self._pairs_in_block)

    def _chunks(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of blocks."""
        at_a_time = max(1, PAIRS_AT_A_TIME // self._pairs_in_block)
        for first in range(0, self.n_blocks, at_a_time):
            yield first, min(first + at_a_time, self.n_blocks)

    def _pairs(self, first: int, last: int) -> tuple[slice, Ints, Ints]:
        """Return the rows of some blocks, and their pairs, numbered from the first row."""
        left, right = np.triu_indices(self.size, 1)
        offset = self.size * np.arange(last - first)[:, None]
        rows = slice(first * self.size, last * self.size)
        return rows, (offset + left).ravel(), (offset + right).ravel()

    def _over_chunks(self, function: Callable[[Floats], Any]) -> list[Any]:
        """Return a function of h of the pairs (blocks, pairs) of some blocks after others."""

        def chunk(first: int, last: int) -> Any:
            rows, left, right = self._pairs(first, last)
            delta = -self.predictions.probs[rows]
            delta[np.arange(len(delta)), self.predictions.labels[rows]] += 1.0
            total = np.zeros(left.size)
            for term in self.kernel.terms:
                z = term.project(delta)
                products = np.einsum("pk,pk->p", z[left], z[right])
                total += term.pairs(rows.start + left, rows.start + right) * products
            return function(total.reshape(last - first, -1))

        return list(map_threads(chunk, self._chunks()))

    def _redrawn_sums(self, labels: Labels, first: int, last: int) -> Floats:
        """Return the sum of h over the pairs of some blocks, for each row of labels.

        h is written out as in `TiledPairs`: a part for each pair and one for each label.
        """
        rows, left, right = self._pairs(first, last)
        probs = self.predictions.probs[rows]
        inside = np.ascontiguousarray(labels[:, rows])
        total, table, constant = np.zeros(len(labels)), np.zeros_like(probs), 0.0
        for term in self.kernel.terms:
            kappa = term.pairs(rows.start + left, rows.start + right)
            class_sums.add_pair_sums(kappa, left, right, inside, frozen(term.matrix), total)
            image = probs @ term.matrix
            np.subtract.at(table, left, kappa[:, None] * image[right])
            np.subtract.at(table, right, kappa[:, None] * image[left])
            constant += float(kappa @ np.einsum("pk,pk->p", probs[left], image[right]))
        return np.asarray(total + class_sums.label_sums(table, inside) + constant)


class CellPairs(PairMean, BoundCells):
    """The unbiased or the biased mean of h over all pairs of rows, at the mean of their cell.

    For two classes h_ij = a kappa_ij d_i d_j with d = y - p. The sum over all i and j is one over
    cells of their sums of d; the pairs i = j are left out by the sum of d^2 over rows.
    """

    def __init__(self, cells: Cells, kernel: MatrixKernel, *, biased: bool) -> None:
        BoundCells.__init__(self, cells)
        check_two(cells.rows, biased=biased)
        self.fit(fitted_to_cells(kernel, cells))
        self.count(cells.mass, cells.mass**2 - cells.squares.sum(), biased=biased)
        self.caution, terms = at_mean(self.kernel, cells), self.kernel.terms
        self.is_bounded = biased or cells.has_equal_weights
        if len(cells) > PLACES and not all(term.is_line for term in terms):
            self.caution, self.is_bounded = self.caution + INTERPOLATED, False
        if not (biased or cells.has_equal_weights):
            self.caution += AT_MEAN_WEIGHT
        self.factor = float(sum(term.factor for term in terms))
        self.sums = [  # of a kappa_ij d_i d_j over all i and j for each row of d, (B, C)
            LineKernel(t, cells.mean).all_sums if t.is_line else sums_by_places(cells, t)
            for t in terms
        ]

    def values(self, labels: Counts) -> Floats:
        excess = np.ascontiguousarray(labels - self.cells.expected)
        total = np.asarray(sum(all_sums(excess) for all_sums in self.sums))
        if not self.biased:
            # The sum over rows of w^2 (y - p)^2; see `Cells.square_residuals`.
            total -= self.factor * self.cells.square_residuals(excess).sum(axis=1)
        return self.finished(total)

    def error(self) -> float | None:
        return super().error() if self.is_bounded else None


def sums_by_places(cells: Cells, term: FittedTerm) -> Callable[[Floats], Floats]:
    """Return the same as `LineKernel.all_sums` of a kernel between places, some of the cells.

    The cells between them share in the two nearest.
    """
    x = term.factors[0].coordinates[:, 0]
    at = places(cells, x)
    left, right = np.repeat(at, at.size), np.tile(at, at.size)
    matrix = term.factor * term.pairs(left, right).reshape(at.size, -1)
    run = np.searchsorted(at, np.arange(len(cells)), side="right") - 1
    beyond = np.minimum(run + 1, at.size - 1)
    way = np.where(beyond > run, x[at[beyond]] - x[at[run]], 1.0)
    share = (x - x[at[run]]) / np.where(way > 0, way, 1.0)

    def all_sums(d: Floats) -> Floats:
        sums = np.add.reduceat(d * (1.0 - share), at, axis=1)
        sums[:, 1:] += np.add.reduceat(d * share, at, axis=1)[:, :-1]
        return np.asarray(np.einsum("bc,bc->b", sums @ matrix, sums))

    return all_sums


def fitted_to_cells(kernel: MatrixKernel, cells: Cells) -> FittedKernel:
    """Fit a kernel to the mean predictions of cells, with the pairs of their rows."""
    probs = np.column_stack([1.0 - cells.mean, cells.mean])
    return FittedKernel(kernel, probs, size=cells.counts.astype(np.float64))


def at_mean(kernel: FittedKernel, cells: Cells) -> str:
    """Say what the place of the rows in their cells changes: by how much the kernel falls there."""
    falls = []
    for scalar in kernel.scalars:
        low, high = (fitted.event_coordinates(scalar.kernel, p) for p in (cells.least, cells.most))
        scaled = (high - low) * scalar.unit / scalar.bandwidth
        falls.append(1.0 - scalar.kernel.profile(scaled))
    fall = float(np.max(falls, axis=0) @ cells.variance) / float(cells.variance.sum() or 1.0)
    return f"kernel at the mean prediction of each cell; it falls by {fall:.1g} across one"


def places(cells: Cells, x: Floats) -> Ints:
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


class FeaturePairs(BoundChunks):
    """The unbiased or the biased mean of h over all pairs, by features.

    Parameters
    ----------
    kernel : MatrixKernel
        A scalar kernel times the identity.
    survey : Survey
        What is known of the rows.
    biased : bool
        Whether pairs of a row with itself count.
    """

    def __init__(self, kernel: MatrixKernel, survey: Survey, *, biased: bool) -> None:
        sample = survey.sample
        self.biased, self.sample, m = biased, sample, sample.probs.shape[1]
        check_two(survey.n, "there are fewer", biased=biased)
        self.normaliser = float(survey.n) * (survey.n if biased else survey.n - 1)
        terms = kernel.terms(m)
        is_scalar = len(terms) == 1 and len(terms[0].factors) == 1
        if not is_scalar or not np.array_equal(terms[0].matrix, np.eye(m)):
            reason = f"{kernel} has no features: only a scalar kernel times the identity has"
            raise NotApplicable(reason, "use engine='rows', or another kernel")
        scalar = terms[0].factors[0]
        if callable(scalar.metric):
            raise NotApplicable("a callable metric has no features", "use engine='rows'")
        self.features = Features.of(scalar, sample.probs)
        self.make = partial(FeatureTotals, self.features, m)
        if self.features.is_degenerate:
            self.degenerate = (fitted.NO_BANDWIDTH,)
        rule = self.features.rule
        if isinstance(scalar.bandwidth, str):
            rule = f"{rule} of {len(sample.probs):,} different predictions"
        self.parameters = {
            "estimator": "biased" if biased else "unbiased",
            "kernel": str(kernel),
            "bandwidth": self.features.bandwidth,
            "bandwidth rule": rule,
            "features": self.features.root.shape[1],
        }

    def values(self, totals: FeatureTotals, n_resamples: int) -> tuple[Floats, tuple[Part, ...]]:
        whole, own = (sums[: 1 + n_resamples] for sums in totals.pair_sums())
        return np.asarray((whole if self.biased else whole - own) / self.normaliser), ()

    def error(self) -> dict[str, object]:
        r"""Estimate the part of the SKCE that the features leave out, from the sample.

        It is the unbiased SKCE of the rest of the kernel, over pairs of rows with different
        predictions; its standard error is that of pairs whose labels are calibrated.
        """
        sample = self.sample
        n = sample.counts.sum(axis=1)
        pairs = float(n.sum() ** 2 - n @ n)
        if pairs == 0:
            return {LEFT_OUT: "none"}
        rest = self.features.between(sample.probs, sample.probs)
        rest -= self.features.products(sample.probs)
        np.fill_diagonal(rest, 0.0)
        residuals = sample.counts - n[:, None] * sample.probs
        left_out = float(np.vdot(rest @ residuals, residuals)) / pairs
        # The covariance of the labels of a row is diag(p) - p p'.
        squares = np.square(sample.probs)
        inner, mixed = sample.probs @ sample.probs.T, sample.probs @ squares.T
        trace = inner - mixed - mixed.T + np.square(inner)
        spread = 2.0 * float(n @ (np.square(rest) * trace) @ n)
        return {LEFT_OUT: f"{left_out:.2g} (SE {math.sqrt(spread) / pairs:.1g})"}
