"""One spline of Gupta et al.: from scores and events to recalibrated scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy

from caltest.numerics.loops import njit
from caltest.numerics.sorted_scores import distinct_scores
from caltest.types import Flags, Floats, Order

Cuts = list[tuple[Floats, Floats]]  # rows A and bounds b of constraints A y >= b


TOLERANCE = 1e-11  # of a constraint whose row has norm 1


ROUNDS = 200


PASSES = 100  # of the solver for each constraint


def curvature_map(K: int, end: Sequence[float]) -> Floats:
    """Return the (K, K) matrix that takes y to d.

    The first and second derivatives are continuous: d_{k-1} + 4 d_k + d_{k+1} is the second
    difference of y. `end` holds the coefficients of d_0, d_1, d_2 whose sum is zero, at both ends.
    """
    beside = np.eye(K, k=-1) + np.eye(K, k=1)
    left, right = beside + 4 * np.eye(K), beside - 2 * np.eye(K)
    left[[0, -1]] = right[[0, -1]] = 0.0
    left[0, :3], left[-1, -3:] = end, end[::-1]
    return np.asarray(np.linalg.solve(left, right), dtype=np.float64)


@njit()
def _place(t: float, K: int) -> tuple[int, float]:
    """Return the interval of t in [0, 1] and the position u in it."""
    j = min(int(t * (K - 1)), K - 2)
    return j, t * (K - 1) - j


def normal_equations(t: Floats, h: Floats, K: int, longest: float) -> tuple[Floats, Floats]:
    """Return P (2K, 2K) and r (2K,) with z'P z - 2 r'z + const the misfit, for z = (y, d).

    The misfit is the sum of w (s(t) - h)^2 over the points (t, h) but the first, where w is the
    distance to the point before; so each point stands for the step that ends in it. A step that
    is longer than `longest` counts as equal parts along its chord, each with a point at its end.
    """
    powers, products = np.zeros((K - 1, 7)), np.zeros((K - 1, 4))
    _add_points(powers, products, t, h, longest)
    # From sums over the powers of u to those over the products of basis functions.
    P, r = np.zeros((2 * K, 2 * K)), np.zeros(2 * K)
    # Coefficients of 1, u, u^2, u^3 in a, u, a^3 - a and u^3 - u.
    basis = np.array([[1.0, -1, 0, 0], [0, 1.0, 0, 0], [0, -2.0, 3, -1], [0, -1.0, 0, 1]])
    moments = powers[:, np.add.outer(np.arange(4), np.arange(4))]
    for j in range(K - 1):
        where = np.array([j, j + 1, K + j, K + j + 1])
        r[where] += basis @ products[j]
        P[np.ix_(where, where)] += basis @ moments[j] @ basis.T
    return P, r


@njit()
def _add_points(powers: Floats, products: Floats, t: Floats, h: Floats, longest: float) -> None:
    """Add w u^p to the sums of the interval of each point, and w h u^p."""
    K = len(powers) + 1
    for i in range(1, t.size):
        length = t[i] - t[i - 1]
        parts = 1
        if length > longest * (1 + 1e-9):
            parts = math.ceil(length / longest * (1 - 1e-9))
        for part in range(1, parts + 1):
            w = length / parts
            rest = (parts - part) / parts
            value = h[i] - rest * (h[i] - h[i - 1])
            j, u = _place(t[i] - rest * length, K)
            for power in range(7):
                powers[j, power] += w
                if power < 4:
                    products[j, power] += w * value
                w *= u


@njit()
def _piece_slope(j: int, u: float, v: float, y: Floats, d: Floats) -> float:
    """Return the mean slope between u and v in one interval, without cancellation."""
    a, b = 1 - u, 1 - v
    bend = d[j] * (1 - (a * a + a * b + b * b)) + d[j + 1] * (u * u + u * v + v * v - 1)
    slope: float = (y[j + 1] - y[j] + bend) * (y.size - 1)
    return slope


@njit()
def mean_slopes(start: Floats, stop: Floats, y: Floats, d: Floats) -> Floats:
    """Return (s(stop) - s(start)) / (stop - start), and s' where the two are equal."""
    slopes = np.empty(start.size)
    for i in range(start.size):
        j, u = _place(start[i], y.size)
        last, v = _place(stop[i], y.size)
        if j == last:
            slopes[i] = _piece_slope(j, u, v, y, d)
            continue
        rise = (1 - u) * _piece_slope(j, u, 1.0, y, d) + v * _piece_slope(last, 0.0, v, y, d)
        for k in range(j + 1, last):
            rise += _piece_slope(k, 0.0, 1.0, y, d)
        slopes[i] = rise / (last - j + v - u)
    return slopes


def slope_rows(start: Floats, stop: Floats, D: Floats) -> Floats:
    """Return the rows, (N, K), that take y to its mean slopes; D is the `curvature_map`."""
    K = len(D)
    rows = [mean_slopes(start, stop, np.eye(K)[k], D[:, k].copy()) for k in range(K)]
    return np.column_stack(rows)


def extreme_places(d: Floats) -> Floats:
    """Return where s' has its extremes: the knots, and the zeros of s'' between them."""
    K = len(d)
    between = np.flatnonzero(d[:-1] * d[1:] < 0)
    u = d[between] / (d[between] - d[between + 1])
    return np.concatenate([np.arange(K) / (K - 1), (between + u) / (K - 1)])


def minimum_under(G: Floats, c: Floats, cuts: Callable[[Floats], Cuts]) -> Floats:
    """Minimise y'G y / 2 - c'y under constraints A y >= b that `cuts(y)` lists where they matter.

    `cuts` returns rows A and bounds b, among them one that y breaks unless y is feasible. They
    are added until none is broken by more than `TOLERANCE`: cutting planes, each programme solved
    exactly.
    """
    A, b = np.empty((0, len(c))), np.empty(0)
    y = quadratic_minimum(G, c, A, b)
    for _ in range(ROUNDS):
        found = cuts(y)
        if not found:
            break
        rows, bounds = (np.concatenate(side) for side in zip(*found, strict=True))
        norm = np.linalg.norm(rows, axis=1)
        broken = bounds - rows @ y > TOLERANCE * norm
        if not broken.any():
            break
        A = np.vstack([A, rows[broken] / norm[broken, np.newaxis]])
        b = np.append(b, bounds[broken] / norm[broken])
        y = quadratic_minimum(G, c, A, b)
    return y


def quadratic_minimum(G: Floats, c: Floats, A: Floats, b: Floats) -> Floats:
    """Minimise y'G y / 2 - c'y under A y >= b, with G positive definite and an inner point.

    With G = L L' and z = L'(y - G^-1 c) it is the shortest z under B z >= e: least-distance
    programming, which is one non-negative least-squares problem (Lawson, Hanson 1974, chapter 23).
    """
    # Not by triangular solves: BLAS gives those of a matrix to threads, however small it is.
    inverse = np.linalg.inv(np.linalg.cholesky(G))
    y0: Floats = inverse.T @ (inverse @ c)
    e = b - A @ y0
    if not np.any(e > 0):
        return y0
    B = A @ inverse.T
    norm = np.linalg.norm(B, axis=1)
    B, e = B / norm[:, np.newaxis], e / norm
    unit = e.max()
    return np.asarray(y0 + inverse.T @ (unit * _shortest(B, e / unit)))


def _shortest(B: Floats, e: Floats) -> Floats:
    """Return the shortest z under B z >= e; on the active constraints to the last digits."""
    E = np.vstack([B.T, e])
    target = np.append(np.zeros(B.shape[1]), 1.0)
    try:  # the x >= 0 with the least |E x - target|
        multiplier = scipy.optimize.nnls(E, target, maxiter=PASSES * E.shape[1])[0]
    except RuntimeError:  # SciPy 1.12 to 1.15 may cycle among constraints that nearly agree
        found = scipy.optimize.lsq_linear(E, target, bounds=(0.0, np.inf), method="bvls", tol=1e-15)
        multiplier = np.asarray(found.x, dtype=np.float64)
    residual = target - E @ multiplier
    z: Floats = -residual[:-1] / residual[-1]
    active = multiplier > 0
    polished = np.linalg.lstsq(B[active], e[active], rcond=None)[0].astype(np.float64)
    feasible = np.all(B @ polished - e >= -TOLERANCE)
    near = np.all(np.abs(polished - z) <= np.sqrt(TOLERANCE))
    return polished if feasible and near else z


# Coefficients of the first three second derivatives, whose sum is zero: the first is zero, equals
# the second, or continues the line through the next two.
RUNOUTS = {"natural": (1.0, 0.0, 0.0), "parabolic": (1.0, -1.0, 0.0), "cubic": (1.0, -2.0, 1.0)}


FEWEST_KNOTS = {"natural": 3, "parabolic": 3, "cubic": 4}


TARGETS = ("cumulative", "difference")


SLOPES = ("mean", "end")


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
    slope: str = "mean"

    @property
    def curvature(self) -> Floats:
        """The map from values at the knots to second derivatives, (K, K)."""
        return curvature_map(self.knots, RUNOUTS[self.runout])

    @property
    def differs(self) -> bool:
        """Whether the spline is that of events minus scores."""
        return self.target == "difference"


class FittedSpline(NamedTuple):
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
    score: Floats, happens: Flags, weight: Floats | None, options: SplineOptions
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
    start = t if options.slope == "end" else start  # of where the slope of a step is taken
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
    spline, derivative = y[0] + t * mean_slopes(0 * t, t, y, d), mean_slopes(t, t, y, d)
    if options.differs:
        spline, derivative = spline + cumulative_score, derivative + score
    cumulative_event = np.interp(t, zero_and_ends, np.append(0.0, fitted.cumulative))
    return CalibrationCurve(t, score, cumulative_score, cumulative_event, spline, derivative)


def _curve_cuts(options: SplineOptions, D: Floats) -> Callable[[Floats], Cuts]:
    """Bounds of the derivative where it has its extremes, and the convexity at the knots."""

    def cuts(y: Floats) -> Cuts:
        found: Cuts = []
        if options.constrained:
            places = extreme_places(D @ y)
            slopes = slope_rows(places, places, D)
            found += [(slopes, np.zeros(len(places))), (-slopes, np.full(len(places), -1.0))]
        if options.monotone:
            found.append((D, np.zeros(len(y))))
        return found

    return cuts


def _step_cuts(
    options: SplineOptions, D: Floats, start: Floats, stop: Floats, score: Floats
) -> Callable[[Floats], Cuts]:
    """Bounds and order of the recalibrated scores, the worst between each two knots."""
    inner = np.arange(1, options.knots - 1) / (options.knots - 1)
    edges = np.unique(np.concatenate([[0], np.searchsorted(start, inner), [len(start)]]))

    def worst(values: Floats) -> Order:
        pairs = zip(edges[:-1], np.minimum(edges[1:], len(values)), strict=True)
        return np.array([a + np.argmin(values[a:b]) for a, b in pairs if a < b], dtype=np.intp)

    def rows_of(chosen: Order) -> Floats:
        return slope_rows(start[chosen], stop[chosen], D)

    def cuts(y: Floats) -> Cuts:
        found: Cuts = []
        recalibrated = score + mean_slopes(start, stop, y, D @ y)
        if options.constrained:
            low, high = worst(recalibrated), worst(-recalibrated)
            found += [(rows_of(low), -score[low]), (-rows_of(high), score[high] - 1)]
        if options.monotone:
            before = worst(np.diff(recalibrated))
            rises = rows_of(before + 1) - rows_of(before)
            found.append((rises, score[before] - score[before + 1]))
        return found

    return cuts
