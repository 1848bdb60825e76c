r"""Smooth calibration error (smooth ECE), Blasiok & Nakkiran 2023.

Residuals are smoothed on [0, 1] with the reflected Gaussian kernel, the interval's heat kernel:

.. math::
    K_\sigma(s, t) = \sum_{j \in Z} \phi_\sigma(s - t + 2j) + \phi_\sigma(s + t + 2j)
    = 1 + 2 \sum_{k \ge 1} e^{-k^2 \pi^2 \sigma^2 / 2} \cos(k \pi s) \cos(k \pi t),

so :math:`\hat r_\sigma(t) = \sum_i r_i K_\sigma(t, p_i)` are a cosine series with the coefficients
:math:`a_k = \sum_i r_i \cos(k \pi p_i)`, damped.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar, Unpack, cast

import numpy as np
import scipy

from caltest.checks import check_positive, one_of, option, optional
from caltest.errors import NotApplicable
from caltest.lenses.base import Evaluated
from caltest.measures.base import Measure
from caltest.measures.fits import Fit, over_sum
from caltest.numerics.loops import njit
from caltest.types import Floats, Ints, Labels
from caltest.units import CellUnits, Observed, RowUnits, Statistic, Units, row_weights

__all__ = ["SmoothECE", "smooth_ece"]

Levels = Iterator[tuple[float, Callable[[Ints], Floats]]]

METHODS = ("grid", "exact")
PEAK = 1.0 / math.sqrt(2.0 * math.pi)  # of the normal density
TIES = 1e5  # the fixed point is solved to ten digits, so ties are not ties to sixteen
SMALLEST_BANDWIDTH = 2.0**-15  # no bandwidth below is resolved
SIZES = tuple(2**e for e in (8, 9, 10, 11, 12, 13, 14, 15, 17))  # cells of the grid
CELLS = 10.0  # cells of the grid in a bandwidth, for five digits
FEWEST_CELLS = 4.0  # and in the smallest bandwidth, for about three
DAMPED = 8.6  # exp(-8.6^2 / 2) is half the precision of a double
TOLERANCE = 1e-10
TOGETHER = 16  # resamples whose transforms share the vectors of the processor
BLOCK = 512  # points whose rotations stay in the L1 cache


@dataclass(frozen=True, kw_only=True)
class SmoothECE(Measure):
    """The smooth ECE with its bandwidth and method; see `smooth_ece` for the parameters."""

    bandwidth: float | None = option(None, optional(check_positive))
    method: str = option("grid", one_of(METHODS))

    key, title, symbol = "smooth-ece", "smooth ECE", "smECE"
    largest: ClassVar[float] = 1.0
    drawn_as: ClassVar[str] = "reliability"
    bounds_mean_gap: ClassVar[bool] = True
    forms: ClassVar[tuple[str, ...]] = ("rows", "cells")

    @property
    def needs_rows(self) -> str:
        return "" if self.method == "grid" else "method='exact' adds the points one by one"

    def statistic(self, units: Units) -> Statistic:
        units = units.ordered("the smooth ECE")
        if self.bandwidth is not None and self.bandwidth < SMALLEST_BANDWIDTH:
            reason = f"the smooth ECE resolves no bandwidth below {SMALLEST_BANDWIDTH:.2g}"
            remedy = "use a larger one, or bandwidth=None for the fixed point"
            raise NotApplicable(f"{reason}, and bandwidth is {self.bandwidth:.4g}", remedy)
        kind = OnGrid if self.method == "grid" else ByCosines
        fit = kind(units, self.bandwidth)
        return fit.statistic(error=fit.error)


class Smoothed(Fit):
    """Residuals of rows or cells, smoothed with a bandwidth, or with that which is the integral."""

    def __init__(self, units: Units, bandwidth: float | None) -> None:
        super().__init__(units)
        self.scale, self.bandwidth, self.total = TIES, bandwidth, float(units.total[0])
        self.parameters = {"bandwidth": "fixed point" if bandwidth is None else bandwidth}

    @abstractmethod
    def integral(self, coefficients: Floats, bandwidths: Floats) -> Floats:
        """Return the integrals (R,) of the absolute smoothed residuals."""

    @abstractmethod
    def levels(self, observed: Observed) -> Levels:
        """Yield, from coarse to fine, the smallest bandwidth resolved and what coefficients are.

        The latter is a function of the numbers of some of the resamples, and returns (R, K).
        """

    @cached_property
    def share(self) -> Floats:
        """The weights of events over the sum of those of all rows."""
        return over_sum(self.units.scale, self.total)

    def values(self, observed: Observed) -> Floats:
        found = []
        for some in (observed[b : b + TOGETHER] for b in range(0, len(observed), TOGETHER)):
            # The sums of the residuals of the rows and of their moduli.
            sums = np.array([residual_sums(y, self.share, self.units.shift) for y in some])
            if isinstance(self.units, CellUnits):
                # 1 - p of rows with the event, and p of those without.
                per_event = self.share * (1.0 - 2.0 * self.units.mean)
                sums[:, 1] = [y @ per_event + self.share @ self.units.shift for y in some]
            found.append(self.solve(sums, self.levels(some)))
        return np.concatenate(found)

    def solve(self, sums: Floats, levels: Levels) -> Floats:
        """Return the integrals at the bandwidth, or s with smECE_s = s, of R resamples.

        The sums (R, 2) of the residuals and of their moduli bound it, |mean r| <= smECE_s <=
        mean |r|.
        """
        least, most = np.abs(sums[:, 0]), sums[:, 1]
        noise = 1e-13 * most  # what rounding leaves where the residuals cancel at every score
        if self.bandwidth is not None:
            of = next(of for floor, of in levels if floor <= self.bandwidth)
            coefficients = of(np.arange(least.size))
            cancelled = np.abs(coefficients).max(axis=1) <= noise
            fixed = np.full(least.size, self.bandwidth)
            return np.where(cancelled, 0.0, self.integral(coefficients, fixed))
        out = np.where(least >= most * (1.0 - 1e-12), most, np.nan)
        for floor, of in levels:
            left = np.flatnonzero(np.isnan(out))
            if not left.size:
                return out
            coefficients = of(left)
            cancelled = np.abs(coefficients).max(axis=1) <= noise[left]
            out[left[cancelled]] = least[left[cancelled]]
            left, coefficients = left[~cancelled], coefficients[~cancelled]
            found = fixed_point(partial(self._at, coefficients), self._guess, floor, left.size)
            out[left] = np.clip(found, least[left], most[left])
        below = np.isnan(out[left])
        left, found = left[below], self.integral(coefficients[below], np.full(below.sum(), floor))
        out[left] = np.clip(found, least[left], most[left])
        return out

    def _at(self, coefficients: Floats, bandwidths: Floats, some: Ints) -> Floats:
        return self.integral(coefficients[some], bandwidths)

    @cached_property
    def _guess(self) -> float:
        r"""The fixed point of :math:`s = \sqrt{2/\pi} (v / (2 \sqrt\pi s))^{1/2}`.

        It is that of calibrated residuals of total variance v whose density is even.
        """
        variance = float(self.units.variance[0]) / self.total**2
        return float(max(SMALLEST_BANDWIDTH, (variance / math.pi**1.5) ** (1.0 / 3.0)))

    def error(self) -> float:
        r"""Bound what events elsewhere in their cells change.

        Two kernels with centres at a distance d differ by at most :math:`d \sqrt{2 / \pi} / s` in
        their integral, and the sum of those of the rows of a cell from that at their mean by half
        the sum of d^2 times :math:`4 \phi(1) / s^2`. By the smaller number of the events and the
        others: the residuals are y - p, and p - 1 + (1 - y). As smECE_s does not grow in s, its
        fixed point moves by no more than itself.
        """
        cells = cast("CellUnits", self.units).cells
        s = self.bandwidth or max(self.value(), SMALLEST_BANDWIDTH)
        moved = np.minimum(cells.events, cells.n - cells.events) @ cells.reach
        spread_ = float(cells.n @ np.square(cells.reach))
        first, second = math.sqrt(2.0 / math.pi) / s, 4.0 * PEAK * math.exp(-0.5) / s**2
        return float((moved + spread_) * first + 0.5 * spread_ * second) / cells.mass


class OnGrid(Smoothed):
    """Residuals spread over a grid, which is refined until it resolves the bandwidth."""

    def __init__(self, units: Units, bandwidth: float | None) -> None:
        super().__init__(units, bandwidth)
        self._grids: dict[int, tuple[Ints, Floats, Floats]] = {}

    def observed(self) -> Floats:
        if isinstance(self.units, CellUnits):
            return np.asarray(super().observed())
        # The observed labels of rows need no order.
        p = cast("RowUnits", self.units).predictions
        event, share = np.ascontiguousarray(p.probs[:, 1]), over_sum(row_weights(p), self.total)
        rows = p.labels.astype(np.uint8), share, event
        levels = self.refined(lambda _, nodes: spread_residuals(*rows, nodes))
        return self.solve(np.array([residual_sums(*rows)]), levels)[np.newaxis]

    def levels(self, observed: Observed) -> Levels:
        return self.refined(lambda b, nodes: self._spread(observed[b], nodes))

    def refined(self, spread_over: Callable[[int, Floats], None]) -> Levels:
        """Yield the levels of residuals that `spread_over` spreads over the nodes it is given."""
        wanted = 1.5 * CELLS / self._guess if self.bandwidth is None else CELLS / self.bandwidth

        def coefficients(size: int, some: Ints) -> Floats:
            nodes = np.empty((some.size, size + 1))
            for b, own in zip(some.tolist(), nodes, strict=True):
                spread_over(b, own)
            return grid_coefficients(nodes)

        for size in (s for s in SIZES if s >= wanted or s == SIZES[-1]):
            floor = (FEWEST_CELLS if size == SIZES[-1] else CELLS) / size
            yield floor, partial(coefficients, size)

    def integral(self, coefficients: Floats, bandwidths: Floats) -> Floats:
        size = coefficients.shape[-1] - 1
        values = scipy.fft.dct(damped(coefficients, bandwidths, size), type=1)
        return np.array([corrected_trapezoid(own) for own in values])

    def _spread(self, labels: Labels, nodes: Floats) -> None:
        size = nodes.size - 1
        if size not in self._grids:  # the cells, the places in them, and the nodes of w p
            start, place = cells(self.units.mean, size)
            expected = np.empty(size + 1)
            spread(self.units.shift, self.share, start, place, expected)
            self._grids[size] = start, place, expected
        start, place, expected = self._grids[size]
        spread(labels, self.share, start, place, nodes)
        nodes -= expected


class ByCosines(Smoothed):
    """The cosine series of the residuals summed point by point."""

    def levels(self, observed: Observed) -> Levels:
        residuals = self.share * (observed - self.units.mean)
        bandwidth = self._guess / 1.5 if self.bandwidth is None else self.bandwidth
        while True:
            bandwidth = max(bandwidth, SMALLEST_BANDWIDTH)
            size = math.ceil(DAMPED / (math.pi * bandwidth))
            yield bandwidth, partial(self._coefficients, residuals, size)
            if bandwidth == SMALLEST_BANDWIDTH:
                return
            bandwidth /= 4.0

    def _coefficients(self, residuals: Floats, size: int, some: Ints) -> Floats:
        return np.array([cosine_sums(self.units.mean, residuals[b], size) for b in some])

    def integral(self, coefficients: Floats, bandwidths: Floats) -> Floats:
        pairs = zip(coefficients, bandwidths.tolist(), strict=True)
        return np.array([integral_between_roots(own, s) for own, s in pairs])


def smooth_ece(
    probs: object,
    labels: object = None,
    *,
    bandwidth: float | None = None,
    method: str = "grid",
    **rows: Unpack[Evaluated],
) -> float | Floats:
    r"""Compute the smooth ECE, the mean absolute residual after kernel smoothing.

    With the Gaussian kernel K of bandwidth s, reflected at 0 and 1,

    .. math:: smECE_s = \int_0^1 \Bigl| \frac{1}{n} \sum_i K_s(t, p_i) (y_i - p_i) \Bigr| dt,

    and the smooth ECE is the only s with :math:`smECE_s = s`. It has no bins and is continuous in
    the predictions.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    bandwidth : float, optional
        s in units of probability, at least 2^-15; by default the fixed point.
    method : {"grid", "exact"}, default "grid"
        "grid" spreads the residuals over a grid of at least ten cells a bandwidth, for about five
        digits, in O(n log n). "exact" sums the cosine series of the kernel point by point and
        integrates between its roots, to about ten digits, in O(n / s).
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In units of probability, in [0, 1]. Sample weights count an observation w_i times. A fixed
        point below 2^-15 is not resolved: the value at that bandwidth takes its place, which is
        off by less than 2^-15.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes, or the bandwidth is too small.

    References
    ----------
    Blasiok, Nakkiran (2024), Smooth ECE: Principled reliability diagrams via kernel smoothing,
    ICLR; their package `relplot` takes 200 points by default.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.smooth_ece([0.25, 0.5, 0.75], [0, 0, 0])  # all residuals have one sign
    0.5
    """
    return SmoothECE(bandwidth=bandwidth, method=method).evaluate(probs, labels, **rows)


@njit()
def cells(ordered: Floats, size: int) -> tuple[Ints, Floats]:
    """Return where each of `size` equal cells of [0, 1] starts, and the place of points in theirs.

    The points are in ascending order; a point of the last cell may have place 1.
    """
    start, place = np.zeros(size + 1, np.int64), np.empty(ordered.size)
    for i in range(ordered.size):
        cell = min(int(ordered[i] * size), size - 1)
        place[i] = ordered[i] * size - cell
        start[cell + 1] += 1
    for cell in range(size):
        start[cell + 1] += start[cell]
    return start, place


@njit(fastmath={"contract", "nsz", "reassoc"})
def residual_sums(labels: Labels | Floats, weight: Floats, score: Floats) -> tuple[float, float]:
    """Return the sums of w (y - p) and of its modulus."""
    signed = absolute = 0.0
    for i in range(score.size):
        r = weight[i] * (labels[i] - score[i])
        signed += r
        absolute += abs(r)
    return signed, absolute


@njit(fastmath={"contract", "nsz", "reassoc"})
def spread(values: Floats | Labels, weight: Floats, start: Ints, at: Floats, out: Floats) -> None:
    """Spread weighted values over the four nodes around each point, by cubic interpolation.

    Any smooth function has the same sum over the nodes as over the points, up to the fourth power
    of the width of a cell. The nodes outside are reflected, as the kernel is. `out` has the
    size + 1 nodes of the cells.
    """
    size = start.size - 1
    out[:] = 0.0
    for cell in range(size):
        s0 = s1 = s2 = s3 = 0.0
        for i in range(start[cell], start[cell + 1]):
            v, x = weight[i] * values[i], at[i]
            s0 += v
            s1 += v * x
            s2 += v * x * x
            s3 += v * x * x * x
        _add_to_nodes(out, cell, s0, s1, s2, s3)


@njit(fastmath={"contract", "nsz", "reassoc"})
def spread_residuals(labels: Labels, weight: Floats, score: Floats, out: Floats) -> None:
    """Spread the residuals w (y - p) of rows in any order over the nodes, as `spread` does."""
    size = out.size - 1
    sums = np.zeros((size, 4))
    for i in range(score.size):
        cell = min(int(score[i] * size), size - 1)
        r, x = weight[i] * (labels[i] - score[i]), score[i] * size - cell
        sums[cell, 0] += r
        sums[cell, 1] += r * x
        sums[cell, 2] += r * x * x
        sums[cell, 3] += r * x * x * x
    out[:] = 0.0
    for cell in range(size):
        _add_to_nodes(out, cell, sums[cell, 0], sums[cell, 1], sums[cell, 2], sums[cell, 3])


@njit(inline="always")
def _add_to_nodes(out: Floats, cell: int, s0: float, s1: float, s2: float, s3: float) -> None:
    """Spread the values of a cell, given by the sums of v x^k over it, over the four nodes."""
    size = out.size - 1
    out[abs(cell - 1)] += (3.0 * s2 - s3 - 2.0 * s1) / 6.0
    out[cell] += (s3 - 2.0 * s2 - s1 + 2.0 * s0) / 2.0
    out[cell + 1] += (s2 - s3 + 2.0 * s1) / 2.0
    out[size - abs(size - cell - 2)] += (s3 - s1) / 6.0


@njit(fastmath={"contract", "nsz", "reassoc"})
def cosine_sums(points: Floats, residuals: Floats, size: int) -> Floats:
    """Return a_k for k = 0 to `size`, in O(n size), by rotating each point through its angles."""
    out = np.zeros(size + 1)
    for first in range(0, points.size, BLOCK):
        angle = math.pi * points[first : first + BLOCK]
        re, im = residuals[first : first + BLOCK].copy(), np.zeros(angle.size)
        cosine, sine = np.cos(angle), np.sin(angle)
        for k in range(size + 1):
            total = 0.0
            for i in range(angle.size):
                total += re[i]
                turned = re[i] * cosine[i] - im[i] * sine[i]
                im[i] = im[i] * cosine[i] + re[i] * sine[i]
                re[i] = turned
            out[k] += total
    return out


def grid_coefficients(nodes: Floats) -> Floats:
    """Return a_k for k = 0 to the number of cells, for masses on the nodes of a grid, (..., K)."""
    masses = nodes / 2.0
    masses[..., [0, -1]] *= 2.0
    return np.asarray(scipy.fft.dct(masses, type=1))


def damped(coefficients: Floats, bandwidth: float | Floats, size: int) -> Floats:
    """Return the coefficients of the smoothed residuals, cut or padded to k = 0 to `size`."""
    scale = math.pi * np.asarray(bandwidth)[..., np.newaxis]
    last = np.minimum(min(size, coefficients.shape[-1] - 1), np.ceil(DAMPED / scale))
    out = np.zeros((*coefficients.shape[:-1], size + 1))
    k = np.arange(int(last.max(initial=0)) + 1)
    factors = np.exp(-0.5 * np.square(scale * k)) * (k <= last)
    out[..., : k.size] = coefficients[..., : k.size] * factors
    return out


@njit()
def corrected_trapezoid(g: Floats) -> float:
    r"""Return the integral of |g| over [0, 1] from equidistant values, g' = 0 at both ends.

    Where g is smooth and its slope vanishes at the ends, the trapezoidal rule is exact to all
    orders. A kink at the share :math:`\theta` of a cell of width h adds
    :math:`h^2 |g'| (\theta (1 - \theta) - 1/6)` (Euler and Maclaurin), which is subtracted.
    """
    h = 1.0 / (g.size - 1)
    total = 0.5 * (abs(g[0]) + abs(g[-1]))
    for j in range(g.size - 1):
        if j > 0:
            total += abs(g[j])
        if (g[j] < 0.0) != (g[j + 1] < 0.0):  # a root at a node is in one of its two cells
            a, b = abs(g[j]), abs(g[j + 1])
            total -= a * (b / (a + b)) - (a + b) / 6.0
    return float(total * h)


def integral_between_roots(coefficients: Floats, bandwidth: float) -> float:
    """Return the integral of the absolute smoothed residuals to the precision of doubles.

    The roots are bracketed on a grid of 32 cells a bandwidth, solved for, and the antiderivative
    taken between them.
    """
    size = 1 << max(5, math.ceil(math.log2(32.0 / bandwidth)))
    b = damped(coefficients, bandwidth, size)
    b = b[: np.flatnonzero(b)[-1] + 1] if b.any() else b[:1]
    grid = np.zeros(size + 1)
    grid[: b.size] = b
    return float(_between_roots(b, scipy.fft.dct(grid, type=1)))


@njit()
def _between_roots(b: Floats, g: Floats) -> float:
    h = 1.0 / (g.size - 1)
    noise = 1e-13 * np.abs(g).max()
    total, left, last = 0.0, 0.0, -1
    for j in range(g.size):
        if abs(g[j]) <= noise:
            continue
        if last >= 0 and g[last] * g[j] < 0.0:
            # Signs may change somewhere in a stretch of rounding noise.
            t = _root(b, last * h, j * h, g[last]) if last == j - 1 else 0.5 * (last + j) * h
            right = _series(b, t)[2]
            total += abs(right - left)
            left = right
        last = j
    return float(total + abs(b[0] - left))


@njit()
def _series(b: Floats, t: float) -> tuple[float, float, float]:
    """Return value, slope and antiderivative of b_0 + 2 sum_k b_k cos(k pi t)."""
    value, slope, area = b[0], 0.0, b[0] * t
    cosine, sine = math.cos(math.pi * t), math.sin(math.pi * t)
    c, s = 1.0, 0.0
    for k in range(1, b.size):
        c, s = c * cosine - s * sine, s * cosine + c * sine
        w = k * math.pi
        value += 2.0 * b[k] * c
        slope -= 2.0 * b[k] * s * w
        area += 2.0 * b[k] * s / w
    return value, slope, area


@njit()
def _root(b: Floats, low: float, high: float, at_low: float) -> float:
    """Solve by Newton steps inside a shrinking bracket."""
    t = 0.5 * (low + high)
    for _ in range(60):
        value, slope, _ = _series(b, t)
        if value * at_low > 0.0:
            low = t
        else:
            high = t
        step = t - value / slope if slope != 0.0 else low
        following = step if low < step < high else 0.5 * (low + high)
        if abs(following - t) <= 1e-15:
            break
        t = following
    return t


def fixed_point(
    function: Callable[[Floats, Ints], Floats], start: float, floor: float, size: int
) -> Floats:
    """Solve f(x) = x for `size` positive, non-increasing f; NaN for a solution below `floor`.

    Secant steps for log f(x) - log x against log x, whose slope lies in [-2, -1] as a rule, inside
    the bracket that monotony gives: the solution lies between x and f(x). `function` takes values
    and the numbers of the f that they are for.
    """
    x, low, high = np.full(size, max(start, floor)), np.zeros(size), np.full(size, math.inf)
    slope, before, out = np.full(size, -1.3), np.full((2, size), np.nan), np.full(size, np.nan)
    on = np.arange(size)
    for _ in range(200):
        value = function(x[on], on)
        below = (x[on] <= floor) & (value < x[on])
        out[on[below]] = np.nan
        on, value = on[~below], value[~below]
        low[on] = np.maximum(low[on], np.minimum(x[on], value))
        high[on] = np.minimum(high[on], np.maximum(x[on], value))
        out[on] = 0.5 * (low[on] + high[on])
        wide = high[on] - low[on] > TOLERANCE * high[on]
        on, value = on[wide], value[wide]
        if not on.size:
            break
        u, (last, earlier) = np.log(x[on]), before[:, on]
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = np.where(value > 0.0, np.log(value / x[on]), -1.0)
            found = np.minimum(-1.0, (gap - earlier) / (u - last))
        slope[on] = np.where((u != last) & ~np.isnan(last), found, slope[on])
        before[:, on] = u, gap
        step, bottom, top = np.exp(u - gap / slope[on]), low[on], high[on]
        between = np.sqrt(np.maximum(bottom, floor) * top)
        x[on] = np.maximum(floor, np.where((bottom < step) & (step < top), step, between))
    return out
