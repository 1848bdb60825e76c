"""The exact null of cells: the number of events of each is redrawn from its predictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np

from caltest.errors import NotApplicable
from caltest.measures.base import Measure
from caltest.measures.cells import BoundCells, Counts
from caltest.measures.outcome import Outcome
from caltest.nulls.base import BATCH, Batch, Replicates, bound_pvalue, resampled_values
from caltest.numerics.cell_counts import LARGE
from caltest.numerics.labels import resample_keys
from caltest.sources import Cells
from caltest.types import Floats, Hashes

KEY = "exact"
DRAWN = 1e-4  # of the p-value: what the redrawing may change unsaid


def bind_cells(measure: Measure, cells: Cells) -> BoundCells:
    """Bind a measure to cells, for its exact null.

    Raises
    ------
    NotApplicable
        If the measure needs the rows, or has no exact null.
    """
    if KEY not in measure.nulls:
        raise NotApplicable(
            f"{measure.description} has no exact null, and cells have no other",
            "use engine='rows'",
        )
    return measure.bind_cells(cells)


def cells_tests(
    bound: Sequence[tuple[Measure, BoundCells]],
    cells: Cells,
    *,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> list[Outcome]:
    r"""Test measures of the same cells by numbers of events redrawn from the predictions.

    The number of a cell is a sum of unequal Bernoullis, which is drawn from the binomial
    distribution with its mean where its variance is small, and else as a normal number corrected
    for skewness and kurtosis. The cost of a resample is that of the cells, whatever the number of
    rows, and all measures see the same numbers.
    """

    def statistics(counts: Counts, n_jobs: int | None) -> Floats:
        return np.concatenate([np.atleast_2d(one.statistics(counts, 1)) for _, one in bound])

    batches = _batches(cells, n_resamples, seed)
    # The same code path for observed and redrawn counts, so that ties are ties.
    seen = statistics(cells.events.astype(np.float64)[None], n_jobs)
    redrawn_ones = resampled_values(batches, statistics, cells.drawn, n_jobs=n_jobs, pooled=False)
    every = np.concatenate([seen, redrawn_ones], axis=1)
    sizes = [len(np.atleast_2d(one.statistics(one.observed[None], 1))) for _, one in bound]
    parts = np.split(every, np.cumsum(sizes)[:-1])
    return [_outcome(*pair, part) for pair, part in zip(bound, parts, strict=True)]


def redrawn_values(bound: BoundCells, *, n_resamples: int, seed: int, n_jobs: int | None) -> Floats:
    """Return the value (B,) of a measure of cells for redrawn numbers of events."""
    batches = _batches(bound.cells, n_resamples, seed)
    size = bound.cells.drawn
    return resampled_values(batches, bound.values, size, n_jobs=n_jobs, pooled=False)


def _batches(cells: Cells, n_resamples: int, seed: int) -> list[Batch]:
    def redrawn(keys: Hashes, at_a_time: int) -> Iterator[Counts]:
        # Numbers of events are cheaper for many keys at once; those of many weights take memory.
        together = keys.size if cells.weights is None else at_a_time
        for start in range(0, keys.size, together):
            counts = cells.redrawn(keys[start : start + together])
            yield from (counts[i : i + at_a_time] for i in range(0, len(counts), at_a_time))

    keys = resample_keys(seed, n_resamples)
    return [partial(redrawn, keys[i : i + BATCH]) for i in range(0, keys.size, BATCH)]


def _outcome(measure: Measure, bound: BoundCells, statistics: Floats) -> Outcome:
    """Return the outcome of what the value combines, (K, B + 1), observed first."""
    values = bound.combine(statistics if bound.combines else statistics[0])
    observed, resampled = float(values[0]), values[1:]
    return Outcome(
        statistic_name=measure.symbol,
        statistic=observed,
        pvalue=bound_pvalue(bound, observed, resampled, measure.alternative),
        estimate=bound.estimate(observed),
        alternative=measure.alternative,
        null_text="numbers of events of cells redrawn from the predictions",
        parameters={"cells": len(bound.cells), **bound.parameters, "error by cells": _error(bound)},
        notes=(*bound.notes, *_notes(bound.cells)),
        degenerate=bound.degenerate,
        distribution=resampled,
        replicates=Replicates.of(bound, observed, resampled, measure.alternative),
        parts=bound.combined_parts(statistics),
    )


def _error(bound: BoundCells) -> str:
    """Say what cells change in the statistic."""
    error = bound.error()
    if error is None:
        return bound.caution or "not bounded"
    return f"at most {error:.2g}" if error else "none"


def _notes(cells: Cells) -> Iterator[str]:
    if cells.distance > DRAWN:
        yield (
            f"cells with a variance up to {LARGE:g} are redrawn as if their predictions were "
            f"equal, which may change p by {cells.distance:.2g}"
        )
    if cells.weights is not None and cells.weights.missing > DRAWN:
        yield (
            f"rows of a cell with weights up to {cells.weights.ratio:g} times as large as others "
            "are redrawn as if these were equal, which takes "
            f"{cells.weights.missing:.2g} of the variance of sums"
        )
