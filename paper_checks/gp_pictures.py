"""Pictures of the fits of Milios et al. 2018, and the selections of rows that they are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from paper_checks.check import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FloatArray = NDArray[np.float64]

MODELS = ("GPC", "GPD", "GPR", "GPR + Platt", "NKRR")
ALPHAS = (0.1, 0.01, 0.001, 0.0001)


# ---- rows ---------------------------------------------------------------------------------------


def select(rows: list[Row], **wanted: Any) -> list[Row]:
    """Rows with these values."""
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def unique(rows: list[Row], key: str) -> list[Any]:
    """Values that occur, in the order of the rows."""
    return list(dict.fromkeys(row[key] for row in rows))


def by_split(rows: list[Row], what: str, **wanted: Any) -> FloatArray:
    """Values in the order of the splits, so that those of two models are paired."""
    some = sorted(select(rows, **wanted), key=lambda row: row["split"])
    return np.array([row[what] for row in some], float)


def time_ratios(rows: list[Row], name: str) -> list[float]:
    """Time of GPC over that of GPD in each split; none where GPC was not run."""
    slow, fast = (by_split(rows, "seconds", set=name, model=which) for which in ("GPC", "GPD"))
    return (slow / fast).tolist() if slow.size else []


# ---- pictures -----------------------------------------------------------------------------------


def reliability_picture(rows: list[Row]) -> Figure:
    """Accuracy against confidence, a panel a set and model."""
    from matplotlib.figure import Figure

    sets = unique(rows, "set")
    size = (2.1 * len(MODELS), 2.2 * len(sets))
    picture = Figure(figsize=size, layout="constrained")
    grid = picture.subplots(len(sets), len(MODELS), sharex=True, sharey=True, squeeze=False)
    for name, line in zip(sets, grid, strict=True):
        for which, ax in zip(MODELS, line, strict=True):
            some = select(rows, set=name, model=which)
            ax.set_title(f"{name}: {which}", fontsize=8)
            if not some:
                ax.text(0.5, 0.5, "not run", ha="center", va="center", color="0.5")
                continue
            ax.plot([0, 1], [0, 1], color="0.7", lw=1)
            ax.plot([r["confidence"] for r in some], [r["accuracy"] for r in some], "o-", ms=3)
    picture.supxlabel("mean confidence")
    picture.supylabel("accuracy")
    return picture


def alpha_picture(rows: list[Row]) -> Figure:
    """MNLL against alpha_eps, a panel a set."""
    from matplotlib.figure import Figure

    sets = unique(rows, "set")
    picture = Figure(figsize=(3 * len(sets), 2.6), layout="constrained")
    axes = picture.subplots(1, len(sets), squeeze=False)[0]
    for name, ax in zip(sets, axes, strict=True):
        for part in ("train", "test"):
            found = [by_split(rows, f"{part} MNLL", set=name, alpha=alpha) for alpha in ALPHAS]
            ax.plot(ALPHAS, [losses.mean() for losses in found], "o-", ms=3, label=part)
        ax.set(xscale="log", xlabel="alpha_eps", ylabel="MNLL", title=name)
    axes[0].legend(frameon=False)
    return picture


def time_picture(fits: list[Row], rows: list[Row]) -> Figure:
    """Speed of GPD over GPC in the fits of figure 4, and error against time, a panel a set."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, NullFormatter

    sets = unique(rows, "set")
    picture = Figure(figsize=(3.1 * (1 + len(sets)), 3), layout="constrained")
    first, *axes = picture.subplots(1, 1 + len(sets))
    _draw_ratios(first, fits)
    for name, ax in zip(sets, axes, strict=True):
        for which in ("GPC", "GPD", "GPR"):
            _draw_curve(ax, select(rows, set=name, model=which))
        ax.set(xscale="log", xlabel="seconds", ylabel="test error", title=name)
        ax.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter(NullFormatter())
        ax.margins(0.12)
    axes[0].legend(frameon=False)
    return picture


def _draw_ratios(ax: Axes, fits: list[Row]) -> None:
    found = {name: time_ratios(fits, name) for name in unique(fits, "set")}
    means = {name: float(np.mean(values)) for name, values in found.items() if values}
    bars = ax.barh(list(means), list(means.values()), color="0.7")
    ax.bar_label(bars, fmt="%.1f", padding=2, fontsize=8)
    ax.set(xlabel="time of GPC / time of GPD", title="speed of GPD over GPC")
    ax.margins(x=0.18)
    ax.invert_yaxis()


def _draw_curve(ax: Axes, rows: list[Row]) -> None:
    curve = sorted(rows, key=lambda row: row["M"])
    seconds, errors = ([row[key] for row in curve] for key in ("seconds", "error"))
    [line] = ax.plot(seconds, errors, label=curve[0]["model"])
    # Areas that grow with log M tell the points apart where labels would cover each other.
    areas = [6 + 8 * np.log2(row["M"] / curve[0]["M"]) for row in curve]
    ax.scatter(seconds, errors, s=areas, color=line.get_color(), zorder=3)
