"""Integrated calibration index, Austin & Steyerberg 2019."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.lenses import Lens
from caltest.measures.smooth.loess import SPAN, LoessErrors, LoessMeasure

__all__ = ["E50", "E90", "ICI", "Emax", "e50", "e90", "emax", "ici"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ICI(LoessMeasure):
    """The mean loess error with its span; see `ici`."""

    key: ClassVar[str] = "ici"
    title: ClassVar[str] = "integrated calibration index"

    @property
    def symbol(self) -> str:
        return "ICI"

    def functional(self, errors: LoessErrors, deviations: Floats) -> Floats:
        return errors.mean(deviations)


def ici(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    span: float = SPAN,
    n_jobs: int | None = None,
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

    A calibrated model has an ICI above 0, which the test "ici" judges.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    span : float, default 2/3
        The share of the rows, in (0, 1], that have a say in the line at a prediction.
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

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
    return ICI(span=span).evaluate(probs, labels, lens, n_jobs)


@dataclass(frozen=True, kw_only=True)
class E50(LoessMeasure):
    """The median loess error with its span; see `e50`."""

    key: ClassVar[str] = "e50"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    title: ClassVar[str] = "median error of a loess, E50"

    @property
    def symbol(self) -> str:
        return "E50"

    def functional(self, errors: LoessErrors, deviations: Floats) -> Floats:
        return errors.quantile(deviations, 0.5)


def e50(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    span: float = SPAN,
    n_jobs: int | None = None,
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
        The share of the rows, in (0, 1], that have a say in the line at a prediction.
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

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
    return E50(span=span).evaluate(probs, labels, lens, n_jobs)


@dataclass(frozen=True, kw_only=True)
class E90(LoessMeasure):
    """The 90 % quantile of the loess errors with its span; see `e90`."""

    key: ClassVar[str] = "e90"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    title: ClassVar[str] = "90 % quantile of the errors of a loess, E90"

    @property
    def symbol(self) -> str:
        return "E90"

    def functional(self, errors: LoessErrors, deviations: Floats) -> Floats:
        return errors.quantile(deviations, 0.9)


def e90(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    span: float = SPAN,
    n_jobs: int | None = None,
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
        The share of the rows, in (0, 1], that have a say in the line at a prediction.
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

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
    return E90(span=span).evaluate(probs, labels, lens, n_jobs)


@dataclass(frozen=True, kw_only=True)
class Emax(LoessMeasure):
    """The largest loess error with its span; see `emax`."""

    key: ClassVar[str] = "emax"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    title: ClassVar[str] = "largest error of a loess, Emax"

    @property
    def symbol(self) -> str:
        return "Emax"

    def functional(self, errors: LoessErrors, deviations: Floats) -> Floats:
        # The error is linear between knots, and knots are rows: the largest stands at a knot.
        return np.asarray(np.abs(deviations).max(axis=1))


def emax(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    span: float = SPAN,
    n_jobs: int | None = None,
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
        The share of the rows, in (0, 1], that have a say in the line at a prediction.
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

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
    return Emax(span=span).evaluate(probs, labels, lens, n_jobs)
