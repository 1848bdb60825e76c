"""Grids of axes: reliability diagrams of classes, and calibration graphs before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable
from caltest.lenses import Lens, resolve_lens
from caltest.measures.bins.ece import ece
from caltest.plots import base, reliability
from caltest.plots.scales import UNIT, Scale, check_scale, scale_for, scale_of
from caltest.plots.seen import OF_TEST, RowsEvent, seen
from caltest.predictions import MeasuredOptions, ModelData, Predictions, as_measured
from caltest.render import named
from caltest.results import HTest, HTestTable, htest
from caltest.types import AnyArray, Axes, Floats
from caltest.units import check_one_dimension

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    **rows: Unpack[MeasuredOptions],
) -> AnyArray:
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
    bars : {"consistency", "gap"} or None
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
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`.

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
    diagram = reliability.Diagram(
        bins=bins, binning=binning, bars=bars, corp=corp, level=confidence, curve=None, band=None
    )
    check_scale(scale, zoom=zoom)
    checks.check_integer(most, "most")
    if isinstance(source, HTestTable):
        checks.check_unused("where the first argument is a table", labels=labels, **rows)
        panels = _panels_of_table(source, diagram)
    else:
        if isinstance(source, HTest):
            checks.check_unused(OF_TEST, labels=labels, **rows)
            predictions = htest.required(source, NAME).predictions
        else:
            predictions = as_measured(source, labels, reliability_grid, **rows)
        family = resolve_lens(lens)
        family.claim_of(predictions)  # raises where it is of other rows
        members = ((one, _name_of(one)) for one in family.members(predictions))
        panels = [Panel(predictions, m, k, _error(m(predictions), diagram)) for m, k in members]
    shown = sorted(panels, key=lambda panel: -panel.error)[:most]
    columns = min(COLUMNS, len(shown))
    high = -(-len(shown) // columns)
    from caltest.plots.shown import axes_array

    size = columns * PANEL[0] + 0.4, high * PANEL[1] + 1.0
    canvas = base.figure_of(fig, size, "pass an empty figure, or leave it out")
    cells = canvas.add_gridspec(high, columns)
    parts = [base.axes(canvas.add_subplot(cells[divmod(k, columns)])) for k in range(len(shown))]
    axes_scale = UNIT
    if scale != "probability" or zoom:  # axes that hold the data of all panels
        events = (RowsEvent(panel.lens(panel.predictions)) for panel in shown)
        each = [scale_of(event, scale, zoom=zoom, bins=bins) for event in events]
        low = min(one.low for one in each)
        axes_scale = replace(each[0], low=low, high=max(one.high for one in each))
    names = base.names_text((panel.name for panel in shown), LONGEST_NAME)
    for ax, panel, name in zip(parts, shown, names, strict=True):
        _draw(ax, panel, diagram, axes_scale)
        ax.set_title(name, fontsize=base.SMALL, loc="left")
    if len(panels) > len(shown):
        title = f"{len(shown)} of {len(panels)} diagrams, those with the largest expected"
        canvas.suptitle(f"{title} calibration error", fontsize=base.TEXT, x=0.02, ha="left")
    _name(canvas, parts, columns)
    return axes_array(parts)


def _name_of(lens: Lens) -> str:
    """Return the class that a lens is for, or its key."""
    return str(lens) if getattr(lens, "k", None) is None else str(lens.k)  # type: ignore[attr-defined]


def _panels_of_table(table: HTestTable, diagram: reliability.Diagram) -> list[Panel]:
    """Return a panel for all tests of one lens, group and data set."""
    panels: dict[tuple[str, ...], Panel] = {}
    for row, pvalue in zip(table.rows, table.adjusted.tolist(), strict=True):
        evidence = htest.required(row, NAME)
        if evidence.seen.m != 2:
            continue
        key = row.data_name, repr(row.group), row.lens
        if key not in panels:
            group = "" if row.group is None else f"{named(row.group)}, "
            name, error = group + _name_of(evidence.lens), _error(evidence.seen, diagram)
            panels[key] = Panel(evidence.predictions, evidence.lens, name, error)
        entry = pvalue, base.name_text(row.test)
        panels[key] = panels[key]._replace(pvalues=(*panels[key].pvalues, entry))
    if not panels:
        rule = f"{NAME} takes tests whose lens leaves two classes, and the table has none"
        raise NotApplicable(rule, "run test_calibration with lens='classwise' or 'confidence'")
    return list(panels.values())


def _error(predictions: Predictions, diagram: reliability.Diagram) -> float:
    check_one_dimension(predictions, NAME)
    return float(ece(predictions, binning=diagram.binning or "uniform", bins=diagram.bins))


def _draw(ax: Axes, panel: Panel, diagram: reliability.Diagram, scale: Scale) -> None:
    seen = RowsEvent(panel.lens(panel.predictions))
    diagram.draw(ax, seen, scale)
    found = diagram.bins_of(seen, UNIT)
    above = np.mean(found.frequency - found.mean) > 0
    corner: base.Corner = "lower right" if above else "upper left"
    texts = [f"{base.pvalue_text(value)} {test}".rstrip() for value, test in sorted(panel.pvalues)]
    if len(texts) > 2:  # all of them would cover the diagram
        texts = [f"{texts[0]}, least of {len(texts)}"]
    base.corner_text(ax, "\n".join([f"ECE {panel.error:.3f}", *texts]), corner)


def _name(fig: Figure, parts: Sequence[Axes], columns: int) -> None:
    """Name the outer axes, and the colours once for all diagrams."""
    for place, ax in enumerate(parts):
        left, bottom = place % columns == 0, place + columns >= len(parts)
        ax.tick_params(labelleft=left, labelbottom=bottom)
        if bottom:
            ax.set_xlabel("predicted probability", fontsize=base.SMALL)
        if left:
            ax.set_ylabel("observed frequency", fontsize=base.SMALL)
    named = base.named_handles(parts)
    abreast = min(len(named), COLUMNS if columns > 1 else 1)
    style = {"frameon": False, "fontsize": base.SMALL, "ncols": abreast}
    fig.legend(named.values(), named.keys(), loc="outside lower center", **style)


# ---- The four calibration graphs of Gupta et al. 2021, before and after recalibration -----------

POINTS = 1000  # steps that are drawn; of more, those at even distances
STEPS_WITH_MARKERS = 12  # steps that get a marker each
KNOTS = 6
SIZE = (11.0, 3.0)  # of a row


class _Graphs(NamedTuple):
    """Curves over the fractile, two points to each step of equal scores."""

    fractile: Floats
    score: Floats
    probability: Floats
    cumulative_score: Floats
    cumulative_event: Floats
    worst: int  # the point of the largest deviation

    @property
    def ks_error(self) -> float:
        return float(abs(self.cumulative_event - self.cumulative_score)[self.worst])


def calibration_graphs(
    predictions: Predictions | HTest,
    recalibrated: object = None,
    *,
    lens: str | Lens | None = None,
    knots: int = KNOTS,
    scale: str = "probability",
    zoom: bool = False,
    fig: Figure | None = None,
) -> AnyArray:
    r"""Compare scores with probabilities, cumulated and not, over the fractile and the score.

    With the scores p in ascending order and the fractile t = i / n, the cumulative score and the
    cumulative probability are

    .. math:: \tilde h_i = \frac{1}{n} \sum_{j \le i} p_j, \quad
        h_i = \frac{1}{n} \sum_{j \le i} y_j,

    which agree under calibration; their largest distance is the KS error, marked and in the title.
    (a) shows both over t, (b) over :math:`\tilde h`. (c) and (d) show their derivatives, the score
    and the probability of the event at that score, over t and over the score; the probability is
    the score plus the derivative of a cubic spline fitted to :math:`h - \tilde h`.

    Parameters
    ----------
    predictions : Predictions or HTest
        The predictions before recalibration, or a result, whose lens then is the default.
    recalibrated : Predictions or calibrator, optional
        What is drawn in a second row: predictions, or a fitted map of the first ones.
    lens : str or Lens, optional
        One that leaves two classes; by default the confidence where there are three classes or
        more.
    knots : int, default 6
        Knots of the spline, at least 3.
    scale : {"probability", "log-odds"}, default "probability"
        Of the scores and probabilities in (c) and (d), which are not cumulated.
    zoom : bool, default False
        Whether these axes are cut to the data where they fill up to 60 % of them.
    fig : matplotlib.figure.Figure, optional
        Where to draw, or a subfigure; by default a new figure.

    Returns
    -------
    (1, 4) or (2, 4) array of Axes
        A row for each of the predictions.

    Raises
    ------
    NotApplicable
        If the lens leaves more than two classes.
    InvalidInput
        If the lens is a family.

    References
    ----------
    Gupta et al. (2021), Calibration of neural networks using splines, ICLR, figure 1 and
    equations 10 and 11.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", 300, rng=1)
    >>> axes = ct.plots.calibration_graphs(data)
    >>> axes.shape, axes[0, 0].get_xlabel()
    ((1, 4), '(a) fractile')
    """
    checks.check_integer(knots, "knots", 3)
    check_scale(scale, zoom=zoom)
    parts = before_and_after(predictions, recalibrated, lens, "a calibration graph")
    graphs = [_graphs(part, knots) for part in parts]
    from caltest.plots.shown import axes_array

    canvas = base.figure_of(fig, (SIZE[0], SIZE[1] * len(parts)))
    grid = canvas.subplots(len(parts), 4, squeeze=False)
    drawn = np.concatenate([np.append(one.score, one.probability) for one in graphs])
    on = scale_for(drawn, scale, zoom=zoom)
    names = ("before recalibration: ", "after recalibration: ") if len(parts) > 1 else ("",)
    for row, curves, name in zip(grid, graphs, names, strict=True):
        _draw_row(row, curves, on, f"{name}KS error = {100 * curves.ks_error:.2f} %")
    return axes_array(grid)


def before_and_after(
    source: Predictions | HTest, recalibrated: object, lens: str | Lens | None, what: str
) -> list[Predictions]:
    """Return predictions as a lens shows them, and those after recalibration if they are given.

    A calibrator maps those before the lens.
    """
    before, shown = seen(source, None, lens, what, before_and_after)
    if recalibrated is None:
        return [before]
    if isinstance(recalibrated, Predictions):
        return [before, shown(recalibrated)]
    if isinstance(source, HTest):
        source = htest.required(source, what).predictions
    return [before, shown(ModelData(recalibrated, source).predictions())]


def _graphs(shown: Predictions, knots: int) -> _Graphs:
    from caltest.calibrators.spline.cumulative_spline import SplineOptions, fit_spline

    check_one_dimension(shown, "a calibration graph")
    options = SplineOptions(knots, "natural", "difference", constrained=False, monotone=False)
    fitted = fit_spline(shown.probs[:, 1], shown.labels == 1, shown.sample_weight, options)
    sums = np.cumsum(fitted.score * (fitted.fractile - fitted.start))
    worst = int(np.argmax(np.abs(fitted.cumulative - sums)))
    n, kept = len(fitted.fractile), np.arange(len(fitted.fractile))
    if n > POINTS:  # such steps as are evenly far apart, and the worst
        even = np.searchsorted(fitted.fractile, np.linspace(0.0, fitted.fractile[-1], POINTS))
        kept = np.unique(np.append(np.minimum(even, n - 1), [0, worst, n - 1]))
    rate = fitted.cumulative[-1]
    # Of one class the probability of the event is 0 or 1, and no map follows from the fit.
    probability = np.full_like(fitted.score, rate) if rate in {0.0, 1.0} else fitted.recalibrated
    both = np.repeat(kept, 2)
    ends = np.append(0, np.repeat(kept + 1, 2)[:-1])  # of the step before, and of this one
    return _Graphs(
        fractile=np.append(0.0, fitted.fractile)[ends],
        score=fitted.score[both],
        probability=probability[both],
        cumulative_score=np.append(0.0, sums)[ends],
        cumulative_event=np.append(0.0, fitted.cumulative)[ends],
        worst=2 * int(np.searchsorted(kept, worst)) + 1,
    )


def _draw_row(row: Sequence[Axes], curves: _Graphs, on: Scale, title: str) -> None:
    sums, parts = ("cumulative score", "cumulative probability"), ("score", "probability")
    summed = curves.cumulative_score, curves.cumulative_event
    single = on.place(curves.score), on.place(curves.probability)
    xs = curves.fractile, curves.cumulative_score, curves.fractile, single[0]
    x_names = "fractile", sums[0], "fractile", parts[0]
    for k, (ax, x, x_name) in enumerate(zip(row, xs, x_names, strict=True)):
        base.axes(ax)
        markers = ("o", "s") if len(x) <= 2 * STEPS_WITH_MARKERS else (None, None)
        shapes = zip((base.GREY, base.BLUE), ("-", "--"), markers, strict=True)
        drawn = zip(*((summed, sums) if k < 2 else (single, parts)), shapes, strict=True)
        for y, name, (color, dashes, marker) in drawn:
            look: dict[str, Any] = {"color": color, "linestyle": dashes, "marker": marker}
            ax.plot(x, y, linewidth=base.LINE, markersize=3.0, label=name, **look)
        if k < 2:
            gap = [values[curves.worst] for values in summed]
            at = [x[curves.worst]] * 2
            ax.plot(at, gap, color=base.BLACK, linewidth=2 * base.LINE, label="largest gap")
        else:
            on.apply(ax, "xy" if k == 3 and on.is_cut else "y")
            ax.set_box_aspect(None)
        if len(x) == 2:  # one score
            ax.set_xlim(-0.02, 1.02)
        y_name = "cumulative score / probability" if k < 2 else "score / probability"
        base.label_axes(ax, f"({'abcd'[k]}) {x_name}", y_name if k % 2 == 0 else "")
        base.legend(ax, loc="best")
    row[0].set_title(title, fontsize=base.TEXT, loc="left")
