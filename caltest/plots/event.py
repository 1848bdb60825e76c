"""What a reliability diagram is drawn from: rows with predictions of an event, or cells of them."""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from caltest.measures.bins.reliability_bins import (
    ReliabilityBins,
    bins_of_cells,
    reliability_bins,
)
from caltest.measures.isotonic.confidence_band import (
    band_limits_of_cells,
    confidence_band_curve,
)
from caltest.measures.isotonic.corp import CorpCurve, corp_curve
from caltest.measures.isotonic.corp import curve_of_cells as corp_of_cells
from caltest.measures.scores.decomposition import (
    ScoreDecomposition,
    brier_parts_of_cells,
    score_decomposition,
)
from caltest.measures.smooth.smooth_curve import SmoothCurve, curve_of_cells, smooth_curve
from caltest.plots.numbers import cell_number_lines, number_lines
from caltest.predictions import Predictions
from caltest.scale import Cells

Floats = NDArray[np.float64]
Kind = TypeVar("Kind")


class Limits(NamedTuple):
    """A confidence band of the curve of calibration; see `ConfidenceBandCurve`."""

    x: Floats
    lower: Floats
    upper: Floats
    level: float


class Event(Protocol):
    """Predictions of an event and how often it happened, as a diagram asks for them.

    Attributes
    ----------
    n : int
        Rows.
    names : (str, str)
        What happens without the event, and the event.
    is_weighted : bool
        Whether rows have weights.
    values, rows, mass : (k,) array
        Predictions, and the rows and the weight that each stands for.
    happened : (k,) array
        The part of that with the event.
    counts : (int, int)
        Rows without and with the event.
    """

    n: int
    names: tuple[str, str]
    is_weighted: bool
    values: Floats
    rows: Floats
    mass: Floats
    happened: Floats
    counts: tuple[int, int]

    def bins(self, binning: str, bins: int, level: float) -> ReliabilityBins:
        """Return the bins with their consistency limits."""

    def smooth(self, level: float) -> SmoothCurve:
        """Return the smooth curve with its band."""

    def corp(self) -> CorpCurve:
        """Return the isotonic fit."""

    def parts(self) -> ScoreDecomposition:
        """Return the parts of the Brier score."""

    def band(self, level: float) -> Limits:
        """Return the confidence band of the curve of calibration."""

    def numbers(self, level: float) -> list[str]:
        """Return the numbers beside the diagram, a line each."""


class RowsEvent:
    """Rows of two classes."""

    def __init__(self, predictions: Predictions) -> None:
        self.predictions = predictions
        self.n = predictions.n
        self.names = str(predictions.classes[0]), str(predictions.classes[1])
        weight = predictions.sample_weight
        self.is_weighted = weight is not None
        happened = predictions.labels == 1
        events = int(np.count_nonzero(happened))
        self.counts = predictions.n - events, events
        counted = slice(None) if weight is None else weight > 0
        self.values = predictions.probs[counted, 1]
        self.rows = np.ones(self.values.size)
        self.mass = self.rows if weight is None else weight[counted]
        self.happened = self.mass * happened[counted]

    def bins(self, binning: str, bins: int, level: float) -> ReliabilityBins:
        """Return the bins with their consistency limits."""
        return _single(
            reliability_bins(self.predictions, binning=binning, bins=bins, confidence=level)
        )

    def smooth(self, level: float) -> SmoothCurve:
        """Return the smooth curve with its band."""
        return _single(smooth_curve(self.predictions, confidence=level))

    def corp(self) -> CorpCurve:
        """Return the isotonic fit."""
        return _single(corp_curve(self.predictions))

    def parts(self) -> ScoreDecomposition:
        """Return the parts of the Brier score."""
        return _single(score_decomposition(self.predictions))

    def band(self, level: float) -> Limits:
        """Return the confidence band of the curve of calibration."""
        found = _single(confidence_band_curve(self.predictions, confidence=level))
        return Limits(found.x, found.lower, found.upper, level)

    def numbers(self, level: float) -> list[str]:
        """Return the numbers beside the diagram, a line each."""
        return number_lines(self.predictions, level)


class CellsEvent:
    """Cells of rows, each at its mean prediction."""

    def __init__(self, cells: Cells) -> None:
        self.cells = cells
        self.is_weighted = cells.weights is not None
        self.n = cells.rows
        self.names = cells.no_event, cells.event
        events = int(cells.hits.sum())
        self.counts = cells.rows - events, events
        self.values = cells.mean
        self.rows = cells.counts.astype(np.float64)
        self.mass = cells.n.astype(np.float64)
        self.happened = cells.events.astype(np.float64)

    def bins(self, binning: str, bins: int, level: float) -> ReliabilityBins:
        """Return the bins with their consistency limits."""
        return bins_of_cells(self.cells, binning, bins, level)

    def smooth(self, level: float) -> SmoothCurve:
        """Return the smooth curve with its band."""
        return curve_of_cells(self.cells, level)

    def corp(self) -> CorpCurve:
        """Return the isotonic fit."""
        return corp_of_cells(self.cells)

    def parts(self) -> ScoreDecomposition:
        """Return the parts of the Brier score."""
        return brier_parts_of_cells(self.cells)

    def band(self, level: float) -> Limits:
        """Return the confidence band of the curve of calibration."""
        return Limits(*band_limits_of_cells(self.cells, level), level)

    def numbers(self, level: float) -> list[str]:
        """Return the numbers beside the diagram, a line each."""
        return cell_number_lines(self.cells, level)


def _single(value: Kind | list[Kind]) -> Kind:
    """Return what a measure gave under a lens that is no family."""
    return value[0] if isinstance(value, list) else value
