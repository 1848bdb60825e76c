"""Bootstrap resamples of rows, in fixed batches: the same values for any n_jobs."""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.measures import Measure
from caltest.nulls.resampling import batch_seeds, resampled_values
from caltest.numerics.parallel import map_threads
from caltest.predictions import Predictions

Floats = NDArray[np.float64]
Rows = NDArray[np.int32]
FEWEST_ROWS = 5
Ints = NDArray[np.int64]


def resample(
    evaluate: Callable[[Rows], float | Floats],
    n: int,
    *,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Floats:
    """Return `evaluate(rows)` for rows drawn with replacement, one resample after the other.

    Returns
    -------
    (n_resamples, ...) array
        What `evaluate` returned for each.
    """

    def batch_values(child: np.random.SeedSequence, size: int) -> list[float | Floats]:
        rng = np.random.default_rng(child)
        return [evaluate(rng.integers(n, size=n, dtype=np.int32)) for _ in range(size)]

    batches = map_threads(batch_values, batch_seeds(seed, n_resamples), n_jobs)
    return np.array([values for batch in batches for values in batch])


def calibrated_values(
    measure: Measure, predictions: Predictions, *, n_resamples: int, seed: int, n_jobs: int | None
) -> Floats:
    """Return the errors (n_resamples,) for labels redrawn from the predictions."""
    bound = measure.bind(predictions, n_jobs)
    values = resampled_values(
        bound.redraw,
        bound.values,
        predictions.n,
        n_resamples=n_resamples,
        seed=seed,
        n_jobs=n_jobs,
        pooled=bound.pooled,
    )
    return np.array([bound.estimate(value) for value in values.tolist()])


def check_rows(predictions: Predictions) -> None:
    """Raise NotApplicable where there are too few rows to resample."""
    if predictions.n < FEWEST_ROWS:
        raise NotApplicable(
            f"a bootstrap interval needs at least {FEWEST_ROWS} observations, and there are "
            f"{predictions.n}; collect more, or report the p-value alone"
        )


def widest_tail(values: Floats, a: float) -> float:
    """Return how far from their mean the values reach, leaving out a share `a` at either end.

    The mean takes the place of the estimate, which resampling moves by its bias.
    """
    low, high = np.quantile(values, [a, 1.0 - a]) - values.mean()
    return float(max(-low, high))


@numba.njit(nogil=True, cache=True)
def times_drawn(rows: Rows, n: int) -> NDArray[np.uint16]:
    """Return how often each of n rows is among `rows`."""
    counts = np.zeros(n, np.uint16)
    for i in rows:
        counts[i] += np.uint16(1)
    return counts


@numba.njit(nogil=True, cache=True)
def cell_sums(
    rows: Rows, cell: Ints, gap: Floats, weight: Floats, cells: int
) -> tuple[Floats, Floats]:
    """Return sum w and sum w gap over the drawn rows of each cell, (cells,) and (cells, c).

    `cell` (n,) is the cell of each row and `gap` (n, c); `weight` has length n, or 1 for all alike.
    """
    mass, sums = np.zeros(cells), np.zeros((cells, gap.shape[1]))
    each = weight.size == cell.size
    counts = times_drawn(rows, cell.size)
    for i in range(cell.size):
        if counts[i] == 0:
            continue
        w, b = counts[i] * weight[i if each else 0], cell[i]
        mass[b] += w
        for k in range(gap.shape[1]):
            sums[b, k] += w * gap[i, k]
    return mass, sums


@numba.njit(nogil=True, cache=True)
def class_cell_sums(
    rows: Rows,
    codes: NDArray[np.unsignedinteger],
    gap: Floats,
    weight: Floats,
    bins: int,
) -> tuple[Floats, Floats]:
    """Return the same for each class and bin, (m, bins) both; `codes` and `gap` are (n, m)."""
    m = gap.shape[1]
    mass, sums = np.zeros((m, bins)), np.zeros((m, bins))
    each = weight.size == gap.shape[0]
    counts = times_drawn(rows, gap.shape[0])
    for i in range(gap.shape[0]):
        if counts[i] == 0:
            continue
        w = counts[i] * weight[i if each else 0]
        for k in range(m):
            b = codes[i, k]
            mass[k, b] += w
            sums[k, b] += w * gap[i, k]
    return mass, sums


@numba.njit(nogil=True, cache=True)
def partial_sums(rows: Rows, gap: Floats, ends: NDArray[np.bool_]) -> Floats:
    """Return the sums of the gaps of the drawn rows up to each step end, the rows being sorted."""
    counts = times_drawn(rows, gap.size)
    out = np.empty(np.count_nonzero(ends))
    total, step = 0.0, 0
    for i in range(gap.size):
        total += counts[i] * gap[i]
        if ends[i]:
            out[step] = total
            step += 1
    return out


@numba.njit(nogil=True, cache=True)
def total_of(rows: Rows, values: Floats) -> float:
    """Return the sum of the values of the drawn rows."""
    counts = times_drawn(rows, values.size)
    total = 0.0
    for i in range(values.size):
        total += counts[i] * values[i]
    return total
