"""Spherical score, Good 1971."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.lenses import Lens
from caltest.measures.label_scores import ScoreOfUnits
from caltest.units import ScoreSums, Units

__all__ = ["SphericalScore", "spherical_score"]


@dataclass(frozen=True, kw_only=True)
class SphericalScore(ScoreOfUnits):
    """The spherical score; see `spherical_score`."""

    key: ClassVar[str] = "spherical"
    function: ClassVar[str] = "spherical_score"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    title: ClassVar[str] = "spherical score"
    is_proper_score: ClassVar[bool] = True

    @property
    def symbol(self) -> str:
        return "spherical score"

    def scores(self, units: Units) -> ScoreSums:
        return ScoreSums(units, lambda p: p / np.linalg.norm(p, axis=1, keepdims=True))


def spherical_score(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    n_jobs: int | None = None,
) -> float | NDArray[np.float64]:
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
