"""The p-values of a table of tests, a row for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from caltest import checks, render
from caltest.plots import base
from caltest.results import HTest, HTestTable
from caltest.results.sheets import CORRECTIONS
from caltest.types import Floats, Order

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    places = _places(table, rows)
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
    _scale(ax, names)
    for y, value in enumerate(final.tolist()):
        base.beside(ax, y, f"{render.pvalue(value)} {render.stars(value)}")
    legend = {"loc": "lower left", "bbox_to_anchor": (0, 1), "ncols": 3, "borderaxespad": 0.2}
    base.legend(ax, **legend)
    return base.label_axes(ax, _axis_name(table, len(shown)), "")


def _places(table: HTestTable, rows: int) -> Order:
    """Return the rows that are shown, in the order of the table."""
    if len(table) <= rows:
        return np.arange(len(table))
    return np.sort(np.argsort(table.pvalues, kind="stable")[:rows])


def _names(rows: Sequence[HTest], omnibus: Sequence[HTest]) -> list[str]:
    """Name each row by what differs between the rows: test, lens, group, data."""
    fields = ("data_name", "test", "lens", "group")
    differ = [f for f in fields if len({str(getattr(row, f)) for row in rows}) > 1]
    differ = differ or ["test"]
    names = [
        ", ".join(base.name_text(name) for name in parts if name is not None)
        for parts in ([getattr(row, field) for field in differ] for row in rows)
    ]
    several = len({(test.test, test.lens) for test in omnibus}) > 1
    for test in omnibus:
        parts = ["all groups", test.test] if several else ["all groups"]
        if len({test.lens for test in omnibus}) > 1:
            parts.append(base.name_text(test.lens))
        names.append(", ".join(parts))
    return names


def _mark(ax: Axes, first: Floats | None, final: Floats, n_rows: int) -> None:
    """Draw the p-values; an arrow stands for those that are smaller than the axis shows."""
    y, at = np.arange(final.size), np.maximum(final, SMALLEST_PVALUE)
    own = y < n_rows
    if first is not None:
        before, smaller = np.maximum(first, SMALLEST_PVALUE), first < SMALLEST_PVALUE
        ax.hlines(y[own], before, at[own], color=base.GREY, linewidth=base.THIN)
        style: dict[str, Any] = {
            "facecolor": "white",
            "edgecolor": base.GREY,
            "linewidth": base.THIN,
        }
        for mask, marker in ((~smaller, "o"), (smaller, "<")):
            if mask.any():
                label = None if smaller.any() and marker == "<" else "p-value"
                ax.scatter(
                    before[mask], y[own][mask], s=26, marker=marker, label=label, zorder=3, **style
                )
    arrow = final < SMALLEST_PVALUE
    groups = (
        (own & ~arrow, "o", "adjusted" if first is not None else "p-value"),
        (~own & ~arrow, "D", "all groups together"),
        (arrow, "<", f"below {SMALLEST_PVALUE:.0e}"),
    )
    for mask, marker, label in groups:
        if mask.any():
            ax.scatter(
                at[mask], y[mask], s=26, marker=marker, color=base.BLUE, label=label, zorder=4
            )


def _scale(ax: Axes, names: Sequence[str]) -> None:
    ax.set_xscale("log")
    ax.set_xlim(*LIMITS)
    ticks = [1e-4, 1e-3, 0.01, 0.05, 0.2, 1.0]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xticks([], minor=True)
    base.name_rows(ax, names)


def _axis_name(table: HTestTable, shown: int) -> str:
    name = "p-value"
    if table.correction is not None:
        method = CORRECTIONS.get(table.correction, table.correction)
        name += f", {method} over {len(table)} tests"
    return name if shown == len(table) else f"{name}; the {shown} smallest"
