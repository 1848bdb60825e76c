"""The differences of scores that a comparison found, a row for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from caltest import render, validation
from caltest.plots import base
from caltest.results import CalibratorComparison, Comparison, ModelComparison

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Mark(NamedTuple):
    """What is drawn of a row."""

    name: str
    difference: float | None
    low: float | None
    high: float | None
    text: str
    chosen: bool


def score_differences(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """Draw the differences of the scores of a comparison, better ones at the left.

    Of calibrators: from the uncalibrated model, with one standard error each way; what is selected
    is filled. Of models: from the reference, with their intervals; the best is filled. The numbers
    at the right are the scores.

    Parameters
    ----------
    comparison : CalibratorComparison or ModelComparison
        What `compare_calibrators` or `compare_models` returned.
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
    >>> data = ct.datasets.generative_model("M1", n=200, m=2, rng=1)
    >>> models = {"as it is": data.probs, "cautious": (data.probs + 0.5) / 2}
    >>> result = ct.compare_models(models, data.labels, n_resamples=99, rng=1)
    >>> ct.plots.score_differences(result).get_xlabel()
    'log loss, difference from as it is, 95 % intervals'
    """
    validation.check_instance(
        comparison,
        Comparison,
        "comparison",
        "pass the result of compare_calibrators or compare_models",
    )
    if isinstance(comparison, ModelComparison):
        marks, reference = _of_models(comparison), comparison.reference
        bars = f"{100 * comparison.confidence:g} % intervals"
    else:
        marks, reference, bars = _of_calibrators(comparison), "identity", "one standard error"
    ax = base.axes(ax, (5.6, 1.1 + 0.26 * len(marks)))
    ax.axvline(0, color=base.GREY, linestyle=(0, (4, 3)), linewidth=base.THIN)
    _draw(ax, marks)
    ax.set_yticks(range(len(marks)), base.names_text(mark.name for mark in marks))
    ax.set_ylim(len(marks) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=base.PALE, linewidth=base.THIN / 2)
    ax.set_axisbelow(True)
    name = f"{comparison.score}, difference from {base.name_text(reference)}, {bars}"
    return base.label_axes(ax, name, "")


def _of_calibrators(comparison: Comparison) -> list[Mark]:
    marks = []
    selected = comparison.selected if isinstance(comparison, CalibratorComparison) else ""
    for row in comparison.rows:
        d, error = row.difference, row.stderr
        known = d is not None and error is not None
        low, high = (d - error, d + error) if known else (None, None)
        score = row.scores.get(comparison.score)
        text = "not fitted" if score is None else render.number(score)
        marks.append(Mark(row.name, d, low, high, text, row.name == selected))
    return marks


def _of_models(comparison: ModelComparison) -> list[Mark]:
    marks = []
    for row in comparison.rows:
        d = row.difference
        ends = (None, None) if d is None else (d.low, d.high)
        value = 0.0 if d is None else d.difference
        text = render.number(row.scores[comparison.score])
        marks.append(Mark(row.name, value, *ends, text, row.name == comparison.best))
    return marks


def _draw(ax: Axes, marks: Sequence[Mark]) -> None:
    """Draw finite differences; the number at the right says what the others are."""
    for y, mark in enumerate(marks):
        ax.text(
            1.02, y, mark.text, transform=ax.get_yaxis_transform(), va="center", fontsize=base.SMALL
        )
        if mark.difference is None or not math.isfinite(mark.difference):
            continue
        if mark.low is not None and mark.high is not None:
            ax.plot([mark.low, mark.high], [y, y], color=base.BLUE, linewidth=base.LINE)
        ax.plot(
            [mark.difference],
            [y],
            "o",
            color=base.BLUE,
            markerfacecolor=base.BLUE if mark.chosen else "white",
            markersize=5,
            zorder=4,
        )
