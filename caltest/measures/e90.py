"""90 % quantile of the loess errors, Harrell 2015; Austin & Steyerberg 2019."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.lenses import Lens
from caltest.measures.loess_errors import SPAN, LoessErrors, LoessMeasure

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class E90(LoessMeasure):
    """The 90 % quantile of the loess errors with its span; see `e90`."""

    key: ClassVar[str] = "e90"
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
