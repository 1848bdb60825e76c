"""A calibration map of three classes as arrows on the simplex, Kull et al. 2019, figure 2a."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from caltest.checks import as_array, check_integer, check_probs
from caltest.errors import NotApplicable, invalid
from caltest.plots import base
from caltest.plots.calibration_map import fitted, mapped
from caltest.types import AnyArray, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from caltest.calibrators import Calibrator


CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
MOST_DOTS = 2000  # of predictions
EPSILON = 1e-6  # of the interpretation points
SIZE = (4.8, 4.6)


def simplex_map(
    calibrator: Calibrator,
    predictions: object = None,
    *,
    points: int = 12,
    ax: Axes | None = None,
) -> Axes:
    """Draw a calibration map of three classes: arrows from predictions to calibrated ones.

    The arrows start at an even grid, and have the colour of the class that is most probable where
    they end. For maps that are linear in log probabilities, the interpretation points are drawn in
    black: the middles of the sides and the centre, with open circles at their images.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted, for three classes. A map of logits is shown for the logarithms of probabilities.
    predictions : Predictions or (n, 3) array, optional
        Probabilities to show as dots under the arrows; of more than 2000 rows, such as are evenly
        far apart.
    points : int, default 12
        Arrows along a side.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    NotApplicable
        If the map is not of three classes.

    References
    ----------
    Kull et al. (2019), Beyond temperature scaling: obtaining well-calibrated multiclass
    probabilities with Dirichlet calibration, NeurIPS 32, figure 2a.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", 500, 3, rng=1)
    >>> calibrator = ct.calibrators.DirichletCalibrator().fit(data)
    >>> ax = ct.plots.simplex_map(calibrator, data)
    """
    calibrator = fitted(calibrator)
    remedy = "use parameter_heatmap or calibration_map"
    check_classes_of_map(calibrator.n_features_in_, 3, "a map on the simplex", remedy)
    check_integer(points, "points", 2)
    ax = base.axes(ax, SIZE)
    _draw_frame(ax, calibrator.classes_.tolist())
    if predictions is not None:
        _draw_dots(ax, _checked(predictions))
    start = _grid(points)
    end = mapped(calibrator, start)
    colors = np.array(base.CYCLE[:3])[end.argmax(axis=1)]
    x, y = (start @ CORNERS).T
    ax.scatter(x, y, s=3.0, color=colors, zorder=2)
    _draw_arrows(ax, start, end, color=colors, width=0.004, alpha=0.85)
    if hasattr(calibrator, "interpretation_points") and hasattr(calibrator, "canonical_"):
        _draw_interpretation(ax, *calibrator.interpretation_points(EPSILON))
    ax.set_title(calibrator.title, fontsize=base.TEXT, loc="left")
    return ax


def _checked(predictions: object) -> Floats:
    values = as_array(getattr(predictions, "probs", predictions), "predictions")
    check_width(values, 3, "predictions")
    return check_probs(values)


def _grid(points: int) -> Floats:
    """Return an even grid inside of the simplex, `points` along a side."""
    i, j = np.meshgrid(np.arange(points), np.arange(points), indexing="ij")
    inside = i + j < points
    first, second = i[inside], j[inside]
    counts = np.column_stack([points - 1 - first - second, first, second])
    return (counts + 1 / 3) / points


def _draw_frame(ax: Axes, classes: list[object]) -> None:
    outline = np.vstack([CORNERS, CORNERS[:1]])
    ax.plot(*outline.T, color=base.GREY, linewidth=base.THIN, zorder=1)
    middle = CORNERS.mean(axis=0)
    # Each middle line ends where two classes are equally probable.
    for k in range(3):
        ends = np.array([CORNERS.sum(axis=0) - CORNERS[k], 2 * middle]) / 2
        ax.plot(*ends.T, color=base.PALE, linewidth=base.THIN, zorder=0)
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set(xlim=(-0.12, 1.12), ylim=(-0.1, CORNERS[2, 1] + 0.08))
    places = [(0.0, -0.03, "top"), (1.0, -0.03, "top"), (0.5, CORNERS[2, 1] + 0.03, "bottom")]
    for k, (name, (x, y, side)) in enumerate(zip(base.names_text(classes), places, strict=True)):
        text: dict[str, Any] = {"ha": "center", "va": side, "fontsize": base.TEXT}
        ax.text(x, y, name, color=base.CYCLE[k], fontweight="bold", **text)


def _draw_dots(ax: Axes, probs: Floats) -> None:
    even = np.linspace(0, len(probs) - 1, min(len(probs), MOST_DOTS)).astype(np.intp)
    places = probs[np.unique(even)] @ CORNERS
    ax.plot(*places.T, ".", color=base.GREY, markersize=2.5, alpha=0.4, zorder=1, linestyle="none")


def _draw_arrows(ax: Axes, start: Floats, end: Floats, **style: Any) -> None:
    places, moves = start @ CORNERS, (end - start) @ CORNERS
    in_place: dict[str, Any] = {"angles": "xy", "scale_units": "xy", "scale": 1.0, "minlength": 0.1}
    ax.quiver(*places.T, *moves.T, **in_place, **{"zorder": 2, **style})


def _draw_interpretation(ax: Axes, start: Floats, end: Floats) -> None:
    _draw_arrows(ax, start, end, color=base.BLACK, width=0.007, zorder=4)
    for points, face, size in ((start, base.BLACK, 6), (end, "white", 6)):
        places = points @ CORNERS
        mark: dict[str, Any] = {
            "markerfacecolor": face,
            "markeredgecolor": base.BLACK,
            "clip_on": False,
        }
        ax.plot(*places.T, "o", markersize=size, zorder=5, **mark)


def check_width(values: AnyArray, m: int, name: str) -> None:
    """Check that predictions have as many classes as the map they are drawn with."""
    if values.ndim != 2 or values.shape[1] != m:
        rule = f"{name} must have {m} columns, as the map has classes"
        raise invalid(rule, f"shape {values.shape}", "pass what the map was fitted to")


def check_classes_of_map(m: int, wanted: int, what: str, remedy: str) -> None:
    """Check the number of classes that a picture of a calibration map needs."""
    if m != wanted:
        raise NotApplicable(f"{what} needs {wanted} classes, and the map has {m}", remedy)
