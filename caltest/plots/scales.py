"""Axes of probabilities: their scale, and where they begin and end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from caltest.checks import check_choice, check_flag
from caltest.plots import base
from caltest.types import Axes, Floats

if TYPE_CHECKING:
    from caltest.plots.seen import Event


SCALES = ("probability", "log-odds")
SATURATED = 0.02  # a probability that is as close to 0 or 1 can hardly be distinguished from it
SHARE = 0.5  # of the rows that are saturated, from which on log odds are drawn
WIDE = 0.4  # range of the predictions from which on zooming does not help
ZOOMED = 0.6  # range of what is drawn up to which the axes are cut to it
FEW = 2  # distinct predictions, up to which the axes hold the bars too
MARGIN = 0.02
FINEST = 1e-4  # distance from 0 and 1 of the ends of log odds
TICKS = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999)
MINOR = (0.7, 0.8, 0.95)


@dataclass(frozen=True)
class Scale:
    """A scale of probabilities and its ends, the same for predictions and frequencies."""

    name: str
    low: float
    high: float

    @property
    def is_log_odds(self) -> bool:
        return self.name == "log-odds"

    @property
    def is_cut(self) -> bool:
        """Whether the axes do not run from 0 to 1."""
        return self.is_log_odds or self.high - self.low < 1.0

    def place(self, values: Floats) -> Floats:
        """Return where values are drawn: on log odds what lies beyond an end, at the end."""
        return np.clip(values, self.low, self.high) if self.is_log_odds else values

    def edges(self, cells: int) -> Floats:
        """Return the edges of cells of equal width on this scale."""
        if not self.is_log_odds:
            return np.linspace(self.low, self.high, cells + 1)
        low, high = (float(np.log(p / (1 - p))) for p in (self.low, self.high))
        return np.asarray(1.0 / (1.0 + np.exp(-np.linspace(low, high, cells + 1))))

    def apply(self, ax: Axes, which: str = "xy") -> None:
        """Set the x axis, the y axis, or both with one length."""
        from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

        margin = MARGIN * (self.high - self.low)
        limits, ticks = (self.low - margin, self.high + margin), [0, 0.2, 0.4, 0.6, 0.8, 1]
        if self.is_log_odds:
            found = {p for t in TICKS for p in (t, 1 - t) if self.low <= p <= self.high}
            if len(found) < 4:
                found |= {q for p in MINOR for q in (p, 1 - p) if self.low <= q <= self.high}
            ticks = sorted({round(p, 9) for p in found})
            a, b = (float(np.log(p / (1 - p))) for p in (self.low, self.high))
            margin = 1.5 * MARGIN * (b - a)
            limits = 1 / (1 + np.exp(margin - a)), 1 / (1 + np.exp(-b - margin))
        for axis in which:
            direction = getattr(ax, f"{axis}axis")
            if self.is_log_odds:
                getattr(ax, f"set_{axis}scale")("logit")
                direction.set_major_locator(FixedLocator(ticks))
                direction.set_major_formatter(FixedFormatter([f"{p:g}" for p in ticks]))
                direction.set_minor_locator(NullLocator())
            elif not self.is_cut:
                direction.set_ticks(ticks)
            getattr(ax, f"set_{axis}lim")(*limits)
        if which == "xy":
            ax.set_box_aspect(1)


UNIT = Scale("probability", 0.0, 1.0)


def check_scale(scale: object, *, zoom: object = False, auto: bool = False) -> None:
    """Check the name of a scale, `auto`: or None for the one that suits the predictions."""
    if scale is not None or not auto:
        check_choice(scale, SCALES, "scale")
    check_flag(zoom, "zoom")


def scale_of(event: Event, scale: str | None, *, zoom: bool, bins: int) -> Scale:
    """Return the scale that suits the predictions, or the one that is asked for.

    The axes hold the frequencies of so many bins too.
    """
    p = event.values
    if scale is None:
        order = np.argsort(p, kind="stable")
        upto = np.cumsum(event.rows[order])
        low, high = p[order[np.searchsorted(upto, [0.005 * upto[-1], 0.995 * upto[-1]])]]
        near = event.rows[np.minimum(p, 1.0 - p) <= SATURATED].sum() >= SHARE * upto[-1]
        scale = "log-odds" if near and high - low >= WIDE else "probability"
    # No frequency can be distinguished from 0 or 1 more finely.
    finest = min(0.1, 0.5 / float(event.rows.sum()))
    found = event.bins("quantile", bins, 0.95)
    ends = p if scale == "probability" else np.clip(p, finest, 1.0 - finest)  # of p = 0 or 1 too
    drawn = np.concatenate([ends, found.frequency])
    if scale == "probability" and found.mean.size <= FEW:  # bars that are nearly all that is drawn
        drawn = np.concatenate([drawn, found.lower, found.upper])
    return scale_for(drawn, scale, zoom=zoom, finest=finest)


def scale_for(values: Floats, scale: str, *, zoom: bool, finest: float = FINEST) -> Scale:
    """Return the axis that holds some probabilities.

    On log odds it ends at those inside of (0, 1), and no nearer to 0 and 1 than `finest`; else it
    runs from 0 to 1, or with `zoom` is cut to the values where these fill little of it.
    """
    if scale == "log-odds":
        inner = values[(values > 0) & (values < 1)]
        inner = inner if inner.size else np.array([0.5])
        low, high = np.clip(inner.min(), finest, 0.45), np.clip(inner.max(), 0.55, 1 - finest)
        return Scale(scale, float(low), float(high))
    low, high = float(values.min()), float(values.max())
    room = 0.05 * (high - low)
    low, high = max(0.0, low - room), min(1.0, high + room)
    if not zoom or high - low > ZOOMED or high - low < 1e-6:
        return UNIT
    return Scale(scale, low, high)


def diagonal(ax: Axes, scale: Scale) -> None:
    """Draw where predictions and frequencies agree."""
    style: dict[str, Any] = {"color": base.GREY, "linestyle": (0, (4, 3)), "linewidth": base.THIN}
    ends = [scale.low, scale.high]
    ax.plot(ends, ends, zorder=2, **style)
