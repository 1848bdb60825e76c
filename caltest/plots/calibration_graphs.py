"""The four calibration graphs of Gupta et al. 2021, before and after recalibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from caltest.checks import check_integer
from caltest.lenses import Lens
from caltest.plots import base
from caltest.plots.scales import Scale, check_scale, scale_for
from caltest.plots.seen import seen
from caltest.predictions import ModelData, Predictions
from caltest.results import HTest
from caltest.results.evidence import required
from caltest.types import AnyArray, Floats, Order
from caltest.units.units import check_one_dimension

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from caltest.calibrators.spline.cumulative_spline import FittedSpline


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
    check_integer(knots, "knots", 3)
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
    before, shown = seen(source, None, lens, what)
    if recalibrated is None:
        return [before]
    if isinstance(recalibrated, Predictions):
        return [before, shown(recalibrated)]
    if isinstance(source, HTest):
        source = required(source.evidence, what).predictions
    return [before, shown(ModelData(recalibrated, source).predictions())]


def _graphs(shown: Predictions, knots: int) -> _Graphs:
    from caltest.calibrators.spline.cumulative_spline import SplineOptions, fit_spline

    check_one_dimension(shown, "a calibration graph")
    options = SplineOptions(knots, "natural", "difference", constrained=False, monotone=False)
    fitted = fit_spline(shown.probs[:, 1], shown.labels == 1, shown.sample_weight, options)
    sums = np.cumsum(fitted.score * (fitted.fractile - fitted.start))
    worst = int(np.argmax(np.abs(fitted.cumulative - sums)))
    kept = _steps(fitted.fractile, worst)
    both = np.repeat(kept, 2)
    ends = np.append(0, np.repeat(kept + 1, 2)[:-1])  # of the step before, and of this one
    return _Graphs(
        fractile=np.append(0.0, fitted.fractile)[ends],
        score=fitted.score[both],
        probability=_probability(fitted)[both],
        cumulative_score=np.append(0.0, sums)[ends],
        cumulative_event=np.append(0.0, fitted.cumulative)[ends],
        worst=2 * int(np.searchsorted(kept, worst)) + 1,
    )


def _probability(fitted: FittedSpline) -> Floats:
    """Return the probability of the event at each score; of one class it is 0 or 1.

    There the fit leaves the scores as they are, since no map follows from it.
    """
    rate = fitted.cumulative[-1]
    return np.full_like(fitted.score, rate) if rate in {0.0, 1.0} else fitted.recalibrated


def _steps(fractile: Floats, worst: int) -> Order:
    """Return which steps to draw: all, or such as are evenly far apart, and the worst."""
    if len(fractile) <= POINTS:
        return np.arange(len(fractile))
    even = np.searchsorted(fractile, np.linspace(0.0, fractile[-1], POINTS))
    chosen = np.append(np.minimum(even, len(fractile) - 1), [0, worst, len(fractile) - 1])
    return np.unique(chosen)


def _draw_row(row: Sequence[Axes], curves: _Graphs, on: Scale, title: str) -> None:
    sums, parts = ("cumulative score", "cumulative probability"), ("score", "probability")
    summed = curves.cumulative_score, curves.cumulative_event
    single = on.place(curves.score), on.place(curves.probability)
    xs = curves.fractile, curves.cumulative_score, curves.fractile, single[0]
    x_names = "fractile", sums[0], "fractile", parts[0]
    for k, (ax, x, x_name) in enumerate(zip(row, xs, x_names, strict=True)):
        _draw(base.axes(ax), x, *((summed, sums) if k < 2 else (single, parts)))
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


def _draw(ax: Axes, x: Floats, both: tuple[Floats, Floats], names: tuple[str, str]) -> None:
    styles = ((base.GREY, "-", "o"), (base.BLUE, "--", "s"))
    markers = len(x) <= 2 * STEPS_WITH_MARKERS
    for y, name, (color, style, marker) in zip(both, names, styles, strict=True):
        shape: dict[str, Any] = {"marker": marker if markers else None, "markersize": 3.0}
        ax.plot(x, y, color=color, linestyle=style, linewidth=base.LINE, label=name, **shape)
