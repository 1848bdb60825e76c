"""Reliability diagrams: what was predicted against what happened, and what chance allows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from caltest import validation
from caltest.errors import invalid, shown
from caltest.lenses import Lens
from caltest.measures.bins.reliability_bins import BINNINGS, ReliabilityBins, reliability_bins
from caltest.measures.isotonic.confidence_band_curve import (
    ConfidenceBandCurve,
    confidence_band_curve,
)
from caltest.measures.isotonic.corp_curve import CorpBand, corp_curve
from caltest.measures.scores.decomposition import ScoreDecomposition, score_decomposition
from caltest.plots import base
from caltest.plots.seen import Seen, seen
from caltest.predictions import Predictions

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

NAME = "a reliability diagram"
BARS = ("consistency",)
BANDS = ("consistency", "confidence")
Kind = TypeVar("Kind")

GAP, STRIP = 1.02, 0.16  # where the histogram starts, and its height, as shares of the axes
STRIP_BINS = 50
BAR_WIDTH = 5.0  # points
MOST_STEPS = 500


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """What a reliability diagram shows; see `reliability_diagram` for the options."""

    bins: int = 15
    binning: str = "uniform"
    bars: str | None = "consistency"
    band: str | CorpBand | ConfidenceBandCurve | None = None
    corp: bool = False
    level: float = 0.95

    def __post_init__(self) -> None:
        validation.check_integer(self.bins, "bins")
        validation.check_choice(self.binning, BINNINGS, "binning")
        validation.check_level(self.level)
        validation.check_flag(self.corp, "corp")
        if self.bars is not None:
            validation.check_choice(self.bars, BARS, "bars")
        if not isinstance(self.band, CorpBand | ConfidenceBandCurve | None):
            validation.check_choice(self.band, BANDS, "band")
        if self.corp and self.band == "consistency":
            rule = "band must hold the limits of the curve where corp=True"
            remedy = "pass band=caltest.measures.corp_band(...), which draws labels"
            raise invalid(rule, shown(self.band), remedy)

    def draw(self, ax: Axes, predictions: Predictions) -> tuple[Floats, Floats]:
        """Draw all but names and texts, and return the points or the corners of the curve."""
        base.diagonal(ax)
        base.unit_square(ax)
        if isinstance(self.band, CorpBand):
            _corp_band(ax, self.band)
        elif isinstance(self.band, ConfidenceBandCurve):
            _confidence_band(ax, self.band)
        elif self.band == "confidence":
            _confidence_band(ax, _single(confidence_band_curve(predictions, level=self.level)))
        if self.corp:
            x, y = _single(corp_curve(predictions)).points
            _curve(ax, x, y)
            return x, y
        found = _single(
            reliability_bins(predictions, binning=self.binning, bins=self.bins, level=self.level)
        )
        if self.band == "consistency":
            _band_of_bins(ax, found)
        elif self.bars is not None:
            _bars(ax, found)
        _points(ax, found, compared=self.band == "consistency" or self.bars is not None)
        return found.mean, found.frequency


def reliability_diagram(
    source: object,
    labels: object = None,
    *,
    lens: str | Lens | None = None,
    bins: int = 15,
    binning: str = "uniform",
    bars: str | None = "consistency",
    band: str | CorpBand | ConfidenceBandCurve | None = None,
    corp: bool = False,
    histogram: bool = True,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Show observed frequencies against predicted probabilities, and what chance allows.

    In each bin the bar spans the frequencies that a calibrated model shows with probability
    `level`, exactly, so that a point outside its bar differs by more than noise; of many bins a few
    do. The p-value of a result stands in a corner.

    Parameters
    ----------
    source : HTest, Predictions or array
        The result of a test, or predictions; probabilities (n, m) or (n,) with `labels`.
    labels : (n,) or one-hot (n, m) array, optional
        Observed classes, where `source` holds probabilities.
    lens : str or Lens, optional
        A lens that leaves two classes; by default that of the result, none for two classes, and
        "confidence" for more.
    bins : int, default 15
        Number of bins.
    binning : {"uniform", "quantile"}
        Bins of equal width or of equal mass.
    bars : "consistency" or None
        Whether each bin has its bar, see `caltest.measures.reliability_bins`.
    band : {"consistency", "confidence"}, CorpBand or ConfidenceBandCurve, optional
        "consistency" joins the ends of the bars. "confidence" is where the curve of calibration
        lies as a whole with probability `level`, `caltest.measures.confidence_band_curve`. A band
        of `caltest.measures.corp_band` or `confidence_band_curve`, made for the same lens, is drawn
        as it is.
    corp : bool, default False
        Draw the isotonic fit in place of bins, with its miscalibration (MCB), discrimination (DSC)
        and uncertainty (UNC), the parts of the Brier score.
    histogram : bool, default True
        Whether a strip on top shows how the predictions are spread.
    level : float, default 0.95
        Probability of bars and bands.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default a new figure.

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
    diagram = Diagram(bins=bins, binning=binning, bars=bars, band=band, corp=corp, level=level)
    validation.check_flag(histogram, "histogram")
    view = seen(source, labels, lens, NAME)
    ax = base.axes(ax)
    x, y = diagram.draw(ax, view.predictions)
    base.label_axes(ax, *view.axis_names)
    _texts(ax, view, diagram, above=float(np.mean(y - x)) > 0)
    if histogram:
        strip(ax, view.predictions)
    return ax


def _texts(ax: Axes, view: Seen, diagram: Diagram, *, above: bool) -> None:
    """Write the numbers in the corner where the curve is not, and the legend below."""
    lines = [f"n = {view.predictions.n:,}"]
    if view.result is not None:
        lines.append(view.pvalue_text(view.result))
    if diagram.corp:
        lines.append(_parts_text(_single(score_decomposition(view.predictions))))
    base.corner_text(ax, "\n".join(lines), "lower right" if above else "upper left")
    if base.inches(ax) <= base.NARROW:
        base.legend_below(ax)
        return
    base.legend(ax, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=3, columnspacing=1.2)


def _parts_text(parts: ScoreDecomposition) -> str:
    named = {
        "MCB": parts.miscalibration,
        "DSC": parts.discrimination,
        "UNC": parts.uncertainty,
    }
    return "\n".join(f"{name} {value:.4f}" for name, value in named.items())


def _bars(ax: Axes, found: ReliabilityBins) -> None:
    ax.vlines(
        found.mean,
        found.lower,
        found.upper,
        color=base.PALE,
        linewidth=BAR_WIDTH,
        zorder=1,
        label=f"{100 * found.level:g} % consistency",
    )


def _band_of_bins(ax: Axes, found: ReliabilityBins) -> None:
    if found.mean.size == 1:  # nothing to join
        _bars(ax, found)
        return
    ax.fill_between(
        found.mean,
        found.lower,
        found.upper,
        color=base.PALE,
        linewidth=0,
        zorder=1,
        label=f"{100 * found.level:g} % consistency",
    )


def _points(ax: Axes, found: ReliabilityBins, *, compared: bool) -> None:
    """Draw the bins; those outside their limits stand out, in black and white too."""
    x, y = found.mean, found.frequency
    rounding = 1e-9
    outside = (y < found.lower - rounding) | (y > found.upper + rounding)
    outside &= compared
    ax.plot(x, y, color=base.BLUE, linewidth=base.THIN, zorder=3)
    kinds: Sequence[tuple[NDArray[np.bool_], str, dict[str, Any]]] = (
        (~outside, "observed", {"marker": "o", "color": base.BLUE}),
        (
            outside,
            "observed, outside",
            {"marker": "D", "color": base.VERMILION, "markerfacecolor": "white"},
        ),
    )
    for chosen, name, style in kinds:
        if not chosen.any():  # the extent of an empty line that is not clipped upsets the layout
            continue
        dots = ax.plot(x[chosen], y[chosen], linestyle="none", label=name, zorder=4, **style)[0]
        dots.set(markersize=4.5, markeredgewidth=1.1, clip_on=False)


def _curve(ax: Axes, x: Floats, y: Floats) -> None:
    ax.plot(x, y, color=base.BLUE, linewidth=base.LINE, zorder=4, label="isotonic fit (CORP)")
    ax.plot(x[[0, -1]], y[[0, -1]], "o", color=base.BLUE, markersize=3, zorder=4, clip_on=False)


def _corp_band(ax: Axes, band: CorpBand) -> None:
    if band.x.size == 1:
        ax.vlines(band.x, band.lower, band.upper, color=base.PALE, linewidth=BAR_WIDTH, zorder=1)
    ax.fill_between(
        band.x,
        band.lower,
        band.upper,
        color=base.PALE,
        linewidth=0,
        zorder=1,
        label=f"{100 * band.level:g} % consistency",
    )


def _confidence_band(ax: Axes, band: ConfidenceBandCurve) -> None:
    """Draw the band as steps: bounds hold to the right of a prediction, or to its left.

    So they hold without some of the steps too.
    """
    last = band.x.size - 1
    kept = np.unique(np.linspace(0, last, min(last + 1, MOST_STEPS)).round().astype(np.int64))
    x = band.x[kept]
    low_x = np.append(np.repeat(np.append(0.0, x), 2)[1:], 1.0)
    low_y = np.repeat(np.append(0.0, band.lower[kept]), 2)
    high_x = np.append(0.0, np.repeat(np.append(x, 1.0), 2)[:-1])
    high_y = np.repeat(np.append(band.upper[kept], 1.0), 2)
    ax.fill(
        np.concatenate([low_x, high_x[::-1]]),
        np.concatenate([low_y, high_y[::-1]]),
        facecolor=base.SKY,
        alpha=base.BAND,
        linewidth=0,
        zorder=0.5,
        label=f"{100 * band.level:g} % confidence",
    )
    for edge in ((low_x, low_y), (high_x, high_y)):
        ax.plot(*edge, color=base.BLUE, linewidth=base.THIN, linestyle=":", zorder=2)


def strip(ax: Axes, predictions: Predictions) -> Axes:
    """Draw the histogram of the predictions on top of the axes."""
    part = ax.inset_axes((0.0, GAP, 1.0, STRIP), sharex=ax)
    weight = predictions.sample_weight
    edges = np.linspace(0.0, 1.0, STRIP_BINS + 1)
    mass, _ = np.histogram(predictions.probs[:, 1], edges, weights=weight)
    part.stairs(mass, edges, fill=True, color=base.GREY)
    part.set_ylim(0, 1.05 * float(mass.max()))
    part.axis("off")
    return part


def _single(value: Kind | list[Kind]) -> Kind:
    """Return what a measure gave under a lens that is no family."""
    return value[0] if isinstance(value, list) else value
