"""The default rates of rating grades against their predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from caltest import checks
from caltest.errors import invalid
from caltest.plots import base
from caltest.results import HTest, HTestTable
from caltest.results.table import LIGHTS
from caltest.types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# The colours of traffic lights, as the colour-blind tell them apart, and a marker for each.
COLOURS = dict(zip(LIGHTS, (base.GREEN, base.YELLOW, base.ORANGE, base.VERMILION), strict=True))
MARKERS = dict(zip(LIGHTS, ("o", "^", "s", "X"), strict=True))
GRADES_TO_TURN_NAMES = 12  # grades from which on their names stand upright
WIDTH = 0.36  # half the length of the mark of a PD


def master_scale(table: HTestTable, *, confidence: float = 0.9, ax: Axes | None = None) -> Axes:
    r"""Draw the observed default rate of each grade with an interval, and its PD.

    The interval is Jeffreys', the quantiles of :math:`Beta(d + 1/2, n - d + 1/2)` for d defaults
    of n obligors, with the lower end 0 for d = 0 and the upper end 1 for d = n. At the default
    level, where d > 0, its lower end is above the PD if and only if the p-value of the one-sided
    Jeffreys test is below 5 %. Colours and markers are the traffic lights of the table.

    Parameters
    ----------
    table : HTestTable
        What `test_master_scale` returns; of several tests the first gives the lights.
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
    rows, lights = _grades(table)
    pd = np.array([row.parameters["PD"] for row in rows], dtype=np.float64)
    rate = np.array([row.estimate for row in rows])
    low, high = _interval(rows, level)
    ax = base.axes(ax, (max(5.0, 1.4 + 0.42 * len(rows)), 3.8))
    floor, top = _limits(pd, rate, high)
    x = np.arange(len(rows), dtype=np.float64)
    ax.vlines(x, np.maximum(low, floor), high, color=base.GREY, linewidth=base.LINE)
    ax.hlines(
        np.maximum(pd, floor),
        x - WIDTH,
        x + WIDTH,
        color=base.BLACK,
        linewidth=2.2,
        label="PD",
        clip_on=False,
    )
    _rates(ax, x, np.maximum(rate, floor), lights)
    ax.set_yscale("log")
    ax.set(xlim=(-0.7, len(rows) - 0.3), ylim=(floor, top))
    names = base.names_text([row.group for row in rows], 16)
    ax.set_xticks(x, names, rotation=90 if _crowded(names) else 0)
    ax.set_yticks(*_ticks(floor, top))
    ax.set_yticks([], minor=True)
    outside = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 6, "borderaxespad": 0.2}
    outside |= {"handletextpad": 0.4, "columnspacing": 1.0}
    base.legend(ax, **outside)
    name = "grade (mark at the bottom: no default)" if (rate == 0).any() else "grade"
    return base.label_axes(ax, name, f"default rate, {100 * level:g} % Jeffreys interval")


def is_master_scale(table: HTestTable) -> bool:
    """Tell a table of rating grades by its rows."""
    return all("PD" in row.parameters and row.estimate_name == "default rate" for row in table)


def _grades(table: HTestTable) -> tuple[list[HTest], list[str]]:
    """Return the first row of each grade and its light."""
    if not is_master_scale(table):
        raise invalid(
            "table must be the result of test_master_scale",
            "rows without PD and defaults",
            "use the plot 'pvalues' for other tables",
        )
    lights = table.traffic_lights or ("",) * len(table)
    first: dict[str, tuple[HTest, str]] = {}
    for row, light in zip(table.rows, lights, strict=True):
        first.setdefault(repr(row.group), (row, light))
    pairs = list(first.values())
    return [row for row, _ in pairs], [light for _, light in pairs]


def _interval(rows: list[HTest], level: float) -> tuple[Floats, Floats]:
    from scipy.special import betaincinv

    d = np.array([row.statistic for row in rows])
    n = np.array([row.n for row in rows], dtype=np.float64)
    tail = (1 - level) / 2
    # The upper end by the tail of the survivors, which is exact for rates near 1 too.
    low = betaincinv(d + 0.5, n - d + 0.5, tail)
    high = 1.0 - betaincinv(n - d + 0.5, d + 0.5, tail)
    return np.where(d == 0, 0.0, low), np.where(d == n, 1.0, high)


def _limits(pd: Floats, rate: Floats, high: Floats) -> tuple[float, float]:
    """Leave half a decade below the least PD or rate that is not 0."""
    values = np.concatenate([pd, rate, high])
    return float(values[values > 0].min()) / 3, min(float(values.max()) * 1.5, 1.2)


def _rates(ax: Axes, x: Floats, rate: Floats, lights: list[str]) -> None:
    style: dict[str, Any] = {
        "s": 42,
        "edgecolor": base.BLACK,
        "linewidth": 0.6,
        "zorder": 3,
        "clip_on": False,
    }
    for light in (*LIGHTS, ""):
        mask = np.array([own == light for own in lights])
        if mask.any():
            ax.scatter(
                x[mask],
                rate[mask],
                marker=MARKERS.get(light, "o"),
                color=COLOURS.get(light, base.BLUE),
                label=light or "observed",
                **style,
            )


def _crowded(names: list[str]) -> bool:
    return len(names) > GRADES_TO_TURN_NAMES or max(map(len, names)) * len(names) > 60


def _ticks(floor: float, top: float) -> tuple[list[float], list[str]]:
    """Return ticks at 1, 2 and 5 of each decade, or fewer, in per cent."""
    decades = range(int(np.floor(np.log10(floor))), 1)
    span = float(np.log10(top / floor))
    steps = (1, 2, 5) if span < 2.5 else (1, 3) if span < 5 else (1,)
    ticks = [step * 10.0**k for k in decades for step in steps]
    ticks = [tick for tick in ticks if floor <= tick <= min(top, 1.0)]
    return ticks, [f"{100 * tick:.6g} %" for tick in ticks]
