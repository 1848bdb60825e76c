"""Median loess error, Austin & Steyerberg 2019."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.lenses import Lens
from caltest.measures.loess_errors import SPAN, LoessErrors, LoessMeasure

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class E50(LoessMeasure):
    """The median loess error with its span; see `e50`."""

    key: ClassVar[str] = "e50"
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
