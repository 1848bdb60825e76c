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


@dataclass(frozen=True, slots=True)
class LogitRows:
    """Rows of positive weight.

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
    return LogitRows(scores(inputs), codes, *shares(weight, inputs.n))
