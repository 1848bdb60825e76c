"""The gap of two classes smoothed by the kernel of a test, with its band under calibration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from caltest import validation
from caltest.numerics.tube import path_length_of_products, tube_quantile

if TYPE_CHECKING:
    from caltest.measures.kernel.witness import Embedding

Floats = NDArray[np.float64]
ROWS = 4096


@dataclass(frozen=True, eq=False)
class GapCurve:
    """The mean of the observed less the predicted probability near each prediction.

    Attributes
    ----------
    x : (points,) array
        Predictions in ascending order, over the range of those observed.
    gap : (points,) array
        Observed less predicted, weighted by the kernel.
    limit : (points,) array
        The gaps of calibrated predictions lie between -limit and limit, all of them at once with
        probability `level`.
    level : float
    """

    x: Floats = field(repr=False)
    gap: Floats = field(repr=False)
    limit: Floats = field(repr=False)
    level: float

    def __post_init__(self) -> None:
        for name in ("x", "gap", "limit"):
            object.__setattr__(self, name, validation.read_only(getattr(self, name)))


def gap_curve(embedding: Embedding, points: int, level: float) -> GapCurve:
    """Smooth the gap; the errors are those of labels that are drawn from the predictions."""
    predictions, weight = embedding.predictions, embedding.weight
    event = predictions.probs[:, 1]
    seen = event[weight > 0]
    x = np.linspace(float(seen.min()), float(seen.max()), points)
    at = np.column_stack([1.0 - x, x])
    mass, moment, square = np.zeros((3, points))
    product = np.zeros(points - 1)
    for start in range(0, predictions.n, ROWS):
        rows = slice(start, start + ROWS)
        kernel = np.zeros((event[rows].size, points))
        for term in embedding.kernel.terms:
            share = float((term.matrix @ np.array([-1.0, 1.0]))[1])
            kernel += share * term.cross(at, rows)
        kernel *= weight[rows, None]
        mass += kernel.sum(axis=0)
        moment += embedding.delta[rows, 1] @ kernel
        kernel *= np.sqrt(event[rows] * (1.0 - event[rows]))[:, None]
        square += np.square(kernel).sum(axis=0)
        product += (kernel[:, 1:] * kernel[:, :-1]).sum(axis=0)
    reach = tube_quantile(path_length_of_products(square, product), level)
    scale = np.where(mass > 0, mass, np.inf)
    return GapCurve(x, moment / scale, reach * np.sqrt(square) / scale, level)
