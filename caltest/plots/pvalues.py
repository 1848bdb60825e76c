"""P-values and errors of several tests, the null distribution of one, and e-values over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from caltest import checks, render
from caltest.errors import NotApplicable, invalid
from caltest.monitoring import Monitor
from caltest.plots import base
from caltest.results import HTest, HTestTable, sheets
from caltest.types import Axes, Flags, Floats, Order

ROWS = 40
SMALLEST_PVALUE = 1e-4  # smaller p-values are drawn there, as the prints show them
LIMITS = (6e-5, 1.3)


def pvalues(table: HTestTable, *, rows: int = ROWS, ax: Axes | None = None) -> Axes:
    """Draw the p-values of a table of tests, before and after adjustment.

    A row for each test, lens or group, and under a line the tests of all groups together. Small
    p-values are at the left. Where the table has a level, a line shows it.

    Parameters
    ----------
    table : HTestTable
        What `test_calibration` returns for several tests, lenses or groups.
    rows : int, default 40
        The most rows that are shown, those with the smallest p-values.
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
    >>> data = ct.datasets.generative_model("M2", rng=1)
    >>> lenses = ["strong", "confidence"]
    >>> table = ct.test_calibration(data, lens=lenses, n_resamples=99, rng=1)
    >>> ax = ct.plots.pvalues(table)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['strong', 'confidence']
    """
    checks.check_instance(table, HTestTable, "table", "pass the result of several tests")
    checks.check_integer(rows, "rows")
    places = np.sort(np.argsort(table.pvalues, kind="stable")[:rows])
    shown = [table.rows[i] for i in places]
    final = np.concatenate([table.adjusted[places], [test.pvalue for test in table.omnibus]])
    first = np.array([row.pvalue for row in shown])
    names = _names(shown, table.omnibus)
    ax = base.axes(ax, (5.6, 1.3 + 0.23 * len(names)))
    _mark(ax, first if table.correction is not None else None, final, len(shown))
    if table.level is not None:
        label = f"level {table.level:g}"
        ax.axvspan(LIMITS[0], table.level, color=base.PALE, alpha=0.6, linewidth=0, zorder=0)
        ax.axvline(table.level, color=base.VERMILION, linestyle="--", linewidth=1, label=label)
    if table.omnibus:
        ax.axhline(len(shown) - 0.5, color=base.GREY, linewidth=base.THIN)
    ax.set_xscale("log")
    ax.set_xlim(*LIMITS)
    ticks = [1e-4, 1e-3, 0.01, 0.05, 0.2, 1.0]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xticks([], minor=True)
    base.name_rows(ax, names)
    for y, value in enumerate(final.tolist()):
        base.beside(ax, y, render.pvalue(value))
    base.legend(ax, loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderaxespad=0.2)
    name = "p-value"
    if table.correction is not None:
        method = sheets.CORRECTIONS.get(table.correction, table.correction)
        name += f", {method} over {len(table)} tests"
    name += "" if len(shown) == len(table) else f"; the {len(shown)} smallest"
    return base.label_axes(ax, name, "")


def calibration_errors(
    table: HTestTable, *, confidence: float = 0.95, ax: Axes | None = None
) -> Axes:
    """Draw a calibration error as bars, one a model, beside the errors of calibrated models.

    An estimated error is not 0 where the predictions are calibrated: the line on a bar is the range
    in which it then lies with probability `confidence`, for these predictions and this many rows,
    and the dot in it the median. It comes from the resamples of the test, whose p-value is at the
    right.

    Parameters
    ----------
    table : HTestTable
        Tests by one measure of several models, lenses or groups, such as
        ``ct.compare_models(models, labels, test="ece").tests``.
    confidence : float, default 0.95
        The probability.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule, or the tests are of several measures.
    NotApplicable
        If a test has no resamples, as one of a limiting distribution, or one that was read from
        JSON without `include_null`.

    References
    ----------
    Broecker, Smith (2007), Increasing the reliability of reliability diagrams, Weather and
    Forecasting 22, has consistency bars; here they are those of the whole error.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", n=200, m=2, rng=1)
    >>> models = {"as it is": data.probs, "cautious": (data.probs + 0.5) / 2}
    >>> result = ct.compare_models(models, data.labels, test="ece", n_resamples=99, rng=1)
    >>> ct.plots.calibration_errors(result.tests).get_xlabel()
    'ECE'
    """
    remedy = "pass the result of several tests, such as that of compare_models(...).tests"
    checks.check_instance(table, HTestTable, "table", remedy)
    checks.check_confidence(confidence)
    measured = list(dict.fromkeys(row.test for row in table.rows))
    if len(measured) > 1:
        rule = "the bars must be of one measure"
        raise invalid(rule, ", ".join(measured), f'run them with test="{measured[0]}"')
    values = [row.statistic for row in table.rows]
    levels = [(1 - confidence) / 2, 0.5, (1 + confidence) / 2]
    low, middle, high = np.transpose([np.quantile(_resamples(row), levels) for row in table.rows])
    names, y = _names(table.rows, ()), np.arange(len(values))
    ax = base.axes(ax, (5.6, 1.3 + 0.3 * len(names)))
    ax.barh(y, values, height=0.7, color=base.SKY, label="observed")
    label = f"{100 * confidence:g} % if calibrated"
    ax.hlines(y, low, high, color=base.BLACK, linewidth=base.LINE, zorder=4, label=label)
    ax.plot(middle, y, "o", color=base.BLACK, markersize=3.5, zorder=4)
    base.name_rows(ax, names)
    for place, row in enumerate(table.rows):
        base.beside(ax, place, f"{render.number(row.statistic)}, {base.pvalue_text(row)}")
    base.legend(ax, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)
    return base.label_axes(ax, base.name_text(table.rows[0].statistic_name, 40), "")


def _names(rows: Sequence[HTest], omnibus: Sequence[HTest]) -> list[str]:
    """Name each row by what differs between the rows: test, lens, group, data."""
    fields = ("data_name", "test", "lens", "group")
    differ = [f for f in fields if len({str(getattr(row, f)) for row in rows}) > 1] or ["test"]
    parts = [[getattr(row, field) for field in differ] for row in rows]
    lenses = {test.lens for test in omnibus}
    several = len({(test.test, test.lens) for test in omnibus}) > 1
    for test in omnibus:
        own = [test.test if several else None, test.lens if len(lenses) > 1 else None]
        parts.append(["all together", *own])
    words = [[str(one) for one in names if one is not None] for names in parts]
    each = list(dict.fromkeys(one for names in words for one in names))
    drawn = dict(zip(each, base.names_text(each), strict=True))
    return [", ".join(drawn[one] for one in names) for names in words]


def _mark(ax: Axes, first: Floats | None, final: Floats, n_rows: int) -> None:
    """Draw the p-values; an arrow stands for those that are smaller than the axis shows."""
    y, at = np.arange(final.size), np.maximum(final, SMALLEST_PVALUE)
    own = y < n_rows
    if first is not None:
        before, smaller = np.maximum(first, SMALLEST_PVALUE), first < SMALLEST_PVALUE
        ax.hlines(y[own], before, at[own], color=base.GREY, linewidth=base.THIN)
        style: dict[str, Any] = {"edgecolor": base.GREY, "linewidth": base.THIN, "s": 26}
        for mask, marker, label in ((~smaller, "o", "p-value"), (smaller, "<", None)):
            if mask.any():
                style |= {"facecolor": "white", "marker": marker, "label": label}
                ax.scatter(before[mask], y[own][mask], zorder=3, **style)
    arrow = final < SMALLEST_PVALUE
    kinds = [(own & ~arrow, "o", "adjusted" if first is not None else "p-value")]
    kinds += [(~own & ~arrow, "D", "all together")]
    for mask, marker, label in (*kinds, (arrow, "<", f"below {SMALLEST_PVALUE:.0e}")):
        if mask.any():
            look: dict[str, Any] = {"marker": marker, "color": base.BLUE, "label": label}
            ax.scatter(at[mask], y[mask], s=26, zorder=4, **look)


# ---- The null distribution with the statistic marked: the p-value as a shaded tail --------------

VALUES_DRAWN_EACH = 30  # so many distinct values are drawn each, and more as a histogram
BINS = 15, 60  # at least, at most
ROUNDING = 1e-9
NEAR_SHARE = 0.75  # of the range of the values: a statistic that is further off is pointed at
SIZE = (5.2, 3.2)
PALE_BARS: dict[str, Any] = {"fill": True, "fc": base.PALE, "ec": base.GREY, "lw": base.THIN}


def null_distribution(result: HTest, *, bins: int | None = None, ax: Axes | None = None) -> Axes:
    """Show where the statistic lies among its values under calibration.

    The shaded part is as extreme as the statistic; with the statistic itself it is the p-value. For
    a two-sided test it has both tails, of equal size. A statistic that is far from all of them is
    pointed at, and the axis stays with the distribution.

    Parameters
    ----------
    result : HTest
        Of a test with resamples: null="exact", "consistency", ...
    bins : int, optional
        Number of bins over the range of the values, and one more where an end is moved to the
        statistic; by default the rule of Freedman and Diaconis, and up to 30 distinct values each
        by itself.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    NotApplicable
        If the result has no resamples, as one of a limiting distribution, or one that was read from
        JSON without `include_null`.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M1", 200, rng=1)
    >>> result = ct.test_calibration(data, test="ece", n_resamples=199, rng=1)
    >>> ax = ct.plots.null_distribution(result)
    >>> ax.get_xlabel()
    'ECE under the null hypothesis'
    """
    checks.check_instance(result, HTest, "result", "pass what test_calibration gave")
    checks.check_optional_integer(bins, "bins")
    every, statistic = _resamples(result), result.statistic
    finite = np.isfinite(every)
    if not finite.any():
        raise NotApplicable("all values under the null hypothesis are infinite", "nothing to draw")
    values, tails = every[finite], _extreme(every, statistic, result.alternative)[finite]
    low, high = _limits(values, statistic)
    ax = base.axes(ax, SIZE)
    distinct, place = _distinct(values)
    label = "as extreme" if tails.any() else None
    shade = PALE_BARS | {"fc": base.ORANGE, "hatch": "////", "label": label}
    if bins is None and distinct.size <= VALUES_DRAWN_EACH:
        unit, n, size = "share of the resamples", values.size, distinct.size
        width = 0.8 * np.diff(distinct).min() if size > 1 else 0.05 * (high - low)
        width = max(width, 0.004 * (high - low))
        shaded, others = (np.bincount(place[k], minlength=size) / n for k in (tails, ~tails))
        ax.bar(distinct, others, width, bottom=shaded, **PALE_BARS)
        ax.bar(distinct, shaded, width, **shade)
    else:
        edges, unit = _edges(values, statistic, bins), "density"
        area = values.size * np.diff(edges)
        shaded, others = (np.histogram(values[k], edges)[0] / area for k in (tails, ~tails))
        ax.stairs(shaded + others, edges, baseline=shaded, **PALE_BARS)
        ax.stairs(shaded, edges, **shade)
    _mark_statistic(ax, result, values, low, high)
    drawn = ax.dataLim  # bars of few values may be wide
    ax.set_xlim(min(low, drawn.x0), max(high, drawn.x1))
    ax.margins(y=0)
    ax.set_ylim(0, 1.25 * ax.get_ylim()[1])  # room for the names
    if base.inches(ax) <= base.NARROW:  # the text at the statistic needs the room
        base.legend_below(ax)
    else:
        base.legend(ax, loc="upper left" if statistic > (low + high) / 2 else "upper right")
    name = f"{base.name_text(result.statistic_name, 40)} under the null hypothesis"
    if values.size < every.size:
        name += f" ({every.size - values.size} infinite)"
    room = 28 if base.inches(ax) <= base.NARROW else 64  # letters
    return base.label_axes(ax, name, unit, base.name_text(result.method, room))


def _resamples(result: HTest) -> Floats:
    if result.null_distribution is None:
        rule = "the null distribution is drawn from resamples, and the result has none: its null is"
        hint = "run the test with null='exact' on more rows, and write JSON with include_null=True"
        raise NotApplicable(f"{rule} a formula, or enumerated, or it was read from JSON", hint)
    return np.asarray(result.null_distribution)


def _limits(values: Floats, statistic: float) -> tuple[float, float]:
    """Return what the axis shows: all values, and the statistic where it is near."""
    low, high, is_finite = float(values.min()), float(values.max()), np.isfinite(statistic)
    span = high - low
    if span <= ROUNDING * max(abs(low), abs(high)):
        span = max(2 * abs(statistic - low) if is_finite else 0.0, 0.2 * abs(low)) or 1.0
    if is_finite and low - NEAR_SHARE * span <= statistic <= high + NEAR_SHARE * span:
        low, high = min(low, statistic), max(high, statistic)
    elif statistic > high:
        high += 0.4 * span
    else:
        low -= 0.4 * span
    margin = 0.06 * max(high - low, span)
    return low - margin, high + margin


def _extreme(values: Floats, statistic: float, alternative: str) -> Flags:
    """Return which values speak against the null hypothesis as much as the statistic does.

    Of a two-sided test these are the values of the smaller tail, and as many at the other end.
    """
    slack = 1e-12 * max(1.0, abs(statistic)) if np.isfinite(statistic) else 0.0
    upper, lower = values >= statistic - slack, values <= statistic + slack
    if alternative != "two-sided":
        return lower if alternative == "less" else upper
    near, sign = (upper, -1.0) if upper.sum() <= lower.sum() else (lower, 1.0)
    far = np.zeros(values.size, dtype=bool)
    far[np.argsort(-sign * values, kind="stable")[: near.sum()]] = True
    return np.asarray(near | far)


def _distinct(values: Floats) -> tuple[Floats, Order]:
    """Return the values that differ by more than rounding, and the place of each among them."""
    order = np.sort(values)
    first = order[np.append(True, np.diff(order) > ROUNDING * np.abs(order).max())]
    return first, np.searchsorted(first, values, side="right") - 1


def _edges(values: Floats, statistic: float, bins: int | None) -> Floats:
    """Return ends of bins, one of which is the statistic: there the shaded part begins."""
    low, high = float(values.min()), float(values.max())
    if low == high:
        half = 0.05 * np.ptp(_limits(values, statistic))
        return np.array([low - half, low + half])
    if bins is None:
        bins = int(np.clip(len(np.histogram_bin_edges(values, "fd")) - 1, *BINS))
    width = (high - low) / bins
    if low < statistic < high:
        low = statistic - width * np.ceil((statistic - low) / width)
    return low + width * np.arange(np.ceil((high - low) / width - ROUNDING) + 1)


def _mark_statistic(ax: Axes, result: HTest, values: Floats, low: float, high: float) -> None:
    """Draw a line at the statistic, or an arrow towards it."""
    at, right = result.statistic, result.statistic > (low + high) / 2
    text = f"{render.number(at)}\n{base.pvalue_text(result)}"
    style: dict[str, Any] = {"fontsize": base.SMALL, "va": "top", "zorder": 10}
    style["ha"] = "right" if right else "left"
    if low <= at <= high:
        ax.axvline(at, ymax=0.97, color=base.BLACK, linewidth=base.LINE)
        style["xycoords"] = ax.get_xaxis_transform()
        base.note(ax, text, (at, 0.97), (-4 if right else 4, 0), **style)
        return
    edge, inner, start = (1.0, 0.97, 0.86) if right else (0.0, 0.03, 0.14)
    arrow = {"arrowstyle": "-|>", "color": base.BLACK, "linewidth": base.LINE}
    ends: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "axes fraction"}
    ax.annotate("", (edge, 0.5), xytext=(start, 0.5), arrowprops=arrow, **ends)
    sd = float(values.std())
    if sd > 0 and np.isfinite(at):
        text += f"\n{abs(at - values.mean()) / sd:.3g} sd from the mean"
    ax.annotate(text, (inner, 0.46), xycoords="axes fraction", **style)


# ---- The e-value of a model that is watched, over time -------------------------------------------

WIDE = (6.0, 3.6)
TEN = math.log(10.0)


def monitor(watch: Monitor, *, parts: bool = True, ax: Axes | None = None) -> Axes:
    """Draw the e-value over time, with the threshold and where it was crossed.

    Parameters
    ----------
    watch : Monitor
        What `caltest.monitor` gave, with at least 64 rows.
    parts : bool
        Whether to draw the parts, thin, as well.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        With fewer than 64 rows.

    Examples
    --------
    >>> import caltest as ct
    >>> watch = ct.monitor().update(ct.datasets.generative_model("M2", n=500, m=2, rng=1))
    >>> ct.plots.monitor(watch).get_ylabel()
    'e-value'
    """
    checks.check_instance(watch, Monitor, "watch", "pass what ct.monitor gave")
    path = watch.path
    if not path or not path["row"].size:
        raise NotApplicable("the path of a monitor begins after 64 rows", "pass more to update")
    ax = base.axes(ax, WIDE)
    rows = np.concatenate([[0.0], path.pop("row")])
    logs = {name: np.concatenate([[0.0], values]) / TEN for name, values in path.items()}
    whole, impossible = logs.pop("all"), watch.impossible_row
    if impossible is not None:  # infinite from there on
        whole = np.where(rows > impossible, np.nan, whole)
    if parts:
        for place, (name, values) in enumerate(logs.items()):
            style = base.STYLES[(place + 1) % len(base.STYLES)]
            ax.plot(rows, values, linestyle=style, linewidth=base.THIN, color=base.GREY, label=name)
    label = "all bets and groups" if watch.groups else "all bets"
    ax.plot(rows, whole, color=base.BLUE, linewidth=2.0, label=label)
    threshold = -math.log10(watch.level)
    ax.axhline(threshold, color=base.VERMILION, linewidth=base.THIN)
    if watch.alarm_after is not None:
        ax.axvline(watch.alarm_after, color=base.VERMILION, linewidth=base.THIN, linestyle=":")
    low, high = min(float(np.nanmin(whole)), -1.0), max(float(np.nanmax(whole)), threshold) + 0.5
    if parts:
        high = max(high, max(float(values.max()) for values in logs.values()) + 0.5)
    ax.set_ylim(low - 0.5, high)
    ticks = [tick for tick in ax.get_yticks() if float(tick).is_integer() and low <= tick <= high]
    ax.set_yticks(ticks, [f"$10^{{{tick:.0f}}}$" for tick in ticks])
    crossed = watch.alarm_after
    said = "no alarm in" if crossed is None else "alarm after"
    title = f"{said} {render.rows_in_words(watch.n if crossed is None else crossed)}"
    if impossible is not None:
        title += f", e infinite after {impossible + 1:,}"
    look: dict[str, Any] = {"xycoords": ax.get_yaxis_transform(), "fontsize": None, "va": "center"}
    base.note(ax, f"1 / {watch.level:g}", (1.0, threshold), (3, 0), color=base.VERMILION, **look)
    base.legend_below(ax, columns=3)
    return base.label_axes(ax, "rows", "e-value", title)
