"""Reliability diagrams: what was predicted against what happened, and what chance allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np

from caltest import checks
from caltest.errors import invalid, shown
from caltest.lenses import Lens
from caltest.measures import ConfidenceBandCurve, CorpBand
from caltest.measures.bins.reliability_bins import BINNINGS, ReliabilityBins
from caltest.plots import base
from caltest.plots.base import set_tips
from caltest.plots.scales import Scale, check_scale, diagonal, scale_of
from caltest.plots.seen import Event, Limits, View, view_of, view_of_table
from caltest.predictions.options import MeasuredOptions, NoOptions, check_names
from caltest.render import rows_in_words, share
from caltest.types import Axes, Floats

NAME = "a reliability diagram"
BARS = ("consistency", "gap")
CURVES = ("smooth",)
Band = str | CorpBand | ConfidenceBandCurve | None

BAR_WIDTH = 5.0  # points
ROUNDING = 1e-9  # of probabilities
MOST_STEPS = 500
LARGEST, SMALLEST = 48.0, 6.0  # area of a point in square points
FEW, SOME = 10, 30  # rows of a bin below which its point is faint, or less so
TALL = (4.6, 7.0)  # inches, with room for the numbers and the legend below
LOW = (4.6, 6.6)  # inches, with room for the legend alone
WIDE = 3.3  # inches: axes with room for numbers and legend side by side
LEAST_FILLED = 6  # bins of equal width with rows, below which bins of equal mass are drawn


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """What a reliability diagram shows; see `reliability_diagram` for the options."""

    bins: int = 15
    binning: str | None = None
    bars: str | None = "consistency"
    curve: str | None = "smooth"
    band: Band = "auto"
    corp: bool = False
    level: float = 0.95

    def __post_init__(self) -> None:
        checks.check_count(self.bins)
        for name, choices in (("binning", BINNINGS), ("bars", BARS), ("curve", CURVES)):
            if getattr(self, name) is not None:
                checks.check_choice(getattr(self, name), choices, name)
        checks.check_confidence(self.level)
        checks.check_flag(self.corp, "corp")
        if not isinstance(self.band, CorpBand | ConfidenceBandCurve | None):
            checks.check_choice(self.band, ("auto", "consistency", "confidence"), "band")
        if self.corp and self.band == "consistency":
            rule = "band must hold the limits of the curve where corp=True"
            remedy = "pass band=caltest.measures.corp_band(...), which draws labels"
            raise invalid(rule, shown(self.band), remedy)

    def bins_of(self, event: Event, scale: Scale) -> ReliabilityBins:
        """Return the bins: of equal width where these show the predictions, else of equal mass."""
        binning = self.binning or ("quantile" if scale.is_cut else "uniform")
        found = event.bins(binning, self.bins, self.level)
        if self.binning is None and found.mean.size < min(LEAST_FILLED, self.bins):
            found = event.bins("quantile", self.bins, self.level)
        return found

    def draw(self, ax: Axes, event: Event, scale: Scale) -> None:
        """Draw all but names and texts."""
        diagonal(ax, scale)
        scale.apply(ax)
        is_confidence = self.corp and self.band == "auto" and not event.units.is_weighted
        if isinstance(self.band, CorpBand):
            _if_calibrated(ax, self.band, self.band.x, scale, joined=True)
        elif isinstance(self.band, ConfidenceBandCurve):
            limits = self.band.x, self.band.lower, self.band.upper
            _confidence_band(ax, limits, self.band.level, scale)
        elif self.band == "confidence" or is_confidence:
            _confidence_band(ax, event.band(self.level), self.level, scale)
        if self.corp:
            x, y = map(scale.place, event.corp().points)
            at: dict[str, Any] = {"color": base.BLUE, "zorder": 4}
            ax.plot(x, y, linewidth=base.LINE, label="isotonic fit (CORP)", **at)
            inside = (np.minimum(x, y) >= scale.low) & (np.maximum(x, y) <= scale.high)
            seen = [end for end in (0, -1) if inside[end]]
            ax.plot(x[seen], y[seen], "o", markersize=3, clip_on=False, **at)
            return
        if self.bars == "gap":
            _gap_bars(ax, self.bins_of(event, scale), scale, self.bins)
            return
        if self.curve is not None:
            smooth = event.smooth(self.level)
            inside = (smooth.x >= scale.low) & (smooth.x <= scale.high)
            x, y = smooth.x[inside], smooth.probability[inside]
            if x.size > 1 and self.band == "auto":
                ends = smooth.lower[inside], smooth.upper[inside]
                name = f"{100 * smooth.level:g} % band, simultaneous"
                base.band(ax, x, *ends, color=base.SKY, zorder=0.5, label=name)
            if x.size > 1:
                ax.plot(x, y, color=base.BLUE, linewidth=base.LINE, zorder=3, label="smooth curve")
        found = self.bins_of(event, scale)
        joined = self.band == "consistency"
        compared = joined or self.bars is not None
        if compared:
            _if_calibrated(ax, found, found.mean, scale, joined=joined)
        _points(ax, found, scale, compared=compared)


def reliability_diagram(
    source: object,
    labels: object = None,
    y: object = None,
    *,
    lens: str | Lens | None = None,
    bins: int = 15,
    binning: str | None = None,
    bars: str | None = "consistency",
    curve: str | None = "smooth",
    band: Band = "auto",
    corp: bool = False,
    scale: str | None = None,
    zoom: bool = True,
    histogram: bool = True,
    numbers: bool = True,
    pvalue: float | None = None,
    confidence: float = 0.95,
    label: str | None = None,
    probs: str | Sequence[str] | None = None,
    engine: str = "auto",
    on_error: str = "raise",
    ax: Axes | None = None,
    **rows: Unpack[MeasuredOptions],
) -> Axes:
    """Show observed frequencies against predicted probabilities, and what chance allows.

    The curve is `caltest.measures.smooth_curve` with the band that holds all of it at once. In each
    bin the bar spans the frequencies that a calibrated model shows with probability `confidence`,
    exactly, so that a point outside its bar differs by more than noise; of many bins a few do. The
    area of a point grows with the rows in its bin, and points of fewer than 30 rows are fainter.
    The strip on top counts the predictions of rows with the event (upwards) and without it
    (downwards, each on a scale of its own), and its lines are their mean and the observed
    frequency. Below stand numbers with their intervals, and the p-value of a result with its test.

    Parameters
    ----------
    source : HTest, Predictions, array or None
        The result of a test, whose `places` are shaded, or predictions; probabilities (n, m) or
        (n,) with `labels`; a model with X and y; or with `label` what `test_calibration` takes as
        data: a data frame, also a lazy one, a path, a pattern, or an iterator of frames.
    labels : (n,) or one-hot (n, m) array, optional
        Observed classes, where `source` holds probabilities. With `label` the data, where `source`
        is None. Where `source` is a model, the rows X that it predicts.
    y : (n,) or one-hot (n, m) array, optional
        Observed classes, where `source` is a model.
    lens : str or Lens, optional
        A lens that leaves two classes; by default that of the result, none for two classes, and
        "confidence" for more.
    bins : int, default 15
        Number of bins.
    binning : {"uniform", "quantile"}, optional
        Bins of equal width or of equal mass; by default of equal mass where the axes are cut to the
        predictions, or where few bins of equal width have any.
    bars : {"consistency", "gap"} or None
        Whether each bin has its bar, see `caltest.measures.reliability_bins`. "gap" is the style
        of the papers on networks (Guo et al. 2017, figure 1; Kull et al. 2019, figure 1): bars of
        the observed frequency and of its gap to the mean prediction, whose mean by rows is the
        ECE, in place of points and curve; the consistency bars stand on them as lines.
    curve : "smooth" or None
        Whether the smooth curve is drawn.
    band : {"auto", "consistency", "confidence"}, CorpBand, ConfidenceBandCurve or None
        "auto" is the simultaneous confidence band of the smooth curve, and with `corp` that of
        "confidence". "consistency" joins the ends of the bars. "confidence" is where the curve of
        calibration lies as a whole with probability `confidence`,
        `caltest.measures.confidence_band_curve`. A band of `caltest.measures.corp_band` or
        `confidence_band_curve`, made for the same lens, is drawn
        as it is.
    corp : bool, default False
        Draw the isotonic fit in place of bins, with its miscalibration (MCB), discrimination (DSC)
        and uncertainty (UNC), the parts of the Brier score.
    scale : {"probability", "log-odds"}, optional
        Of both axes. By default log odds where half of the predictions lie within 0.02 of 0 or 1
        and others do not, as those of networks; there the axes end at 1 / (2 n), and what lies
        beyond is drawn at the end.
    zoom : bool, default True
        Whether axes of probabilities are cut to the data where these fill up to 60 % of them.
    histogram : bool, default True
        Whether a strip on top shows how the predictions are spread, by outcome.
    numbers : bool, default True
        Whether intercept, slope, ICI and E90 stand below with their intervals, where the axes are
        wide enough. Of more than 2,000 rows ICI and E90 have none: a loess is not resampled then.
    pvalue : float, optional
        Shown in place of that of a result: the one adjusted in a table of tests.
    confidence : float, default 0.95
        Probability of bars and bands.
    label : str, optional
        Column of the labels, where the data have columns.
    probs : str or list of str, optional
        Columns of the probabilities.
    engine : {"auto", "rows", "cells"}, default "auto"
        Whether the rows of data with columns are read, or counted in 2^16 cells where they lie;
        "auto" counts more than 2 million. The bins of equal width are then exact, those of equal
        mass end where cells do, and the curves take the predictions of a cell as equal. There is no
        ICI.
    on_error : {"raise", "skip"}, default "raise"
        Whether rows that are wrong are left out of cells.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes of the diagram.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If the lens leaves more than two classes, or a result holds no predictions any more.

    References
    ----------
    Broecker, Smith (2007), Increasing the reliability of reliability diagrams, Weather and
    Forecasting 22; Dimitriadis, Gneiting, Jordan (2021), Stable reliability diagrams for
    probabilistic classifiers, PNAS 118.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=500, m=3, rng=1)
    >>> ax = ct.plots.reliability_diagram(data)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('confidence', 'accuracy')
    """
    diagram = Diagram(
        bins=bins, binning=binning, bars=bars, curve=curve, band=band, corp=corp, level=confidence
    )
    for name, flag in (("histogram", histogram), ("numbers", numbers)):
        checks.check_flag(flag, name)
    check_scale(scale, zoom=zoom, auto=True)
    if pvalue is not None:
        checks.check_share(pvalue, "pvalue")
    if label is None:
        checks.check_unused("without label=", probs=probs)
        data = labels if y is None else (labels, y)
        view = view_of(source, data, lens, NAME, reliability_diagram, **rows)
    else:
        columns: dict[str, Any] = {"label": label, "probs": probs}
        columns["classes"] = rows.pop("classes", None)
        check_names(rows, NoOptions, reliability_diagram)
        columns |= {"engine": engine, "on_error": on_error}
        view = view_of_table(labels if source is None else source, lens, NAME, bins, **columns)
    ax = base.axes(ax, TALL if numbers else LOW)
    on = scale_of(view.event, scale, zoom=zoom, bins=bins)
    _draw_view(ax, view, diagram, on, histogram=histogram)
    _texts(ax, view, diagram, pvalue, numbers=numbers)
    return ax


def _draw_view(ax: Axes, view: View, diagram: Diagram, on: Scale, *, histogram: bool) -> None:
    """Draw a diagram with its strip, and name the axes."""
    diagram.draw(ax, view.event, on)
    places = () if view.result is None else view.result.places
    seen = view.lens, str(view.event.names[1])
    wrong = [one.where for one in places if one.where and one.where.is_range_of(*seen)]
    for number, one in enumerate(wrong):
        ends = np.array([-np.inf if one.above is None else one.above, one.below or np.inf])
        label = "_" if number else "differs beyond chance"
        style: dict[str, Any] = {"color": base.VERMILION, "alpha": 0.13, "linewidth": 0}
        ax.axvspan(*np.clip(ends, on.low, on.high), label=label, zorder=0.2, **style)
    base.label_axes(ax, *view.axis_names)
    if histogram:
        _strip(ax, view.event, on)


def _texts(ax: Axes, view: View, diagram: Diagram, pvalue: float | None, *, numbers: bool) -> None:
    """Write the numbers below at the left, and the legend at their right."""
    lines = [f"n = {view.event.n:,}"]
    if view.result is not None:
        lines.append(view.pvalue_text(view.result, pvalue))
    if diagram.corp:
        parts = view.event.parts()
        lines += [f"MCB {parts.miscalibration:.4f}", f"DSC {parts.discrimination:.4f}"]
        lines.append(f"UNC {parts.uncertainty:.4f}")
    if not numbers or base.inches(ax) < WIDE:
        above = view.event.rate > view.event.mean
        base.corner_text(ax, "\n".join(lines), "lower right" if above else "upper left")
        base.legend_below(ax, columns=1 if base.inches(ax) < base.NARROW else 2)
        return
    lines += view.event.numbers(diagram.level)
    style: dict[str, Any] = {"ha": "left", "va": "top", "linespacing": 1.35}
    base.note(ax, "\n".join(lines), (0, 0), (0, -base.BELOW), xycoords="axes fraction", **style)
    base.legend_below(ax, right=True)


def _if_calibrated(
    ax: Axes, found: ReliabilityBins | CorpBand, x: Floats, scale: Scale, *, joined: bool
) -> None:
    """Draw what a calibrated model shows at each prediction, `joined` to a band where it can be."""
    x, low, high = (scale.place(values) for values in (x, found.lower, found.upper))
    style: dict[str, Any] = {"color": base.PALE, "zorder": 1}
    style["label"] = f"{100 * found.level:g} % if calibrated"
    if joined and x.size > 1:
        ax.fill_between(x, low, high, linewidth=0, **style)
    else:
        ax.vlines(x, low, high, linewidth=BAR_WIDTH, **style)


def _gap_bars(ax: Axes, found: ReliabilityBins, scale: Scale, bins: int) -> None:
    """Draw bars of the observed frequencies, of their gaps, and what a calibrated model shows."""
    inner = (found.right[:-1] + found.left[1:]) / 2
    left, right = np.append(found.left[0], inner), np.append(inner, found.right[-1])
    if found.binning == "uniform":
        right = np.maximum(np.ceil(found.mean * bins - ROUNDING), 1) / bins
        left = right - 1 / bins
    left, right, y, mean = map(scale.place, (left, right, found.frequency, found.mean))
    style: dict[str, Any] = {"width": right - left, "align": "edge", "edgecolor": "white"}
    ax.bar(left, y - scale.low, bottom=scale.low, color=base.BLUE, label="observed, bins", **style)
    gap = {"color": base.VERMILION, "alpha": 0.5, "hatch": "//", "label": "gap to the prediction"}
    ax.bar(left, np.abs(mean - y), bottom=np.minimum(mean, y), **(style | gap))
    limits = scale.place(found.lower), scale.place(found.upper)
    name = f"{100 * found.level:g} % if calibrated"
    ax.vlines(mean, *limits, color=base.BLACK, linewidth=base.LINE, zorder=4, label=name)


def _points(ax: Axes, found: ReliabilityBins, scale: Scale, *, compared: bool) -> None:
    """Draw the bins; those outside their limits stand out, in black and white too."""
    from matplotlib.colors import to_rgba

    y = found.frequency
    outside = (y < found.lower - ROUNDING) | (y > found.upper + ROUNDING)
    outside &= compared
    area = np.maximum(LARGEST * found.mass / found.mass.max(), SMALLEST)
    opacity = np.where(found.count < FEW, 0.4, np.where(found.count < SOME, 0.7, 1.0))
    columns = (found.count, found.mean, y, found.lower, found.upper)
    numbers = zip(*(values.tolist() for values in columns), strict=True)
    texts = [
        f"{rows_in_words(count)}: predicted {share(mean)}, observed {share(seen)} "
        f"(if calibrated {share(low)} to {share(high)})"
        for count, mean, seen, low, high in numbers
    ]
    kinds = ((~outside, "observed", "o", base.BLUE), (outside, "outside", "D", base.VERMILION))
    for chosen, name, marker, color in kinds:
        if not chosen.any():
            continue
        edges = np.array([to_rgba(color, alpha) for alpha in opacity[chosen]])
        faces = edges if marker == "o" else "white"
        x_drawn, y_drawn = (scale.place(values[chosen]) for values in (found.mean, y))
        style: dict[str, Any] = {"marker": marker, "facecolors": faces, "edgecolors": edges}
        style |= {"linewidths": 1.1, "clip_on": False, "zorder": 4, "label": name}
        dots = ax.scatter(x_drawn, y_drawn, s=area[chosen], **style)
        set_tips(dots, [text for text, is_chosen in zip(texts, chosen, strict=True) if is_chosen])


def _confidence_band(ax: Axes, limits: Limits, level: float, scale: Scale) -> None:
    """Draw the band as steps: bounds hold to the right of a prediction, or to its left.

    So they hold without some of the steps too.
    """
    last = limits[0].size - 1
    kept = np.unique(np.linspace(0, last, min(last + 1, MOST_STEPS)).round().astype(np.int64))
    x, lower, upper = (values[kept] for values in limits)
    low_x = np.append(np.repeat(np.append(0.0, x), 2)[1:], 1.0)
    low_y = np.repeat(np.append(0.0, lower), 2)
    high_x = np.append(0.0, np.repeat(np.append(x, 1.0), 2)[:-1])
    high_y = np.repeat(np.append(upper, 1.0), 2)
    low_x, low_y, high_x, high_y = map(scale.place, (low_x, low_y, high_x, high_y))
    around = np.concatenate([low_x, high_x[::-1]]), np.concatenate([low_y, high_y[::-1]])
    style: dict[str, Any] = {"facecolor": base.SKY, "alpha": base.BAND, "linewidth": 0}
    ax.fill(*around, zorder=0.5, label=f"{100 * level:g} % band, simultaneous", **style)
    for edge in ((low_x, low_y), (high_x, high_y)):
        ax.plot(*edge, color=base.BLUE, linewidth=base.THIN, linestyle=":", zorder=2)


LINE_CELLS = 200


def attributes_diagram(
    source: object,
    labels: object = None,
    *,
    lens: str | Lens | None = None,
    bins: int = 10,
    binning: str | None = "uniform",
    scale: str = "probability",
    zoom: bool = False,
    confidence: float = 0.95,
    ax: Axes | None = None,
    **rows: Unpack[MeasuredOptions],
) -> Axes:
    """Draw a reliability diagram with the lines that tell what the forecasts are worth.

    The horizontal and the vertical line are the observed frequency, the climatology: forecasts
    without resolution lie on the first. A point in the shaded area, nearer to the diagonal than to
    it, adds to the Brier skill score, one outside takes from it.

    Parameters
    ----------
    source : HTest, Predictions or array
        As for `reliability_diagram`.
    labels : (n,) or one-hot (n, m) array, optional
        Observed classes, where `source` holds probabilities.
    lens : str or Lens, optional
        A lens that leaves two classes.
    bins : int, default 10
        Number of bins.
    binning : {"uniform", "quantile"}
        Bins of equal width or of equal mass.
    scale : {"probability", "log-odds"}, default "probability"
        Of both axes; on log odds the lines bend.
    zoom : bool, default False
        Whether axes of probabilities are cut to the data, as in `reliability_diagram`.
    confidence : float, default 0.95
        Probability of the bars.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default on a new figure.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If the lens leaves more than two classes, or a result holds no predictions any more.

    References
    ----------
    Hsu, Murphy (1986), The attributes diagram: a geometrical framework for assessing the quality of
    probability forecasts, International Journal of Forecasting 2.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=500, m=2, alpha=1.0, rng=1)
    >>> ct.plots.attributes_diagram(data).get_xlabel()
    'predicted probability of 1'
    """
    view = view_of(source, labels, lens, "an attributes diagram", attributes_diagram, **rows)
    check_scale(scale, zoom=zoom)
    diagram = Diagram(bins=bins, binning=binning, curve=None, level=confidence)
    on = scale_of(view.event, scale, zoom=zoom, bins=bins)
    ax = base.axes(ax, (TALL[0], TALL[1] + 0.4))
    _draw_view(ax, view, diagram, on, histogram=True)
    _texts(ax, view, diagram, None, numbers=True)
    rate = view.event.rate
    line: dict[str, Any] = {"color": base.GREEN, "linewidth": base.THIN, "zorder": 2}
    ax.axhline(rate, linestyle=":", label="no resolution", **line)
    ax.axvline(rate, linestyle=":", **line)
    x = np.unique(np.append(on.edges(LINE_CELLS), np.clip(rate, on.low, on.high)))
    middle = (x + rate) / 2
    skill: dict[str, Any] = {"color": base.GREEN, "alpha": 0.12, "zorder": 0.4}
    left, right = x <= rate, x >= rate
    base.band(ax, x[left], on.low, middle[left], label="adds to the skill", **skill)
    base.band(ax, x[right], middle[right], on.high, **skill)
    ax.plot(x, middle, linestyle="--", **line)
    base.legend_below(ax, right=base.inches(ax) > base.NARROW)
    return ax


GAP, STRIP = 1.02, 0.2  # where the strip starts, and its height, as shares of the axes
CELLS = 50


def _strip(ax: Axes, event: Event, scale: Scale) -> None:
    """Draw histograms of rows with the event, upwards, and without it, downwards.

    Each is as tall as the other, as one of the outcomes is often rare. Lines at the mean prediction
    and at the observed frequency run through both; the legend of the axes has the numbers.
    """
    part = ax.inset_axes((0.0, GAP, 1.0, STRIP), sharex=ax)
    edges = scale.edges(CELLS)
    edges[[0, -1]] = min(edges[0], scale.low), max(edges[-1], scale.high)
    names = [base.name_text(name) for name in event.names]
    kinds = ((1, event.happened, 1.0, base.BLUE), (0, event.mass - event.happened, -1.0, base.GREY))
    for which, rows, sign, color in kinds:
        mass, _ = np.histogram(scale.place(event.values), edges, weights=rows)
        if not event.counts[which] or mass.max() == 0:
            continue
        style: dict[str, Any] = {"fill": True, "color": color, "alpha": 0.7}
        part.stairs(sign * mass / mass.max(), edges, **style)
        label = f"{names[which]}: {rows_in_words(event.counts[which])}"
        ax.fill_between([], [], color=color, alpha=0.7, label=label)
    lines = [(event.mean, "-", base.BLACK, "mean prediction")]
    lines.append((event.rate, "--", base.VERMILION, "observed"))
    for value, dashes, color, name in lines:
        style = {"color": color, "linestyle": dashes, "linewidth": 1.2}
        at = float(scale.place(np.array([value]))[0])
        part.plot([at, at], [-1.05, 1.05], **style)
        ax.plot([], [], label=f"{name} {share(value)}", **style)
    part.set_ylim(-1.08, 1.08)
    part.axis("off")
