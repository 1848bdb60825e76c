"""A matrix as colours around zero, with names of classes and numbers where there is room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from caltest.plots import base

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

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
    if numbered:
        _write_numbers(ax, values, text, FROM_WHITE * largest)
    _name_ticks(ax, rows, columns)
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


def _write_numbers(ax: Axes, values: Floats, text: Callable[[float], str], dark: float) -> None:
    for (i, j), value in np.ndenumerate(values):
        color = base.ON_DARK if abs(value) > dark else base.ON_PALE
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": base.SMALL}
        ax.text(j, i, text(float(value)), color=color, **style)


def _name_ticks(ax: Axes, rows: Sequence[object], columns: Sequence[object]) -> None:
    """Write the names of rows and columns, and of many only some; the last may be of its own."""
    step = -(-len(rows) // NAMED)
    if step > 1:
        step = 5 * -(-step // 5)
    places = list(range(0, len(rows), step))
    ax.set_yticks(places, base.names_text([rows[i] for i in places], LONGEST_NAME))
    if len(columns) > len(rows):
        places = [*(i for i in places if i <= len(rows) - step / 2), len(columns) - 1]
    words = base.names_text([columns[i] for i in places], LONGEST_NAME)
    ax.set_xticks(places, words, rotation=90 if sum(map(len, words)) > ROOM else 0)
    ax.tick_params(labelsize=base.SMALL, length=0)
