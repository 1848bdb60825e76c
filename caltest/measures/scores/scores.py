"""Spherical score, Good 1971."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np

from caltest.lenses import Lens
from caltest.measures.label_scores import ScoreOfUnits
from caltest.numerics.class_sums import binary_brier_sums, brier_table
from caltest.types import Floats
from caltest.units import CellUnits, ScoreSums, Statistic, Units

__all__ = ["BrierScore", "SphericalScore", "brier_score", "spherical_score"]


@dataclass(frozen=True, kw_only=True)
class BrierScore(ScoreOfUnits):
    """The Brier score; see `brier_score`."""

    key: ClassVar[str] = "brier"
    function: ClassVar[str] = "brier_score"
    title: ClassVar[str] = "Brier score"
    is_proper_score: ClassVar[bool] = True

    def support(self, m: int) -> tuple[float, float]:
        return 0.0, 1.0 if m == 2 else 2.0

    symbol: ClassVar[str] = "Brier"

    def scores(self, units: Units) -> ScoreSums:
        return ScoreSums(units, squared_distances, terms=_expected, fused=binary_brier_sums)

    def statistic(self, units: Units) -> Statistic:
        return self.mean(self.scores(units), error=lambda: _error(units))


def squared_distances(probs: Floats) -> Floats:
    """Return the squared distance of probabilities (n, m) to each label, halved for two classes."""
    if probs.shape[1] == 2:
        return np.square(np.column_stack([probs[:, 1], 1.0 - probs[:, 1]]))
    table = np.empty_like(probs)
    brier_table(probs, table)
    return table


def _expected(units: CellUnits) -> Floats:
    """Return the sums of the expected scores, with the squares of the rows of cells."""
    return units.cells.variance


def _error(units: Units) -> float:
    """Bound 2 sum y (p - mean of its cell) / n."""
    cells = cast("CellUnits", units).cells
    return 2.0 * float((units.sums(cells.events * cells.reach) / units.total).max())


def brier_score(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    n_jobs: int | None = None,
) -> float | Floats:
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


@dataclass(frozen=True, kw_only=True)
class SphericalScore(ScoreOfUnits):
    """The spherical score; see `spherical_score`."""

    key: ClassVar[str] = "spherical"
    function: ClassVar[str] = "spherical_score"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    title: ClassVar[str] = "spherical score"
    is_proper_score: ClassVar[bool] = True
    symbol: ClassVar[str] = "spherical score"

    def scores(self, units: Units) -> ScoreSums:
        return ScoreSums(units, lambda p: p / np.linalg.norm(p, axis=1, keepdims=True))


def spherical_score(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    n_jobs: int | None = None,
) -> float | Floats:
    r"""Compute the spherical score, the mean cosine of prediction and one-hot label.

    .. math:: \frac{1}{n} \sum_i \frac{p_{i, y_i}}{\lVert p_i \rVert_2}.

    It is larger for better predictions. Its test is two-sided, as those of the other scores.

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
        Without unit, in [0, 1]. With sample weights a weighted mean.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Good (1971), comment on Buehler, in: Foundations of statistical inference; Gneiting, Raftery
    (2007), Strictly proper scoring rules, prediction, and estimation, section 3.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.spherical_score([[0.5, 0.25, 0.25]], [0])  # 2 / sqrt(6)
    0.81649...
    """
    return SphericalScore().evaluate(probs, labels, lens, n_jobs)
