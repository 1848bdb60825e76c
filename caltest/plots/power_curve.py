"""Power against the number of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from caltest import checks
from caltest.planning import Power, PowerRow, SampleSize
from caltest.plots import base

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (5.2, 3.6)
WIDE = 8  # times as many rows, from which on the axis is logarithmic


def power_curve(result: Power | SampleSize, *, ax: Axes | None = None) -> Axes:
    """Draw the power of tests against the number of rows.

    Bars are the 95 % intervals of the simulation, and a line shows the level of the tests. Of
    `sample_size` it shows the sizes that were tried, the power that was asked for, and the number
    of rows with its interval.

    Parameters
    ----------
    result : Power or SampleSize
        What `power` or `sample_size` returns.
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

    Examples
    --------
    >>> import caltest as ct
    >>> from scipy.stats import beta
    >>> curve = ct.power(beta(2, 5), n=[50, 100, 200], slope=0.5, n_datasets=50, rng=1)
    >>> ax = ct.plots.power_curve(curve)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('rows (n)', 'power')
    """
    power = result.search if isinstance(result, SampleSize) else result
    checks.check_instance(power, Power, "result", "pass what ct.power or ct.sample_size gave")
    ax = base.axes(ax, SIZE)
    tests = dict.fromkeys(row.test for row in power.rows)
    for place, test in enumerate(tests):
        rows = [row for row in power.rows if row.test == test]
        # What a search looked at is no curve: few data sets here, many there.
        style = "none" if power is not result else base.STYLES[place % len(base.STYLES)]
        _curve(ax, rows, place, style, name=len(tests) > 1)
    level = power.setting.level
    ax.axhline(level, color=base.GREY, linewidth=base.THIN, linestyle=":", label=f"level {level:g}")
    if isinstance(result, SampleSize):
        _answer(ax, result)
    _scale(ax, power)
    base.legend(ax, loc="best")
    return base.label_axes(ax, "rows (n)", power.setting.kind)


def _curve(ax: Axes, rows: list[PowerRow], place: int, style: Any, *, name: bool) -> None:
    """Draw the power of one test with its intervals."""
    rows = sorted(rows, key=lambda row: row.n)
    powers = [row.power for row in rows]
    ends = [row.interval() for row in rows]
    below = [p - low for p, (low, _) in zip(powers, ends, strict=True)]
    above = [high - p for p, (_, high) in zip(powers, ends, strict=True)]
    ax.errorbar(
        [row.n for row in rows],
        powers,
        yerr=[below, above],
        color=base.CYCLE[place % len(base.CYCLE)],
        linestyle=style,
        marker=base.MARKERS[place % len(base.MARKERS)],
        markersize=4,
        linewidth=base.LINE,
        elinewidth=base.THIN,
        label=base.name_text(rows[0].test) if name else None,
    )


def _answer(ax: Axes, result: SampleSize) -> None:
    """Draw the power that was asked for, and the number of rows that has it."""
    label = f"power {result.target:g}: n = {result.n:,}"
    ax.axhline(result.target, color=base.VERMILION, linewidth=base.THIN, linestyle="--")
    ax.axvline(result.n, color=base.VERMILION, linewidth=base.THIN, linestyle="--", label=label)
    if result.low is not None and result.high is not None:
        ax.axvspan(
            result.low,
            result.high,
            color=base.VERMILION,
            alpha=base.BAND,
            linewidth=0,
            label=f"95 % interval, {result.low:,} to {result.high:,}",
        )


def _scale(ax: Axes, power: Power) -> None:
    from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter

    ax.set_ylim(-0.02, 1.02)
    if power.n.max() > WIDE * power.n.min():
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
