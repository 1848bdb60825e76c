"""Gaps with intervals, a row for each: of segments, and of very many groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from caltest import render
from caltest.plots import base

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONGEST = 44


class GapRow(NamedTuple):
    """What was observed less what was predicted in some rows of the data.

    Attributes
    ----------
    name : str
        Which.
    low, gap, high : float
        The gap within its interval.
    n : int
        Their number.
    pvalue : float
        Adjusted.
    is_filled : bool
        Whether its mark is.
    """

    name: str
    low: float
    gap: float
    high: float
    n: int
    pvalue: float
    is_filled: bool


def draw_rows(shown: Sequence[GapRow], ax: Axes | None, intervals: str) -> Axes:
    """Draw the gaps, the first at the top, with sizes and p-values at the right."""
    ax = base.axes(ax, (6.4, 1.1 + 0.26 * len(shown)))
    ax.axvline(0, color=base.GREY, linestyle=(0, (4, 3)), linewidth=base.THIN)
    for y, row in enumerate(shown):
        _mark(ax, row, y)
    names = base.names_text((row.name for row in shown), LONGEST)
    ax.set_yticks(range(len(shown)), names)
    ax.set_ylim(len(shown) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=base.PALE, linewidth=base.THIN / 2)
    ax.set_axisbelow(True)
    return base.label_axes(ax, f"observed - predicted, percentage points, {intervals}", "")


def _mark(ax: Axes, row: GapRow, y: int) -> None:
    color = base.VERMILION if row.gap > 0 else base.BLUE
    ax.plot([100 * row.low, 100 * row.high], [y, y], color=color, linewidth=base.LINE)
    face = color if row.is_filled else "white"
    ax.plot([100 * row.gap], [y], "o", color=color, markerfacecolor=face, markersize=5)
    value = render.pvalue(row.pvalue)
    text = f"n = {row.n}, p {value if value.startswith('<') else f'= {value}'}"
    ax.text(1.02, y, text, transform=ax.get_yaxis_transform(), va="center", fontsize=base.SMALL)
