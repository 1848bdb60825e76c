"""Brier score, Brier 1950."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.lenses import Lens
from caltest.measures.base import BoundMeasure
from caltest.measures.cells import BoundCells, LinearCells, ResampledGroups
from caltest.measures.label_scores import (
    BinaryScore,
    MeanScore,
    TabledScore,
    binary_terms,
    row_weights,
)
from caltest.measures.outcome import RowScores, RowTerms
from caltest.numerics.label_scores import binary_brier_sums, brier_table
from caltest.predictions import Predictions
from caltest.scale import Cells, ManyCells

__all__ = ["BrierScore", "brier_score"]


@dataclass(frozen=True, kw_only=True)
class BrierScore(MeanScore):
    """The Brier score; see `brier_score`."""

    key: ClassVar[str] = "brier"
    function: ClassVar[str] = "brier_score"
    title: ClassVar[str] = "Brier score"
    is_proper_score: ClassVar[bool] = True

    def support(self, m: int) -> tuple[float, float]:
        return 0.0, 1.0 if m == 2 else 2.0

    @property
    def symbol(self) -> str:
        return "Brier"

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundMeasure:
        if predictions.m == 2:
            return BinaryScore(predictions, binary_brier_sums)
        return _tabled(predictions)

    def bind_cells(self, cells: Cells) -> BoundCells:
        return CellBrier(cells)

    def bind_groups(self, many: ManyCells) -> ResampledGroups:
        slope = 1.0 - 2.0 * many.cells.mean
        n = many.n.astype(np.float64)
        bound = ResampledGroups.linear(many, slope, many.variance, n)
        bound.error = 2.0 * float((many.sums(many.cells.events * many.cells.reach) / n).max())
        return bound

    def row_scores(self, predictions: Predictions) -> RowScores:
        if predictions.m > 2:
            return _tabled(predictions).row_scores()
        weight = row_weights(predictions)
        gap = predictions.labels - predictions.probs[:, 1]
        return RowScores(weight * np.square(gap), weight)

    def row_terms(self, predictions: Predictions) -> RowTerms:
        if predictions.m > 2:
            return _tabled(predictions).row_terms()
        event = predictions.probs[:, 1]
        return binary_terms(predictions, np.square(event), np.square(1.0 - event))


class CellBrier(LinearCells):
    """The Brier score of cells; the squares of the predictions are those of the rows."""

    def __init__(self, cells: Cells) -> None:
        constant = float(cells.variance.sum())
        super().__init__(cells, 1.0 - 2.0 * cells.mean, constant, cells.mass)

    def score_table(self) -> NDArray[np.float64]:
        mean = self.cells.mean
        return np.stack([np.square(mean), np.square(1.0 - mean)])

    def error(self) -> float:
        """Bound 2 sum y (p - mean of its cell) / n."""
        return 2.0 * float(self.cells.events @ self.cells.reach) / self.unit


def _tabled(predictions: Predictions) -> TabledScore:
    table = np.empty_like(predictions.probs)
    brier_table(predictions.probs, table)
    return TabledScore(predictions, table)


def brier_score(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    n_jobs: int | None = None,
) -> float | NDArray[np.float64]:
    r"""Compute the Brier score, the mean squared Euclidean distance to the one-hot label.

    .. math:: \frac{1}{n} \sum_i \lVert p_i - e_{y_i} \rVert^2,

    halved for two classes, where it is the mean of :math:`(p_i - y_i)^2`. It is smaller for better
    predictions, but far from its mean under calibration either way it speaks against calibration;
    so its test is two-sided.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

    Returns
    -------
    float
        In squared units of probability: in [0, 1] for two classes, else in [0, 2]. With sample
        weights a weighted mean.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Brier (1950), Verification of forecasts expressed in terms of probability; the halving is that
    of scikit-learn's `brier_score_loss`.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.brier_score([0.5, 0.75], [1, 1])  # (1/4 + 1/16) / 2
    0.15625
    """
    return BrierScore().evaluate(probs, labels, lens, n_jobs)
