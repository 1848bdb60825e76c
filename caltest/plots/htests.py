"""Which picture shows a test, a table or a calibrator: their methods `plot`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from caltest import checks, plots
from caltest.errors import NotApplicable
from caltest.plots.calibration_map import fitted
from caltest.plots.places import is_master_scale
from caltest.results import HTest, HTestTable, htest
from caltest.types import Axes

Draw = Callable[..., "Axes"]

KINDS: Mapping[str, Draw] = {
    "reliability": plots.reliability_diagram,
    "corp": partial(plots.reliability_diagram, corp=True),
    "confidence-band": partial(plots.reliability_diagram, corp=True, band="confidence"),
    "null": plots.null_distribution,
    "witness": plots.witness,
    "belt": plots.calibration_belt,
    "pit": plots.pit_histogram,
    "coverage": plots.coverage_curve,
    "quantiles": plots.quantile_reliability,
    "spread": plots.spread_against_error,
}
FORECAST_KINDS = ("pit", "coverage", "quantiles", "spread")

OF_CELLS = ("reliability", "corp", "confidence-band", "null")  # what cells are enough for


def plot_test(result: HTest, kind: str | None, options: Mapping[str, Any]) -> Axes:
    """Draw a kind of plot of a result, by default its natural one."""
    if kind is not None:
        checks.check_choice(kind, KINDS, "kind")
    kind = kind or natural_kind(result)
    worst = result.places[0].where if result.places else None
    if kind == "reliability" and worst and result.m > 2 and result.lens == "strong":
        options = {"lens": worst.own_lens, **options}
    return KINDS[kind](result, **options)


def natural_kind(result: HTest) -> str:
    """Return the plot that shows best what was tested: see `Measure.plot_kind`.

    Where there are no predictions any more it is the null distribution, and where there is none of
    these a reliability diagram.
    """
    if result.counted is not None:
        kind = result.counted.measure.plot_kind(2)
        return kind if kind in OF_CELLS else "reliability"
    if result.evidence is None:
        if result.null_distribution is not None:
            return "null"
        if result.is_of_grade:
            raise NotApplicable("one grade has no plot", "plot the table of the master scale")
    evidence = htest.required(result, "a plot")
    kind = evidence.predictions.drawn_as or evidence.measure.plot_kind(evidence.seen.m)
    return "reliability" if kind == "null" and result.null_distribution is None else kind


def plot_table(table: HTestTable, kind: str | None, ax: Axes | None) -> Axes:
    """Draw a kind of plot of a table, by default that of its rows or of a master scale, if any."""
    drawn: dict[str, Draw] = {"pvalues": plots.pvalues, "master-scale": plots.master_scale}
    if kind is None:
        kind = "master-scale" if is_master_scale(table) else _kind_of_rows(table) or "pvalues"
    if checks.check_choice(kind, (*drawn, *FORECAST_KINDS), "kind") in drawn:
        return drawn[kind](table, ax=ax)
    if _kind_of_rows(table) is None:
        reason = f"kind={kind!r} is a picture of the forecasts that all tests of a table share"
        raise NotApplicable(reason, "plot one of its results, or use kind='pvalues'")
    return KINDS[kind](table.rows[0].evidence.predictions, ax=ax)  # type: ignore[union-attr]


def _kind_of_rows(table: HTestTable) -> str | None:
    """Return the plot that the rows have of their own, where all tests are of the same."""
    held = [row.evidence and row.evidence.predictions for row in table.rows]
    first = held[0]
    return (first.drawn_as or None) if first and all(one is first for one in held) else None


MAPS: dict[str, Draw] = {"map": plots.calibration_map, "simplex": plots.simplex_map}
MAPS |= {"parameters": plots.parameter_heatmap, "latent": plots.latent_function}


def plot_calibrator(calibrator: object, kind: str | None, ax: Axes | None) -> Axes:
    """Draw a kind of picture, by default the natural one; see `Calibrator.plot`."""
    from caltest.calibrators import GPCalibrator, SplineCalibrator
    from caltest.calibrators.linear.linear_maps import LinearMap

    if kind is None:
        m = fitted(calibrator).n_features_in_
        kind = "parameters" if isinstance(calibrator, LinearMap) and m > 2 else "map"
        kind = "simplex" if m == 3 and not isinstance(calibrator, SplineCalibrator) else kind
        kind = "latent" if isinstance(calibrator, GPCalibrator) else kind
    return MAPS[checks.check_choice(kind, MAPS, "kind")](calibrator, ax=ax)
