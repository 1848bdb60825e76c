"""Confidence intervals for measures: one method a file; a new one is a file and a name here."""

from caltest import validation
from caltest.errors import NotApplicable
from caltest.intervals import (
    bca,
    block,
    convex,
    event_count,
    grade_rate,
    jackknife,
    plug_in,
    sandwich,
    studentized,
    u_statistic,
)
from caltest.intervals.base import Bounds, Method
from caltest.intervals.statistics import instead_of
from caltest.measures import Measure

# The first that applies is the default; BCa applies to almost all.
REGISTRY: dict[str, Method] = {
    module.METHOD.key: module.METHOD
    for module in (
        u_statistic,
        block,
        convex,
        jackknife,
        sandwich,
        event_count,
        grade_rate,
        studentized,
        plug_in,
        bca,
    )
}


def choose(measure: Measure, key: str | None = None) -> Method:
    """Return the method of that key, or the first that applies to the measure."""
    instead = instead_of(measure)
    if instead is not None:
        raise NotApplicable(
            f"{measure.symbol} is a statistic that grows with n and estimates no quantity that an "
            f"interval could hold; use {instead}"
        )
    applicable = [method for method in REGISTRY.values() if method.applies(measure)]
    if key is None:
        return applicable[0]
    method = REGISTRY[validation.check_choice(key, REGISTRY, "method")]
    if method not in applicable:
        raise NotApplicable(
            f"method {key!r} has no meaning for {measure.description}; use one of "
            f"{validation.listing([other.key for other in applicable])}"
        )
    return method


__all__ = ["REGISTRY", "Bounds", "Method", "choose"]
