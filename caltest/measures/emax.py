"""Largest loess error, Harrell 2015."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.lenses import Lens
from caltest.measures.loess_errors import SPAN, LoessErrors, LoessMeasure

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Emax(LoessMeasure):
    """The largest loess error with its span; see `emax`."""

    key: ClassVar[str] = "emax"
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
