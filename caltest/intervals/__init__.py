"""Confidence intervals for measures: general methods, beside those of the measures."""

from caltest import checks
from caltest.errors import NotApplicable
from caltest.intervals import bootstrap, cluster, mean
from caltest.intervals.base import FEWEST_ROWS, Method, compute
from caltest.measures import REGISTRY as MEASURES
from caltest.measures import Measure
from caltest.measures.bound import NO_WEIGHTS, BoundCells
from caltest.measures.outcome import Ends
from caltest.nulls.base import Draws

OF_MEANS = (mean.UNSEEN_EVENTS, mean.STUDENTIZED)
RESAMPLED = (bootstrap.PLUG_IN, bootstrap.BCA)
GENERAL = (bootstrap.CONVEX, bootstrap.JACKKNIFE, *OF_MEANS, *RESAMPLED, cluster.METHOD)
TITLES = {key: title for one in MEASURES.values() for key, title in one.own_intervals.items()}
OWN = (Method(key, title, compute, resamples=False) for key, title in TITLES.items())
REGISTRY: dict[str, Method] = {method.key: method for method in (*OWN, *GENERAL)}


def choose(measure: Measure, key: str | None = None) -> Method:
    """Return the method of that key, or the default of the measure."""
    if measure.interval_instead is not None:
        reason = f"{measure.symbol} {measure.no_interval}"
        raise NotApplicable(reason, f"use {measure.interval_instead}")
    if key is None:
        return REGISTRY[measure.intervals[0]]
    method = REGISTRY[checks.check_choice(key, REGISTRY, "method")]
    if method.key not in (*measure.intervals, cluster.METHOD.key):
        reason = f"method {key!r} has no meaning for {measure.description}"
        raise NotApplicable(reason, f"use one of {checks.listing(measure.intervals)}")
    return method


def cells_interval(
    measure: Measure, bound: BoundCells, level: float, method: str | None, draws: Draws
) -> tuple[Ends, bool]:
    """Bound a measure of cells by the method that is the default for rows.

    Returns
    -------
    ends : Ends
        The interval.
    resamples : bool
        Whether resamples were drawn for it.

    Raises
    ------
    NotApplicable
        If the method, or any for the measure, needs the rows.
    """
    choose(measure, method)
    cells = bound.cells
    if cells.weights is not None:
        raise NotApplicable(*NO_WEIGHTS)
    if cells.rows < FEWEST_ROWS:
        reason = f"an interval needs at least {FEWEST_ROWS} rows, and there are {cells.rows}"
        raise NotApplicable(reason, "collect more, or report the p-value alone")
    default = measure.intervals[0]
    if method not in {None, default}:
        remedy = f"use method={default!r}, or engine='rows'"
        raise NotApplicable(f"method {method!r} needs the rows", remedy)
    own = measure.cell_interval(cells, level=level)
    if own is not None:
        return own, False
    sums = bound.statistic
    if sums is not None and sums.norm is not None:
        return bootstrap.convex_interval_of_cells(measure, bound, sums.norm, level, draws), True
    if sums is not None and sums.score_table is not None:
        return mean.cells_interval(measure, cells, sums.score_table(), level, draws)
    reason = f"the interval of {measure.description} needs the rows"
    raise NotApplicable(reason, "use engine='rows'")


__all__ = ["REGISTRY", "Ends", "Method", "cells_interval", "choose"]
