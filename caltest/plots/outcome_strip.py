"""How the predictions are spread, by outcome: a strip on top of a diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from caltest.plots import base

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from caltest.plots.scales import Scale
    from caltest.plots.seen import Event

GAP, STRIP = 1.02, 0.2  # where the strip starts, and its height, as shares of the axes
CELLS = 50


def strip(ax: Axes, event: Event, scale: Scale) -> Axes:
    """Draw histograms of rows with the event, upwards, and without it, downwards.

    Each is as tall as the other, as one of the outcomes is often rare. Lines at the mean prediction
    and at the observed frequency run through both; the legend of the axes has the numbers.
    """
    part = ax.inset_axes((0.0, GAP, 1.0, STRIP), sharex=ax)
    p = scale.place(event.values)
    edges = scale.edges(CELLS)
    edges[[0, -1]] = min(edges[0], scale.low), max(edges[-1], scale.high)
    names = [base.name_text(name) for name in event.names]
    without = event.mass - event.happened
    kinds = ((1, event.happened, 1.0, base.BLUE), (0, without, -1.0, base.GREY))
    for which, rows, sign, color in kinds:
        mass, _ = np.histogram(p, edges, weights=rows)
        if not event.counts[which] or mass.max() == 0:
            continue
        style: dict[str, Any] = {"fill": True, "color": color, "alpha": 0.7}
        part.stairs(sign * mass / mass.max(), edges, **style)
        label = f"{names[which]}: {event.counts[which]:,} rows"
        ax.fill_between([], [], color=color, alpha=0.7, label=label)
    mean = float(event.mass @ event.values / event.mass.sum())
    observed = float(event.happened.sum() / event.mass.sum())
    lines = (
        (mean, "-", base.BLACK, "mean prediction"),
        (observed, "--", base.VERMILION, "observed"),
    )
    for value, dashes, color, name in lines:
        style = {"color": color, "linestyle": dashes, "linewidth": 1.2}
        at = float(scale.place(np.array([value]))[0])
        part.plot([at, at], [-1.05, 1.05], **style)
        ax.plot([], [], label=f"{name} {100 * value:.1f} %", **style)
    part.set_ylim(-1.08, 1.08)
    part.axis("off")
    return part
