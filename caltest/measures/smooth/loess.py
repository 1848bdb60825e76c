"""Measures of the distance between the predictions and a loess of the labels on them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable, invalid, shown
from caltest.measures.base import BoundMeasure, Labels, Measure
from caltest.measures.label_scores import rounding_scale
from caltest.measures.one_dimension import check_one_dimension, sorted_rows
from caltest.measures.smooth import lowess
from caltest.numerics.labels import draw_events
from caltest.predictions import Predictions
from caltest.validation.options import check_positive

Floats = NDArray[np.float64]
SPAN = 2 / 3
STEP = 0.01  # of the range of the predictions: knots that are about as far apart
SMALLEST = 1e-50  # a range whose square and inverse are ordinary numbers


@dataclass(frozen=True, kw_only=True)
class LoessMeasure(Measure):
    """A functional of the absolute errors |loess(p_i) - p_i|."""

    span: float = SPAN

    def __post_init__(self) -> None:
        check_fraction(self.span, "span")

    @abstractmethod
    def functional(self, errors: LoessErrors, deviations: Floats) -> Floats:
        """Return the values (B,) for the deviations loess - p at the knots, (B, knots)."""

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundMeasure:
        check_one_dimension(predictions, f"the {self.symbol}")
        if predictions.sample_weight is not None:
            raise NotApplicable(
                f"the {self.symbol} takes no sample weights; use the test 'smooth-ece'"
            )
        return LoessErrors(predictions, self)


class LoessErrors(BoundMeasure):
    """The loess as a linear function of the labels, bound to sorted predictions."""

    def __init__(self, predictions: Predictions, measure: LoessMeasure) -> None:
        super().__init__(predictions)
        self.measure = measure
        self.event, self._observed, _ = sorted_rows(predictions, measure.symbol)
        self.parameters = {"smoother": "loess of degree 1", "span": measure.span}
        self.scale = rounding_scale(predictions.n)
        x, spread = self.event, float(np.ptp(self.event))
        self.knots = lowess.find_knots(x, STEP * spread)
        self.start = np.searchsorted(x, self.knots)
        # The weights of rows do not depend on the unit, but their squares would underflow.
        unit = spread if 0 < spread < SMALLEST else 1.0
        self._x, knots = x / unit if unit < 1 else x, self.knots / unit
        nearest = min(max(2, int(measure.span * x.size + 1e-7)), x.size)
        radii = lowess.find_radii(self._x, knots, nearest)
        edges = lowess.window_edges(self._x, knots, radii, lowess.NEAR, lowess.FAR)
        self._cells = np.unique(np.append(edges, (0, x.size)))
        # The smaller of the two matrices.
        self._by_rows = x.size <= lowess.DEGREES * (self._cells.size - 1)
        if self._by_rows:
            self._weights = lowess.row_weights(self._x, knots, radii, edges)
        else:
            self._frames = lowess.cell_frames(self._x, self._cells)
            self._weights = self._moment_weights(knots, radii, edges)

    @property
    def observed(self) -> Labels:
        return self._observed

    @property
    def label_probs(self) -> Floats:
        return np.column_stack((1.0 - self.event, self.event))

    def redraw(self, rng: np.random.Generator, size: int) -> Labels:
        return draw_events(self.event, rng, size)

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        return self.measure.functional(self, self.fits(labels) - self.knots)

    def fits(self, labels: Labels) -> Floats:
        """Return the loess at the knots, (B, knots)."""
        features = labels.astype(np.float64) if self._by_rows else self._moments(labels)
        return np.asarray(features @ self._weights.T)

    def mean(self, deviations: Floats) -> Floats:
        """Return the mean over rows of the absolute errors, (B,)."""
        return np.asarray(lowess.mean_errors(self.event, self.knots, self.start, deviations))

    def quantile(self, deviations: Floats, share: float) -> Floats:
        """Return a quantile of type 7 over rows of the absolute errors, (B,)."""
        values, errors = np.empty(len(deviations)), np.empty((1, self.event.size))
        for b in range(values.size):
            row = deviations[b : b + 1]
            lowess.row_errors(self.event, self.knots, self.start, row, errors)
            values[b] = np.quantile(errors[0], share, overwrite_input=True)
        return values

    def _moments(self, labels: Labels) -> Floats:
        moments = lowess.cell_moments(self._x, labels, self._cells, *self._frames)
        return np.asarray(moments.reshape(len(labels), -1))

    def _moment_weights(self, knots: Floats, radii: Floats, edges: NDArray[np.int64]) -> Floats:
        counts = self._moments(np.ones((1, self.event.size), np.uint8))
        counts = counts.reshape(-1, lowess.DEGREES)
        least = lowess.LEAST_SPREAD * float(np.ptp(self._x))
        parts = (knots, radii, edges, self._cells, *self._frames, counts, least)
        return np.asarray(lowess.moment_weights(*parts))


def check_fraction(value: object, name: str) -> float:
    """Check a share of the rows, in (0, 1]."""
    share = check_positive(value, name)
    if share > 1:
        raise invalid(f"{name} must be at most 1", shown(value), "pass a share, such as 2/3")
    return share
