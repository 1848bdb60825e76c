"""The witness of a kernel test: where, and in which direction, predictions are not calibrated."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special

from caltest import checks, render
from caltest.plots import base, scales
from caltest.results import HTest, Witness
from caltest.types import Axes

ROWS = 20
COLUMNS = 10
STRIP, STRIP_BINS = 0.07, 50  # the height of the histogram, of that of the axes
ROOM_FOR_NUMBER = 30.0  # points for a number in a cell
NARROW = 3.2  # inches, below which the entries of the legend stand in a column
POINTS = 201
LEAST_POINTS = 1.0  # percentage points that the axis shows at least
BAR = 5.0  # points across the only prediction of constant ones
REACH = 0.05  # probability that some cell of a calibrated model is coloured
UNDER, OVER = "under-predicted", "over-predicted"


def witness(
    result: HTest | Witness,
    *,
    bins: int = COLUMNS,
    rows: int = ROWS,
    scale: str = "probability",
    zoom: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw where the predictions are not calibrated, and in which direction.

    For two classes, the gap between what happened and what was predicted in percentage points,
    smoothed by the kernel of the test, with the band in which the whole curve of a calibrated model
    lies with probability 95 % (`Witness.gap_curve`): above it the event happens more often than
    predicted, below it less often. The strip at the bottom shows how many predictions there are.
    For more classes, a map of classes by predicted probability: colour and number of a region are
    its gap in percentage points, and regions stay white whose gap is within what a calibrated model
    shows in all regions at once with probability 95 % (a normal limit with Sidak's factor).

    Parameters
    ----------
    result : HTest or Witness
        The result of a kernel test ("skce", "kce", "mmce", ...), or its `witness()`.
    bins : int, default 10
        Ranges of the predicted probability, for more than two classes.
    rows : int, default 20
        The most classes that are shown, those that add most to the SKCE.
    scale : {"probability", "log-odds"}, default "probability"
        Of the predictions of two classes.
    zoom : bool, default False
        Whether their axis is cut to the ranges that hold predictions, where these fill up to 60 %
        of it.
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
    checks.check_count(bins, minimum=2)
    checks.check_integer(rows, "rows")
    scales.check_scale(scale, zoom=zoom)
    found = result.witness() if isinstance(result, HTest) else result
    checks.check_instance(found, Witness, "result", "pass the result of a kernel test")
    if len(found.classes) == 2:
        ax = _curve(found, scale, ax, zoom=zoom)
    else:
        ax = _map(found, bins, rows, ax)
    if isinstance(result, HTest):
        own = f"{base.pvalue_text(result)} ({base.name_text(result.test)})"
        title = ", ".join(filter(None, [own, ax.get_title(loc="left")]))
        ax.set_title(title, fontsize=base.TEXT, loc="left")
    return ax


def _curve(found: Witness, scale: str, ax: Axes | None, *, zoom: bool) -> Axes:
    """Draw the gap in percentage points, with what calibrated predictions would show."""
    ax = base.axes(ax)
    curve = found.gap_curve(POINTS)
    regions = found.regions(STRIP_BINS)  # those with rows
    low, high = np.transpose([(one.low, one.high) for one in regions])
    on = scales.scale_for(np.append(low, high), scale, zoom=zoom, finest=0.5 / STRIP_BINS)
    x, gap, limit = on.place(curve.x), 100 * curve.gap, 100 * curve.limit
    ax.axhline(0.0, color=base.GREY, linewidth=base.THIN)
    name = f"{100 * curve.level:g} % if calibrated, simultaneous"
    wide = 0.0 if np.ptp(x) > 0 else BAR  # where all predictions are one
    ax.fill_between(x, -limit, limit, color=base.PALE, linewidth=wide, zorder=1, label=name)
    ax.plot(x, gap, "o" if wide else "-", color=base.BLACK, linewidth=base.LINE, zorder=3)
    shade: dict[str, Any] = {"alpha": 0.5, "linewidth": wide, "zorder": 2}
    if (gap > limit).any():
        ax.fill_between(x, limit, gap, where=gap > limit, color=base.BLUE, label=UNDER, **shade)
    if (gap < -limit).any():
        over: dict[str, Any] = {"facecolor": base.VERMILION, "edgecolor": base.VERMILION}
        over |= {"hatch": "////", "label": OVER}
        ax.fill_between(x, gap, -limit, where=gap < -limit, **over, **shade)
    # How many predictions there are, at the bottom.
    low, high = on.place(low), on.place(high)
    share = np.array([one.n for one in regions]) / max(one.n for one in regions)
    strip: dict[str, Any] = {"transform": ax.get_xaxis_transform(), "label": "predictions"}
    ax.bar(low, STRIP * share, width=high - low, align="edge", color=base.GREY, **strip)
    inner = np.abs(limit) <= 4 * np.median(limit)
    largest = max(LEAST_POINTS, 1.1 * float(np.abs(gap).max()), 1.1 * float(limit[inner].max()))
    wide = base.inches(ax) > NARROW
    on.apply(ax, "x")
    ax.set(ylim=(-1.15 * largest, (1.3 if wide else 1.6) * largest))
    base.legend(ax, loc="upper center", ncols=2 if wide else 1, columnspacing=1.2)
    y = "observed less predicted, percentage points"
    return base.label_axes(ax, f"predicted probability of {base.name_text(found.classes[1])}", y)


def _map(found: Witness, bins: int, rows: int, ax: Axes | None) -> Axes:
    """Draw the gaps of classes by predicted probability, and their parts of the SKCE."""
    from matplotlib.colors import FuncNorm, LinearSegmentedColormap, ListedColormap

    worst = found.by_class()
    shown = worst[:rows]
    # Gaps in points, NaN where no rows are, and which are more than chance in any cell.
    place = {region.name: i for i, region in enumerate(shown)}
    gaps, noise = np.full((len(shown), bins), np.nan), np.zeros((len(shown), bins))
    regions = found.regions(bins)
    for region in regions:
        row, j = place.get(region.name), round(region.low * bins)
        if row is not None:
            gaps[row, j], noise[row, j] = 100 * region.gap, 100 * region.noise
    each = 1.0 - (1.0 - REACH) ** (1.0 / len(regions))
    limit = float(special.ndtri(1.0 - each / 2)) * noise
    beyond = ~np.isnan(gaps) & (np.abs(gaps) > limit)
    ax = base.axes(ax, (3.0 + 0.42 * bins, max(2.6, 1.7 + 0.24 * len(shown))))
    largest = max(LEAST_POINTS, float(np.abs(gaps[beyond]).max())) if beyond.any() else LEAST_POINTS
    edges = np.linspace(0.0, 1.0, bins + 1)
    places = np.arange(len(shown) + 1) - 0.5
    empty = np.where(np.isnan(gaps), 0.0, np.nan)
    grid: dict[str, Any] = {"edgecolors": base.PALE, "linewidth": 0.5}
    ax.pcolormesh(edges, places, empty, cmap=ListedColormap([base.PALE]), vmin=0, vmax=1, **grid)
    # From over- to under-prediction by the root, which keeps small parts visible beside large ones.
    colours = LinearSegmentedColormap.from_list("gap", [base.VERMILION, "white", base.BLUE])
    root = lambda x: np.sign(x) * np.sqrt(np.abs(x)), lambda x: np.sign(x) * np.square(x)
    grid |= {"cmap": colours, "norm": FuncNorm(root, -largest, largest)}
    image = ax.pcolormesh(edges, places, np.where(np.isnan(gaps) | beyond, gaps, 0.0), **grid)
    for i, j in np.argwhere(beyond).tolist():
        gap, x = gaps[i, j], (edges[j] + edges[j + 1]) / 2
        text = f"{gap:+.{0 if abs(gap) >= 9.95 else 1}f}"
        if 72 * base.inches(ax) / bins < ROOM_FOR_NUMBER:
            text = "+" if gap > 0 else "\N{MINUS SIGN}"
        color = base.ON_DARK if abs(gap) > 0.4 * largest else base.ON_PALE
        ax.text(x, i, text, ha="center", va="center", fontsize=base.SMALL - 1, color=color)
    ax.set_yticks(range(len(shown)), base.names_text([region.name for region in shown]))
    ax.tick_params(axis="y", length=0)
    for i, region in enumerate(shown):
        ax.text(1.01, i, render.number(region.contribution), va="center", fontsize=base.SMALL)
    ax.text(1.01, -0.62, "SKCE", va="bottom", fontsize=base.SMALL)
    ax.set(xlim=(0, 1), ylim=(len(shown) - 0.5, -0.5))
    bar = ax.figure.colorbar(image, ax=ax, pad=0.02, aspect=30)
    ticks = [-largest, -largest / 4, 0.0, largest / 4, largest]
    bar.set_ticks(ticks, labels=[f"{abs(tick):.2g}" for tick in ticks])
    bar.set_label(f"{OVER}  |  {UNDER}, points", fontsize=base.SMALL)
    bar.ax.tick_params(labelsize=base.SMALL)
    left = len(worst) - len(shown)
    title = f"the {len(shown)} of {len(worst)} classes with the largest parts" if left else ""
    if not beyond.any():
        title = ", ".join(filter(None, [title, "no gap beyond chance"]))
    return base.label_axes(ax, "predicted probability of the class (grey: none)", "", title)
