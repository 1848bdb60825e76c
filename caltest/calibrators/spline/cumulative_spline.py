"""One spline of Gupta et al.: from scores and events to recalibrated scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caltest.calibrators.inputs import Floats
from caltest.calibrators.spline.natural_spline import (
    curvature_map,
    extreme_places,
    mean_slopes,
    minimum_under,
    normal_equations,
    slope_rows,
    spline_values,
)
from caltest.numerics.distinct_scores import distinct_scores

Cuts = Callable[[Floats], tuple[Floats, Floats]]


# Coefficients of the first three second derivatives, whose sum is zero: the first is zero, equals
# the second, or continues the line through the next two.
RUNOUTS = {
    "natural": np.array([1.0, 0.0, 0.0]),
    "parabolic": np.array([1.0, -1.0, 0.0]),
    "cubic": np.array([1.0, -2.0, 1.0]),
}

FEWEST_KNOTS = {"natural": 3, "parabolic": 3, "cubic": 4}
TARGETS = ("cumulative", "difference")


# Between two knots the least squares have at least as many points, so that they are never singular.
POINTS = 3


@dataclass(frozen=True, slots=True)
class SplineOptions:
    """How a spline is fitted; see `SplineCalibrator`."""

    knots: int
    runout: str
    target: str
    constrained: bool
    monotone: bool

    @property
    def curvature(self) -> Floats:
        """The map from values at the knots to second derivatives, (K, K)."""
        return curvature_map(self.knots, RUNOUTS[self.runout])

    @property
    def differs(self) -> bool:
        """Whether the spline is that of events minus scores."""
        return self.target == "difference"


@dataclass(frozen=True, slots=True)
class FittedSpline:
    """A spline and the steps it was fitted to.

    Attributes
    ----------
    score : (s,) array
        Distinct scores in ascending order.
    fractile : (s,) array
        Share of the predictions up to each.
    cumulative : (s,) array
        Share of the predictions up to each whose event happened.
    recalibrated : (s,) array
        Recalibrated scores.
    values : (K,) array
        The spline at the knots.
    """

    score: Floats
    fractile: Floats
    cumulative: Floats
    recalibrated: Floats
    values: Floats

    @property
    def start(self) -> Floats:
        """The fractile where the step of each score begins."""
        return np.append(0.0, self.fractile[:-1])


@dataclass(frozen=True, slots=True)
class CalibrationCurve:
    """The calibration graphs of a fitted spline, over the fractile t of the scores.

    Attributes
    ----------
    fractile : (T,) array
        Share t of the calibration set, by weight, in ascending order of the scores.
    score : (T,) array
        The score at t.
    cumulative_score : (T,) array
        Sum of the scores up to t, over n.
    cumulative_event : (T,) array
        Number of events up to t, over n; linear across equal scores.
    spline : (T,) array
        The spline fitted to `cumulative_event`.
    derivative : (T,) array
        Its derivative, the probability of the event at t. It may leave [0, 1] unless the fit was
        constrained; recalibrated scores do not.
    """

    fractile: Floats
    score: Floats
    cumulative_score: Floats
    cumulative_event: Floats
    spline: Floats
    derivative: Floats


def fit_spline(
    score: Floats, happens: NDArray[np.bool_], weight: Floats | None, options: SplineOptions
) -> FittedSpline:
    """Fit a spline to the cumulative curve and recalibrate each distinct score.

    Without both events and non-events the data do not say how scores change, and they stay.
    """
    score, mass, events = distinct_scores(score, happens, weight)
    total = np.cumsum(mass)
    t, h = total / total[-1], np.cumsum(events) / total[-1]
    if h[-1] in {0.0, t[-1]}:
        slope = 0.0 if options.differs else h[-1]
        return FittedSpline(score, t, h, score, slope * np.linspace(0, 1, options.knots))
    start = np.append(0.0, t[:-1])
    given = score if options.differs else np.zeros_like(score)
    curve = np.append(0.0, h - np.cumsum(given * (t - start)))
    longest = 1 / (POINTS * (options.knots - 1))
    D = options.curvature
    P, r = normal_equations(np.append(0.0, t), curve, options.knots, longest)
    E = np.vstack([np.eye(options.knots), D])
    cuts = _step_cuts(options, D, start, t, score) if options.differs else _curve_cuts(options, D)
    y = minimum_under(E.T @ P @ E, E.T @ r, cuts)
    recalibrated = np.clip(given + mean_slopes(start, t, y, D @ y), 0.0, 1.0)
    if options.monotone:  # to the last bit, where the constraint holds to rounding
        recalibrated = np.maximum.accumulate(recalibrated)
    return FittedSpline(score, t, h, recalibrated, y)


def curve_of(fitted: FittedSpline, options: SplineOptions, t: Floats) -> CalibrationCurve:
    """Evaluate the curves of a fitted spline at fractiles."""
    y = fitted.values
    d = options.curvature @ y
    ends, start = fitted.fractile, fitted.start
    score = fitted.score[np.minimum(np.searchsorted(ends, t), len(ends) - 1)]
    sums = np.cumsum(fitted.score * (ends - start))
    zero_and_ends = np.append(0.0, ends)
    cumulative_score = np.interp(t, zero_and_ends, np.append(0.0, sums))
    spline, derivative = spline_values(t, y, d), mean_slopes(t, t, y, d)
    if options.differs:
        spline, derivative = spline + cumulative_score, derivative + score
    return CalibrationCurve(
        fractile=t,
        score=score,
        cumulative_score=cumulative_score,
        cumulative_event=np.interp(t, zero_and_ends, np.append(0.0, fitted.cumulative)),
        spline=spline,
        derivative=derivative,
    )


def _curve_cuts(options: SplineOptions, D: Floats) -> Cuts:
    """Bounds of the derivative where it has its extremes, and the convexity at the knots."""

    def cuts(y: Floats) -> tuple[Floats, Floats]:
        rows, bounds = [np.empty((0, len(y)))], [np.empty(0)]
        if options.constrained:
            places = extreme_places(D @ y)
            slopes = slope_rows(places, places, D)
            rows += [slopes, -slopes]
            bounds += [np.zeros(len(places)), np.full(len(places), -1.0)]
        if options.monotone:
            rows.append(D)
            bounds.append(np.zeros(len(y)))
        return np.vstack(rows), np.concatenate(bounds)

    return cuts


def _step_cuts(
    options: SplineOptions, D: Floats, start: Floats, stop: Floats, score: Floats
) -> Cuts:
    """Bounds and order of the recalibrated scores, the worst between each two knots."""
    inner = np.arange(1, options.knots - 1) / (options.knots - 1)
    edges = np.unique(np.concatenate([[0], np.searchsorted(start, inner), [len(start)]]))

    def worst(values: Floats) -> NDArray[np.intp]:
        pairs = zip(edges[:-1], np.minimum(edges[1:], len(values)), strict=True)
        return np.array([a + np.argmin(values[a:b]) for a, b in pairs if a < b], dtype=np.intp)

    def rows_of(chosen: NDArray[np.intp]) -> Floats:
        return slope_rows(start[chosen], stop[chosen], D)

    def cuts(y: Floats) -> tuple[Floats, Floats]:
        rows, bounds = [np.empty((0, len(y)))], [np.empty(0)]
        recalibrated = score + mean_slopes(start, stop, y, D @ y)
        if options.constrained:
            low, high = worst(recalibrated), worst(-recalibrated)
            rows += [rows_of(low), -rows_of(high)]
            bounds += [-score[low], score[high] - 1]
        if options.monotone:
            before = worst(np.diff(recalibrated))
            rows.append(rows_of(before + 1) - rows_of(before))
            bounds.append(score[before] - score[before + 1])
        return np.vstack(rows), np.concatenate(bounds)

    return cuts
