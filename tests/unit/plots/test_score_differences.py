"""The picture of the differences of scores."""

import numpy as np
import pytest

import caltest as ct
from caltest.plots import score_differences

DATA = ct.datasets.generative_model("M1", n=80, m=2, rng=1)
MODELS = {"as it is": DATA.probs, "cautious": (DATA.probs + 0.5) / 2}


def models(**options):
    """Compare two models with few resamples."""
    return ct.compare_models(MODELS, DATA.labels, n_resamples=19, rng=1, **options)


def bars(ax):
    """Return the ends of the bars by row."""
    lines = [line for line in ax.lines if len(line.get_xdata()) == 2 and line.get_color() != "0.5"]
    return {int(line.get_ydata()[0]): tuple(line.get_xdata()) for line in lines}


def test_bars_of_models_are_their_intervals():
    """The reference has none; its mark is at 0."""
    result = models(reference="as it is")
    ax = score_differences(result)
    row = result["cautious"].difference
    assert bars(ax) == {1: (row.low, row.high)}
    assert [text.get_text() for text in ax.get_yticklabels()] == ["as it is", "cautious"]


def test_bars_of_calibrators_are_a_standard_error_each_way():
    """From the uncalibrated model; an infinite difference is left to its number."""
    result = ct.compare_calibrators(
        DATA, calibrators=["platt", "isotonic"], cv=3, n_resamples=19, rng=3
    )
    row = result["platt"]
    ends = row.difference - row.stderr, row.difference + row.stderr
    ax = result.plot()
    assert bars(ax)[1] == pytest.approx(ends)
    finite = [np.isfinite(each.difference) for each in result.rows]
    assert len(bars(ax)) == sum(finite)
    assert len(ax.texts) == len(result.rows)


@pytest.mark.full
def test_axes_are_those_that_were_given():
    """A figure of the user's, and the level of the intervals in the name of the axis."""
    ax = score_differences(models()).figure.add_subplot()
    assert score_differences(models(level=0.1), ax=ax) is ax
    assert "90 % intervals" in ax.get_xlabel()
