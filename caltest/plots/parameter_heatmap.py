"""The parameters of a linear calibration map, Kull et al. 2019, figure 2b."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from caltest.errors import NotApplicable
from caltest.plots import base
from caltest.plots.heat_map import heat_map
from caltest.plots.map_values import fitted
from caltest.validation import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from caltest.calibrators import Calibrator

SIZE = (5.6, 4.6)
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
        raise NotApplicable(
            f"{calibrator.title} has no {form} parameters here",
            "use form='linear' with Dirichlet "
            "calibration or matrix, vector or temperature scaling, or draw calibration_map",
        )
    ax = base.axes(ax, SIZE)
    names = calibrator.classes_.tolist()
    last = "intercept" if form == "linear" else "c"
    values = np.column_stack(pair)
    heat_map(ax, values, names, [*names, last], text=_number, name="parameter")
    ax.axvline(len(names) - 0.5, color=base.BLACK, linewidth=base.THIN)
    return base.label_axes(ax, "class of the score", "calibrated class", calibrator.title)


def _number(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}" if abs(value) < 99.995 else f"{value:.2g}"
