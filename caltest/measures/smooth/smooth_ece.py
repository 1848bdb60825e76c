"""Smooth calibration error (smooth ECE), Blasiok & Nakkiran 2023."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest import validation
from caltest.errors import NotApplicable
from caltest.lenses import Lens
from caltest.measures.base import BoundMeasure, Labels, Measure
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
)
from caltest.numerics.sorted_scores import sum_variance
from caltest.predictions import Predictions

__all__ = ["SmoothECE", "smooth_ece"]

Floats = NDArray[np.float64]

METHODS = ("grid", "exact")
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
        if self.bandwidth is not None and self.bandwidth < SMALLEST_BANDWIDTH:
            raise NotApplicable(
                f"the smooth ECE resolves no bandwidth below {SMALLEST_BANDWIDTH:.2g}, and "
                "bandwidth is "
                f"{self.bandwidth:.4g}",
                "use a larger one, or bandwidth=None for the fixed point",
            )
        kind = OnGrid if self.method == "grid" else ByCosines
        return kind(predictions, self.bandwidth)


class SmoothedResiduals(SortedRows):
    """The residuals w (y - p), bound to sorted scores and smoothed in the frequency domain."""

    scale = 1e5  # the fixed point is solved to ten digits, so ties are not ties to sixteen

    def __init__(self, predictions: Predictions, bandwidth: float | None) -> None:
        super().__init__(predictions, "the smooth ECE")
        self.bandwidth = bandwidth
        total = self.weight.sum()
        equal = predictions.sample_weight is None
        # The reciprocal of equal weights, without an array of them.
        self.weight = (
            np.broadcast_to(1.0 / total, self.event.size) if equal else self.weight / total
        )
        self.parameters = {"bandwidth": "fixed point" if bandwidth is None else bandwidth}

    @abstractmethod
    def levels(self, labels: Labels) -> Iterator[tuple[float, Floats]]:
        """Yield, from coarse to fine, the smallest bandwidth resolved and the coefficients."""

    @abstractmethod
    def integral(self, coefficients: Floats, bandwidth: float) -> float:
        """Return the integral of the absolute smoothed residuals."""

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        evaluate = self._at_fixed_point if self.bandwidth is None else self._at_bandwidth
        return np.array([evaluate(row) for row in labels])

    def _at_bandwidth(self, labels: Labels) -> float:
        bandwidth = self.bandwidth or SMALLEST_BANDWIDTH
        _, most = residual_sums(labels, self.weight, self.event)
        coefficients = next(c for floor, c in self.levels(labels) if floor <= bandwidth)
        return 0.0 if _cancelled(coefficients, most) else self.integral(coefficients, bandwidth)

    def _at_fixed_point(self, labels: Labels) -> float:
        """Return s with smECE_s = s; the residuals bound it, |mean r| <= smECE_s <= mean |r|."""
        mean, most = residual_sums(labels, self.weight, self.event)
        least = abs(mean)
        if least >= most * (1.0 - 1e-12):
            return most
        for floor, coefficients in self.levels(labels):
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
        variance = sum_variance(self.event, self.weight)
        return float(max(SMALLEST_BANDWIDTH, (variance / math.pi**1.5) ** (1.0 / 3.0)))


def _cancelled(coefficients: Floats, most: float) -> bool:
    """Tell whether the residuals cancel at every score, so that only rounding noise is left."""
    return bool(np.abs(coefficients).max() <= 1e-13 * most)


class OnGrid(SmoothedResiduals):
    """Residuals spread over a grid that is refined until it resolves the bandwidth."""

    def __init__(self, predictions: Predictions, bandwidth: float | None) -> None:
        super().__init__(predictions, bandwidth)
        self._grids: dict[int, tuple[NDArray[np.int64], Floats, Floats]] = {}

    def levels(self, labels: Labels) -> Iterator[tuple[float, Floats]]:
        wanted = 1.5 * CELLS / self._guess if self.bandwidth is None else CELLS / self.bandwidth
        for size in (s for s in SIZES if s >= wanted or s == SIZES[-1]):
            start, place, expected = self._grid(size)
            nodes = np.empty(size + 1)
            spread(labels, self.weight, start, place, nodes)
            floor = (FEWEST_CELLS if size == SIZES[-1] else CELLS) / size
            yield floor, grid_coefficients(nodes - expected)

    def integral(self, coefficients: Floats, bandwidth: float) -> float:
        return float(integral_on_grid(coefficients, bandwidth))

    def _grid(self, size: int) -> tuple[NDArray[np.int64], Floats, Floats]:
        """Return the cells, the places in them, and the nodes of w p."""
        if size not in self._grids:
            start, place = cells(self.event, size)
            expected = np.empty(size + 1)
            spread(self.event, self.weight, start, place, expected)
            self._grids[size] = start, place, expected
        return self._grids[size]


class ByCosines(SmoothedResiduals):
    """The cosine series of the residuals summed point by point."""

    def levels(self, labels: Labels) -> Iterator[tuple[float, Floats]]:
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
