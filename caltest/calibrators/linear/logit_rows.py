"""The rows on which maps of logits are fitted: those that count, with weights that sum to 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from caltest.calibrators.base import CalibrationSet
from caltest.calibrators.inputs import Floats, Inputs
from caltest.numerics.weights import shares

SAMPLE = 1000  # rows that tell whether many are equal


@dataclass(frozen=True, slots=True)
class LogitRows:
    """Rows of positive weight; where many are equal, as of trees, each stands for all of them.

    Attributes
    ----------
    logits : (n, m) array
        Logits, or logarithms of probabilities, within 1e100 of 0.
    codes : (n,) array of int64
        Column of each label.
    weight : (n,) array
        Weights, which sum to 1.
    total : float
        What the weights summed to: the number of observations.
    """

    logits: Floats
    codes: NDArray[np.int64]
    weight: Floats
    total: float


def logit_rows(
    data: CalibrationSet, scores: Callable[[Inputs], Floats] = attrgetter("logits")
) -> LogitRows:
    """Return the rows that count; `scores` takes their logits from the inputs."""
    inputs, codes, weight = data.inputs, data.codes, data.weight
    if weight is not None and not (weight > 0).all():
        kept = weight > 0
        inputs, codes, weight = inputs.rows(kept), codes[kept], weight[kept]
    logits, (weight, total) = scores(inputs), shares(weight, inputs.n)
    return LogitRows(*_merged(logits, codes, weight), total)


def _merged(
    logits: Floats, codes: NDArray[np.int64], weight: Floats
) -> tuple[Floats, NDArray[np.int64], Floats]:
    """Add up the weights of equal rows of one label, if a sample has at least half of them."""
    step = -(-len(codes) // SAMPLE)
    sample = np.column_stack([logits[::step], codes[::step]])
    if 2 * len(np.unique(sample, axis=0)) > len(sample):
        return logits, codes, weight
    rows = np.column_stack([logits, codes])
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    merged = np.bincount(place.ravel(), weight).astype(float)
    return distinct[:, :-1], distinct[:, -1].astype(np.int64), merged
