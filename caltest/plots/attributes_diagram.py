"""The attributes diagram of weather forecasts, Hsu and Murphy 1986."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from caltest.lenses import Lens
from caltest.plots import base
from caltest.plots.reliability import TALL, reliability_diagram, scale_of_diagram
from caltest.plots.scales import check_scale
from caltest.plots.seen import RowsEvent, seen

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELLS = 200


def attributes_diagram(
    source: object,
    labels: object = None,
    *,
    lens: str | Lens | None = None,
    bins: int = 10,
    binning: str | None = "uniform",
    scale: str = "probability",
    zoom: bool = False,
    confidence: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw a reliability diagram with the lines that tell what the forecasts are worth.

    The horizontal and the vertical line are the observed frequency, the climatology: forecasts
    without resolution lie on the first. A point in the shaded area, nearer to the diagonal than to
    it, adds to the Brier skill score, one outside takes from it.

    Parameters
    ----------
    source : HTest, Predictions or array
        As for `reliability_diagram`.
    labels : (n,) or one-hot (n, m) array, optional
        Observed classes, where `source` holds probabilities.
    lens : str or Lens, optional
        A lens that leaves two classes.
    bins : int, default 10
        Number of bins.
    binning : {"uniform", "quantile"}
        Bins of equal width or of equal mass.
    scale : {"probability", "log-odds"}, default "probability"
        Of both axes; on log odds the lines bend.
    zoom : bool, default False
        Whether axes of probabilities are cut to the data, as in `reliability_diagram`.
    confidence : float, default 0.95
        Probability of the bars.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If the lens leaves more than two classes, or a result holds no predictions any more.

    References
    ----------
    Hsu, Murphy (1986), The attributes diagram: a geometrical framework for assessing the quality of
    probability forecasts, International Journal of Forecasting 2.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=500, m=2, alpha=1.0, rng=1)
    >>> ct.plots.attributes_diagram(data).get_xlabel()
    'predicted probability of 1'
    """
    view = seen(source, labels, lens, "an attributes diagram")
    options: dict[str, Any] = {"lens": lens, "bins": bins, "binning": binning}
    check_scale(scale, zoom=zoom)
    options |= {"confidence": confidence, "curve": None, "scale": scale, "zoom": zoom}
    ax = base.axes(ax, (TALL[0], TALL[1] + 0.4))
    reliability_diagram(source, labels, ax=ax, **options)
    weight = view.predictions.sample_weight
    rate = float(np.average(view.predictions.labels == 1, weights=weight))
    on = scale_of_diagram(RowsEvent(view.predictions), scale, zoom=zoom, bins=bins)
    line: dict[str, Any] = {"color": base.GREEN, "linewidth": base.THIN, "zorder": 2}
    ax.axhline(rate, linestyle=":", label="no resolution", **line)
    ax.axvline(rate, linestyle=":", **line)
    x = np.unique(np.append(on.edges(CELLS), np.clip(rate, on.low, on.high)))
    middle = (x + rate) / 2
    skill: dict[str, Any] = {"color": base.GREEN, "alpha": 0.12, "linewidth": 0, "zorder": 0.4}
    left, right = x <= rate, x >= rate
    ax.fill_between(x[left], on.low, middle[left], label="adds to the skill", **skill)
    ax.fill_between(x[right], middle[right], on.high, **skill)
    ax.plot(x, middle, linestyle="--", **line)
    base.legend_below(ax, right=base.inches(ax) > base.NARROW)
    return ax
