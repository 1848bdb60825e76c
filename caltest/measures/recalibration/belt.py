"""The statistic of the GiViTI calibration belt, Nattino et al. 2014."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.lenses import Lens
from caltest.measures.base import BoundMeasure, Labels, Measure
from caltest.measures.cells import BoundCells, Counts
from caltest.measures.label_scores import rounding_scale
from caltest.measures.outcome import Outcome
from caltest.measures.recalibration.belt_fit import BeltModel, CellBeltModel, Selection, check_belt
from caltest.measures.recalibration.fits import AT_MEANS
from caltest.predictions import Predictions
from caltest.scale import Cells

__all__ = ["CalibrationBelt", "calibration_belt"]

Floats = NDArray[np.float64]

NAME = "the calibration belt"
SUPREMUM = 1e5  # where it has no maximum, the likelihood ends up to 2e-10 below its supremum
MAYBE_FITTED = (
    "observed and expected events are equal; if the model was fitted to these data, pass "
    "internal=True"
)
FITTED_HERE = 1e-4  # the difference of observed and expected events that givitiR warns below


@dataclass(frozen=True, kw_only=True)
class CalibrationBelt(Measure):
    """The statistic of the belt with its selection; see `calibration_belt`."""

    internal: bool = False
    threshold: float = 0.95
    max_degree: int = 4

    key: ClassVar[str] = "calibration-belt"
    title: ClassVar[str] = "GiViTI calibration belt"

    def __post_init__(self) -> None:
        check_belt(self.internal, self.threshold, self.max_degree)

    @property
    def symbol(self) -> str:
        return "LR"

    @property
    def description(self) -> str:
        return f"{self.title}, development sample" if self.internal else self.title

    @property
    def interval_instead(self) -> str:
        return "test='ks', or the belt itself, measures.calibration_belt"

    def plot_kind(self, m: int) -> str:
        return "belt"

    @property
    def nulls(self) -> tuple[str, ...]:
        # Predictions fitted to the labels are not those that labels are drawn from.
        return ("asymptotic",) if self.internal else ("exact", "consistency", "asymptotic")

    @property
    def selection(self) -> Selection:
        """How the degree is selected."""
        return Selection(2 if self.internal else 1, self.max_degree, self.threshold)

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundBelt:
        return BoundBelt(predictions, self)

    def bind_cells(self, cells: Cells) -> CellBelt:
        return CellBelt(cells, self.selection)

    def limit(self, predictions: Predictions, n_jobs: int | None = None) -> Outcome:
        """Return the likelihood-ratio test, given the degree that was selected."""
        bound = self.bind(predictions, n_jobs)
        fit = bound.model.fit(bound.observed[None])
        bound.model.check_fitted(fit, "use another test" if self.internal else "use null='exact'")
        statistic, degree = float(fit.statistic[0]), int(fit.degree[0])
        return Outcome(
            statistic_name=self.symbol,
            statistic=statistic,
            pvalue=self.selection.sf(statistic, degree),
            estimate=statistic,
            alternative="greater",
            null_text="likelihood ratio given the selected degree",
            parameters={"degree": degree, **bound.parameters},
            notes=bound.notes,
            degenerate=bound.degenerate,
        )


class BoundBelt(BoundMeasure):
    """The likelihood ratio of a polynomial in the log odds, its degree selected for the labels."""

    def __init__(self, predictions: Predictions, measure: CalibrationBelt) -> None:
        super().__init__(predictions)
        self.model = BeltModel(predictions, measure.selection, NAME)
        self.degenerate = self.model.degenerate
        self.scale = SUPREMUM * rounding_scale(predictions.n)
        self.parameters = {"sample": "development" if measure.internal else "external"}
        excess = float(predictions.labels.sum()) - float(self.model.event.sum())
        if not measure.internal and abs(excess) < FITTED_HERE:
            self.notes = (MAYBE_FITTED,)

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        return self.model.fit(labels).statistic


class CellBelt(BoundCells):
    """The likelihood ratio of a polynomial in the log odds of cells, its degree selected anew."""

    caution = AT_MEANS

    def __init__(self, cells: Cells, selection: Selection) -> None:
        super().__init__(cells)
        self.model = CellBeltModel(cells, selection)
        self.degenerate = self.model.degenerate
        self.scale *= SUPREMUM * max(1.0, cells.heaviest)
        self.parameters = {"sample": "external"}
        if abs(float((cells.events - cells.expected).sum())) < FITTED_HERE:
            self.notes = (MAYBE_FITTED,)

    def values(self, labels: Counts, n_jobs: int | None = None) -> Floats:
        return self.model.fit(labels).statistic


def calibration_belt(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    internal: bool = False,
    threshold: float = 0.95,
    max_degree: int = 4,
    n_jobs: int | None = None,
) -> float | Floats:
    r"""Compute the likelihood ratio of the GiViTI calibration belt.

    A logistic regression of the labels on powers of the log odds,

    .. math:: \mathrm{logit} P(Y = 1) = \beta_0 + \beta_1 \mathrm{logit}(p) + ... +
        \beta_m \mathrm{logit}(p)^m,

    starts with m = 1 (m = 2 in the development sample), and m is raised while the likelihood-ratio
    test of the next power rejects. The statistic is twice the difference between the log
    likelihood of the last fit and that of the predictions, which are :math:`\beta = (0, 1)`. Its
    asymptotic null accounts for the selection; its exact null selects anew for all redrawn labels.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    internal : bool, default False
        Whether the predictions are those of a logistic regression on these labels. Its test is
        asymptotic only.
    threshold : float, default 0.95
        Confidence level of the likelihood-ratio tests of the selection.
    max_degree : int, default 4
        The largest degree, up to 4.
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

    Returns
    -------
    float
        At least 0. Where a polynomial separates the classes it is the supremum. Predictions of 0
        and 1 are left out of the fit with a DegenerateDataWarning; it is infinite if a label
        contradicts one. Sample weights, over their mean,
        multiply the terms of the log likelihood.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes.

    References
    ----------
    Nattino, Finazzi, Bertolini (2014), A new calibration test and a reappraisal of the calibration
    belt, Statistics in Medicine 33, section 3; (2016), A new test and graphical tool to assess the
    goodness of fit of logistic regression models, Statistics in Medicine 35, for `internal`.

    Examples
    --------
    >>> import caltest as ct
    >>> p = [0.5, 0.2, 0.8, 0.2, 0.5, 0.8]
    >>> ct.measures.calibration_belt(p, [1, 1, 0, 0, 0, 1])  # half of each
    1.78514...
    """
    measure = CalibrationBelt(internal=internal, threshold=threshold, max_degree=max_degree)
    return measure.evaluate(probs, labels, lens, n_jobs)
