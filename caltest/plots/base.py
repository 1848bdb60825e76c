"""What all plots share: colours, sizes, axes, names, and the p-value in a corner.

Nothing here touches pyplot or rcParams: a figure that was not passed is made without either, so
that drawing has no state, needs no display and may run in several threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from os.path import commonprefix
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast
from weakref import WeakKeyDictionary

from caltest import checks, render
from caltest.results import HTest, sheets
from caltest.types import Axes

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

    from caltest.measures.recalibration.belt import CalibrationBeltCurve

Place = tuple[float, float]
Corner = Literal["upper left", "upper right", "lower left", "lower right"]

# Okabe and Ito's palette, told apart by the colour-blind. Where two of them meet in one plot their
# line styles or markers differ too, for prints in black and white.
BLACK, GREY, PALE = "0.1", "0.5", "0.85"
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, YELLOW = "#E69F00", "#56B4E9", "#F0E442"
ON_DARK, ON_PALE = "#fefefe", "#1b1b1b"  # text on coloured cells, the same in every theme
CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "0.35")
STYLES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

LINE, THIN = 1.6, 0.8  # points
TEXT, SMALL = 9.0, 7.5  # points
BAND = 0.25  # opacity
SIZE = (4.6, 4.2)  # inches
LONGEST_NAME = 24
NARROW = 2.4  # inches: axes in which less is written
BELOW = 32  # points from the axes to a legend under their names


def figure(size: tuple[float, float] = SIZE) -> Figure:
    """Make a figure of `size` inches whose parts keep clear of each other; notebooks show it."""
    from caltest.plots.shown import ShownFigure

    return ShownFigure(figsize=size, layout="constrained")


def axes(ax: Axes | None, size: tuple[float, float] = SIZE) -> Axes:
    """Return the axes given, or those of a new figure, in the house style."""
    if ax is None:
        ax = figure(size).add_subplot()
    else:
        from matplotlib.axes import Axes

        checks.check_instance(ax, Axes, "ax", "pass matplotlib axes, or leave it out")
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL, width=THIN)
    return ax


def inches(ax: Axes) -> float:
    """Return the width of axes before the layout makes room for what stands around them."""
    return float(ax.get_window_extent().width / ax.figure.dpi)


def label_axes(ax: Axes, x: str, y: str, title: str = "") -> Axes:
    """Name both axes; a title stays away where there is none."""
    ax.set_xlabel(x, fontsize=TEXT)
    ax.set_ylabel(y, fontsize=TEXT)
    if title:
        ax.set_title(title, fontsize=TEXT, loc="left")
    return ax


class Difference(NamedTuple):
    """A value with its interval, in a row of its own; None or infinite where there is none."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    text: str  # at the right
    is_filled: bool
    color: str = BLUE


def differences(
    ax: Axes | None, rows: Sequence[Difference], width: float, longest: int = LONGEST_NAME
) -> Axes:
    """Draw values with their intervals around a line at 0, a row for each, the first at the top."""
    ax = axes(ax, (width, 1.1 + 0.26 * len(rows)))
    ax.axvline(0, color=GREY, linestyle=(0, (4, 3)), linewidth=THIN)
    for y, (_, value, low, high, text, is_filled, color) in enumerate(rows):
        beside(ax, y, text)
        if value is None or not math.isfinite(value):
            continue
        if low is not None and high is not None:
            ax.plot([low, high], [y, y], color=color, linewidth=LINE)
        style: dict[str, Any] = {"color": color, "mfc": color if is_filled else "white"}
        ax.plot([value], [y], "o", zorder=4, markersize=5, **style)
    name_rows(ax, names_text((name for name, *_ in rows), longest))
    if not 1e-4 < max(map(abs, ax.get_xlim())) < 1e6:  # a power of ten would hit the text below
        ax.xaxis.set_major_formatter("{x:.3g}")
    return ax


def name_rows(ax: Axes, names: Sequence[str]) -> None:
    """Name the rows of a picture at the left, the first at the top, with vertical lines behind."""
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=PALE, linewidth=THIN / 2)
    ax.set_axisbelow(True)


def beside(ax: Axes, y: float, text: str) -> None:
    """Write a text at the right of a row."""
    ax.text(1.02, y, text, transform=ax.get_yaxis_transform(), va="center", fontsize=SMALL)


def named_handles(panels: Iterable[Axes]) -> dict[str, Artist]:
    """Return what the legend of several axes names, each name once."""
    named: dict[str, Artist] = {}
    for ax in panels:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    return named


def figure_of(given: object, size: tuple[float, float], remedy: str = "") -> Figure:
    """Return the figure or subfigure given, or a new one."""
    from matplotlib.figure import FigureBase

    if given is None:
        return figure(size)
    own: Any = checks.check_instance(given, FigureBase, "fig", remedy)
    return cast("Figure", own)


def band(ax: Axes, x: object, low: object, high: object, **style: Any) -> None:
    """Shade what lies between two curves, by default in pale blue."""
    ax.fill_between(x, low, high, **{"color": BLUE, "alpha": BAND, "linewidth": 0} | style)  # type: ignore[arg-type]


def legend(ax: Axes, **kwargs: Any) -> None:
    """Draw the legend without a frame, where anything has a label."""
    if ax.get_legend_handles_labels()[0]:
        ax.legend(**{"frameon": False, "fontsize": SMALL, "handlelength": 2.2} | kwargs)


def legend_below(ax: Axes, *, right: bool = False, columns: int = 1) -> None:
    """Draw the legend under the name of the x axis, by default one entry a line."""
    from matplotlib.transforms import ScaledTranslation

    below = ax.transAxes + ScaledTranslation(0, -BELOW / 72, ax.figure.dpi_scale_trans)
    style: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "ncols": columns}
    if right:
        style |= {"loc": "upper right", "bbox_to_anchor": (1.0, 0)}
        style |= {"borderaxespad": 0.0, "borderpad": 0.0}
    legend(ax, bbox_transform=below, **style)


def note(ax: Axes, text: str, at: Place, shift: Place, **style: Any) -> None:
    """Write a text some points beside a place."""
    given: dict[str, Any] = {"textcoords": "offset points", "fontsize": SMALL} | style
    ax.annotate(text, at, shift, **given)


def overlap(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether two boxes (left, right, low, high) have a place in common."""
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]


def pvalue_text(result: HTest | CalibrationBeltCurve | float) -> str:
    """Return the p-value as the prints show it, "p = 0.012" or "p < 1e-04"."""
    if isinstance(result, HTest):
        return f"$p$ {render.equals(sheets.pvalue_of(result))}"
    value = result if isinstance(result, float) else result.pvalue
    return f"$p$ {render.equals(render.pvalue(value))}"


def corner_text(ax: Axes, result: HTest | str, corner: Corner = "upper left") -> None:
    """Write a short text, or the p-value of a result, in a corner of the axes."""
    text = result if isinstance(result, str) else pvalue_text(result)
    vertical, horizontal = corner.split()
    place = (0.03 if horizontal == "left" else 0.97, 0.97 if vertical == "upper" else 0.03)
    box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    style: dict[str, Any] = {"ha": horizontal, "va": {"upper": "top", "lower": "bottom"}[vertical]}
    style |= {"xycoords": "axes fraction", "fontsize": SMALL, "bbox": box, "zorder": 10}
    ax.annotate(text, place, **style)


def name_text(name: object, limit: int = LONGEST_NAME) -> str:
    r"""Return a name of the user's as it can be drawn: one line, no mathematics, cut in the middle.

    Long names often differ at their ends.

    Examples
    --------
    >>> print(name_text("a class called $x$ and many other things", 24))
    a class call…ther things
    >>> print(name_text("$x$"))
    \$x\$
    """
    line = " ".join(str(name).split()) or "''"
    if len(line) > limit:
        end = (limit - 1) // 2
        line = f"{line[: limit - 1 - end].rstrip()}…{line[len(line) - end :].lstrip()}"
    return "".join(c if c.isprintable() else "?" for c in line).replace("$", r"\$")


def names_text(names: Iterable[object], limit: int = LONGEST_NAME) -> list[str]:
    """Return names as they can be drawn; of those that become equal what differs is shown.

    Where that is too long, they are numbered.

    Examples
    --------
    >>> names_text(["a class called 1", "a class called 2", "three"], 9)
    ['a cl…ed 1', 'a cl…ed 2', 'three']
    >>> names_text(["the dog we saw", "the cat we saw", "emu"], 9)
    ['the dog…', 'the cat…', 'emu']
    """
    whole = [" ".join(str(name).split()) for name in names]
    short = {name: name_text(name, limit) for name in whole}
    cut = list(short.values())
    same = [name for name in short if len(name) > limit and cut.count(short[name]) > 1]
    end = len(commonprefix([name[::-1] for name in same]))  # noqa: RUF071, these are letters
    starts = [max(0, len(name) - end - limit + 2) for name in same]  # what differs comes last
    own = [f"{'…' * bool(i)}{x[i : i + limit - 2]}…" for x, i in zip(same, starts, strict=True)]
    if len(set(own)) < len(own):
        own = [f"{whole.index(name) + 1}: {name}" for name in same]
    short |= {x: name_text(name, limit) for x, name in zip(same, own, strict=True)}
    return [short[name] for name in whole]


_TIPS: WeakKeyDictionary[Artist, tuple[str, ...]] = WeakKeyDictionary()


def set_tips(artist: Artist, texts: Sequence[str]) -> None:
    """Let each point of a scatter, or an artist as a whole, have a text."""
    _TIPS[artist] = tuple(texts)


def tips_of(figure: Figure) -> list[tuple[Artist, tuple[str, ...]]]:
    """Return the artists of a figure that have texts, with them."""
    found = figure.findobj(lambda artist: artist in _TIPS)
    return [(artist, _TIPS[artist]) for artist in dict.fromkeys(found)]
