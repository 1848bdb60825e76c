"""The picture of power against the number of rows."""

from functools import cache

from matplotlib.figure import Figure
from scipy.stats import beta

import caltest as ct
from caltest.plots import power_curve


@cache
def curve():
    """Return the power of two tests."""
    tests = ["skce", "ece"]
    return ct.power(beta(2, 5), n=[20, 40, 400], slope=0.3, test=tests, n_datasets=10, rng=1)


@cache
def planned():
    asked = {"test": "spiegelhalter", "null": "asymptotic", "n_datasets": 200, "rng": 1}
    return ct.sample_size(beta(2, 5), slope=0.5, **asked)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_curve_has_a_line_for_each_test():
    """The points are the powers; many sizes have a logarithmic axis."""
    ax = curve().plot()
    assert legend(ax) == ["level 0.05", "skce", "ece"]
    line = ax.containers[0].lines[0]
    assert line.get_xdata().tolist() == [20, 40, 400]
    assert line.get_ydata().tolist() == curve().power[:3].tolist()
    assert ax.get_xscale() == "log"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("rows (n)", "power")


def test_size_is_called_size():
    ax = ct.power(beta(2, 5), n=20, n_datasets=10, rng=1).plot()
    assert ax.get_ylabel() == "size"


def test_search_shows_the_answer():
    """The power that was asked for, the number of rows and its interval."""
    ax = planned().plot()
    assert f"power 0.8: n = {planned().n}" in legend(ax)
    assert f"95 % interval, {planned().low} to {planned().high}" in legend(ax)
    assert ax.containers[0].lines[0].get_linestyle() == "None"


def test_axes_that_are_given_are_returned():
    ax = Figure().add_subplot()
    assert power_curve(curve(), ax=ax) is ax
