"""What a null is: it turns the value of a measure into a p-value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.measures import Measure
from caltest.measures.base import Limit
from caltest.predictions import Predictions

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Judgement:
    """A judged value.

    Attributes
    ----------
    statistic_name, statistic, pvalue : str, float, float
    estimate : float
        The measure itself, where the statistic is something else.
    law : str
        The null distribution in words.
    parameters : Mapping
        Settings of the measure on these predictions.
    notes : tuple of str
        What the reader of the p-value should know.
    degenerate : tuple of str
        What the data left undefined; the caller warns.
    distribution : (B,) array, optional
        Resampled statistics.
    tail_pvalue : float, optional
        Gamma tail beyond the resolution of the resampling.
    replicates : callable, optional
        Returns the p-values of the observed statistic and of each resampled one, (1 + B,); for the
        test of all groups.
    """

    statistic_name: str
    statistic: float
    pvalue: float
    estimate: float
    law: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    degenerate: tuple[str, ...] = ()
    distribution: Floats | None = None
    tail_pvalue: float | None = None
    replicates: Callable[[], Floats] | None = None


@dataclass(frozen=True)
class Null:
    """A null with its key, one-line title and method.

    Attributes
    ----------
    judge : callable
        `judge(measure, predictions, *, n_resamples, seed, n_jobs) -> Judgement`.
    resamples : bool
        Whether the number of resamples and the seed matter.
    """

    key: str
    title: str
    judge: Callable[..., Judgement]
    resamples: bool


def check_applicable(measure: Measure, key: str) -> None:
    """Raise NotApplicable, with the alternatives, where the null has no meaning for the measure."""
    if key not in measure.nulls:
        some = "one of " if len(measure.nulls) > 1 else ""
        raise NotApplicable(
            f"null {key!r} has no meaning for {measure.description}; "
            f"use {some}{', '.join(map(repr, measure.nulls))}"
        )


def check_unweighted(predictions: Predictions, key: str) -> None:
    """Raise NotApplicable where sample weights would break the null's assumptions."""
    if predictions.sample_weight is not None:
        raise NotApplicable(f"null {key!r} takes no sample weights; use null='exact'")


def judged(limit: Limit) -> Judgement:
    """Return the judgement of a statistic that knows its law."""
    return Judgement(
        statistic_name=limit.name,
        statistic=limit.statistic,
        pvalue=positive(limit.pvalue),
        estimate=limit.estimate,
        law=limit.law,
        parameters=limit.parameters,
        notes=limit.notes,
        degenerate=limit.degenerate,
    )


def positive(pvalue: float) -> float:
    """Return the p-value, or the least positive number where it underflows: it is never 0."""
    return max(pvalue, float(np.finfo(float).tiny))
