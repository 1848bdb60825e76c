"""The picture of a calibrator that its method `plot` draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from caltest.plots.calibration_map import calibration_map
from caltest.plots.latent_function import latent_function
from caltest.plots.map_values import fitted
from caltest.plots.parameter_heatmap import parameter_heatmap
from caltest.plots.simplex_map import simplex_map
from caltest.validation import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from caltest.calibrators import Calibrator

KINDS: dict[str, Callable[..., Axes]] = {
    "map": calibration_map,
    "simplex": simplex_map,
    "parameters": parameter_heatmap,
    "latent": latent_function,
}


def plot_calibrator(calibrator: Calibrator, kind: str | None, ax: Axes | None) -> Axes:
    """Draw a kind of picture, by default the natural one; see `Calibrator.plot`."""
    chosen = natural_kind(fitted(calibrator)) if kind is None else kind
    return KINDS[check_choice(chosen, KINDS, "kind")](calibrator, ax=ax)


def natural_kind(calibrator: Calibrator) -> str:
    """Return what shows the map best."""
    from caltest.calibrators import GPCalibrator, SplineCalibrator
    from caltest.calibrators.linear.linear_maps import LinearMap

    if isinstance(calibrator, GPCalibrator):
        return "latent"
    m = calibrator.n_features_in_
    if m == 2 or isinstance(calibrator, SplineCalibrator):
        return "map"
    if m == 3:
        return "simplex"
    return "parameters" if isinstance(calibrator, LinearMap) else "map"
