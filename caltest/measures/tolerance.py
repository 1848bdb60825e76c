"""Hypotheses with a tolerance, and the normal limit that tests an estimate by them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.measures.base import BoundMeasure, Outcome
from caltest.numerics.tails import normal_sf

Floats = NDArray[np.float64]

ROWS_FOR_LIMIT = 100
BOUNDARY = "below the tolerance with the standard error at the tolerance"
FEW_ROWS_NOTE = (
    f"the limiting distribution holds for large n; with fewer than {ROWS_FOR_LIMIT} observations "
    "it is rough"
)


@dataclass(frozen=True)
class Tolerance:
    """H0 that an error is at most a tolerance, or at least where `equivalence` is to be shown."""

    value: float
    equivalence: bool = False

    @property
    def title(self) -> str:
        """The kind of test."""
        return "equivalence" if self.equivalence else "tolerance"

    def claim(self, error: str) -> str:
        """Word the null hypothesis on an error."""
        return f"the {error} is at {'least' if self.equivalence else 'most'} {self.value:g}"

    @property
    def alternative(self) -> str:
        """The values of the estimate that speak against the null hypothesis."""
        return "less" if self.equivalence else "greater"

    def signed(self, statistic: float) -> float:
        """Return the statistic with the sign with which large values speak against H0."""
        return -statistic if self.equivalence else statistic

    def at_least_unseen(self, pvalue: float, unseen: float) -> float:
        """Return the p-value; for equivalence no less than the chance that the error is unseen."""
        return max(pvalue, unseen) if self.equivalence else pvalue


class ToleranceBootstrap(ABC):
    """The bootstrap of an error under a hypothesis with a tolerance.

    Attributes
    ----------
    value : float
        The estimate of the error.
    n : int
        The number of rows that are resampled.
    notes : tuple of str
        What the reader of the p-value should know.
    """

    value: float
    n: int
    notes: tuple[str, ...] = ()

    @property
    @abstractmethod
    def null_text(self) -> str:
        """The null distribution in words."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.uint8]:
        """Draw how often each row counts, (size, n)."""

    @abstractmethod
    def resample(self, counts: NDArray[np.uint8], n_jobs: int | None = None) -> Floats:
        """Return the bootstrap of the estimate less the error for each row of counts."""


def unseen_chance(share: float, n: int) -> float:
    r"""Return the chance that n rows show nothing of an error in a share of the labels.

    Where a share s of the labels ignores the predictions and the others follow them, n rows look
    calibrated with probability :math:`(1 - s)^n`. If such a model has an error of the tolerance, no
    p-value of a valid test for equivalence can be smaller. Limiting distributions do not know it:
    without a single event among rare ones the estimate hardly varies.
    """
    return float((1.0 - min(share, 1.0)) ** n)


@dataclass(frozen=True)
class Deviation:
    """An unbiased estimate of a squared error, with what its standard error is made of.

    Attributes
    ----------
    value : float
        The estimate.
    variance : float
        Its variance, estimated by the jackknife or from blocks.
    degenerate : float
        The part of its variance that is left where the error is 0.
    largest : float
        The largest of the other part for an error of 1, over all directions of the error.
    """

    value: float
    variance: float
    degenerate: float
    largest: float

    def z(self, tolerance: float) -> float:
        r"""Return the estimate less the tolerance, in standard errors.

        The variance of an estimate of a squared error :math:`\theta` is about
        :math:`\theta c + d`, where d does not depend on it and c on the direction of the error
        only. Above the tolerance the estimated variance V will do. Below it V would be too small:
        estimate and variance are small together, and on the boundary the variance is larger. There
        c is V over the estimate, at most its largest value:

        .. math:: \widehat{se}^2 = \max(V, \tau \min(V / \hat\theta_+, c_{max}) + d).
        """
        variance = self.variance
        if self.value < tolerance:
            ratio = min(self.largest, variance / self.value) if self.value > 0 else self.largest
            variance = max(variance, tolerance * ratio + self.degenerate)
        return (self.value - tolerance) / math.sqrt(variance)


def deviation_limit(
    bound: BoundMeasure,
    deviation: Deviation,
    tolerance: Tolerance,
    *,
    squared: float,
    estimate: float,
    unseen: float,
) -> Outcome:
    """Return the normal limit; `squared` is the tolerance in the units of the deviation."""
    if deviation.variance == 0:
        raise NotApplicable(
            "the estimate does not change when a row is left out, so that it has no standard error",
            "use more data, or null='exact' without tolerance",
        )
    z = deviation.z(squared)
    few = (FEW_ROWS_NOTE,) if bound.predictions.n < ROWS_FOR_LIMIT else ()
    return Outcome(
        statistic_name="z",
        statistic=z,
        pvalue=tolerance.at_least_unseen(normal_sf(tolerance.signed(z)), unseen),
        estimate=estimate,
        alternative=tolerance.alternative,
        null_text=f"normal limit, {BOUNDARY}",
        parameters=bound.parameters,
        notes=(*bound.notes, *few),
        degenerate=bound.degenerate,
    )
