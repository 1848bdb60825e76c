"""A reliability diagram for each class, or for each test of a table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from caltest import checks
from caltest.checks import check_unused
from caltest.errors import NotApplicable
from caltest.lenses import Lens, resolve_lens
from caltest.measures.bins.ece import ece
from caltest.plots import base
from caltest.plots.reliability import Diagram, scale_of_diagram
from caltest.plots.scales import UNIT, Scale, check_scale
from caltest.plots.seen import RowsEvent
from caltest.predictions import Predictions, as_measured
from caltest.results import HTest, HTestTable
from caltest.results.evidence import required
from caltest.units.units import check_one_dimension

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

NAME = "a grid of reliability diagrams"
COLUMNS = 4
PANEL = (2.2, 2.45)  # inches
LONGEST_NAME = 26


class Panel(NamedTuple):
    """One diagram: where its predictions come from, and adjusted p-values if there are tests."""

    predictions: Predictions
    lens: Lens
    name: str
    error: float
    pvalues: tuple[tuple[float, str], ...] = ()  # and what they are of, where there are several


def reliability_grid(
    source: object,
    labels: object = None,
    *,
    lens: str | Lens = "classwise",
    bins: int = 15,
    binning: str | None = None,
    bars: str | None = "consistency",
    corp: bool = False,
    scale: str = "probability",
    zoom: bool = False,
    confidence: float = 0.95,
    most: int = 12,
    fig: Figure | None = None,
) -> NDArray[np.object_]:
    """Show a reliability diagram for each class, those with the largest error first.

    Parameters
    ----------
    source : HTestTable, HTest, Predictions or array
        Predictions, or probabilities (n, m) with `labels`; those behind a result. Of a table each
        lens and group gets a diagram with the adjusted p-values of its tests, of more than two the
        smallest, where the lens leaves two classes.
    labels : (n,) or one-hot (n, m) array, optional
        Observed classes, where `source` holds probabilities.
    lens : str or Lens, default "classwise"
        A family of lenses, "classwise" or "top-label". Not used for a table.
    bins : int, default 15
        Number of bins.
    binning : {"uniform", "quantile"}, optional
        Bins of equal width or of equal mass; by default of equal mass on log odds.
    bars : "consistency" or None
        Whether each bin has its bar.
    corp : bool, default False
        Draw isotonic fits in place of bins.
    scale : {"probability", "log-odds"}, default "probability"
        Of all axes, which have the same ends.
    zoom : bool, default False
        Whether axes of probabilities are cut to the data where these fill up to 60 % of them.
    confidence : float, default 0.95
        Probability of the bars.
    most : int, default 12
        Largest number of diagrams; of more classes those with the largest classwise ECE are shown,
        and the title says so.
    fig : matplotlib.figure.Figure, optional
        An empty figure or subfigure to draw in; by default a new one.

    Returns
    -------
    (panels,) array of matplotlib.axes.Axes
        In the order of the expected calibration errors, in these bins, the largest first.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If a lens leaves more than two classes, or a result holds no predictions any more.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=500, m=3, rng=1)
    >>> grid = ct.plots.reliability_grid(data, bins=5)
    >>> [ax.get_title(loc="left") for ax in grid]
    ['0', '2', '1']
    """
    diagram = Diagram(
        bins=bins, binning=binning, bars=bars, corp=corp, level=confidence, curve=None, band=None
    )
    check_scale(scale, zoom=zoom)
    checks.check_integer(most, "most")
    if isinstance(source, HTestTable):
        check_unused("where the first argument is a table", labels=labels)
        panels = _panels_of_table(source, diagram)
    else:
        panels = _panels_of_family(_predictions_of(source, labels), resolve_lens(lens), diagram)
    shown = sorted(panels, key=lambda panel: -panel.error)[:most]
    columns = min(COLUMNS, len(shown))
    rows = math.ceil(len(shown) / columns)
    from caltest.plots.shown import axes_array

    size = columns * PANEL[0] + 0.4, rows * PANEL[1] + 1.0
    canvas = base.figure_of(fig, size, "pass an empty figure, or leave it out")
    cells = canvas.add_gridspec(rows, columns)
    parts = [base.axes(canvas.add_subplot(cells[divmod(k, columns)])) for k in range(len(shown))]
    axes_scale = _scale_of(shown, scale, bins, zoom=zoom)
    for ax, panel in zip(parts, shown, strict=True):
        _draw(ax, panel, diagram, axes_scale)
    _name(
        canvas, parts, columns, f"{len(shown)} of {len(panels)}" if len(panels) > len(shown) else ""
    )
    return axes_array(parts)


def _predictions_of(source: object, labels: object) -> Predictions:
    if isinstance(source, HTest):
        check_unused("where the first argument is the result of a test", labels=labels)
        return required(source.evidence, NAME).predictions
    return as_measured(source, labels)


def _panels_of_family(predictions: Predictions, lens: Lens, diagram: Diagram) -> list[Panel]:
    panels = []
    for member in lens.members(predictions):
        error = _error(member(predictions), diagram)
        panels.append(Panel(predictions, member, _name_of(member), error))
    return panels


def _name_of(lens: Lens) -> str:
    """Return the class that a lens is for, or its key."""
    return str(lens) if getattr(lens, "k", None) is None else str(lens.k)  # type: ignore[attr-defined]


def _panels_of_table(table: HTestTable, diagram: Diagram) -> list[Panel]:
    """Return a panel for all tests of one lens, group and data set."""
    panels: dict[tuple[str, ...], Panel] = {}
    for row, pvalue in zip(table.rows, table.adjusted.tolist(), strict=True):
        evidence = required(row.evidence, NAME)
        if evidence.seen.m != 2:
            continue
        key = row.data_name, repr(row.group), row.lens
        if key not in panels:
            group = "" if row.group is None else f"{row.group}, "
            name, error = group + _name_of(evidence.lens), _error(evidence.seen, diagram)
            panels[key] = Panel(evidence.predictions, evidence.lens, name, error)
        entry = pvalue, base.name_text(row.test)
        panels[key] = panels[key]._replace(pvalues=(*panels[key].pvalues, entry))
    if not panels:
        raise NotApplicable(
            f"{NAME} takes tests whose lens leaves two classes, and the table has none",
            "run test_calibration with lens='classwise' or 'confidence'",
        )
    return list(panels.values())


def _error(predictions: Predictions, diagram: Diagram) -> float:
    check_one_dimension(predictions, NAME)
    return float(ece(predictions, binning=diagram.binning or "uniform", bins=diagram.bins))


def _scale_of(panels: Sequence[Panel], scale: str, bins: int, *, zoom: bool) -> Scale:
    """Return axes that hold the data of all panels."""
    if scale == "probability" and not zoom:
        return UNIT
    seen = [RowsEvent(panel.lens(panel.predictions)) for panel in panels]
    each = [scale_of_diagram(one, scale, zoom=zoom, bins=bins) for one in seen]
    low, high = min(one.low for one in each), max(one.high for one in each)
    return replace(each[0], low=low, high=high)


def _draw(ax: Axes, panel: Panel, diagram: Diagram, scale: Scale) -> None:
    seen = RowsEvent(panel.lens(panel.predictions))
    diagram.draw(ax, seen, scale)
    found = diagram.bins_of(seen, UNIT)
    above = float(np.mean(found.frequency - found.mean)) > 0
    ax.set_title(base.name_text(panel.name, LONGEST_NAME), fontsize=base.SMALL, loc="left")
    lines = [f"ECE {panel.error:.3f}", *_texts(panel.pvalues)]
    base.corner_text(ax, "\n".join(lines), "lower right" if above else "upper left")


def _texts(pvalues: tuple[tuple[float, str], ...]) -> list[str]:
    """Write one or two p-values; of more the smallest, as they would cover the diagram."""
    texts = [f"{base.pvalue_text(value)} {test}".rstrip() for value, test in sorted(pvalues)]
    return texts if len(texts) <= 2 else [f"{texts[0]}, least of {len(texts)}"]


def _name(fig: Figure, parts: Sequence[Axes], columns: int, selection: str) -> None:
    """Name the outer axes, and the colours once for all diagrams."""
    for place, ax in enumerate(parts):
        left, bottom = place % columns == 0, place + columns >= len(parts)
        ax.tick_params(labelleft=left, labelbottom=bottom)
        if bottom:
            ax.set_xlabel("predicted probability", fontsize=base.SMALL)
        if left:
            ax.set_ylabel("observed frequency", fontsize=base.SMALL)
    if selection:
        title = f"{selection} diagrams, those with the largest expected calibration error"
        fig.suptitle(title, fontsize=base.TEXT, x=0.02, ha="left")
    named = base.named_handles(parts)
    abreast = min(len(named), COLUMNS if columns > 1 else 1)
    style = {"frameon": False, "fontsize": base.SMALL, "ncols": abreast}
    fig.legend(named.values(), named.keys(), loc="outside lower center", **style)
