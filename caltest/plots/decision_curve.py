"""Decision curves: the net benefit against the threshold of a decision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from caltest import validation
from caltest.lenses import Lens
from caltest.measures.scores.net_benefit import NetBenefit
from caltest.measures.scores.net_benefit import net_benefit as benefit_of
from caltest.plots import base
from caltest.plots.calibration_graphs import after_map
from caltest.plots.scales import check_scale, scale_for
from caltest.plots.seen import seen
from caltest.predictions import Predictions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from caltest.results import HTest

SIZE = (5.2, 4.0)
LOWEST = 0.3  # how far the axes reach below 0, as a share of what they show above


def decision_curve(
    predictions: Predictions | HTest,
    recalibrated: object = None,
    *,
    lens: str | Lens | None = None,
    thresholds: object = None,
    scale: str = "probability",
    confidence: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw the net benefit of treating by the predictions, beside treating all and none.

    At a threshold a decision by the model is worth its net benefit in true positives of each row,
    see `caltest.measures.net_benefit`. Where the curve is below that of treating all or none, the
    model does harm at that threshold.

    Parameters
    ----------
    predictions : Predictions or HTest
        The predictions, or the result of a test of them.
    recalibrated : Predictions or calibrator, optional
        What is drawn beside: predictions after recalibration, or a fitted map of the first ones.
    lens : str or Lens, optional
        One that leaves two classes.
    thresholds : (k,) array, optional
        Threshold probabilities; by default 0.01, 0.02, ... up to the largest prediction.
    scale : {"probability", "log-odds"}, default "probability"
        Of the thresholds.
    confidence : float, default 0.95
        Of the intervals, at each threshold by itself.
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
        If the lens leaves more than two classes, or a result has no predictions any more.

    References
    ----------
    Vickers, Elkin (2006), Decision curve analysis: a novel method for evaluating prediction models,
    Medical Decision Making 26.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", n=500, m=2, alpha=1.0, rng=1)
    >>> ct.plots.decision_curve(data).get_ylabel()
    'net benefit'
    """
    validation.check_confidence(confidence)
    check_scale(scale)
    view = seen(predictions, None, lens, "a decision curve")
    parts = [view.predictions]
    if recalibrated is not None:
        parts.append(view.lens(after_map(recalibrated, predictions)))
    if thresholds is None:
        largest = max(float(part.probs[:, 1].max()) for part in parts)
        thresholds = np.arange(1, max(2, min(99, int(100 * largest)) + 1)) / 100
    found = [benefit_of(part, thresholds=thresholds, confidence=confidence) for part in parts]
    ax = base.axes(ax, SIZE)
    names = ("before recalibration", "after recalibration") if len(parts) > 1 else ("model",)
    colors, styles = (base.BLUE, base.VERMILION), ("-", "--")
    for one, name, color, style in zip(found, names, colors, styles, strict=False):
        assert isinstance(one, NetBenefit)  # noqa: S101 - the lens of a view is no family
        _draw(ax, one, name, color=color, style=style)
    first = found[0]
    assert isinstance(first, NetBenefit)  # noqa: S101
    line: dict[str, Any] = {"linewidth": base.THIN * 1.5}
    ax.plot(first.threshold, first.treat_all, color=base.GREY, ls="-.", label="treat all", **line)
    ax.axhline(0.0, color=base.BLACK, linestyle=":", label="treat none", **line)
    top = max(float(part.high.max()) for part in found if isinstance(part, NetBenefit))
    ax.set(ylim=(-LOWEST * top, 1.05 * top) if top > 0 else None)
    if scale == "log-odds":
        scale_for(first.threshold, scale, zoom=False).apply(ax, "x")
    else:
        ax.set_xlim(float(first.threshold[0]), float(first.threshold[-1]) + 1e-9)
    base.legend(ax, loc="upper right")
    title = f"n = {first.n:,}, {100 * confidence:g} % intervals"
    return base.label_axes(ax, "threshold probability", "net benefit", title)


def _draw(ax: Axes, found: NetBenefit, name: str, *, color: str, style: str) -> None:
    band: dict[str, Any] = {"color": color, "alpha": base.BAND / 1.5, "linewidth": 0}
    ax.fill_between(found.threshold, found.low, found.high, **band)
    ax.plot(found.threshold, found.model, color=color, ls=style, linewidth=base.LINE, label=name)
