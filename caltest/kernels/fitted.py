"""Kernels fitted to predictions: bandwidths, distances, values by tiles or by pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from caltest.checks import as_number
from caltest.errors import InvalidInput, NotApplicable
from caltest.kernels import bandwidth as rules
from caltest.kernels.simplex import MatrixKernel, ScalarKernel
from caltest.numerics import recursion
from caltest.numerics.logistic import clipped_log_odds
from caltest.numerics.loops import frozen, map_threads, njit
from caltest.predictions import Predictions
from caltest.types import Floats, Ints

Tile = tuple[int, int, int, int]
Weights = Floats | None
Counts = NDArray[np.unsignedinteger] | Floats  # or signs
ROWS, COLUMNS = 64, 1024  # a tile of float64 fits the L2 cache
FEW = 3  # columns that NumPy goes through as fast
CLASSES_A_GROUP = 200  # tiles of a thread's task, times the number of classes
CALLABLE_UP_TO = 10_000  # a callable metric keeps its n x n distances: 0.8 GB here
LOGIT_CLIP = 2.0**-52
NEIGHBOURS = 2.0  # a row with fewer is compared with next to nothing but itself
NARROW = (
    "the bandwidth is so small that rows have next to no neighbours: predictions are compared with "
    "hardly any but themselves, and what is wrong may not show; take test='combined' or a larger "
    "bandwidth"
)
NO_BANDWIDTH = "all predictions are equal, so their distances give no bandwidth; it is set to 1.0"
PROBED, BESIDE = 100, 2000  # rows whose neighbours are counted, and rows among which
NO_DECAY_BEYOND = 800.0  # exp(-800) = 0: larger scaled gaps are all the same
PACK = 64  # columns packed at a time: two accumulators and four packed rows stay in the L1 cache


class FittedScalar:
    """A scalar kernel on the rows of `probs`, with its bandwidth as a number.

    Attributes
    ----------
    bandwidth : float
    coordinates : (n, c) array
        The distance is `unit` times the city-block or Euclidean distance of these rows.
    rule : str
        How the bandwidth was chosen, in words.
    is_degenerate : bool
        Whether all predictions are equal, so that the rule gives no bandwidth and it is 1.0.
    """

    def __init__(
        self, kernel: ScalarKernel, probs: Floats, weight: Weights = None, size: Weights = None
    ) -> None:
        self.kernel = kernel
        if size is not None and callable(kernel.metric):
            what = "a callable metric takes rows, and there are cells of them"
            raise NotApplicable(what, "use metric='tv'")
        self.coordinates, self.unit = _coordinates(kernel, probs)
        self._is_line = probs.shape[1] == 2 and not callable(kernel.metric)
        self._size = size
        self.distances = None if size is not None else self._all_distances(probs.shape[1])
        bandwidth, self.rule = self._fitted_bandwidth(probs, weight)
        self.is_degenerate = bandwidth is None
        self.bandwidth = 1.0 if bandwidth is None else bandwidth

    def tile(self, i0: int, i1: int, j0: int, j1: int) -> Floats:
        """Return kappa between rows i0..i1-1 and j0..j1-1; it need hold for j < i only."""
        if self.distances is not None:
            return self.kernel.profile(self.distances[i0:i1, j0:j1] / self.bandwidth)
        left, right = self.coordinates[i0:i1], self.coordinates[j0:j1]
        return _between(self.kernel, self.unit / self.bandwidth, left, right)

    def pairs(self, left: Ints, right: Ints) -> Floats:
        """Return kappa between row left[p] and row right[p]."""
        return self.kernel.profile(self._pair_distances(left, right) / self.bandwidth)

    def neighbours(self, variance: Floats) -> float:
        r"""Return the mean number of neighbours of a row.

        .. math:: N = \sum_i v_i \sum_{j \ne i} \kappa(p_i, p_j) \Big/ \sum_i v_i,

        with the variance v_i of the label, estimated from up to 100 rows and 2,000 others: rows
        that are all but certain, whose labels hold no information, do not count.
        """
        n, total = variance.size, np.cumsum(variance)
        places = (np.arange(PROBED) + 0.5) / PROBED * total[-1]
        rows = np.minimum(np.searchsorted(total, places), n - 1)
        upto = np.arange(1, n + 1) if self._size is None else np.cumsum(self._size)
        others = np.linspace(0, upto[-1] - 1, int(min(upto[-1], BESIDE))).astype(np.int64)
        beside = np.searchsorted(upto, others, side="right")
        left, right = np.repeat(rows, beside.size), np.tile(beside, rows.size)
        if self._size is not None:  # of the rows of some cells, but themselves
            return float(self.pairs(left, right).mean() * upto[-1] - 1.0)
        differ = left != right
        return float(self.pairs(left[differ], right[differ]).sum() / left.size * n)

    def cross(self, points: Floats, rows: slice) -> Floats:
        """Return kappa between some rows and other `points` of the simplex."""
        left, right = self.coordinates[rows], _coordinates(self.kernel, points)[0]
        return _between(self.kernel, self.unit / self.bandwidth, left, right)

    def _pair_distances(self, left: Ints, right: Ints) -> Floats:
        if self.distances is not None:
            return np.asarray(self.distances[np.maximum(left, right), np.minimum(left, right)])
        out = np.empty(left.size)
        is_l2 = self.kernel.metric == "euclidean"
        pair_distances(self.coordinates, left, right, out, is_l2=is_l2)
        return np.multiply(out, self.unit, out=out)

    def _all_distances(self, m: int) -> Floats | None:
        """Return the lower triangle of all distances where it is small or the metric a callable."""
        n = len(self.coordinates)
        if callable(self.kernel.metric):
            if n > CALLABLE_UP_TO:
                what = "a callable metric keeps all n x n distances and takes n up to"
                what = f"{what} {CALLABLE_UP_TO:,}; n is {n:,}"
                raise NotApplicable(what, "use metric='tv' or 'euclidean', or a sample")
            found = _distances(self.kernel, self.coordinates, self.coordinates)
            if np.diagonal(found).any() or not np.allclose(found, found.T):
                rule = "metric must be symmetric, and 0 from a row to itself"
                raise InvalidInput(rule, remedy="check the callable")
            return found
        bandwidth = self.kernel.bandwidth
        by_pairs = isinstance(bandwidth, str) and n <= rules.ALL_PAIRS_UP_TO
        if not by_pairs or (self._is_line and rules.rule_for(str(bandwidth), m) == rules.WEIGHTED):
            return None
        out = np.zeros((n, n))

        def fill(tiles: list[Tile]) -> None:
            for i0, i1, j0, j1 in tiles:
                left, right = self.coordinates[i0:i1], self.coordinates[j0:j1]
                out[i0:i1, j0:j1] = _distances(self.kernel, left, right)

        list(map_threads(fill, tile_groups(n, self.coordinates.shape[1])))
        return np.multiply(out, self.unit, out=out)

    def _fitted_bandwidth(self, probs: Floats, weight: Weights) -> tuple[float | None, str]:
        if not isinstance(self.kernel.bandwidth, str):
            return float(self.kernel.bandwidth), "given"
        rule = rules.rule_for(self.kernel.bandwidth, probs.shape[1])
        if self._size is not None:
            variance = rules.residual_variances(probs, self._size)
            return rules.cell_bandwidth(
                rule, self.coordinates[:, 0], variance, self._size, self.unit
            )
        if rule != rules.WEIGHTED:
            return self._by_pairs(rule)
        if self._is_line:
            found: tuple[float | None, str] = self._line_bandwidth(probs, weight) or (None, "")
        else:
            found = self._by_pairs(rules.WEIGHTED, rules.residual_variances(probs, weight))
        # Where no two rows that differ have variance all pairs count alike.
        return self._by_pairs("median") if found[0] is None else found

    def _line_bandwidth(self, probs: Floats, weight: Weights) -> tuple[float, str] | None:
        n, points = len(probs), self.coordinates[:, 0]
        if n <= rules.ROWS_ON_LINE:
            return rules.line_bandwidth(points, rules.residual_variances(probs, weight), self.unit)
        # Different rows, the same for every call with this n.
        rng = np.random.default_rng(rules.SEED)
        rows = np.asarray(rng.choice(n, rules.ROWS_ON_LINE, replace=False, shuffle=False))
        variance = rules.residual_variances(probs[rows], None if weight is None else weight[rows])
        found = rules.line_bandwidth(points[rows], variance, self.unit)
        return found and (found[0], f"{found[1]} of {rows.size:,} sampled rows")

    def _by_pairs(self, rule: str, variance: Floats | None = None) -> tuple[float | None, str]:
        """Apply a rule to all pairs i < j, or to a sample of them where n is large."""
        n = len(self.coordinates)
        if self.distances is not None:
            below = np.tri(n, k=-1, dtype=bool)
            weights = None if variance is None else np.outer(variance, variance)[below]
            return rules.bandwidth_by_rule(rule, self.distances[below], weights)
        if n <= rules.ALL_PAIRS_UP_TO:
            return rules.bandwidth_by_rule(rule, self._pair_distances(*np.tril_indices(n, k=-1)))
        sample = rules.sampled_pairs(n) if variance is None else rules.pairs_by_variance(variance)
        value, words = rules.bandwidth_by_rule(rule, self._pair_distances(*sample))
        is_rule = words == rules.WORDS.get(rule, rule)
        return value, f"{words} of {sample[0].size:,} sampled pairs" if is_rule else words


@dataclass(frozen=True)
class FittedTerm:
    """kappa(s, t) A with kappa the product of the factors."""

    factors: tuple[FittedScalar, ...]
    matrix: Floats

    def below(self, i0: int, i1: int, j0: int, j1: int) -> Floats:
        """Return kappa for j < i, and 0 for the other pairs of the tile."""
        tile = reduce(np.multiply, (factor.tile(i0, i1, j0, j1) for factor in self.factors))
        if j1 > i0:
            tile[np.arange(i0, i1)[:, None] <= np.arange(j0, j1)] = 0.0
        return tile

    @property
    def factor(self) -> float:
        """What d_i d_j is multiplied by for two classes, where delta_i = d_i (-1, 1)."""
        a = self.matrix
        return float(a[0, 0] - a[0, 1] - a[1, 0] + a[1, 1])

    @property
    def is_line(self) -> bool:
        """Whether sums over this term can be taken on a line."""
        kernel = self.factors[0].kernel
        alone = len(self.matrix) == 2 and len(self.factors) == 1
        return alone and bool(kernel.polynomial) and not callable(kernel.metric)

    def pairs(self, left: Ints, right: Ints) -> Floats:
        """Return kappa between row left[p] and row right[p]."""
        return reduce(np.multiply, (factor.pairs(left, right) for factor in self.factors))

    def cross(self, points: Floats, rows: slice) -> Floats:
        """Return kappa between some rows and other `points` of the simplex."""
        return reduce(np.multiply, (factor.cross(points, rows) for factor in self.factors))

    def project(self, rows: Floats) -> Floats:
        """Return z = rows L with A = L L', so that u' A v = z_u . z_v; the rows for A = I."""
        if np.array_equal(self.matrix, np.eye(len(self.matrix))):
            return rows
        diagonal = np.diag(self.matrix)
        if np.count_nonzero(self.matrix) == np.count_nonzero(diagonal):
            return np.ascontiguousarray(rows[:, diagonal > 0] * np.sqrt(diagonal[diagonal > 0]))
        values, vectors = np.linalg.eigh(self.matrix)
        kept = values > len(values) * np.finfo(float).eps * values[-1]
        return np.ascontiguousarray(rows @ (vectors[:, kept] * np.sqrt(values[kept])))


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
            recursion.exponential_pair_sums(self.decay, scale, shift, counts, out)
        else:
            c = self.coefficients
            recursion.markov_pair_sums(self.step, self.decay, c, scale, shift, counts, out)
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
        return self.factor * other.factor * float(recursion.product_pair_sum(*steps, decay, *c, w))

    def other_sums(self, d: Floats) -> Floats:
        """Return sum_{j != i} kappa_ij d_j for every i."""
        earlier = recursion.earlier_sums(self.step, self.decay, self.coefficients, d)
        step = np.append(0.0, self.step[:0:-1])
        later = recursion.earlier_sums(step, np.exp(-step), self.coefficients, d[::-1])[::-1]
        return np.asarray(earlier + later)


class FittedKernel:
    """A matrix-valued kernel fitted to predictions.

    Parameters
    ----------
    kernel : MatrixKernel
        What to fit.
    probs : (n, m) array
        Predictions on the simplex.
    weight : (n,) array, optional
        Sample weights, which count in the variance-weighted median.
    size : (n,) array, optional
        Numbers of rows with each of the predictions, of two classes; without weights.

    Examples
    --------
    >>> import numpy as np
    >>> from caltest.kernels import Exponential, FittedKernel, Scaled
    >>> probs = np.array([[0.5, 0.5], [0.25, 0.75], [0.0, 1.0]])
    >>> FittedKernel(Scaled(Exponential()), probs).parameters["bandwidth"]
    0.25
    """

    def __init__(
        self, kernel: MatrixKernel, probs: Floats, weight: Weights = None, size: Weights = None
    ) -> None:
        terms = kernel.terms(probs.shape[1])
        scalars = dict.fromkeys(factor for term in terms for factor in term.factors)
        fitted = {scalar: FittedScalar(scalar, probs, weight, size) for scalar in scalars}
        self.kernel = kernel
        self.scalars = tuple(fitted.values())
        self._variance = rules.residual_variances(probs, weight if size is None else size)
        self._n = len(probs) if size is None else int(size.sum())
        self.terms = tuple(
            FittedTerm(tuple(fitted[factor] for factor in term.factors), term.matrix)
            for term in terms
        )

    @classmethod
    def of(cls, kernel: MatrixKernel, predictions: Predictions) -> FittedKernel:
        """Fit a kernel to predictions with their sample weights."""
        return cls(kernel, predictions.probs, predictions.sample_weight)

    @property
    def parameters(self) -> dict[str, object]:
        """Kernel, bandwidth and rule, as the print shows them."""
        bandwidths = [scalar.bandwidth for scalar in self.scalars]
        rules = dict.fromkeys(scalar.rule for scalar in self.scalars)
        return {
            "kernel": str(self.kernel),
            "bandwidth": bandwidths[0] if len(bandwidths) == 1 else tuple(bandwidths),
            "bandwidth rule": ", ".join(rules),
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of a result should know about this kernel."""
        m = len(self.terms[0].matrix)
        doubtful = dict.fromkeys(str(s.kernel) for s in self.scalars if not s.kernel.is_psd(m))
        psd = tuple(
            f"{name} is not known to be positive semi-definite for m = {m}: the exact p-value is "
            "valid all the same, but the error need not vanish only for calibrated models"
            for name in doubtful
        )
        # Errors hide where rows have fewer than 2 neighbours, or a tenth of few rows.
        enough = min(NEIGHBOURS, (self._n - 1) / 10)
        known = self._n >= 2 and self._variance.any()
        few = known and any(s.neighbours(self._variance) < enough for s in self.scalars)
        return (*psd, *((NARROW,) if few else ()))

    @property
    def degenerate(self) -> tuple[str, ...]:
        """What the predictions left undefined."""
        return (NO_BANDWIDTH,) if any(scalar.is_degenerate for scalar in self.scalars) else ()


def tile_groups(n: int, m: int) -> list[tuple[list[Tile]]]:
    """Return tiles (i0, i1, j0, j1) that cover j <= i < n, in groups of some milliseconds each."""
    tiles = [tile for j0 in range(0, n, COLUMNS) for tile in column_tiles(n, j0)]
    size = max(1, CLASSES_A_GROUP // m)
    return [(tiles[k : k + size],) for k in range(0, len(tiles), size)]


def column_tiles(n: int, j0: int) -> Iterator[Tile]:
    """Yield the tiles of the column block that starts at j0."""
    for i0 in range(j0, n, ROWS):
        i1 = min(i0 + ROWS, n)
        yield i0, i1, j0, min(j0 + COLUMNS, i1)


def _coordinates(kernel: ScalarKernel, probs: Floats) -> tuple[Floats, float]:
    """Return rows and a unit such that the metric is unit x L1 (Euclidean: L2) of the rows.

    The rows are read-only whatever their origin: numba compiles the distances for each kind.
    """
    rows, unit = probs, 1.0
    if not callable(kernel.metric) and probs.shape[1] == 2:
        rows = event_coordinates(kernel, np.ascontiguousarray(probs[:, 1:]))
        unit = 2.0**0.5 if kernel.metric == "euclidean" else 1.0
    elif kernel.metric == "logit":
        got = f"metric 'logit' needs two classes, and these predictions have {probs.shape[1]}"
        raise NotApplicable(got, "take a one-dimensional lens such as 'confidence', or metric='tv'")
    elif kernel.metric == "tv":
        unit = 0.5
    return frozen(rows), unit


def event_coordinates(kernel: ScalarKernel, event: Floats) -> Floats:
    """Return where P(Y = 1) of two classes lies on the line: itself, or its log odds."""
    if kernel.metric != "logit":
        return event
    # Odds of 0 and 1 would be infinitely far from each other and from themselves.
    return clipped_log_odds(event, LOGIT_CLIP)


def kernel_between(
    kernel: ScalarKernel,
    bandwidth: float,
    left: Floats,
    right: Floats,
    dtype: type[np.floating] = np.float64,
) -> Floats:
    """Return kappa between the rows of `left` and `right`, of more than two classes.

    A row has the same values among whatever others. Of single precision, they take a third of the
    time.
    """
    rows, unit = _coordinates(kernel, left)
    return _between(kernel, unit / bandwidth, rows, _coordinates(kernel, right)[0], dtype)


def _between(
    kernel: ScalarKernel,
    scale: float,
    left: Floats,
    right: Floats,
    dtype: type[np.floating] = np.float64,
) -> Floats:
    """Return the kernel between coordinates, whose distances are multiplied by a scale."""
    out = _distances(kernel, left, right)
    out *= scale
    return kernel.profile(out.astype(dtype, copy=False))


def _distances(kernel: ScalarKernel, left: Floats, right: Floats) -> Floats:
    """Return the distances between coordinates, but for the unit."""
    if kernel.metric == "euclidean":
        out = np.empty((len(left), len(right)))
        l2_tile(left, right, out)
        return out
    metric = kernel.metric
    if not callable(metric):
        return l1_distances(left, right)
    from scipy.spatial.distance import cdist

    found = np.asarray(cdist(left, right, metric=lambda s, t: as_number(metric(s, t), "metric")))
    if not (np.isfinite(found).all() and (found >= 0).all()):
        raise InvalidInput("metric must return finite distances >= 0", remedy="check the callable")
    return found


def l1_distances(left: Floats, right: Floats) -> Floats:
    """Return the city-block distance of every row of `left` to every row of `right`."""
    if left.shape[1] > FEW:
        out = np.empty((len(left), len(right)))
        l1_tile(left, right, out)
        return out
    out = np.abs(left[:, :1] - right[:, 0])
    for k in range(1, left.shape[1]):
        out += np.abs(left[:, k : k + 1] - right[:, k])
    return np.asarray(out)


@njit()
def _pack(rows: Floats, start: int, width: int, columns: Floats) -> None:
    """Transpose `rows[start : start + width]`, so that the inner loops run over columns."""
    for j in range(width):
        for k in range(rows.shape[1]):
            columns[k, j] = rows[start + j, k]


@njit(fastmath={"contract", "nsz"})
def l1_tile(left: Floats, right: Floats, out: Floats) -> None:
    """Write the city-block distance of every row of `left` to every row of `right`.

    Two rows and four coordinates at a time, so that a packed number is loaded once for both rows;
    where the number of rows is odd the last one is its own partner.
    """
    n, m = left.shape
    quads = m // 4 * 4
    columns, first, second = np.empty((m, PACK)), np.empty(PACK), np.empty(PACK)
    for start in range(0, right.shape[0], PACK):
        width = min(PACK, right.shape[0] - start)
        _pack(right, start, width, columns)
        for i in range(0, n, 2):
            s, t = left[i], left[min(i + 1, n - 1)]
            for j in range(width):
                first[j] = second[j] = 0.0
            for k in range(0, quads, 4):
                a, b, c, d = s[k], s[k + 1], s[k + 2], s[k + 3]
                e, f, g, h = t[k], t[k + 1], t[k + 2], t[k + 3]
                for j in range(width):
                    u, v = columns[k, j], columns[k + 1, j]
                    x, y = columns[k + 2, j], columns[k + 3, j]
                    first[j] += (abs(a - u) + abs(b - v)) + (abs(c - x) + abs(d - y))
                    second[j] += (abs(e - u) + abs(f - v)) + (abs(g - x) + abs(h - y))
            for k in range(quads, m):
                for j in range(width):
                    first[j] += abs(s[k] - columns[k, j])
                    second[j] += abs(t[k] - columns[k, j])
            for j in range(width):
                out[i, start + j] = first[j]
                out[min(i + 1, n - 1), start + j] = second[j]


@njit(fastmath={"contract", "nsz"})
def l2_tile(left: Floats, right: Floats, out: Floats) -> None:
    """Write the Euclidean distance of every row of `left` to every row of `right`.

    By differences, not by |s|^2 + |t|^2 - 2 s't: that cancels for rows that are close.
    """
    n, m = left.shape
    columns, total = np.empty((m, PACK)), np.empty(PACK)
    for start in range(0, right.shape[0], PACK):
        width = min(PACK, right.shape[0] - start)
        _pack(right, start, width, columns)
        for i in range(n):
            for j in range(width):
                total[j] = 0.0
            for k in range(m):
                a = left[i, k]
                for j in range(width):
                    total[j] += (a - columns[k, j]) ** 2
            for j in range(width):
                out[i, start + j] = np.sqrt(total[j])


@njit()
def pair_distances(rows: Floats, left: Ints, right: Ints, out: Floats, *, is_l2: bool) -> None:
    """Write the city-block or Euclidean distance of row `left[p]` to row `right[p]`."""
    for p in range(left.size):
        total = 0.0
        for k in range(rows.shape[1]):
            d = abs(rows[left[p], k] - rows[right[p], k])
            total += d * d if is_l2 else d
        out[p] = np.sqrt(total) if is_l2 else total
