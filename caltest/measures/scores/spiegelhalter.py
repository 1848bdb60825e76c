"""Spiegelhalter's z, the standardised Brier score, Spiegelhalter 1986."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.lenses import Lens
from caltest.measures.base import BoundMeasure, Labels, Measure
from caltest.measures.cells import BoundCells, LinearCells, ResampledGroups
from caltest.measures.label_scores import (
    BinaryScore,
    TabledScore,
    binary_terms,
    rounding_scale,
    row_weights,
    sum_unit,
)
from caltest.measures.outcome import Outcome, RowTerms, two_sided_normal
from caltest.measures.residual_sums import ResidualStatistic, of_row_terms
from caltest.numerics.label_scores import (
    binary_deviation_sums,
    binary_deviation_variance,
    deviation_table,
)
from caltest.predictions import Predictions
from caltest.scale import Cells, ManyCells

__all__ = ["SpiegelhalterZ", "spiegelhalter_z"]

Floats = NDArray[np.float64]
CONSTANT = (
    "the Brier score has no variance under calibration, since the positive probabilities of each "
    "row are equal"
)


@dataclass(frozen=True, kw_only=True)
class SpiegelhalterZ(Measure):
    """Spiegelhalter's z; see `spiegelhalter_z`."""

    key: ClassVar[str] = "spiegelhalter"
    function: ClassVar[str] = "spiegelhalter_z"
    title: ClassVar[str] = "Spiegelhalter's z"
    alternative: ClassVar[str] = "two-sided"

    @property
    def symbol(self) -> str:
        return "z"

    @property
    def interval_instead(self) -> str:
        return "test='brier'"

    @property
    def nulls(self) -> tuple[str, ...]:
        return ("exact", "consistency", "asymptotic", "saddlepoint")

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundZ:
        return BoundZ(predictions)

    def bind_cells(self, cells: Cells) -> BoundCells:
        return CellZ(cells)

    def bind_groups(self, many: ManyCells) -> ResampledGroups:
        slope = 1.0 - 2.0 * many.cells.mean
        sd = np.sqrt(many.sums(many.cells.variance * np.square(slope)))
        return ResampledGroups.linear(many, slope, 0.0, sd)

    def row_terms(self, predictions: Predictions) -> RowTerms:
        """Return the deviations of each label, times the weights."""
        if predictions.m > 2:
            return _tabled(predictions)[0].row_terms()
        p = predictions.probs[:, 1]
        return binary_terms(predictions, -p * (1.0 - 2.0 * p), (1.0 - p) * (1.0 - 2.0 * p))

    def residual_statistics(
        self, predictions: Predictions, n_jobs: int | None = None
    ) -> list[ResidualStatistic]:
        """Return the sum of the terms of the rows, each less its mean."""
        return of_row_terms(self.row_terms(predictions), predictions)

    def limit(self, predictions: Predictions, n_jobs: int | None = None) -> Outcome:
        """Return the normal limit of z, two-sided."""
        bound = self.bind(predictions, n_jobs)
        if bound.sd == 0:
            raise NotApplicable(CONSTANT, "use null='exact'")
        z = bound.value(n_jobs)
        return two_sided_normal(z, z, bound.parameters)

    def outcome_of_grades(
        self, pd: Floats, defaults: NDArray[np.int64], n: NDArray[np.int64]
    ) -> Outcome:
        """Test z of obligors who have the PD of their grade by its normal limit, two-sided."""
        z = spiegelhalter_score(pd, defaults, n)
        if z is None:
            raise NotApplicable("every PD is 0, 1/2 or 1, so z has no variance")
        return two_sided_normal(z, z, {})


def _tabled(predictions: Predictions) -> tuple[TabledScore, Floats]:
    """Return the deviations of several classes, and the variance of each row."""
    table, rows = np.empty_like(predictions.probs), np.empty(predictions.n)
    deviation_table(predictions.probs, rows, table)
    return TabledScore(predictions, table), rows


class BoundZ(BoundMeasure):
    """The deviation of the Brier score from its mean, over its standard deviation."""

    def __init__(self, predictions: Predictions) -> None:
        super().__init__(predictions)
        weight = row_weights(predictions)
        self._deviation: BinaryScore | TabledScore
        if predictions.m == 2:
            self._deviation = BinaryScore(predictions, binary_deviation_sums)
            variance = binary_deviation_variance(predictions.probs[:, 1], weight)
        else:
            self._deviation, rows = _tabled(predictions)
            variance = float(np.square(weight) @ rows)
        self.sd = math.sqrt(variance) / float(weight.sum())
        self.scale = rounding_scale(predictions.n) * sum_unit(math.sqrt(variance), weight)
        if self.sd == 0:
            self.degenerate = (f"{CONSTANT}; z is 0 where it has its mean, else infinite",)

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        deviation = self._deviation.values(labels, n_jobs)
        if self.sd == 0:
            return np.where(deviation == 0, 0.0, np.copysign(np.inf, deviation))
        return deviation / self.sd


class CellZ(LinearCells):
    """z of cells."""

    def __init__(self, cells: Cells) -> None:
        slope = 1.0 - 2.0 * cells.mean
        sd = math.sqrt(float(cells.noise @ np.square(slope)))
        if sd == 0:
            raise NotApplicable(CONSTANT, "use test='brier'")
        super().__init__(cells, slope, 0.0, sd)
        self.scale *= 10.0 * max(1.0, cells.heaviest / sd)

    def error(self) -> float:
        """Bound the change of the sum in the units of its deviation, and of that deviation."""
        cells, slope = self.cells, np.abs(self.slope)
        own = 2.0 * float((cells.events + cells.expected) @ cells.reach) / self.unit
        widest = cells.noise @ np.square(slope + 2.0 * cells.reach)
        least = cells.noise @ np.square(np.maximum(slope - 2.0 * cells.reach, 0.0))
        z = abs(self.value()) + own
        widening = max(math.sqrt(float(widest)) / self.unit - 1.0, 0.0)
        narrowing = self.unit / math.sqrt(float(least)) - 1.0 if least > 0 else math.inf
        return own * (1.0 + narrowing) + z * max(widening, narrowing)


def spiegelhalter_z(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    n_jobs: int | None = None,
) -> float | Floats:
    r"""Compute Spiegelhalter's z, the Brier score standardised by its moments under calibration.

    With fixed predictions and :math:`Y_i \sim Cat(p_i)` the score
    :math:`S = \sum_i \lVert p_i - e_{Y_i} \rVert^2` has

    .. math:: E S = \sum_i (1 - q_i), \quad
        \mathrm{var} S = 4 \sum_i \sum_k p_{ik} (p_{ik} - q_i)^2, \quad q_i = \sum_k p_{ik}^2,

    and :math:`z = (S - E S) / \sqrt{\mathrm{var} S}`. For two classes it is Spiegelhalter's

    .. math:: \frac{\sum_i (y_i - p_i)(1 - 2 p_i)}{\sqrt{\sum_i (1 - 2 p_i)^2 p_i (1 - p_i)}}.

    Overconfident predictions give z > 0, underconfident ones z < 0; its test is two-sided. Under
    the exact null it has the p-value of the Brier score.

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
        In standard deviations. Where the variance is 0, with a DegenerateDataWarning, 0 if S has
        its mean and infinite if not. Sample weights multiply the terms of S, and the variance is
        that of the weighted sum.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Spiegelhalter (1986), Probabilistic prediction in patient management and clinical trials,
    Statistics in Medicine 5, section 4.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.spiegelhalter_z([0.9, 0.8, 0.2], [1, 0, 0])  # 0.28 / sqrt(0.1728)
    0.67357...
    """
    return SpiegelhalterZ().evaluate(probs, labels, lens, n_jobs)


def spiegelhalter_score(
    pd: Floats, defaults: NDArray[np.int64], n: NDArray[np.int64]
) -> float | None:
    """Return Spiegelhalter's z of obligors who have the PD of their grade, None without variance.

    z = sum_g (d - n PD) (1 - 2 PD) / sqrt(sum_g n (1 - 2 PD)^2 PD (1 - PD)); infinite where a
    grade of PD 0 or 1 has defaults that are impossible.
    """
    score = float(((defaults - n * pd) * (1.0 - 2.0 * pd)).sum())
    certain = (pd == 0) | (pd == 1)
    if (defaults[certain] != n[certain] * pd[certain]).any():
        return math.inf
    variance = float((n * (1.0 - 2.0 * pd) ** 2 * pd * (1.0 - pd)).sum())
    return score / math.sqrt(variance) if variance > 0 else None
