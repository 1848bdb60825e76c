"""Smooth calibration error (smooth ECE), Blasiok & Nakkiran 2023."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest import validation
from caltest.errors import NotApplicable
from caltest.lenses import Lens
from caltest.measures.base import BoundMeasure, Labels, Measure
from caltest.measures.cells import BoundCells, Counts
from caltest.measures.one_dimension import SortedRows
from caltest.measures.smooth.smoothing import (
    DAMPED,
    cells,
    cosine_sums,
    fixed_point,
    grid_coefficients,
    integral_between_roots,
    integral_on_grid,
    residual_sums,
    spread,
    spread_residuals,
)
from caltest.numerics.sorted_scores import sum_variance
from caltest.predictions import Predictions
from caltest.scale import Cells

__all__ = ["SmoothECE", "smooth_ece"]

Floats = NDArray[np.float64]
Levels = Iterator[tuple[float, Floats]]

METHODS = ("grid", "exact")
PEAK = 1.0 / math.sqrt(2.0 * math.pi)  # of the normal density
TIES = 1e5  # the fixed point is solved to ten digits, so ties are not ties to sixteen
SMALLEST_BANDWIDTH = 2.0**-15  # no bandwidth below is resolved
SIZES = tuple(2**e for e in (8, 9, 10, 11, 12, 13, 14, 15, 17))  # cells of the grid
CELLS = 10.0  # cells of the grid in a bandwidth, for five digits
FEWEST_CELLS = 4.0  # and in the smallest bandwidth, for about three


@dataclass(frozen=True, kw_only=True)
class SmoothECE(Measure):
    """The smooth ECE with its bandwidth and method; see `smooth_ece` for the parameters."""

    bandwidth: float | None = None
    method: str = "grid"

    key: ClassVar[str] = "smooth-ece"
    largest: ClassVar[float] = 1.0
    title: ClassVar[str] = "smooth ECE"

    def __post_init__(self) -> None:
        validation.check_choice(self.method, METHODS, "method")
        if self.bandwidth is not None:
            validation.check_positive(self.bandwidth, "bandwidth")

    @property
    def symbol(self) -> str:
        return "smECE"

    def plot_kind(self, m: int) -> str:
        return "reliability"

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundMeasure:
        self._check_bandwidth()
        kind = OnGrid if self.method == "grid" else ByCosines
        return kind(predictions, self.bandwidth)

    @property
    def needs_rows(self) -> str:
        return "" if self.method == "grid" else "method='exact' adds the points one by one"

    def bind_cells(self, cells: Cells) -> BoundCells:
        if self.needs_rows:
            return super().bind_cells(cells)
        self._check_bandwidth()
        return CellsOnGrid(cells, self.bandwidth)

    def _check_bandwidth(self) -> None:
        if self.bandwidth is not None and self.bandwidth < SMALLEST_BANDWIDTH:
            raise NotApplicable(
                f"the smooth ECE resolves no bandwidth below {SMALLEST_BANDWIDTH:.2g}, and "
                "bandwidth is "
                f"{self.bandwidth:.4g}",
                "use a larger one, or bandwidth=None for the fixed point",
            )


class Smoothed(ABC):
    """Residuals that are smoothed with a bandwidth, or with that which is the integral."""

    bandwidth: float | None

    @abstractmethod
    def integral(self, coefficients: Floats, bandwidth: float) -> float:
        """Return the integral of the absolute smoothed residuals."""

    @property
    @abstractmethod
    def variance(self) -> float:
        """The variance of the mean residual of calibrated predictions."""

    def solve(self, sums: tuple[float, float], levels: Levels) -> float:
        """Return the integral at the bandwidth, or s with smECE_s = s.

        The sums of the residuals and of their moduli bound it, |mean r| <= smECE_s <= mean |r|.
        """
        least, most = abs(sums[0]), sums[1]
        if self.bandwidth is not None:
            coefficients = next(c for floor, c in levels if floor <= self.bandwidth)
            cancelled = _cancelled(coefficients, most)
            return 0.0 if cancelled else self.integral(coefficients, self.bandwidth)
        if least >= most * (1.0 - 1e-12):
            return most
        for floor, coefficients in levels:
            if _cancelled(coefficients, most):
                return least
            solution = fixed_point(partial(self.integral, coefficients), self._guess, floor)
            if solution is not None:
                return min(max(solution, least), most)
        return min(max(self.integral(coefficients, floor), least), most)

    @cached_property
    def _guess(self) -> float:
        r"""The fixed point of :math:`s = \sqrt{2/\pi} (v / (2 \sqrt\pi s))^{1/2}`.

        It is that of calibrated residuals of total variance v whose density is even.
        """
        return float(max(SMALLEST_BANDWIDTH, (self.variance / math.pi**1.5) ** (1.0 / 3.0)))


class SmoothedResiduals(Smoothed, SortedRows):
    """The residuals w (y - p), smoothed in the frequency domain; the weights sum to 1."""

    scale = TIES

    def __init__(self, predictions: Predictions, bandwidth: float | None) -> None:
        super().__init__(predictions, "the smooth ECE")
        self.bandwidth = bandwidth
        self.parameters = {"bandwidth": "fixed point" if bandwidth is None else bandwidth}

    @cached_property
    def weight(self) -> Floats:
        weighted = self.predictions.sample_weight is not None
        return self._shares(self._rows[2] if weighted else None)

    def _shares(self, weight: Floats | None) -> Floats:
        """Return the weights over their sum; for equal ones the reciprocal, without an array."""
        n = self.predictions.n
        return np.broadcast_to(1.0 / n, n) if weight is None else weight / weight.sum()

    @cached_property
    def variance(self) -> float:
        p = self.predictions
        return sum_variance(np.ascontiguousarray(p.probs[:, 1]), self._shares(p.sample_weight))

    @abstractmethod
    def levels(self, labels: Labels) -> Levels:
        """Yield, from coarse to fine, the smallest bandwidth resolved and the coefficients."""

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        rows = self.weight, self.event
        return np.array([self.solve(residual_sums(y, *rows), self.levels(y)) for y in labels])


def _cancelled(coefficients: Floats, most: float) -> bool:
    """Tell whether the residuals cancel at every score, so that only rounding noise is left."""
    return bool(np.abs(coefficients).max() <= 1e-13 * most)


class Grid(Smoothed):
    """A grid that is refined until it resolves the bandwidth."""

    def refined(self, spread_over: Callable[[Floats], None]) -> Levels:
        """Yield the levels of residuals that `spread_over` spreads over the nodes it is given."""
        wanted = 1.5 * CELLS / self._guess if self.bandwidth is None else CELLS / self.bandwidth
        for size in (s for s in SIZES if s >= wanted or s == SIZES[-1]):
            nodes = np.empty(size + 1)
            spread_over(nodes)
            floor = (FEWEST_CELLS if size == SIZES[-1] else CELLS) / size
            yield floor, grid_coefficients(nodes)

    def integral(self, coefficients: Floats, bandwidth: float) -> float:
        return float(integral_on_grid(coefficients, bandwidth))


class OnGrid(Grid, SmoothedResiduals):
    """Residuals of rows spread over a grid."""

    def __init__(self, predictions: Predictions, bandwidth: float | None) -> None:
        super().__init__(predictions, bandwidth)
        self._grids: dict[int, tuple[NDArray[np.int64], Floats, Floats]] = {}

    def value(self, n_jobs: int | None = None) -> float:
        """Return the measure for the labels that were observed, without sorting the rows."""
        p = self.predictions
        labels, weight = p.labels.astype(np.uint8), self._shares(p.sample_weight)
        rows = labels, weight, np.ascontiguousarray(p.probs[:, 1])
        return self.solve(residual_sums(*rows), self.refined(partial(spread_residuals, *rows)))

    def levels(self, labels: Labels) -> Levels:
        return self.refined(partial(self._spread, labels))

    def _spread(self, labels: Labels, nodes: Floats) -> None:
        start, place, expected = self._grid(nodes.size - 1)
        spread(labels, self.weight, start, place, nodes)
        nodes -= expected

    def _grid(self, size: int) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Return the cells, the places in them, and the nodes of w p."""
        if size not in self._grids:
            start, place = cells(self.event, size)
            expected = np.empty(size + 1)
            spread(self.event, self.weight, start, place, expected)
            self._grids[size] = start, place, expected
        return self._grids[size]


class CellsOnGrid(Grid, BoundCells):
    """Residuals of cells, at their mean predictions, spread over a grid."""

    def __init__(self, cells: Cells, bandwidth: float | None) -> None:
        super().__init__(cells)
        self.scale, self.bandwidth = TIES, bandwidth
        self.parameters = {"bandwidth": "fixed point" if bandwidth is None else bandwidth}
        self._grids: dict[int, tuple[NDArray[np.int64], Floats]] = {}
        self._share = np.broadcast_to(1.0 / cells.mass, len(cells))

    @cached_property
    def variance(self) -> float:
        return float(self.cells.noise.sum()) / self.cells.mass**2

    def values(self, labels: Counts, n_jobs: int | None = None) -> Floats:
        excess, mass = labels - self.cells.expected, self.cells.mass
        signed = excess.sum(axis=1) / mass
        # The sum over rows of (1 - p) where the event is, and of p where it is not.
        absolute = (labels @ (1.0 - 2.0 * self.cells.mean) + self.cells.expected.sum()) / mass
        return np.array(
            [
                self.solve((least, most), self.refined(partial(self._spread, one)))
                for one, least, most in zip(excess, signed, absolute, strict=True)
            ]
        )

    def error(self) -> float:
        r"""Bound what events elsewhere in their cells change.

        Two kernels with centres at a distance d differ by at most :math:`d \sqrt{2 / \pi} / s` in
        their integral, and the sum of those of the rows of a cell from that at their mean by half
        the sum of d^2 times :math:`4 \phi(1) / s^2`. By the smaller number of the events and the
        others: the residuals are y - p, and p - 1 + (1 - y). As smECE_s does not grow in s, its
        fixed point moves by no more than itself.
        """
        cells = self.cells
        s = self.bandwidth or max(self.value(), SMALLEST_BANDWIDTH)
        moved = np.minimum(cells.events, cells.n - cells.events) @ cells.reach
        spread_ = float(cells.n @ np.square(cells.reach))
        first, second = math.sqrt(2.0 / math.pi) / s, 4.0 * PEAK * math.exp(-0.5) / s**2
        return float((moved + spread_) * first + 0.5 * spread_ * second) / cells.mass

    def _spread(self, excess: Floats, nodes: Floats) -> None:
        size = nodes.size - 1
        if size not in self._grids:
            self._grids[size] = cells(self.cells.mean, size)
        spread(excess, self._share, *self._grids[size], nodes)


class ByCosines(SmoothedResiduals):
    """The cosine series of the residuals summed point by point."""

    def levels(self, labels: Labels) -> Levels:
        residuals = self.weight * (labels - self.event)
        bandwidth = self._guess / 1.5 if self.bandwidth is None else self.bandwidth
        while True:
            bandwidth = max(bandwidth, SMALLEST_BANDWIDTH)
            size = math.ceil(DAMPED / (math.pi * bandwidth))
            yield bandwidth, cosine_sums(self.event, residuals, size)
            if bandwidth == SMALLEST_BANDWIDTH:
                return
            bandwidth /= 4.0

    def integral(self, coefficients: Floats, bandwidth: float) -> float:
        return float(integral_between_roots(coefficients, bandwidth))


def smooth_ece(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    bandwidth: float | None = None,
    method: str = "grid",
    n_jobs: int | None = None,
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
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

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
    measure = SmoothECE(bandwidth=bandwidth, method=method)
    return measure.evaluate(probs, labels, lens, n_jobs)
