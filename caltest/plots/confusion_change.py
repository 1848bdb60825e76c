"""What recalibration does to the predicted classes, Kull et al. 2019, figure 2c."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from caltest import render
from caltest.errors import invalid
from caltest.plots import base
from caltest.plots.heat_map import heat_map
from caltest.predictions import Predictions, as_predictions
from caltest.validation import check_instance

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from caltest.validation.arrays import AnyArray


if TYPE_CHECKING:
    Floats = NDArray[np.float64]
SIZE = (5.4, 4.6)


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
        after = as_predictions(after, before)
    check_same_labels(before.classes, after.classes)
    check_same_labels(before.classes[before.labels], after.classes[after.labels])
    first, second = _confusion(before), _confusion(after)
    ax = base.axes(ax, SIZE)
    names = before.classes.tolist()
    name = f"change in the {'number' if before.sample_weight is None else 'weight'} of rows"
    heat_map(ax, second - first, names, names, text=_signed, name=name, clipped=True)
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


def _signed(value: float) -> str:
    return f"{value:+.3g}" if value else ""


def check_same_labels(before: AnyArray, after: AnyArray, name: str = "after") -> None:
    """Check that two predictions are of the same rows, by the names of their labels."""
    rule = f"{name} must hold predictions of the same rows, with the same labels"
    remedy = "predict the rows of the first again"
    if len(before) != len(after):
        raise invalid(rule, f"{len(before)} and {len(after)} rows", remedy)
    differs = np.array([a != b for a, b in zip(before.tolist(), after.tolist(), strict=True)])
    if differs.any():
        raise invalid(rule, f"another label at row {int(np.argmax(differs))}", remedy)
