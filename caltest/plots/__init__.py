"""Plots of results that exist already: nothing here tests anew or draws random numbers.

Every function takes matplotlib axes (`ax=`, or a figure `fig=` for a grid), or makes a figure of
its own without pyplot, and returns the axes. As the value of a cell these show their figure in a
notebook, once; `.figure.savefig("plot.pdf")` writes a file. Letters that the font of matplotlib has
not, such as those of Chinese names, are drawn in another font that is installed.
"""

from caltest.plots.calibration_belt import calibration_belt
from caltest.plots.calibration_map import (
    calibration_map,
    confusion_change,
    latent_function,
    parameter_heatmap,
    simplex_map,
)
from caltest.plots.forecasts import (
    coverage_curve,
    pit_histogram,
    quantile_reliability,
    spread_against_error,
)
from caltest.plots.places import groups, master_scale, segments
from caltest.plots.power import power_curve, size_and_power
from caltest.plots.pvalues import calibration_errors, monitor, null_distribution, pvalues
from caltest.plots.reliability import attributes_diagram, reliability_diagram
from caltest.plots.reliability_grid import calibration_graphs, reliability_grid
from caltest.plots.score_plots import (
    critical_difference,
    decision_curve,
    mcb_dsc,
    score_differences,
)
from caltest.plots.witness import witness

__all__ = [
    "attributes_diagram",
    "calibration_belt",
    "calibration_errors",
    "calibration_graphs",
    "calibration_map",
    "confusion_change",
    "coverage_curve",
    "critical_difference",
    "decision_curve",
    "groups",
    "latent_function",
    "master_scale",
    "mcb_dsc",
    "monitor",
    "null_distribution",
    "parameter_heatmap",
    "pit_histogram",
    "power_curve",
    "pvalues",
    "quantile_reliability",
    "reliability_diagram",
    "reliability_grid",
    "score_differences",
    "segments",
    "simplex_map",
    "size_and_power",
    "spread_against_error",
    "witness",
]
