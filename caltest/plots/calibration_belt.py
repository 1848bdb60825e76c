"""The GiViTI calibration belt."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Any

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable
from caltest.measures.recalibration.belt import CalibrationBeltCurve, Intervals
from caltest.measures.recalibration.belt import calibration_belt_curve as belt_of
from caltest.plots import base
from caltest.plots.scales import FINEST, Scale, check_scale, scale_for
from caltest.results import HTest, htest
from caltest.types import Axes

SHADES = (0.55, 0.82)  # grey of the narrowest belt and of the widest
WIDE = (6.6, 4.2)  # inches, with room for a legend at the right
SHOWN = 3  # intervals of a level
OUTSIDE = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}  # a legend beside the axes
AXES, LEGEND_WIDTH, LINE_HEIGHT = 3.6, 2.0, 0.16  # inches


def calibration_belt(
    belt: CalibrationBeltCurve | HTest,
    *,
    scale: str = "probability",
    zoom: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw the GiViTI calibration belt.

    Where the belt leaves the diagonal, the predictions are not calibrated at its confidence level:
    too low where it lies above, too high where it lies below. The legend lists these intervals.

    Parameters
    ----------
    belt : CalibrationBeltCurve or HTest
        The value of `ct.measures.calibration_belt_curve`, or the result of the test
        "calibration-belt", whose p-value is shown then.
    scale : {"probability", "log-odds"}, default "probability"
        Of both axes.
    zoom : bool, default True
        Whether axes of probabilities are cut to the half of the unit square that holds the belt,
        if one does.
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
        If the result is that of another test, or has no predictions any more.

    References
    ----------
    Nattino, Finazzi, Bertolini (2014), A new calibration test and a reappraisal of the calibration
    belt, Statistics in Medicine 33.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=500, m=2, alpha=1.0, rng=2)
    >>> ax = ct.plots.calibration_belt(ct.measures.calibration_belt_curve(data))
    >>> [text.get_text() for text in ax.get_legend().get_texts()][-1]
    'diagonal'
    """
    check_scale(scale, zoom=zoom)
    found: Any = belt
    if isinstance(belt, HTest):
        evidence = htest.required(belt, "the calibration belt")
        measure = evidence.measure
        if measure.plot_kind(m=2) != "belt":
            rule = "the calibration belt belongs to the test 'calibration-belt', not"
            remedy = "run that test, or pass ct.measures.calibration_belt_curve(...)"
            raise NotApplicable(f"{rule} {belt.test!r}", remedy)
        options = {option.name: getattr(measure, option.name) for option in fields(measure)}
        found = belt_of(evidence.predictions, lens=evidence.lens, **options)
    remedy = "pass ct.measures.calibration_belt_curve(...)"
    curve = checks.check_instance(found, CalibrationBeltCurve, "belt", remedy)
    labels = []
    for level, above, below in zip(curve.levels, curve.above, curve.below, strict=True):
        text = f"{100 * level:g} %:" + ("" if above or below else " holds the diagonal")
        text += f"\n  above at {_listed(above)}" if above else ""
        labels.append(text + (f"\n  below at {_listed(below)}" if below else ""))
    side = AXES if ax is None else min(AXES, base.inches(base.axes(ax)))
    drawn = np.concatenate([curve.grid, curve.lower.ravel(), curve.upper.ravel()])
    least, most = float(drawn.min()), float(drawn.max())
    on = scale_for(drawn, scale, zoom=False, finest=min(FINEST, 0.5 / curve.n))
    if scale != "log-odds" and zoom and not least <= 0.5 <= most:  # the half that holds the belt
        on = Scale(scale, *((0.0, 1.06 * most) if most < 0.5 else (1 - 1.06 * (1 - least), 1.0)))
    place = _place(curve, on, sum(label.count("\n") + 1 for label in labels), side)
    ax = base.axes(ax, WIDE if "bbox_to_anchor" in place else base.SIZE)
    on.apply(ax)
    ends = [on.low, on.high]
    ax.plot(ends, ends, color=base.BLACK, linestyle=(0, (4, 3)), linewidth=1, label="diagonal")
    greys = np.linspace(*SHADES, len(curve.levels))
    for i in reversed(range(len(curve.levels))):
        x, low, high = (on.place(v) for v in (curve.grid, curve.lower[i], curve.upper[i]))
        ax.fill_between(x, low, high, color=f"{greys[i]:.3f}", linewidth=0, label=labels[i])
        for edge in (low, high):
            ax.plot(x, edge, color=base.BLACK, linewidth=base.THIN / 2)
    title = f"{base.pvalue_text(belt)}, n = {curve.n:,}, polynomial of degree {curve.degree}"
    base.label_axes(ax, "predicted probability", "probability of the event", title)
    handles, names = ax.get_legend_handles_labels()
    base.legend(ax, handles=handles[::-1], labels=names[::-1], **place)
    return ax


def _listed(intervals: Intervals) -> str:
    """List intervals with three digits of their upper ends."""
    places = [max(2, 2 - math.floor(math.log10(high))) for _, high in intervals]
    pairs = zip(intervals[:SHOWN], places, strict=False)
    shown = [f"{low:.{digits}f} to {high:.{digits}f}" for (low, high), digits in pairs]
    return ", ".join(shown) + (", ..." if len(intervals) > SHOWN else "")


def _place(belt: CalibrationBeltCurve, on: Scale, lines: int, side: float) -> dict[str, Any]:
    """Place the legend in a corner off the diagonal, or beside the axes where neither has room.

    The axes have sides of so many inches.
    """
    if on.is_log_odds:
        return OUTSIDE
    low, high = on.low, on.high
    scale = (high - low) / side
    width, height = LEGEND_WIDTH * scale, LINE_HEIGHT * (lines + 2) * scale
    right, left = belt.grid >= high - width, belt.grid <= low + width
    below = np.min(belt.lower[-1][right], initial=high - width) - low
    above = high - np.max(belt.upper[-1][left], initial=low + width)
    if max(below, above) < height:
        return OUTSIDE
    return {"loc": "lower right" if below > above else "upper left"}
