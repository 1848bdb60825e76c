"""A matrix as colours around zero, with names of classes and numbers where there is room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from caltest import render
from caltest.checks import check_choice, check_instance
from caltest.errors import NotApplicable, invalid
from caltest.plots import base
from caltest.plots.calibration_map import fitted
from caltest.predictions import ModelData, Predictions
from caltest.types import AnyArray, Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap

    from caltest.calibrators import Calibrator

NUMBERED = 12  # rows or columns whose cells get their number
NAMED = 40  # rows or columns that are named each; of more, such as are evenly far apart
LONGEST_NAME = 14
ROOM = 40  # letters in a line of names
QUANTILE = 0.98  # of the cells that are not 0: where the colours of a large matrix end
FROM_WHITE = 0.45  # of the largest: from there on numbers are white


def colours() -> Colormap:
    """Orange for negative numbers, white for 0, blue for positive ones."""
    from matplotlib.colors import LinearSegmentedColormap

    ends = (0.0, "#7A3000"), (0.25, base.VERMILION), (0.5, "white"), (0.75, base.BLUE)
    return LinearSegmentedColormap.from_list("around zero", [*ends, (1.0, "#003050")])


def heat_map(
    ax: Axes,
    values: Floats,
    rows: Sequence[object],
    columns: Sequence[object],
    *,
    text: Callable[[float], str],
    name: str,
    clipped: bool = False,
) -> Axes:
    """Draw a matrix; `name` is that of the colour bar, and `text` words a cell.

    Of a large `clipped` matrix the colours end at a quantile of the cells.
    """
    numbered = max(values.shape) <= NUMBERED
    largest = _largest(values, QUANTILE if clipped and not numbered else 1.0)
    ends: dict[str, Any] = {"vmin": -largest, "vmax": largest, "interpolation": "nearest"}
    image = ax.imshow(values, colours(), aspect="equal" if numbered else "auto", **ends)
    for (i, j), value in np.ndenumerate(values) if numbered else ():
        color = base.ON_DARK if abs(value) > FROM_WHITE * largest else base.ON_PALE
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": base.SMALL}
        ax.text(j, i, text(float(value)), color=color, **style)
    # Of many names only some are written; the last column may be of its own.
    step = -(-len(rows) // NAMED)
    step = step if step == 1 else 5 * -(-step // 5)
    places = list(range(0, len(rows), step))
    ax.set_yticks(places, base.names_text([rows[i] for i in places], LONGEST_NAME))
    if len(columns) > len(rows):
        places = [*(i for i in places if i <= len(rows) - step / 2), len(columns) - 1]
    words = base.names_text([columns[i] for i in places], LONGEST_NAME)
    ax.set_xticks(places, words, rotation=90 if sum(map(len, words)) > ROOM else 0)
    ax.tick_params(labelsize=base.SMALL, length=0)
    ax.spines[:].set(visible=True, color=base.GREY, linewidth=base.THIN)
    beyond = "both" if np.abs(values).max() > largest else "neither"
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.05, pad=0.03, extend=beyond)
    bar.set_label(name, fontsize=base.SMALL)
    bar.ax.tick_params(labelsize=base.SMALL)
    return ax


def _largest(values: Floats, share: float) -> float:
    """Return where the colours end: a few very large cells shall not hide all others."""
    sizes = np.abs(values[values != 0])
    return float(np.quantile(sizes, share)) if sizes.size else 1.0


FORMS = ("linear", "canonical")


def parameter_heatmap(
    calibrator: Calibrator, *, form: str = "linear", ax: Axes | None = None
) -> Axes:
    """Show the weights and the intercepts of a map that is linear before its softmax.

    Row i has the weights of the class i that is predicted, one for the score of each class, and its
    intercept in the last column. Off the diagonal, a positive weight moves probability to class i
    where class j is probable.

    Parameters
    ----------
    calibrator : Calibrator
        Fitted: Dirichlet calibration, matrix, vector or temperature scaling.
    form : {"linear", "canonical"}
        Whether (W, b) is shown, or the unique form (A, c) of `DirichletCalibrator`.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. Up to 12 classes have their numbers in the cells.

    Raises
    ------
    NotApplicable
        If the map has no such parameters.

    References
    ----------
    Kull et al. (2019), Beyond temperature scaling: obtaining well-calibrated multiclass
    probabilities with Dirichlet calibration, NeurIPS 32, figure 2b.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", 500, 4, rng=1)
    >>> ax = ct.plots.parameter_heatmap(ct.calibrators.DirichletCalibrator().fit(data))
    >>> ax.get_title(loc="left")
    'Dirichlet calibration'
    """
    calibrator = fitted(calibrator)
    form = check_choice(form, FORMS, "form")
    pair = getattr(calibrator, f"{form}_", None)
    if pair is None:
        remedy = "use form='linear' with Dirichlet calibration or matrix, vector or temperature"
        rule = f"{calibrator.title} has no {form} parameters here"
        raise NotApplicable(rule, f"{remedy} scaling, or draw calibration_map")
    ax = base.axes(ax, (5.6, 4.6))
    names = calibrator.classes_.tolist()
    last = "intercept" if form == "linear" else "c"
    values = np.column_stack(pair)
    heat_map(ax, values, names, [*names, last], text=_number, name="parameter")
    ax.axvline(len(names) - 0.5, color=base.BLACK, linewidth=base.THIN)
    return base.label_axes(ax, "class of the score", "calibrated class", calibrator.title)


def _number(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}" if abs(value) < 99.995 else f"{value:.2g}"


def confusion_change(before: Predictions, after: object, *, ax: Axes | None = None) -> Axes:
    """Show the confusion matrix after recalibration less that before.

    Rows have the classes that were observed, columns those that were predicted, the first of
    several most probable ones. A map that keeps the order of the classes changes nothing. The
    accuracies are in the title.

    Parameters
    ----------
    before : Predictions
        Predictions before recalibration.
    after : Predictions or calibrator
        Predictions of the same rows, or a fitted map of the first ones.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. Up to 12 classes have their numbers in the cells; these count rows, or are sums of
        sample weights.

    Raises
    ------
    InvalidInput
        If the labels of the two differ.

    References
    ----------
    Kull et al. (2019), Beyond temperature scaling: obtaining well-calibrated multiclass
    probabilities with Dirichlet calibration, NeurIPS 32, figure 2c.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", 500, 4, rng=1)
    >>> calibrator = ct.calibrators.DirichletCalibrator().fit(data)
    >>> ax = ct.plots.confusion_change(data, calibrator)
    >>> ax.get_xlabel()
    'predicted class'
    """
    check_instance(before, Predictions, "before")
    if not isinstance(after, Predictions):
        after = ModelData(after, before).predictions()
    check_same_labels(before.classes, after.classes)
    check_same_labels(before.classes[before.labels], after.classes[after.labels])
    first, second = _confusion(before), _confusion(after)
    ax = base.axes(ax, (5.4, 4.6))
    names = before.classes.tolist()
    name = f"change in the {'number' if before.sample_weight is None else 'weight'} of rows"
    change: dict[str, Any] = {"text": lambda value: f"{value:+.3g}" if value else "", "name": name}
    heat_map(ax, second - first, names, names, clipped=True, **change)
    if (first == second).all():
        base.corner_text(ax, "no predicted class changes")
    title = f"accuracy {_accuracy(first)} before, {_accuracy(second)} after"
    return base.label_axes(ax, "predicted class", "observed class", title)


def _confusion(predictions: Predictions) -> Floats:
    m = predictions.m
    cell = predictions.labels * m + predictions.probs.argmax(axis=1)
    return np.bincount(cell, predictions.sample_weight, m * m).astype(float).reshape(m, m)


def _accuracy(confusion: Floats) -> str:
    return render.number(float(np.trace(confusion) / confusion.sum()))


def check_same_labels(before: AnyArray, after: AnyArray, name: str = "after") -> None:
    """Check that two predictions are of the same rows, by the names of their labels."""
    rule = f"{name} must hold predictions of the same rows, with the same labels"
    remedy = "predict the rows of the first again"
    if len(before) != len(after):
        raise invalid(rule, f"{len(before)} and {len(after)} rows", remedy)
    differs = np.array([a != b for a, b in zip(before.tolist(), after.tolist(), strict=True)])
    if differs.any():
        raise invalid(rule, f"another label at row {int(np.argmax(differs))}", remedy)
