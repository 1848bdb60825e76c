"""The gaps of the worst segments, a row for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caltest import render, validation
from caltest.plots import base
from caltest.segments import Segment, SegmentsTest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST = 44


def segments(result: SegmentsTest, *, rows: int = 20, ax: Axes | None = None) -> Axes:
    """Draw what was observed less what was predicted in the worst segments, with intervals.

    A row for each, the worst first; its size and adjusted p-value are at the right. Segments that
    are rejected are filled where the result has a level.

    Parameters
    ----------
    result : SegmentsTest
        What `test_segments` returned.
    rows : int, default 20
        The most segments that are shown.
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

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> data = ct.datasets.generative_model("M1", n=400, m=2, rng=1)
    >>> ward = np.repeat(["a", "b", "c", "d"], 100)
    >>> result = ct.test_segments(data, segments={"ward": ward}, n_resamples=99, rng=1)
    >>> ct.plots.segments(result).get_xlabel()
    'observed - predicted, percentage points, 95 % intervals'
    """
    validation.check_instance(result, SegmentsTest, "result", "pass what ct.test_segments gave")
    validation.check_integer(rows, "rows")
    shown = result.rows[:rows]
    ax = base.axes(ax, (6.4, 1.1 + 0.26 * len(shown)))
    ax.axvline(0, color=base.GREY, linestyle=(0, (4, 3)), linewidth=base.THIN)
    for y, segment in enumerate(shown):
        filled = result.level is None or segment.adjusted <= result.level
        _mark(ax, segment, y, filled=filled)
    names = base.names_text((segment.definition for segment in shown), LONGEST)
    ax.set_yticks(range(len(shown)), names)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=base.PALE, linewidth=base.THIN / 2)
    ax.set_axisbelow(True)
    bars = f"{100 * result.confidence:g} % intervals"
    return base.label_axes(ax, f"observed - predicted, percentage points, {bars}", "")


def _mark(ax: Axes, segment: Segment, y: int, *, filled: bool) -> None:
    color = base.VERMILION if segment.gap > 0 else base.BLUE
    ax.plot([100 * segment.low, 100 * segment.high], [y, y], color=color, linewidth=base.LINE)
    face = color if filled else "white"
    ax.plot([100 * segment.gap], [y], "o", color=color, markerfacecolor=face, markersize=5)
    value = render.pvalue(segment.adjusted)
    text = f"n = {segment.n}, p {value if value.startswith('<') else f'= {value}'}"
    ax.text(1.02, y, text, transform=ax.get_yaxis_transform(), va="center", fontsize=base.SMALL)
