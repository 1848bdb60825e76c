import sys
from subprocess import run

import matplotlib as mpl
import pytest
from matplotlib.figure import Figure

import caltest as ct
from caltest import InvalidInput
from caltest.plots import base


def test_axes_are_those_given():
    """Axes of the caller's are drawn in, without a new figure."""
    ax = Figure().add_subplot()
    assert base.axes(ax) is ax


def test_axes_that_are_none_are_refused():
    """Something else than axes is named in the message."""
    with pytest.raises(InvalidInput, match="ax must be a Axes; got a int"):
        base.axes(3)


@pytest.mark.full
def test_new_figure_needs_no_pyplot():
    """A plot loads no pyplot, so that it has no state and needs no display."""
    code = (
        "import sys, caltest as ct; ct.plots.reliability_diagram([0.2, 0.7], [0, 1]); "
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert run([sys.executable, "-c", code], check=False).returncode == 0


def test_settings_of_matplotlib_stay():
    before = mpl.rcParams.copy()
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
