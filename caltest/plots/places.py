"""Gaps of groups and segments, and default rates of grades."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from caltest import checks, render
from caltest.errors import invalid
from caltest.measures import REGISTRY
from caltest.measures.gap import Gap
from caltest.measures.outcome import Ends
from caltest.plots import base
from caltest.results import GroupsTest, HTest, HTestTable
from caltest.results.table import LIGHTS
from caltest.segments import Segment, SegmentsTest
from caltest.types import Axes, Flags, Floats

Row = tuple[str, Gap | Segment, float]  # name, gap and p-value

LIMITS = ((1.9600, "95 %"), (3.0902, "99.8 %"))  # of the normal distribution, Spiegelhalter's


NAMED = 8  # groups of a funnel that are named


CLEAR = 0.05  # adjusted p-value up to which a group is named where there is no level


LEAST = 0.1  # percentage points to either side, where predictions are 0 and 1


ROOM = 1.12  # around what is drawn


PIXELS = 5000  # groups from which on points are drawn as pixels of an image in files of vectors


def groups(
    result: GroupsTest, *, kind: str = "funnel", rows: int = 20, ax: Axes | None = None
) -> Axes:
    r"""Draw how far observed shares are from mean predictions in very many groups.

    The funnel has a point for each group: observed less predicted, against the number of rows with
    the mean variance of a label that have the precision of the group,

    .. math:: \bar v / \mathrm{sd}^2, \quad \bar v = \sum_g n_g^2 \mathrm{sd}_g^2 / \sum_g n_g,

    with sd the standard deviation of the gap if the predictions are calibrated. Where groups have
    the same mix of predictions that is their number of rows. So the control limits
    :math:`\pm 1.96 \sqrt{\bar v / n}` and :math:`\pm 3.09 \sqrt{\bar v / n}` are the same curves
    for all: about one calibrated group in 20 is outside of the inner ones, and one in 500 outside
    of the outer ones, by the normal distribution, which is rough where events are few. They do not
    decide: groups whose adjusted p-value is at most the level, or 0.05 where the result has none,
    are filled, and the worst of them named.

    "gaps" has a row for each of the worst groups, with the 95 % interval of its gap, its number of
    rows and its adjusted p-value.

    Parameters
    ----------
    result : GroupsTest
        What `test_calibration` returned for very many groups.
    kind : {"funnel", "gaps"}, default "funnel"
        Which.
    rows : int, default 20
        The most groups that "gaps" shows.
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

    References
    ----------
    Spiegelhalter (2005), Funnel plots for comparing institutional performance, Statistics in
    Medicine 24, sections 2 and 3.

    Examples
    --------
    >>> import caltest as ct
    >>> import numpy as np
    >>> import polars as pl
    >>> rng = np.random.default_rng(1)
    >>> shop, p = np.arange(60_000) % 600, rng.uniform(0.1, 0.4, 60_000)
    >>> y = rng.random(60_000) < p + 0.3 * (shop == 17)
    >>> frame = pl.DataFrame({"shop": shop, "p": p, "y": y})
    >>> result = ct.test_calibration(
    ...     None, frame, label="y", probs="p", by="shop", engine="cells", level=0.05, rng=1
    ... )
    >>> ax = ct.plots.groups(result)
    >>> [text.get_text() for text in ax.texts]
    ['17']
    """
    remedy = "pass what ct.test_calibration gave for very many groups, or use ct.plots.pvalues"
    checks.check_instance(result, GroupsTest, "result", remedy)
    checks.check_choice(kind, ("funnel", "gaps"), "kind")
    checks.check_integer(rows, "rows")
    if kind == "gaps":
        shown = [(gap.name, gap, float(gap.pvalue or 0.0)) for gap in result.worst(rows)]
        return _draw_gaps(shown, result.level, ax, "95 % intervals")
    ax = base.axes(ax, (6.0, 4.2))
    size, sd = result.sizes.astype(np.float64), result.deviation
    variance = float(np.square(size * sd).sum() / size.sum())
    varied = sd > 0
    x = np.where(varied, variance / np.square(np.where(varied, sd, 1.0)), size)
    gap = 100.0 * result.gap
    level = CLEAR if result.level is None else result.level
    clear = result.adjusted <= level
    ends = float(x.min()) / 1.2, float(x.max()) * 1.2
    ax.axhline(0, color=base.GREY, linewidth=base.THIN)
    n = np.geomspace(*ends, 201)
    for (z, name), ls in zip(LIMITS, ((0, (4, 3)), "-"), strict=True):  # and the control limits
        reach = 100.0 * z * np.sqrt(variance / n)
        line: dict[str, Any] = {"color": base.BLACK, "lw": base.THIN, "ls": ls, "zorder": 1}
        ax.plot(n, -reach, **line)
        ax.plot(n, reach, label=f"control limits, {name}", **line)
    is_image = len(result) >= PIXELS
    for some, face, edge, order in (
        (~clear, "none", base.GREY, 2),
        (clear & (gap >= 0), base.VERMILION, base.VERMILION, 3),
        (clear & (gap < 0), base.BLUE, base.BLUE, 3),
    ):
        style: dict[str, Any] = {"mfc": face, "mec": edge, "mew": base.THIN, "zorder": order}
        style |= {"ms": 3.5, "rasterized": True} if is_image else {"ms": 4.0}
        ax.plot(x[some], gap[some], "o", alpha=0.35 if is_image and order == 2 else 1.0, **style)
    ax.set_xscale("log")
    ax.set_xlim(*ends)
    # All points, and the inner limits of the smallest group.
    limit = max(float((100.0 * LIMITS[0][0] * np.sqrt(variance / x)).max()), LEAST)
    low, high = min(float(gap.min()), -limit), max(float(gap.max()), limit)
    ax.set_ylim(max(ROOM * low, -100.0), min(ROOM * high, 100.0))
    _numbers(ax)
    _name(ax, result, x, gap, clear)
    base.legend(ax, loc="best")
    count, y = int(np.count_nonzero(clear)), "observed - predicted, percentage points"
    title = f"{count:,} of {len(result):,} {result.kind}s with adjusted p $\\leq$ {level:g}"
    return base.label_axes(ax, "number of rows, of mean variance", y, title)


def _numbers(ax: Axes) -> None:
    """Write numbers of rows out; between powers of ten where there are few of these."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    def plain(value: float, _: object) -> str:
        return f"{value:,.0f}" if value >= 1 else f"{value:g}"

    def some(value: float, _: object) -> str:
        first = value / 10.0 ** np.floor(np.log10(value) + 1e-9)
        return plain(value, None) if decades < 0.5 or round(first) in (2, 5) else ""

    low, high = ax.get_xlim()
    decades = float(np.log10(high / low))
    ax.xaxis.set_major_formatter(FuncFormatter(plain))
    ax.xaxis.set_minor_formatter(FuncFormatter(some) if decades < 1.5 else NullFormatter())
    ax.tick_params(which="minor", labelsize=base.SMALL)


def _name(ax: Axes, result: GroupsTest, x: Floats, gap: Floats, clear: Flags) -> None:
    """Name the worst groups beside their points, where there is room."""
    worst = [int(g) for g in result.order if clear[g]][:NAMED]
    points = ax.transData.transform(np.column_stack([x, gap])) * 72.0 / ax.figure.dpi
    edge = ax.get_window_extent().x1 * 72.0 / ax.figure.dpi
    taken = [(px - 3, px + 3, py - 3, py + 3) for px, py in points[worst]]
    for own, g in enumerate(worst):
        name = base.name_text(result.name(g))
        width = 0.6 * base.SMALL * len(name)
        for side, up in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
            px, py = points[g] + (6 * side, 3 * up)
            box = (*sorted((px, px + side * width)), *sorted((py, py + up * base.SMALL)))
            others = taken[:own] + taken[own + 1 :]
            if box[1] > edge or any(base.overlap(box, other) for other in others):
                continue
            style: dict[str, Any] = {"ha": "left" if side > 0 else "right", "zorder": 4}
            style["va"] = "bottom" if up > 0 else "top"
            base.note(ax, name, (x[g], gap[g]), (5 * side, 2 * up), **style)
            taken.append(box)
            break


LONGEST = 44


def _draw_gaps(rows: Sequence[Row], level: float | None, ax: Axes | None, intervals: str) -> Axes:
    """Draw named gaps, the first at the top, with sizes and p-values at the right."""
    shown = []
    for name, one, pvalue in rows:
        gap, low, high = (100 * value for value in (one.gap, one.low, one.high))
        text = f"n = {one.n:,}, p {render.equals(render.pvalue(pvalue))}"
        color = base.VERMILION if one.gap > 0 else base.BLUE
        is_filled = level is None or pvalue <= level
        shown.append(base.Difference(name, gap, low, high, text, is_filled, color))
    ax = base.differences(ax, shown, 6.4, LONGEST)
    return base.label_axes(ax, f"observed - predicted, percentage points, {intervals}", "")


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
    checks.check_instance(result, SegmentsTest, "result", "pass what ct.test_segments gave")
    checks.check_integer(rows, "rows")
    shown = [(segment.definition, segment, segment.adjusted) for segment in result.rows[:rows]]
    return _draw_gaps(shown, result.level, ax, f"{100 * result.confidence:g} % intervals")


# ---- The default rates of rating grades against their predictions -------------------------------

# The colours of traffic lights, as the colour-blind tell them apart, and a marker for each.
COLOURS = dict(zip(LIGHTS, (base.GREEN, base.YELLOW, base.ORANGE, base.VERMILION), strict=True))
MARKS = dict(zip(LIGHTS, ("o", "^", "s", "X"), strict=True))
GRADES_TO_TURN_NAMES = 12  # grades from which on their names stand upright
INTERVALS = {
    "jeffreys": "Jeffreys",
    "binomial": "Clopper-Pearson",
    "normal": "Wilson",
    "vasicek": "Vasicek",
}
WIDTH = 0.36  # half the length of the mark of a PD


def master_scale(table: HTestTable, *, confidence: float = 0.9, ax: Axes | None = None) -> Axes:
    r"""Draw the observed default rate of each grade with an interval, and its PD.

    The interval is that of the test: of the PDs that it does not reject. "jeffreys" has the
    quantiles of :math:`Beta(d + 1/2, n - d + 1/2)` for d defaults of n obligors, with the lower end
    0 for d = 0 and the upper end 1 for d = n; "vasicek" a wider one, since defaults are correlated.
    At the default level, where d > 0, its lower end is above the PD if and only if the p-value of
    the one-sided test is below 5 %. Colours and markers are the traffic lights of the table.

    Parameters
    ----------
    table : HTestTable
        What `test_master_scale` returns; of several tests the first gives lights and intervals.
    confidence : float, default 0.9
        Of the intervals.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes, with a logarithmic scale of rates. Grades without defaults are marked at its
        lower end.

    Raises
    ------
    InvalidInput
        If the table is not of a master scale.

    References
    ----------
    Brown, Cai, DasGupta (2001), Interval estimation for a binomial proportion, section 3.1.3.

    Examples
    --------
    >>> import caltest as ct
    >>> table = ct.test_master_scale(
    ...     [0.001, 0.01, 0.05], [1, 30, 55], [1000, 2000, 1000], grades=["A", "B", "C"]
    ... )
    >>> ax = ct.plots.master_scale(table)
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['A', 'B', 'C']
    """
    checks.check_instance(table, HTestTable, "table", "pass the result of test_master_scale")
    level = checks.check_confidence(confidence)
    if not is_master_scale(table):
        rule = "table must be the result of test_master_scale"
        remedy = "use the plot 'pvalues' for other tables"
        raise invalid(rule, "rows without PD and defaults", remedy)
    first: dict[str, tuple[HTest, str]] = {}  # row of each grade, with its light
    for row, light in zip(table.rows, table.traffic_lights or ("",) * len(table), strict=True):
        first.setdefault(repr(row.group), (row, light))
    rows, lights = map(list, zip(*first.values(), strict=True))
    pd = np.array([row.parameters["PD"] for row in rows], dtype=np.float64)
    rate = np.array([row.estimate for row in rows])
    ends = [_grade_interval(row, level) for row in rows]
    low, high = np.array([(own.low, own.high) for own in ends]).T
    ax = base.axes(ax, (max(5.0, 1.4 + 0.42 * len(rows)), 3.8))
    values = np.concatenate([pd, rate, high])  # half a decade is left below the least but 0
    floor, top = float(values[values > 0].min()) / 3, min(float(values.max()) * 1.5, 1.2)
    x = np.arange(len(rows), dtype=np.float64)
    ax.vlines(x, np.maximum(low, floor), high, color=base.GREY, linewidth=base.LINE)
    line: dict[str, Any] = {"color": base.BLACK, "linewidth": 2.2, "clip_on": False}
    ax.hlines(np.maximum(pd, floor), x - WIDTH, x + WIDTH, label="PD", **line)
    dots: dict[str, Any] = {"s": 42, "edgecolor": base.BLACK, "linewidth": 0.6, "zorder": 3}
    for light in (*LIGHTS, ""):
        mask = np.array([own == light for own in lights])
        if mask.any():
            color, mark = COLOURS.get(light, base.BLUE), MARKS.get(light, "o")
            dots |= {"color": color, "marker": mark, "label": light or "observed"}
            ax.scatter(x[mask], np.maximum(rate, floor)[mask], clip_on=False, **dots)
    ax.set_yscale("log")
    ax.set(xlim=(-0.7, len(rows) - 0.3), ylim=(floor, top))
    names = base.names_text([row.group for row in rows], 16)
    is_crowded = len(names) > GRADES_TO_TURN_NAMES or max(map(len, names)) * len(names) > 60
    ax.set_xticks(x, names, rotation=90 if is_crowded else 0)
    decades, span = range(int(np.floor(np.log10(floor))), 1), float(np.log10(top / floor))
    steps = (1, 2, 5) if span < 2.5 else (1, 3) if span < 5 else (1,)
    ticks = [step * 10.0**k for k in decades for step in steps]
    ticks = [tick for tick in ticks if floor <= tick <= min(top, 1.0)]
    ax.set_yticks(ticks, [f"{100 * tick:.6g} %" for tick in ticks])
    ax.set_yticks([], minor=True)
    outside = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 6, "borderaxespad": 0.2}
    outside |= {"handletextpad": 0.4, "columnspacing": 1.0}
    base.legend(ax, **outside)
    name = "grade (mark at the bottom: no default)" if (rate == 0).any() else "grade"
    interval = f"{100 * level:g} % {INTERVALS[rows[0].test]} interval"
    return base.label_axes(ax, name, f"default rate, {interval}")


def _grade_interval(row: HTest, level: float) -> Ends:
    """Return the interval of a grade, of which a table that was read from JSON has numbers only."""
    given = [row.parameters[key] for key in ("asset class", "correlation") if key in row.parameters]
    options = {"correlation": given[0]} if given else {}
    measure: Any = REGISTRY[row.test](**options)
    ends: Ends = measure.grade_interval(round(row.estimate * row.n), row.n, level=level)
    return ends


def is_master_scale(table: HTestTable) -> bool:
    """Tell a table of rating grades by its rows."""
    return all("PD" in row.parameters and row.estimate_name == "default rate" for row in table)
