"""The nearest variant of a measure that is defined for few observations, down to one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace

from caltest.measures import Measure
from caltest.measures.bins.debiased_ece import DebiasedECE
from caltest.measures.bins.ece import ECE
from caltest.measures.bins.mce import MCE
from caltest.measures.bins.t_cal import TCal
from caltest.measures.kernel.cme import CME
from caltest.measures.kernel.skce import SKCE

Variant = Callable[..., Measure]


def _biased(measure: SKCE) -> Measure:
    """The mean over all pairs is defined for one observation: it has the pair with itself."""
    return replace(measure, estimator="biased")


def _all_pairs(measure: CME) -> Measure:
    """The biased SKCE tests the same embedding without its covariance matrix."""
    return SKCE(estimator="biased", kernel=measure.kernel)


def _one_bin(measure: ECE | MCE) -> Measure:
    """Too few rows for two bins of the least size are one bin."""
    return replace(measure, binning="uniform", bins=1)


def _plug_in(measure: DebiasedECE) -> Measure:
    """The plug-in error in the same bins, which needs no second observation."""
    names = {field.name for field in fields(ECE)}
    kept = {f.name: getattr(measure, f.name) for f in fields(measure) if f.name in names}
    return ECE(**kept)


NEAREST: dict[type[Measure], Variant] = {
    SKCE: _biased,
    CME: _all_pairs,
    ECE: _one_bin,
    MCE: _one_bin,
    DebiasedECE: _plug_in,
    TCal: lambda _: ECE(),
}


UNWEIGHTED = (CME, TCal)  # these are undefined for weights too, which is no question of size


def nearest_variant(measure: Measure, *, weighted: bool = False) -> Measure | None:
    """Return the nearest measure that is defined for any number of observations, or None.

    Examples
    --------
    >>> nearest_variant(SKCE(estimator="linear")).description
    'squared kernel calibration error, biased estimator'
    """
    if weighted and isinstance(measure, UNWEIGHTED):
        return None
    make = NEAREST.get(type(measure))
    variant = None if make is None else make(measure)
    return None if variant == measure else variant
