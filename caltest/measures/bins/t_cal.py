"""T-Cal: debiased plug-in calibration errors over dyadic bins, adaptively, Lee et al. 2023."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Unpack, cast

import numpy as np

from caltest.checks import check_integer, option, optional
from caltest.errors import NotApplicable
from caltest.lenses.base import Evaluated
from caltest.measures.base import Measure
from caltest.measures.bins.ece import ECE
from caltest.numerics.loops import njit
from caltest.types import Floats, Ints
from caltest.units import CellUnits, FunctionOfUnits, RowUnits, Statistic, Units
from caltest.units.units import Observed, SortedRowUnits, check_one_dimension, check_unweighted

__all__ = ["TCal", "t_cal"]

FINEST = 52  # cells narrower than the doubles near 1 tell nothing more
SMALLEST_DEVIATION = 1e-9  # below are those of predictions that are certain, but for rounding
SCALES_OF_CELLS = 16
CAUTION = "squares of residuals are those at the mean prediction of each cell"
NO_PAIR = (
    "T-Cal needs two predictions in one half of [0, 1], and there are none",
    "use the test 'ks'",
)
LANES = 8  # resamples side by side hide the latency of each


@dataclass(frozen=True, kw_only=True)
class TCal(Measure):
    """T-Cal with its scales; see `t_cal`."""

    scales: int | None = option(None, optional(check_integer))

    key, title, symbol = "t-cal", "T-Cal, adaptive debiased plug-in", "T-Cal"
    drawn_as: ClassVar[str] = "reliability"

    forms: ClassVar[tuple[str, ...]] = ("rows", "cells")

    def statistic(self, units: Units) -> Statistic:
        limit = self.limit_of_scales(units.rows)
        if isinstance(units, CellUnits):
            cells = units.cells
            check_unweighted(units, "T-Cal", "use the test 'debiased-ece'")
            found = dyadic_statistic(units, cells.bins[2**limit], limit, cells.variance)
            return replace(found, caution=CAUTION)
        predictions = cast("RowUnits", units).predictions
        check_one_dimension(predictions, "T-Cal")
        check_unweighted(units, "T-Cal", "use the test 'debiased-ece'")
        rows = SortedRowUnits(predictions)
        places = np.maximum(np.ceil(rows.mean * 2.0**limit).astype(np.int64) - 1, 0)
        return dyadic_statistic(rows, places, limit, rows.mean * (1.0 - rows.mean))

    @property
    def cell_bins(self) -> tuple[int, ...]:  # type: ignore[override]
        return () if self.needs_rows else (2 ** self.limit_of_scales(0),)

    @property
    def needs_rows(self) -> str:
        if self.scales is not None and self.scales <= SCALES_OF_CELLS:
            return ""
        return f"bins are finer than cells; with scales={SCALES_OF_CELLS} or fewer they are not"

    def few_rows(self, *, weighted: bool = False) -> Measure:
        """Return the ECE, which is defined for one row, where the rows have no weights."""
        return self if weighted else ECE()

    interval_instead: ClassVar[str] = "test='debiased-ece'"

    def limit_of_scales(self, n: int) -> int:
        """Return the number of scales for n observations, 2 log2(n / sqrt(log n)) by default."""
        if self.scales is not None:
            return min(self.scales, FINEST)
        return min(max(1, int(2 * math.log2(n / math.sqrt(math.log(max(n, 2)))))), FINEST)


def dyadic_statistic(units: Units, cells: Ints, limit: int, variance: Floats) -> Statistic:
    """Return the largest of the standardised debiased errors over the scales up to a limit.

    Parameters
    ----------
    units : Units
        Rows or cells in ascending order of their predictions.
    cells : (U,) array
        The number of the bin of each unit among the 2^limit of the finest scale.
    limit : int
        The finest scale.
    variance : (U,) array
        The sums of p (1 - p) of the units.
    """
    # The finest scale at which a unit and the next share a bin: the exponent of a whole number is
    # the number of its bits.
    bits = np.frexp((cells[1:] ^ cells[:-1]).astype(np.float64))[1]
    size, shared = np.array(units.mass), np.append(np.maximum(limit - bits, 0), 0)
    # At finer scales every bin has one row and the sums are 0 for any labels.
    scales = limit if size.max() > 1 else int(shared.max())
    if scales == 0:
        raise NotApplicable(*NO_PAIR)
    own, squares = np.where(size > 1, 1.0 / size, 0.0), np.square(variance) / size
    *merges, part = merge_program(shared, size)
    # The sum over the rows of a unit of (y - p)^2 is linear in its residual.
    rows, bins = (units.shift, 1.0 - 2.0 * units.mean, variance, own), tuple(merges)
    # With the variances v of the residuals a bin of c rows adds 2 c^-2 sum_(i != j) v_i v_j.
    zero = np.zeros(variance.size)
    fixed = zero, zero, squares, np.square(own)
    half = dyadic_sums(variance[None], fixed, bins, np.square(part), scales)[0]
    deviation = np.maximum(np.sqrt(2.0 * np.maximum(half, 0.0)), SMALLEST_DEVIATION)
    # T_b is a difference of sums of squares in the units of its deviation.
    events = max(1.0, float(variance.sum()))
    return Statistic(
        sums=FunctionOfUnits(units, lambda y: dyadic_sums(y, rows, bins, part, scales)),
        value=lambda sums: (sums / deviation).max(axis=1, keepdims=True),
        scale=units.rounding * events / float(deviation.min()),
        parameters={"scales": scales, "bins": f"2 to 2^{scales}"},
    )


def t_cal(
    probs: object, labels: object = None, *, scales: int | None = None, **rows: Unpack[Evaluated]
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
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

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
    return TCal(scales=scales).evaluate(probs, labels, **rows)


@njit()
def merge_program(shared: Ints, size: Floats) -> tuple[Ints, Ints, Ints, Ints, Floats]:
    """Return how units (U,) of some sizes are merged to the bins of all scales.

    After `shared`, these are the number of merges after each unit and, of the node of each merge,
    the scales and 1 over its size.
    """
    n = shared.size
    merges = np.zeros(n, np.int64)
    coarse, fine, part = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    left, sizes = np.zeros(n + 1, np.int64), np.zeros(n + 1)
    top = count = 0
    for i in range(n):
        left[top] = shared[i - 1] if top > 0 else 0  # the scale that joins it with the node below
        sizes[top] = size[i]
        while top > 0 and left[top] >= shared[i]:
            sizes[top - 1] += sizes[top]
            fine[count] = left[top]
            coarse[count] = max(left[top - 1], shared[i])
            top -= 1
            part[count] = 1.0 / sizes[top]
            count += 1
            merges[i] += 1
        top = 0 if shared[i] == 0 else top + 1
    return shared, merges, coarse[:count].copy(), fine[:count].copy(), part[:count].copy()


@njit()
def dyadic_sums(
    observed: Observed, rows: tuple[Floats, ...], steps: tuple[Ints, ...], part: Floats, scales: int
) -> Floats:
    """Return T_b of the residuals of each row of `observed` (B, U), (B, scales).

    The squares of the residuals r of the rows of a unit are `slope` r + `constant` in sum. `own` is
    1 over their number, 0 for one. The steps are those of `merge_program`.
    """
    (shift, slope, constant, own), (shared, merges, coarse, fine) = rows, steps
    out = np.zeros((observed.shape[0], scales))
    sums, squares = np.zeros((scales + 2, LANES)), np.zeros((scales + 2, LANES))
    for start in range(0, observed.shape[0], LANES):
        lanes = min(LANES, observed.shape[0] - start)
        at = np.zeros((scales + 1, LANES))
        top = node = 0
        for i in range(shift.size):
            for lane in range(lanes):
                e = observed[start + lane, i] - shift[i]
                sums[top, lane] = e
                squares[top, lane] = slope[i] * e + constant[i]
            if own[i] > 0.0:
                alone = max(shared[i - 1], shared[i])  # the last unit shares none with the first
                _add_cell(sums[top], squares[top], own[i], at[scales], at[alone])
            for _ in range(merges[i]):
                _add(sums[top], sums[top - 1])
                _add(squares[top], squares[top - 1])
                top -= 1
                if coarse[node] < fine[node]:
                    _add_cell(sums[top], squares[top], part[node], at[fine[node]], at[coarse[node]])
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
