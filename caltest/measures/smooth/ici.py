"""ICI, E50, E90 and Emax: distances between the predictions and a loess of the labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Unpack

import numpy as np

from caltest.checks.options import check_positive, option
from caltest.errors import invalid, shown
from caltest.lenses.base import Evaluated
from caltest.measures.base import Measure
from caltest.measures.fits import Fit
from caltest.measures.smooth import lowess
from caltest.numerics.loops import frozen
from caltest.types import Floats
from caltest.units import CellUnits, Observed, Statistic, Units, check_unweighted

__all__ = ["E50", "E90", "ICI", "Emax", "e50", "e90", "emax", "ici"]


SPAN = 2 / 3
STEP = 0.01  # of the range of the predictions: knots that are about as far apart
FEW_OBSERVATIONS = 100
EXTREME = (
    f"with fewer than {FEW_OBSERVATIONS} observations resampled rows vary too little at the ends "
    "of the loess, and the interval of a large error is too short; that of the mean error "
    "(test='ici') is not"
)
SMALLEST = 1e-50  # a range whose square and inverse are ordinary numbers


def check_fraction(value: object, name: str) -> float:
    """Check a share of the rows, in (0, 1]."""
    share = check_positive(value, name)
    if share > 1:
        raise invalid(f"{name} must be at most 1", shown(value), "pass a share, such as 2/3")
    return share


@dataclass(frozen=True, kw_only=True)
class LoessMeasure(Measure):
    """A functional of the absolute errors |loess(p_i) - p_i|."""

    span: float = option(SPAN, check_fraction)

    forms: ClassVar[tuple[str, ...]] = ("rows", "cells")
    functional: ClassVar[Callable[[Loess, Floats], Floats]]  # of the deviations at the knots
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    is_extreme: ClassVar[bool] = False  # whether it is a large one of the errors

    def statistic(self, units: Units) -> Statistic:
        units = units.ordered(f"the {self.symbol}")
        check_unweighted(units, f"the {self.symbol}", "use the test 'smooth-ece'")
        return Loess(units, self.span, type(self).functional).statistic()

    def interval_notes(self, method: str, n: int) -> tuple[str, ...]:
        few = method == "plug-in" and n < FEW_OBSERVATIONS
        return (EXTREME,) if self.is_extreme and few else ()


class Loess(Fit):
    """The loess as a linear function of the labels of rows or cells in ascending order."""

    caution = "a loess of the mean prediction of each cell"

    def __init__(
        self, units: Units, span: float, functional: Callable[[Loess, Floats], Floats]
    ) -> None:
        super().__init__(units)
        self.functional = functional
        self.parameters = {"smoother": "loess of degree 1", "span": span}
        x, spread = units.mean, float(units.most[-1] - units.least[0])
        self.knots = lowess.find_knots(x, STEP * spread)
        self.start = np.searchsorted(x, self.knots)
        # The weights of rows do not depend on the unit, but their squares would underflow.
        unit = spread if 0 < spread < SMALLEST else 1.0
        self._x, knots = x / unit if unit < 1 else x, self.knots / unit
        nearest = min(max(2, int(span * units.rows + 1e-7)), units.rows)
        before = np.append(0.0, np.cumsum(units.size))
        radii = lowess.find_radii(self._x, before, knots, nearest)
        radius = lowess.FULL_WEIGHT_RADIUS, lowess.NO_WEIGHT_RADIUS
        edges = lowess.window_edges(self._x, knots, radii, *radius)
        windows, self._size = (knots, radii, edges), np.ascontiguousarray(units.size)
        cells = np.unique(np.append(edges, (0, x.size)))
        # The smaller of the two matrices.
        self._by_rows = x.size <= lowess.DEGREES * (cells.size - 1)
        if self._by_rows:
            self._weights = lowess.row_weights(self._x, frozen(self._size), windows)
        else:
            self._frames = lowess.cell_frames(self._x, cells)
            counts = self._moments(self._size[None]).reshape(-1, lowess.DEGREES)
            least = lowess.LEAST_SPREAD * float(np.ptp(self._x))
            self._weights = lowess.moment_weights(windows, self._frames, counts, least)

    def values(self, observed: Observed) -> Floats:
        return self.functional(self, self.fits(observed) - self.knots)

    def fits(self, observed: Observed) -> Floats:
        """Return the loess at the knots, (B, knots)."""
        features = observed.astype(np.float64) if self._by_rows else self._moments(observed)
        return np.asarray(features @ self._weights.T)

    def mean(self, deviations: Floats) -> Floats:
        """Return the mean over rows of the absolute errors, (B,)."""
        given = self.units.mean, frozen(self._size), self.knots, self.start
        return np.asarray(lowess.mean_errors(*given, deviations))

    def largest(self, deviations: Floats) -> Floats:
        """Return the largest of the absolute errors, (B,): knots are rows, linear in between."""
        return np.asarray(np.abs(deviations).max(axis=1))

    def quantile(self, deviations: Floats, *, share: float) -> Floats:
        """Return a quantile of type 7 over rows of the absolute errors, (B,)."""
        every, place = self._errors(deviations), share * (self.units.rows - 1)
        if not isinstance(self.units, CellUnits):
            return np.array([float(np.quantile(e, share, overwrite_input=True)) for e in every])
        found = []
        for errors in every:
            order = np.argsort(errors)
            upto = np.cumsum(self.units.size[order])
            ranks = [int(place), math.ceil(place)]
            low, high = errors[order[np.searchsorted(upto, ranks, side="right")]]
            found.append(float(low + place % 1.0 * (high - low)))
        return np.array(found)

    def _errors(self, deviations: Floats) -> Iterator[Floats]:
        """Yield the absolute errors of the units, for one row of labels after the other."""
        errors = np.empty((1, self.units.mean.size))
        for row in deviations[:, np.newaxis]:
            lowess.row_errors(self.units.mean, self.knots, self.start, row, errors)
            yield errors[0]

    def _moments(self, observed: Observed) -> Floats:
        moments = lowess.cell_moments(self._x, observed, self._frames)
        return np.asarray(moments.reshape(len(observed), -1))


@dataclass(frozen=True, kw_only=True)
class ICI(LoessMeasure):
    """The mean loess error with its span; see `ici`."""

    key, title, symbol = "ici", "integrated calibration index", "ICI"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = None
    bounds_mean_gap: ClassVar[bool] = True
    functional = Loess.mean


def ici(
    probs: object, labels: object = None, *, span: float = SPAN, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute the integrated calibration index, the mean distance of a loess from the predictions.

    With c the locally linear regression (loess of degree 1) of the labels on the predictions,

    .. math:: ICI = \frac{1}{n} \sum_i |c(p_i) - p_i|.

    It is `Eavg` of `val.prob` in the R package rms, which takes the function `lowess` of R without
    iterations: a line is fitted at p with tricube weights of the distances to the
    :math:`\lfloor n \cdot span \rfloor` nearest predictions, at knots about 1 % of the range of
    the predictions apart, and interpolated linearly between them. This does the same to all digits.
    Other packages take other spans and knots: probcal a span of 0.75 and 512 equally likely knots,
    calzone-tool 0.5 and steps of 0.001; R's `loess`, as in the paper, has degree 2 by default.

    The ICI of a calibrated model is above 0; the test "ici" accounts for that.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    span : float, default 2/3
        The share of the rows, in (0, 1], that the line at a prediction is fitted to.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In [0, 1] unless lines overshoot, in units of probability. Takes O(n log n).

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes, or sample weights.

    References
    ----------
    Austin, Steyerberg (2019), The integrated calibration index (ICI) and related metrics,
    Statistics in Medicine 38, section 2.2; Cleveland (1979), Robust locally weighted regression
    and smoothing scatterplots, JASA 74; Harrell (2015), Regression modeling strategies, 10.8.

    Examples
    --------
    >>> import caltest as ct
    >>> round(ct.measures.ici([0.25, 0.25, 0.25, 0.25], [0, 1, 1, 0]), 6)  # |1/2 - 1/4|
    0.25
    """
    return ICI(span=span).evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True)
class E50(LoessMeasure):
    """The median loess error with its span; see `e50`."""

    key, title, symbol = "e50", "median error of a loess, E50", "E50"
    functional = partial(Loess.quantile, share=0.5)


def e50(
    probs: object, labels: object = None, *, span: float = SPAN, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute the median distance of a loess from the predictions.

    With c the loess of `ici`,

    .. math:: E_{50} = \mathrm{median}_i |c(p_i) - p_i|.

    Parameters
    ----------
    probs, labels : array_like
        As for `ici`.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    span : float, default 2/3
        The share of the rows, in (0, 1], that the line at a prediction is fitted to.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In [0, 1] unless lines overshoot, in units of probability.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes, or sample weights.

    References
    ----------
    Austin, Steyerberg (2019), The integrated calibration index (ICI) and related metrics,
    Statistics in Medicine 38, section 2.2; Harrell (2015), Regression modeling strategies, 10.8.

    Examples
    --------
    >>> import caltest as ct
    >>> round(ct.measures.e50([0.25, 0.25, 0.25, 0.25], [0, 1, 1, 0]), 6)  # |1/2 - 1/4|
    0.25
    """
    return E50(span=span).evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True)
class E90(LoessMeasure):
    """The 90 % quantile of the loess errors with its span; see `e90`."""

    key, title, symbol = "e90", "90 % quantile of the errors of a loess, E90", "E90"
    is_extreme: ClassVar[bool] = True
    functional = partial(Loess.quantile, share=0.9)


def e90(
    probs: object, labels: object = None, *, span: float = SPAN, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute the 90 % quantile of the distance of a loess from the predictions.

    With c the loess of `ici`,

    .. math:: E_{90} = Q_{0.9}(|c(p_i) - p_i|),

    a quantile of type 7 over the rows, as in `val.prob` of the R package rms.

    Parameters
    ----------
    probs, labels : array_like
        As for `ici`.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    span : float, default 2/3
        The share of the rows, in (0, 1], that the line at a prediction is fitted to.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In [0, 1] unless lines overshoot, in units of probability.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes, or sample weights.

    References
    ----------
    Austin, Steyerberg (2019), The integrated calibration index (ICI) and related metrics,
    Statistics in Medicine 38, section 2.2; Harrell (2015), Regression modeling strategies, 10.8.

    Examples
    --------
    >>> import caltest as ct
    >>> round(ct.measures.e90([0.25, 0.25, 0.25, 0.25], [0, 1, 1, 0]), 6)  # |1/2 - 1/4|
    0.25
    """
    return E90(span=span).evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True)
class Emax(LoessMeasure):
    """The largest loess error with its span; see `emax`."""

    key, title, symbol = "emax", "largest error of a loess, Emax", "Emax"
    is_extreme: ClassVar[bool] = True
    functional = Loess.largest


def emax(
    probs: object, labels: object = None, *, span: float = SPAN, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute the largest distance of a loess from the predictions.

    With c the loess of `ici`,

    .. math:: E_{max} = \max_i |c(p_i) - p_i|,

    over the rows, as in `val.prob` of the R package rms.

    Parameters
    ----------
    probs, labels : array_like
        As for `ici`.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    span : float, default 2/3
        The share of the rows, in (0, 1], that the line at a prediction is fitted to.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In [0, 1] unless lines overshoot, in units of probability.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes, or sample weights.

    References
    ----------
    Austin, Steyerberg (2019), The integrated calibration index (ICI) and related metrics,
    Statistics in Medicine 38, section 2.2; Harrell (2015), Regression modeling strategies, 10.8.

    Examples
    --------
    >>> import caltest as ct
    >>> round(ct.measures.emax([0.25, 0.25, 0.25, 0.25], [0, 1, 1, 0]), 6)  # |1/2 - 1/4|
    0.25
    """
    return Emax(span=span).evaluate(probs, labels, **rows)
