import sys
from subprocess import run

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

import caltest as ct
from caltest import InvalidInput, NotApplicable
from caltest.plots import base

TABLE = ct.test_calibration([0.2, 0.7], [0, 1], test=["brier", "ks"], n_resamples=9, rng=1)
RESULT = TABLE[0]


@pytest.mark.parametrize(
    ("plot", "options", "message"),
    [
        ("calibration_belt", {"belt": 0.5}, "belt must be a CalibrationBeltCurve; got a float"),
        ("critical_difference", {"scores": [[1, 2]]}, "scores must have a row per data set"),
        ("critical_difference", {"scores": np.eye(3), "ax": 3}, "ax must be an Axes; got an int"),
        ("groups", {"result": 3}, "result must be"),
        ("master_scale", {"table": TABLE}, "table must be the result of test_master_scale"),
        ("power_curve", {"result": [0.1]}, r"pass what ct\.power or ct\.sample_size gave"),
        ("pvalues", {"table": RESULT}, "table must be an HTestTable; got an HTest"),
        ("score_differences", {"comparison": RESULT}, "pass the result of compare_calibrators"),
        ("segments", {"result": "result"}, "result must be a SegmentsTest"),
    ],
)
def test_what_cannot_be_drawn_is_refused(plot, options, message):
    """The message names the argument and what it must be."""
    with pytest.raises(InvalidInput, match=message):
        getattr(ct.plots, plot)(**options)
    with pytest.raises(NotApplicable, match="belongs to the test 'calibration-belt', not 'brier'"):
        ct.plots.calibration_belt(RESULT)


@pytest.mark.full
def test_new_figure_needs_no_pyplot():
    """A plot loads no pyplot, so that it has no state and needs no display."""
    code = (
        "import sys, caltest as ct; ct.plots.reliability_diagram([0.2, 0.7], [0, 1]); "
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert run([sys.executable, "-c", code], check=False).returncode == 0


def test_axes_are_those_given_and_settings_of_matplotlib_stay():
    ax, before = Figure().add_subplot(), mpl.rcParams.copy()
    assert base.axes(ax) is ax
    base.legend(base.label_axes(base.axes(None), "x", "y", "title"))
    assert mpl.rcParams.copy() == before


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("cat", "cat"),
        ("", "''"),
        ("two\nlines", "two lines"),
        ("$x$", r"\$x\$"),
        ("bell\a", "bell?"),
        ("n" * 30, "nnnnnnnnnnnn…nnnnnnnnnnn"),
    ],
)
def test_name_text_can_be_drawn(name, drawn):
    """One line of printable characters without mathematics, 24 at most."""
    assert base.name_text(name) == drawn


@pytest.mark.parametrize(
    ("middles", "drawn"),
    [
        ("1 12", ["ward of land 1 and all…", "ward of land 12 and al…"]),
        (f"{'n' * 30}1 {'n' * 30}2", ["…nnnnnnnnnnnnnnnnnnnnn1…", "…nnnnnnnnnnnnnnnnnnnnn2…"]),
        (f"1{'n' * 30} 2{'n' * 30} 2{'n' * 29}1", ["1: ward of l…t is around"]),
    ],
)
def test_names_that_would_be_equal_show_what_differs(middles, drawn):
    """Or else are numbered."""
    found = base.names_text(f"ward of land {one} and all that is around" for one in middles.split())
    assert found[: len(drawn)] == drawn
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(("value", "text"), [(0.0123, "$p$ = 0.0123"), (1e-9, "$p$ < 1e-04")])
def test_pvalue_text_is_that_of_the_prints(value, text):
    """A small p-value is a bound, never 0."""
    assert base.pvalue_text(value) == text


@pytest.mark.parametrize("kind", ["reliability", "null"])
def test_legends_of_narrow_axes_touch_no_other_text(kind):
    """Three plots side by side: the legend stands under the name of the axis."""
    data = ct.datasets.generative_model("M1", n=500, m=2, rng=1)
    fig = base.figure((9.0, 3.0))
    ax = fig.subplots(1, 3)[0]
    ct.test_calibration(data, test="ece", n_resamples=99, rng=1).plot(kind, ax=ax)
    fig.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    texts = [ax.xaxis.label, *ax.texts]
    assert not any(legend.overlaps(text.get_window_extent()) for text in texts)
