"""T-Cal: debiased plug-in calibration errors over dyadic bins, adaptively, Lee et al. 2023."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest import validation
from caltest.errors import NotApplicable
from caltest.measures.base import BoundMeasure, Measure, Order
from caltest.measures.bins.ece import ECE
from caltest.measures.cells import BoundCells, Counts
from caltest.measures.label_scores import rounding_scale
from caltest.measures.one_dimension import check_one_dimension
from caltest.numerics.loops import njit

if TYPE_CHECKING:
    from caltest.lenses import Lens
    from caltest.predictions import Predictions
    from caltest.scale import Cells

__all__ = ["TCal", "t_cal"]

Floats = NDArray[np.float64]
Labels = NDArray[np.unsignedinteger]
FINEST = 52  # cells narrower than the doubles near 1 tell nothing more
SMALLEST_DEVIATION = (
    1e-9  # deviations below are those of predictions that are certain, but for rounding
)
SCALES_OF_CELLS = 16
NO_PAIR = (
    "T-Cal needs two predictions in one half of [0, 1], and there are none",
    "use the test 'ks'",
)
Ints = NDArray[np.int64]
LANES = 8  # resamples side by side hide the latency of each


@dataclass(frozen=True, kw_only=True)
class TCal(Measure):
    """T-Cal with its scales; see `t_cal`."""

    scales: int | None = None

    key: ClassVar[str] = "t-cal"
    title: ClassVar[str] = "T-Cal, adaptive debiased plug-in"

    def __post_init__(self) -> None:
        validation.check_optional_integer(self.scales, "scales")

    @property
    def symbol(self) -> str:
        return "T-Cal"

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundMeasure:
        check_one_dimension(predictions, "T-Cal")
        _check_weights(predictions.sample_weight)
        return DyadicError(predictions, self.limit_of_scales(predictions.n))

    @property
    def cell_bins(self) -> tuple[int, ...]:
        return () if self.needs_rows else (2 ** self.limit_of_scales(0),)

    @property
    def needs_rows(self) -> str:
        if self.scales is not None and self.scales <= SCALES_OF_CELLS:
            return ""
        return f"bins are finer than cells; with scales={SCALES_OF_CELLS} or fewer they are not"

    def bind_cells(self, cells: Cells) -> BoundCells:
        if self.needs_rows:
            return super().bind_cells(cells)
        _check_weights(cells.weights)
        return DyadicCells(cells, self.limit_of_scales(cells.rows))

    def few_rows(self, *, weighted: bool = False) -> Measure:
        """Return the ECE, which is defined for one row, where the rows have no weights."""
        return self if weighted else ECE()

    @property
    def interval_instead(self) -> str:
        return "test='debiased-ece'"

    def plot_kind(self, m: int) -> str:
        return "reliability"

    def limit_of_scales(self, n: int) -> int:
        """Return the number of scales for n observations, 2 log2(n / sqrt(log n)) by default."""
        if self.scales is not None:
            return min(self.scales, FINEST)
        return min(max(1, int(2 * math.log2(n / math.sqrt(math.log(max(n, 2)))))), FINEST)


def _check_weights(weights: object) -> None:
    if weights is not None:
        raise NotApplicable("T-Cal takes no sample weights", "use the test 'debiased-ece'")


class DyadicError(BoundMeasure):
    """The largest of the standardised debiased errors over the scales."""

    def __init__(self, predictions: Predictions, limit: int) -> None:
        super().__init__(predictions)
        self.event = predictions.probs[self.order, 1]
        shared = shared_scales(self.event, limit)
        # At finer scales every cell has one row and the sums are 0 for any labels.
        self.scales = int(shared.max())
        if self.scales == 0:
            raise NotApplicable(*NO_PAIR)
        self.program = (shared, *merge_program(shared), self.scales)
        variance = dyadic_variances(self.event, *self.program)
        self.deviation = np.maximum(np.sqrt(variance), SMALLEST_DEVIATION)
        # T_b is a difference of sums of squares in the units of its deviation.
        events = max(1.0, float((self.event * (1.0 - self.event)).sum()))
        self.scale = rounding_scale(predictions.n) * events / float(self.deviation.min())
        self.parameters = _scales(self.scales)

    @cached_property
    def order(self) -> Order:
        return np.argsort(self.predictions.probs[:, 1])

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        sums = dyadic_sums(labels, self.event, *self.program)
        return np.asarray((sums / self.deviation).max(axis=1))


class DyadicCells(BoundCells):
    """The same of cells, which do not cross the edges of the finest bins."""

    caution = "squares of residuals are those at the mean prediction of each cell"

    def __init__(self, cells: Cells, limit: int) -> None:
        super().__init__(cells)
        finest, size = cells.bins[2**limit], cells.n.astype(np.float64)
        starts = [np.flatnonzero(_begins(finest >> fine)) for fine in range(limit)]
        rows = [np.add.reduceat(size, start) for start in starts]
        # At finer scales every bin has one row and the sums are 0 for any labels.
        first = next((fine for fine in range(limit) if rows[fine].max() > 1), limit)
        if first == limit:
            raise NotApplicable(*NO_PAIR)
        starts, self._parts = starts[first:], [1.0 / count for count in rows[first:]]
        # The bins of a scale start at some bins of the finer one.
        self._starts = [starts[0], *map(np.searchsorted, starts, starts[1:])]
        wide = [np.diff(np.append(start, len(cells))) for start in starts]
        shares = np.column_stack(list(map(np.repeat, self._parts, wide)))
        own = np.square(cells.variance) / size

        def variance(start: Ints, part: Floats) -> float:
            pairs = np.square(np.add.reduceat(cells.variance, start)) - np.add.reduceat(own, start)
            return max(2.0 * float(np.square(part) @ pairs), 0.0)

        sd = np.sqrt(list(map(variance, starts, self._parts)))
        self._deviation = np.maximum(sd, SMALLEST_DEVIATION)
        # The sum over rows of (y - p)^2 is linear in the numbers of events.
        self._squares = (1.0 - 2.0 * cells.mean)[:, None] * shares
        self._constant = cells.variance @ shares
        self.scale *= max(1.0, float(cells.variance.sum())) / float(self._deviation.min())
        self.parameters = _scales(len(starts))

    def values(self, labels: Counts, n_jobs: int | None = None) -> Floats:
        sums = labels - self.cells.expected
        out = -(sums @ self._squares) - self._constant
        for scale, (start, part) in enumerate(zip(self._starts, self._parts, strict=True)):
            sums = np.add.reduceat(sums, start, axis=1)
            out[:, scale] += np.square(sums) @ part
        return np.asarray((out / self._deviation).max(axis=1))


def _begins(bins: Ints) -> NDArray[np.bool_]:
    """Return whether a cell is the first of its bin."""
    return np.append(True, bins[1:] != bins[:-1])


def _scales(scales: int) -> dict[str, object]:
    return {"scales": scales, "bins": f"2 to 2^{scales}"}


def t_cal(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    scales: int | None = None,
    n_jobs: int | None = None,
) -> float | Floats:
    r"""Compute the statistic of adaptive T-Cal, the largest of standardised debiased errors.

    At scale b = 1, ..., S there are 2^b bins I of equal width. The debiased plug-in estimate of the
    squared calibration error,

    .. math:: T_b = \frac{1}{n} \sum_{I} \frac{1}{|I|} \Big[\Big(\sum_{i \in I} (y_i - p_i)\Big)^2
        - \sum_{i \in I} (y_i - p_i)^2\Big],

    has mean 0 for a calibrated model and, with :math:`v_i = p_i (1 - p_i)`, the standard deviation

    .. math:: \sigma_b = \frac{1}{n} \sqrt{2 \sum_I |I|^{-2} \sum_{i \ne j \in I} v_i v_j}.

    The statistic is :math:`\max_b T_b / \sigma_b`.

    The authors reject where one of the S estimates exceeds the 1 - alpha/S quantile of consistency
    resampling. Here the test "t-cal" takes the exact null of the maximum: it has a p-value in
    place of a yes or no and holds its level without the correction of Bonferroni; in simulations
    its power was mostly equal or larger. Bins are right-closed, theirs left-closed.

    Parameters
    ----------
    probs, labels : array_like
        As for `ece`.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    scales : int, optional
        S; by default the integer part of 2 log2(n / sqrt(log n)), as in the authors' code. Scales
        at which no bin has two observations are left out.
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

    Returns
    -------
    float
        In standard deviations. Takes one sort, and O(n) for all scales together.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes, sample weights, or no two predictions in one half of
        [0, 1].

    References
    ----------
    Lee, Huang, Hassani, Dobriban (2023), T-Cal: An optimal test for the calibration of predictive
    models, JMLR 24, section 4 (debiased plug-in estimator, adaptive test).

    Examples
    --------
    >>> import caltest as ct
    >>> float(round(ct.measures.t_cal([0.1, 0.3, 0.7, 0.9], [1, 1, 0, 0], scales=1), 3))
    6.481
    """
    return TCal(scales=scales).evaluate(probs, labels, lens, n_jobs)


def shared_scales(event: Floats, scales: int) -> Ints:
    """Return the finest scale at which row i and row i + 1 of the sorted `event` share a cell.

    It is 0 where there is none; the last row shares none.
    """
    cells = np.maximum(np.ceil(event * 2.0**scales).astype(np.int64) - 1, 0)
    # The exponent of a whole number is the number of its bits.
    bits = np.frexp((cells[1:] ^ cells[:-1]).astype(np.float64))[1]
    return np.append(np.maximum(scales - bits, 0), 0)


@njit()
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


@njit()
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
            _add(at[b], at[b - 1])
            for lane in range(lanes):
                out[start + lane, b - 1] = at[b, lane]
    return out


@njit(inline="always")
def _add(values: Floats, to: Floats) -> None:
    for lane in range(LANES):
        to[lane] += values[lane]


@njit(inline="always")
def _add_cell(sums: Floats, squares: Floats, part: float, fine: Floats, coarse: Floats) -> None:
    """Add a cell to the sums of its scales, which are running sums from `fine` to `coarse`."""
    for lane in range(LANES):
        term = (sums[lane] * sums[lane] - squares[lane]) * part
        fine[lane] += term
        coarse[lane] -= term


@njit()
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
            for b in range(coarse[node], fine[node]):
                out[b] += 2.0 * pairs / float(size[node]) ** 2
            node += 1
        top = 0 if shared[i] == 0 else top + 1
    return out
