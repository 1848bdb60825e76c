"""Miscalibration of the CORP decomposition, Dimitriadis et al. 2021."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest import validation
from caltest.lenses import Lens
from caltest.measures.base import REGISTRY, Labels, Measure
from caltest.measures.cells import BoundCells, Counts
from caltest.measures.label_scores import rounding_scale
from caltest.measures.one_dimension import SortedRows
from caltest.numerics.class_sums import label_sums
from caltest.numerics.isotonic import recalibrated_cell_scores, recalibrated_scores
from caltest.numerics.sorted_scores import step_ends
from caltest.numerics.unseen import end_cells, hidden_deviation, hidden_information
from caltest.predictions import Predictions
from caltest.scale import Cells

__all__ = ["CorpMiscalibration", "corp_miscalibration"]

Floats = NDArray[np.float64]

SCORES = ("brier", "log-loss")
PRINTED = {"brier": "Brier score", "log-loss": "log loss"}


@dataclass(frozen=True, kw_only=True)
class CorpMiscalibration(Measure):
    """The miscalibration of a score; see `corp_miscalibration`."""

    score: str = "brier"

    key: ClassVar[str] = "corp"
    function: ClassVar[str] = "corp_miscalibration"
    title: ClassVar[str] = "CORP miscalibration"

    def __post_init__(self) -> None:
        validation.check_choice(self.score, SCORES, "score")

    @property
    def symbol(self) -> str:
        return "MCB"

    @property
    def description(self) -> str:
        return f"{self.title} of the {PRINTED[self.score]}"

    @property
    def is_squared(self) -> bool:
        return True

    def unseen_reach(self, predictions: Predictions, a: float) -> float:
        cells = end_cells(predictions.probs[:, 1], predictions.labels)
        if self.score == "brier":
            return hidden_deviation(*cells, predictions.n, a)
        return hidden_information(*cells, predictions.n, a) / math.sqrt(2.0)

    def plot_kind(self, m: int) -> str:
        return "corp"

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundCorp:
        return BoundCorp(predictions, logarithmic=self.score == "log-loss")

    def bind_cells(self, cells: Cells) -> CellCorp:
        return CellCorp(cells, self.score)


class BoundCorp(SortedRows):
    """A score minus that of its isotonic fit, over rows in the order of the predictions."""

    def __init__(self, predictions: Predictions, *, logarithmic: bool) -> None:
        super().__init__(predictions, "the CORP measure")
        self._ends = step_ends(self.event)
        self._logarithmic = logarithmic
        columns = np.column_stack([1.0 - self.event, self.event])
        if logarithmic:
            with np.errstate(divide="ignore"):  # a log of 0 is reported below
                table = -np.log(columns)
        else:
            table = np.square(columns[:, ::-1])
        self._table = table * self.weight[:, None]
        self._total = float(self.weight.sum())
        self.scale = rounding_scale(predictions.n)
        self.parameters = {"score": PRINTED["log-loss" if logarithmic else "brier"]}
        impossible = int(np.count_nonzero(self.event == 1 - self.observed))
        if logarithmic and impossible:
            message = (
                "the log loss is infinite, and so is its miscalibration: the observed class has "
                f"probability 0 in {impossible} rows"
            )
            self.degenerate = (message,)

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        score = label_sums(self._table, labels)
        fitted = recalibrated_scores(labels, self.weight, self._ends, self._logarithmic)
        # In exact arithmetic it is not negative.
        return np.maximum(score - fitted, 0.0) / self._total


class CellCorp(BoundCells):
    """A score of cells minus that of the isotonic fit, which is one number for a cell."""

    caution = "the isotonic fit has no steps within cells"

    def __init__(self, cells: Cells, score: str) -> None:
        super().__init__(cells)
        self._scored = REGISTRY[score]().bind_cells(cells)
        self._size = cells.n.astype(np.float64)
        self._logarithmic = score == "log-loss"
        self.parameters = {"score": PRINTED[score]}
        self.degenerate = self._scored.degenerate

    def values(self, labels: Counts, n_jobs: int | None = None) -> Floats:
        fitted = recalibrated_cell_scores(labels, self._size, self._logarithmic)
        return np.maximum(self._scored.values(labels) - fitted / self.cells.mass, 0.0)


def corp_miscalibration(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    score: str = "brier",
    n_jobs: int | None = None,
) -> float | Floats:
    r"""Compute the miscalibration of the CORP decomposition, what isotonic recalibration gains.

    .. math:: MCB = \frac{1}{n} \sum_i S(p_i, y_i) - \frac{1}{n} \sum_i S(c_i, y_i),

    with c the isotonic fit of the labels to the predictions. There is nothing to tune. It finds
    predictions too high or too low anywhere as long as their order is right; its test redraws the
    labels and fits anew.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    score : {"brier", "log-loss"}
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

    Returns
    -------
    float
        In units of the score, at least 0; infinite, with a DegenerateDataWarning, where the log
        loss is. Sample weights count an observation w_i times. Takes O(n log n).

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes.

    References
    ----------
    Dimitriadis, Gneiting, Jordan (2021), Stable reliability diagrams for probabilistic classifiers,
    PNAS 118, equation 4 and the test of calibration in its supplement.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.corp_miscalibration([0.25, 0.75], [0, 1])
    0.0625
    """
    return CorpMiscalibration(score=score).evaluate(probs, labels, lens, n_jobs)
