"""The e-value of a model that is watched, over time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable
from caltest.monitoring import Monitor, sheets
from caltest.plots import base

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (6.0, 3.6)
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
    ax = base.axes(ax, SIZE)
    rows = np.concatenate([[0.0], path.pop("row")])
    logs = {name: np.concatenate([[0.0], values]) / TEN for name, values in path.items()}
    whole = logs.pop("all")
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
    low, high = min(float(whole.min()), -1.0), max(float(whole.max()), threshold) + 0.5
    if parts:
        high = max(high, max(float(values.max()) for values in logs.values()) + 0.5)
    ax.set_ylim(low - 0.5, high)
    ticks = [tick for tick in ax.get_yticks() if float(tick).is_integer() and low <= tick <= high]
    ax.set_yticks(ticks, [f"$10^{{{tick:.0f}}}$" for tick in ticks])
    crossed = watch.alarm_after
    said = "no alarm in" if crossed is None else "alarm after"
    title = f"{said} {sheets.rows_in_words(watch.n if crossed is None else crossed)}"
    look: dict[str, Any] = {"xycoords": ax.get_yaxis_transform(), "fontsize": None, "va": "center"}
    base.note(ax, f"1 / {watch.level:g}", (1.0, threshold), (3, 0), color=base.VERMILION, **look)
    base.legend(ax, loc="best")
    return base.label_axes(ax, "rows", "e-value", title)
