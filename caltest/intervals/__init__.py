"""Confidence intervals for measures: one general method a file, beside those of the measures."""

from caltest import checks
from caltest.errors import NotApplicable
from caltest.intervals import bca, cluster, convex, jackknife, plug_in, studentized, unseen_events
from caltest.intervals.base import Method, own_methods
from caltest.measures import Measure
from caltest.measures.outcome import Ends

REGISTRY: dict[str, Method] = {
    method.key: method
    for method in (
        *own_methods(),
        *(
            module.METHOD
            for module in (convex, jackknife, unseen_events, studentized, plug_in, bca, cluster)
        ),
    )
}


def choose(measure: Measure, key: str | None = None) -> Method:
    """Return the method of that key, or the default of the measure."""
    if measure.interval_instead is not None:
        raise NotApplicable(
            f"{measure.symbol} {measure.no_interval}", f"use {measure.interval_instead}"
        )
    if key is None:
        return REGISTRY[measure.intervals[0]]
    method = REGISTRY[checks.check_choice(key, REGISTRY, "method")]
    if method.key not in (*measure.intervals, cluster.METHOD.key):
        raise NotApplicable(
            f"method {key!r} has no meaning for {measure.description}",
            f"use one of {checks.listing(measure.intervals)}",
        )
    return method


__all__ = ["REGISTRY", "Ends", "Method", "choose"]
