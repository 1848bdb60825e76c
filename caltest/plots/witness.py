"""The witness of a kernel test: where, and in which direction, predictions are not calibrated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from caltest import render, validation
from caltest.plots import base
from caltest.results import HTest, Region, Witness

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize

Floats = NDArray[np.float64]

ROWS = 20
COLUMNS = 10
STRIP, STRIP_BINS = 0.07, 50  # the height of the histogram, of that of the axes
ROOM_FOR_NUMBER = 30.0  # points for a number in a cell
NARROW = 3.2  # inches, below which the entries of the legend stand in a column
UNDER, OVER = "under-predicted", "over-predicted"


def witness(
    result: HTest | Witness, *, bins: int = COLUMNS, rows: int = ROWS, ax: Axes | None = None
) -> Axes:
    """Draw where the predictions are not calibrated, and in which direction.

    For two classes, the witness function over the predicted probability: above 0 the event happens
    more often than predicted, below 0 less often. The strip at the bottom shows how many
    predictions there are. For more classes, a map of classes by predicted probability: the colour
    of a region is its part of the SKCE, the number in it the observed less the predicted
    frequency.

    Parameters
    ----------
    result : HTest or Witness
        The result of a kernel test ("skce", "kce", "mmce", ...), or its `witness()`.
    bins : int, default 10
        Ranges of the predicted probability, for more than two classes.
    rows : int, default 20
        The most classes that are shown, those that add most to the SKCE.
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
        If the test has no witness, or its result no predictions any more.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), Calibration tests in multi-class classification, NeurIPS,
    for the SKCE; Gretton et al. (2012), A kernel two-sample test, JMLR 13, section 2.3, for
    witnesses.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", rng=1)
    >>> ax = ct.plots.witness(ct.test_calibration(data, n_resamples=99, rng=1))
    >>> ax.get_xlabel()
    'predicted probability of the class (grey: none)'
    """
    validation.check_integer(bins, "bins", minimum=2)
    validation.check_integer(rows, "rows")
    found = result.witness() if isinstance(result, HTest) else result
    validation.check_instance(found, Witness, "result", "pass the result of a kernel test")
    ax = _curve(found, ax) if len(found.classes) == 2 else _map(found, bins, rows, ax)
    if isinstance(result, HTest):
        title = ", ".join(filter(None, [base.pvalue_text(result), ax.get_title(loc="left")]))
        ax.set_title(title, fontsize=base.TEXT, loc="left")
    return ax


def _curve(found: Witness, ax: Axes | None) -> Axes:
    ax = base.axes(ax)
    grid, values = found.curve(401)
    regions = found.regions(STRIP_BINS)
    ax.axhline(0.0, color=base.GREY, linewidth=base.THIN)
    # Where there are no predictions, the curve continues the kernel and nothing that was seen.
    ax.plot(grid, values, color=base.GREY, linewidth=base.THIN, linestyle="--")
    seen = (grid >= min(r.low for r in regions)) & (grid <= max(r.high for r in regions))
    ax.plot(grid[seen], values[seen], color=base.BLACK, linewidth=base.LINE)
    shade: dict[str, Any] = {"alpha": base.BAND, "interpolate": True}
    ax.fill_between(
        grid, values, where=seen & (values >= 0), color=base.BLUE, linewidth=0, label=UNDER, **shade
    )
    ax.fill_between(
        grid,
        values,
        where=seen & (values <= 0),
        facecolor=base.VERMILION,
        edgecolor=base.VERMILION,
        hatch="////",
        linewidth=0,
        label=OVER,
        **shade,
    )
    _strip(ax, regions)
    low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
    room, wide = high - low, base.inches(ax) > NARROW
    above = 0.2 if wide else 0.5
    ax.set(xlim=(-0.02, 1.02), ylim=(low - 0.15 * room, high + above * room))
    base.legend(ax, loc="upper center", ncols=3 if wide else 1, columnspacing=1.2)
    name = base.name_text(found.classes[1])
    return base.label_axes(ax, f"predicted probability of {name}", "witness $f(p)$")


def _strip(ax: Axes, regions: tuple[Region, ...]) -> None:
    """Draw how many predictions there are, at the bottom."""
    most = max(region.n for region in regions)
    ax.bar(
        [region.low for region in regions],
        [STRIP * region.n / most for region in regions],
        width=1 / STRIP_BINS,
        align="edge",
        color=base.GREY,
        transform=ax.get_xaxis_transform(),
        label="predictions",
    )


def _map(found: Witness, bins: int, rows: int, ax: Axes | None) -> Axes:
    worst = found.by_class()
    shown = worst[:rows]
    signed, gaps = _cells(found, [region.name for region in shown], bins)
    ax = base.axes(ax, (3.0 + 0.42 * bins, max(2.6, 1.5 + 0.24 * len(shown))))
    largest = float(np.nanmax(np.abs(signed))) or 1.0
    ax.set_facecolor(base.PALE)
    edges = np.linspace(0.0, 1.0, bins + 1)
    image = ax.pcolormesh(
        edges,
        np.arange(len(shown) + 1) - 0.5,
        signed,
        cmap=_colours(),
        norm=_root_scale(largest),
        edgecolors="white",
        linewidth=0.5,
    )
    room = 72 * base.inches(ax) / bins
    for i, j in np.argwhere(np.abs(signed) >= 0.01 * largest).tolist():
        ax.text(
            (edges[j] + edges[j + 1]) / 2,
            i,
            _gap_text(gaps[i, j], room),
            ha="center",
            va="center",
            fontsize=base.SMALL - 1,
            color=base.ON_DARK if abs(signed[i, j]) > 0.4 * largest else base.ON_PALE,
        )
    _name_rows(ax, shown)
    ax.set_xlim(0, 1)
    bar = ax.figure.colorbar(image, ax=ax, pad=0.02, aspect=30)
    ticks = [-largest, -largest / 4, 0.0, largest / 4, largest]
    bar.set_ticks(ticks, labels=[f"{abs(tick):.2g}" for tick in ticks])
    bar.set_label(f"{OVER}  |  {UNDER}", fontsize=base.SMALL)
    bar.ax.tick_params(labelsize=base.SMALL)
    left = len(worst) - len(shown)
    title = f"the {len(shown)} of {len(worst)} classes with the largest parts" if left else ""
    return base.label_axes(ax, "predicted probability of the class (grey: none)", "", title)


def _gap_text(gap: float, room: float) -> str:
    """Write a gap, or its sign alone where a cell has no room for it (in points)."""
    if room < ROOM_FOR_NUMBER:
        return "+" if gap > 0 else "\N{MINUS SIGN}"
    return f"{gap:+.{2 if abs(gap) >= 0.005 else 3}f}"


def _cells(found: Witness, names: list[object], bins: int) -> tuple[Floats, Floats]:
    """Return the parts of the SKCE with the sign of the gap, and gaps; NaN where no rows are."""
    place = {name: i for i, name in enumerate(names)}
    signed, gaps = np.full((2, len(names), bins), np.nan)
    for region in found.regions(bins):
        i, j = place.get(region.name), round(region.low * bins)
        if i is not None:
            # A part below 0 is noise around 0.
            signed[i, j] = np.sign(region.gap) * max(region.contribution, 0.0)
            gaps[i, j] = region.gap
    return signed, gaps


def _name_rows(ax: Axes, shown: tuple[Region, ...]) -> None:
    """Write the classes at the left and their parts of the SKCE at the right."""
    ax.set_yticks(range(len(shown)), base.names_text([region.name for region in shown]))
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    for i, region in enumerate(shown):
        ax.text(1.01, i, render.number(region.contribution), va="center", fontsize=base.SMALL)
    ax.text(1.01, -0.62, "SKCE", va="bottom", fontsize=base.SMALL)


def _root_scale(largest: float) -> Normalize:
    """Colour by the root, which keeps small parts visible beside large ones."""
    from matplotlib.colors import FuncNorm

    def root(x: Floats) -> Floats:
        return np.sign(x) * np.sqrt(np.abs(x))

    def square(x: Floats) -> Floats:
        return np.sign(x) * np.square(x)

    return FuncNorm((root, square), -largest, largest)


def _colours() -> Colormap:
    """From over- to under-prediction, white where there is neither."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("gap", [base.VERMILION, "white", base.BLUE])
