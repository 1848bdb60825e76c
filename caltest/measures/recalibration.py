"""Predictions with labels bound to their logistic recalibration."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from caltest.measures.base import BoundMeasure, Labels
from caltest.measures.label_scores import rounding_scale, row_weights
from caltest.measures.one_dimension import check_one_dimension
from caltest.numerics.labels import draw_events
from caltest.numerics.recalibration import (
    SAME,
    SMALLEST,
    event_sums,
    few_nodes,
    log_odds,
    recalibrate,
    standard_rows,
)
from caltest.predictions import Predictions

Floats = NDArray[np.float64]

NO_SLOPE = "the log odds of the predictions are equal, so that no slope can be estimated"


class BoundLikelihood(BoundMeasure):
    """A function of the likelihood of labels, which is 0 where one of them is impossible."""

    def __init__(self, predictions: Predictions) -> None:
        self.extremes = extreme_messages(predictions)
        weight = predictions.sample_weight
        if weight is not None and not weight.all():
            predictions = predictions.subset(weight > 0)
        super().__init__(predictions)
        weight = row_weights(predictions)
        # A power of 2 takes no digit from them, and leaves no sum to overflow.
        self.unit = 2.0 ** math.frexp(float(weight.max()))[1] if weight.strides[0] else 1.0
        self.weight: Floats = np.ascontiguousarray(weight / self.unit)
        self.total = float(self.weight.sum()) * self.unit
        self.scale = 10.0 * rounding_scale(predictions.n)
        self._doubtful = rows_below(predictions.probs, 0.0)

    def redraw(self, rng: np.random.Generator, size: int) -> Labels:
        if self.predictions.m == 2:
            return draw_events(self.predictions.probs[:, 1], rng, size)
        return super().redraw(rng, size)

    def likelihood_ratio(self, gains: Floats, labels: Labels) -> Floats:
        """Return twice the gains; infinite where a label has probability 0."""
        ratios = 2.0 * self.unit * gains
        if self._doubtful.size:
            probs = self.predictions.probs[self._doubtful]
            rows = np.arange(self._doubtful.size)
            chosen = probs[rows, labels[:, self._doubtful]]
            ratios[(chosen == 0).any(axis=1)] = math.inf
        return ratios


class BoundRecalibration(BoundLikelihood):
    """Intercepts and slopes of two classes, and what they gain."""

    def __init__(self, predictions: Predictions, measure: str, *, with_slope: bool) -> None:
        check_one_dimension(predictions, measure)
        super().__init__(predictions)
        self._with_slope = with_slope
        self._rows = standard_rows(log_odds(self.predictions.probs), self.weight)
        self._nodes = few_nodes(self._rows)
        self._weighted_z = self.weight * self._rows.z

    @property
    def has_slope(self) -> bool:
        """Whether the log odds differ."""
        return self._rows.sd > 0

    def recalibrations(self, labels: Labels) -> tuple[Floats, Floats]:
        """Return estimates (B, 3) and gains (B, 2), see `recalibrate`."""
        sums = event_sums(labels, self.weight, self._weighted_z)
        return recalibrate(labels, self._rows, self._nodes, sums, 1 + self._with_slope)

    def messages(self) -> tuple[str, ...]:
        """Say what the data leave undefined."""
        said = list(self.extremes)
        if self._with_slope and not self.has_slope:
            said.append(f"{NO_SLOPE}; it is taken as 1")
        labels = self.predictions.labels
        if labels.min() == labels.max():
            taken = ", and the slope is taken as 1" if self._with_slope and self.has_slope else ""
            said.append(f"all labels are equal: the intercept is infinite{taken}")
        elif self._with_slope and math.isinf(self.recalibrations(self.observed[None])[0][0, 2]):
            said.append("the predictions separate the labels: the slope is infinite")
        return tuple(said)


def extreme_messages(predictions: Predictions) -> tuple[str, ...]:
    """Say where probabilities have no logarithm, and where such a class was observed."""
    probs = predictions.probs
    extreme = rows_below(probs, math.nextafter(SMALLEST, 0.0))
    extreme = extreme[row_weights(predictions)[extreme] > 0]
    if not extreme.size:
        return ()
    clipped = (
        f"probabilities below 2.2e-16 count as that in their logarithm, in {extreme.size} of "
        f"{predictions.n} rows, first in row {extreme[0]}"
    )
    said = [clipped]
    observed = probs[extreme, predictions.labels[extreme]]
    rows = extreme[observed == 0]
    if rows.size:
        said.append(
            f"the observed class has probability 0 in {rows.size} of {predictions.n} rows, first "
            f"in row {rows[0]}: that alone contradicts the predictions, and the likelihood ratio "
            "is infinite"
        )
    return tuple(said)


def rows_below(probs: Floats, limit: float) -> NDArray[np.intp]:
    """Return the rows with a probability of at most a limit; most often there is none."""
    if probs.min() > limit:
        return np.empty(0, np.intp)
    return np.flatnonzero((probs <= limit).any(axis=1))


def raised(probs: Floats) -> Floats:
    """Return probabilities of at least about 2.2e-16 that sum to 1."""
    higher = np.maximum(probs, SMALLEST)
    higher /= higher.sum(axis=1, keepdims=True)
    return higher


def varying(features: Floats) -> NDArray[np.bool_]:
    """Return for each column whether it varies."""
    mean, sd = features.mean(axis=0), features.std(axis=0)
    different: NDArray[np.bool_] = sd > SAME * np.maximum(1.0, np.abs(mean))
    return different
