"""The unreliability index U, Miller, Hui and Tierney 1991."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.lenses import Lens
from caltest.measures.base import BoundMeasure, Labels, Measure
from caltest.measures.cells import BoundCells, Counts
from caltest.measures.one_dimension import check_one_dimension
from caltest.measures.outcome import Outcome
from caltest.measures.recalibration.fits import AT_MEANS, CellRatio, bind_ratio, chi2_limit
from caltest.measures.recalibration.scores import score_statistics
from caltest.measures.residual_sums import ResidualStatistic
from caltest.numerics.unseen import end_cells, hidden_information
from caltest.predictions import Predictions
from caltest.scale import Cells

__all__ = ["Unreliability", "unreliability"]

Floats = NDArray[np.float64]
PARTS = 4  # of the rows, at either end: a line in the log odds shows in no smaller ones


@dataclass(frozen=True, kw_only=True)
class Unreliability(Measure):
    """The unreliability index; see `unreliability`."""

    key: ClassVar[str] = "unreliability"
    title: ClassVar[str] = "unreliability index"

    @property
    def symbol(self) -> str:
        return "U"

    @property
    def nulls(self) -> tuple[str, ...]:
        return ("exact", "consistency", "asymptotic")

    @property
    def intervals(self) -> tuple[str, ...]:
        # A resample with its repeated rows is not unbiased.
        return ("jackknife", *super().intervals)

    @property
    def is_squared(self) -> bool:
        return True

    def unseen_reach(self, predictions: Predictions, a: float) -> float:
        if predictions.m > 2:
            return 0.0
        cells = end_cells(predictions.probs[:, 1], predictions.labels, PARTS)
        return hidden_information(*cells, predictions.n, a)

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundUnreliability:
        return BoundUnreliability(predictions)

    def bind_cells(self, cells: Cells) -> CellUnreliability:
        return CellUnreliability(cells)

    def residual_statistics(
        self, predictions: Predictions, n_jobs: int | None = None
    ) -> list[ResidualStatistic]:
        """Return the scores of intercept and slope, at 0 and 1."""
        check_one_dimension(predictions, f"the {self.title} of rows that depend")
        return score_statistics(predictions, "both", adjusted=False)

    def limit(self, predictions: Predictions, n_jobs: int | None = None) -> Outcome:
        """Return the chi^2 limit of the likelihood ratio in it."""
        bound = self.bind(predictions, n_jobs)
        ratio = bound.ratio.value(n_jobs)
        return chi2_limit(bound.ratio, ratio, bound.value(n_jobs))


class BoundUnreliability(BoundMeasure):
    """The likelihood ratio less its mean, for each row of data."""

    def __init__(self, predictions: Predictions) -> None:
        self.ratio = bind_ratio(predictions, "both", "common", None)
        super().__init__(self.ratio.predictions)
        self.scale = self.ratio.scale / self.ratio.total
        self.parameters = self.ratio.parameters
        self.degenerate = self.ratio.degenerate

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        ratios = self.ratio.values(labels, n_jobs)
        return np.asarray((ratios - self.ratio.df) / self.ratio.total)


class CellUnreliability(BoundCells):
    """The likelihood ratio of cells less its mean, for each row of data."""

    caution = AT_MEANS

    def __init__(self, cells: Cells) -> None:
        super().__init__(cells)
        self.ratio = CellRatio(cells, "both")
        self.scale = self.ratio.scale / cells.mass
        self.parameters = self.ratio.parameters
        self.degenerate = self.ratio.degenerate

    def values(self, labels: Counts, n_jobs: int | None = None) -> Floats:
        df = 1 + self.ratio.has_slope
        return np.asarray((self.ratio.values(labels, n_jobs) - df) / self.cells.mass)


def unreliability(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    n_jobs: int | None = None,
) -> float | Floats:
    r"""Compute the unreliability index U of R's `val.prob`.

    .. math:: U = \frac{2 [\max_{a, b} \ell(a, b) - \ell(0, 1)] - d}{n},

    what a logistic recalibration with intercept a and slope b gains in log likelihood, less its
    mean d = 2 under calibration (1 where all predictions are equal, and for m > 2 classes m: one
    slope and m - 1 intercepts). Its test is that of `cox`.

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
        At least -d / n; about 0 for calibrated predictions. Infinite, with a DegenerateDataWarning,
        where an observed class has probability 0, where `val.prob` leaves such rows out of the fit.
        With sample weights n is their sum over their mean.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Miller, Hui, Tierney (1991), Validation techniques for logistic regression models, Statistics in
    Medicine 10, section 2; Harrell (2015), Regression modeling strategies, section 10.9; `val.prob`
    in the R package rms.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = [0.2] * 4 + [0.8] * 4, [0, 0, 0, 1, 1, 1, 1, 0]
    >>> round(ct.measures.unreliability(p, y), 4)  # (0.1181 - 2) / 8
    -0.2352
    """
    return Unreliability().evaluate(probs, labels, lens, n_jobs)
