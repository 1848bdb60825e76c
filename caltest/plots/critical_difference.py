"""Demsar's critical-difference diagram of methods over data sets."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import numpy as np

from caltest import render
from caltest.plots import base

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from caltest.comparison import Ranking

WIDTH, LETTER, ROW = 4.6, 0.078, 0.24  # inches
BAR = 0.42  # between bars of groups, in rows
TICK = 0.22
LETTERS = 18  # of the title, an inch


def critical_difference(
    scores: object,
    *,
    names: object = None,
    n_datasets: int | None = None,
    lower_is_better: bool = True,
    control: object = None,
    level: float = 0.05,
    ax: Axes | None = None,
) -> Axes:
    """Draw the average ranks of methods over data sets, and which of them differ.

    Methods that a bar joins do not differ significantly: their average ranks differ by less than
    the critical difference (Nemenyi). With a control, the bar holds what does not differ from it
    (Bonferroni-Dunn).

    Parameters
    ----------
    scores : (N, k) array, data frame, (k,) array, or Ranking
        The score of each method (column) on each data set (row); the average ranks; or what
        `caltest.comparison.rank_methods` returned, and then no other option.
    names : sequence of str, optional
        The methods; by default the columns of the data frame, or 1, 2, ...
    n_datasets : int, optional
        N, where average ranks are given.
    lower_is_better : bool, default True
        As for losses and calibration errors; False for accuracies. Of no effect on average ranks.
    control : str, optional
        The method that the others are compared with.
    level : float, default 0.05
        Family-wise significance level.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes; x is the average rank.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Demsar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7, section
    3.2.4 and figure 1; Kull et al. (2019), Beyond temperature scaling, NeurIPS, compares
    calibrators so.

    Examples
    --------
    >>> import caltest as ct
    >>> ax = ct.plots.critical_difference(
    ...     [3.143, 2.0, 2.893, 1.964], names=["C4.5", "C4.5+m", "C4.5+cf", "both"], n_datasets=14
    ... )
    >>> [text.get_text() for text in ax.texts if text.get_text().startswith("critical")]
    ['critical difference 1.25']
    """
    from caltest.comparison import Ranking, rank_methods

    ranking = scores
    if not isinstance(ranking, Ranking):
        ranking = rank_methods(
            scores,
            names=names,
            n_datasets=n_datasets,
            lower_is_better=lower_is_better,
            control=control,
            level=level,
        )
    k = ranking.ranks.size
    bars = _levels(ranking)
    depth = 0.9 + BAR * (max(bars.values(), default=-1) + 1)
    rows = (k + 1) // 2
    words = base.names_text(ranking.names)
    width = WIDTH + 2 * LETTER * (max(map(len, words)) + 5)
    ax = base.axes(ax, (width, 1.4 + ROW * (rows + depth)))
    _axis(ax, k)
    _distance(ax, ranking)
    _bars(ax, ranking, bars)
    _methods(ax, ranking, words, depth)
    ax.set(xlim=(1 - 0.02 * (k - 1), k + 0.02 * (k - 1)), ylim=(-depth - rows + 0.5, 2.6))
    return ax


def _axis(ax: Axes, k: int) -> None:
    """Draw the axis of ranks at y = 0, the best at the left."""
    ax.set_axis_off()
    ax.plot([1, k], [0, 0], color=base.BLACK, linewidth=base.THIN)
    step = max(1, round((k - 1) / 12))
    marks = [*range(1, k - step // 2, step), k]
    for rank in marks:
        ax.plot([rank, rank], [0, TICK], color=base.BLACK, linewidth=base.THIN)
        ax.text(rank, TICK + 0.1, str(rank), ha="center", va="bottom", fontsize=base.SMALL)


def _distance(ax: Axes, ranking: Ranking) -> None:
    """Draw the critical difference above the axis, from rank 1, and name the procedure."""
    k, cd = ranking.ranks.size, ranking.critical_difference
    end, y = min(1 + cd, k), 1.35
    ax.plot([1, end], [y, y], color=base.BLACK, linewidth=base.LINE)
    ax.plot([1, 1], [y - 0.15, y + 0.15], color=base.BLACK, linewidth=base.LINE)
    mark = ">" if end < 1 + cd else "|"
    ax.plot([end], [y], mark, color=base.BLACK, markersize=6, markeredgewidth=base.LINE)
    text = f"critical difference {render.number(round(cd, 3 - _digits(cd)))}"
    ax.text(1, y + 0.25, text, ha="left", va="bottom", fontsize=base.SMALL)
    against = "" if ranking.control is None else f" against {base.name_text(ranking.control)}"
    friedman = render.pvalue(ranking.pvalue)
    equals = "" if friedman.startswith("<") else "= "
    test = f"Friedman's test: $p$ {equals}{friedman}"
    lines = (
        f"average ranks over {ranking.n_datasets} data sets, 1 is the best ({test})",
        f"bar: no significant difference{against} at level {ranking.level:g} ({ranking.procedure})",
    )
    letters = max(20, int(base.inches(ax) * LETTERS))
    base.label_axes(ax, "", "", "\n".join(textwrap.fill(line, letters) for line in lines))


def _digits(value: float) -> int:
    """Return how many digits stand before the point."""
    return max(1, len(str(int(value))))


def _levels(ranking: Ranking) -> dict[tuple[int, ...], int]:
    """Give each group a row such that the bars of a row do not touch."""
    ends: list[float] = []
    levels = {}
    for group in ranking.groups:
        low, high = float(ranking.ranks[list(group)].min()), float(ranking.ranks[list(group)].max())
        room = 0.03 * (ranking.ranks.size - 1)
        row = next((i for i, end in enumerate(ends) if end + room < low), len(ends))
        ends[row : row + 1] = [high]
        levels[group] = row
    return levels


def _bars(ax: Axes, ranking: Ranking, bars: dict[tuple[int, ...], int]) -> None:
    pad = 0.006 * (ranking.ranks.size - 1)
    for group, row in bars.items():
        ranks, y = ranking.ranks[list(group)], -0.5 - BAR * row
        ax.plot(
            [ranks.min() - pad, ranks.max() + pad],
            [y, y],
            color=base.BLUE,
            linewidth=4,
            solid_capstyle="butt",
            zorder=4,
        )


def _methods(ax: Axes, ranking: Ranking, words: list[str], depth: float) -> None:
    """Lead each rank to its name, the better half at the left."""
    k = ranking.ranks.size
    order = np.argsort(ranking.ranks, kind="stable").tolist()
    half = (k + 1) // 2
    places = [*enumerate(order[:half]), *enumerate(reversed(order[half:]))]
    for count, (row, method) in enumerate(places):
        left, rank = count < half, float(ranking.ranks[method])
        y = -depth - row
        edge = 1 - 0.02 * (k - 1) if left else k + 0.02 * (k - 1)
        chosen = ranking.names[method] == ranking.control
        ax.plot([rank, rank, edge], [0, y, y], color=base.GREY, linewidth=base.THIN)
        ax.plot([rank], [0], "o", color=base.BLACK, markersize=3.5, zorder=5)
        name, value = words[method], f"{rank:.2f}"
        ax.annotate(
            f"{name}  {value}" if left else f"{value}  {name}",
            (edge, y),
            (-3 if left else 3, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            fontsize=base.TEXT,
            fontweight="bold" if chosen else "normal",
        )
