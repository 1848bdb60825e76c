"""The exact null of rows that are read by chunks: labels redrawn from the predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest.measures.base import Measure
from caltest.measures.chunks import BoundChunks
from caltest.measures.outcome import Outcome, Part
from caltest.nulls.base import Replicates, resampling_pvalue
from caltest.numerics.labels import Hashes, resample_keys
from caltest.scale.chunks import Survey
from caltest.scale.readings import Readings

Floats = NDArray[np.float64]

KEY = "exact"


@dataclass(frozen=True, eq=False)
class _Make:
    """Makes the sums of several measures, on a worker."""

    bound: Sequence[Any]
    size: int

    def __call__(self) -> list[Any]:
        return [make(self.size) for make in self.bound]


def chunks_tests(
    bound: Sequence[tuple[Measure, BoundChunks]],
    readings: Readings,
    survey: Survey,
    *,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> list[Outcome]:
    """Test measures of the same rows by labels redrawn from the predictions.

    The label of a row in a resample depends on the probabilities of the row, on its number among
    those that have the same, and on the seed. All measures see the same labels.
    """
    keys = np.concatenate([resample_keys(seed, n_resamples), *_references(bound)])
    make = _Make([one.make for _, one in bound], 1 + keys.size)
    totals = readings.redraw(survey, make, keys, n_jobs)
    return [
        _outcome(measure, one, *one.values(some, n_resamples))
        for (measure, one), some in zip(bound, totals, strict=True)
    ]


def _references(bound: Sequence[tuple[Measure, BoundChunks]]) -> list[Hashes]:
    """Return the keys of references; measures have the same, or none."""
    return next(([one.references] for _, one in bound if one.references.size), [])


def _outcome(
    measure: Measure, bound: BoundChunks, values: Floats, parts: tuple[Part, ...]
) -> Outcome:
    observed, resampled = float(values[0]), values[1:]
    return Outcome(
        statistic_name=measure.symbol,
        statistic=observed,
        pvalue=resampling_pvalue(observed, resampled, bound.scale, measure.alternative),
        estimate=observed,
        alternative=measure.alternative,
        null_text="labels redrawn from the predictions",
        parameters={**bound.parameters, **bound.error()},
        notes=bound.notes,
        degenerate=bound.degenerate,
        distribution=resampled,
        replicates=Replicates(values, bound.scale, measure.alternative),
        parts=parts,
    )
