"""Pictures of power: against the number of rows, and of p-values of simulated data sets."""

from functools import cache

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from scipy import stats
from scipy.stats import beta

import caltest as ct
from caltest import InvalidInput
from caltest.plots import power_curve, size_and_power


@cache
def curve():
    tests = ["skce", "ece"]
    return ct.power(beta(2, 5), n=[20, 40, 400], slope=0.3, test=tests, n_datasets=10, rng=1)


def test_curve_has_the_powers_or_the_size_on_given_axes():
    """Many sizes have a logarithmic axis, and one has ticks of whole rows."""
    ax = Figure().add_subplot()
    assert power_curve(curve(), ax=ax) is ax
    assert ax.containers[0].lines[0].get_xdata().tolist() == [20, 40, 400]
    assert ax.containers[0].lines[0].get_ydata().tolist() == curve().power[:3].tolist()
    assert (ax.get_xscale(), ax.get_ylabel()) == ("log", "power")
    one = ct.power(beta(2, 5), n=20, n_datasets=10, rng=1).plot()
    assert one.get_ylabel() == "size"
    assert (one.get_xticks() % 1 == 0).all()  # no tick of half a row


RNG = np.random.default_rng(0)
P = {"M1": {"a": RNG.random(50), "b": RNG.random(50)}, "M2": {"a": RNG.random(50) ** 3}}


def titles(panels):
    return [ax.get_title(loc="left") for ax in panels]


def test_curve_is_the_share_of_pvalues_up_to_the_level():
    """At every level of the grid, p-values equal to it included."""
    (ax,) = size_and_power({"a": [0.25, 0.5, 0.5, 1.0]})
    level, rate = ax.lines[0].get_data()
    assert rate.tolist() == [np.mean(np.array([0.25, 0.5, 0.5, 1.0]) <= a) for a in level]


def test_errors_are_of_the_first_and_second_kind():
    """One less the power where a model is not calibrated."""
    rates = size_and_power(P, calibrated=["M1"])
    errors = size_and_power(P, calibrated=["M1"], errors=True)
    assert titles(rates) == ["M1: size", "M2: power"]
    assert titles(errors) == ["M1: type I error", "M2: type II error"]
    assert np.allclose(errors[1].lines[0].get_ydata(), 1 - rates[1].lines[0].get_ydata())
    assert np.array_equal(errors[0].lines[0].get_ydata(), rates[0].lines[0].get_ydata())


def test_band_is_binomial():
    """Its ends are quantiles of the number of rejections."""
    (ax,) = size_and_power({"a": RNG.random(40)}, band=0.9)
    ends = ax.collections[0].get_datalim(ax.transData)
    vertices = ax.collections[0].get_paths()[0].vertices
    at = vertices[np.isclose(vertices[:, 0], 0.5), 1]
    expected = stats.binom.ppf([0.05, 0.95], 40, 0.5) / 40
    assert (at.min(), at.max()) == pytest.approx(tuple(expected))
    assert ends.x1 == 1


def test_data_frame_and_mappings_give_the_same():
    """With the columns model, test and pvalue."""
    rows = [(m, t, p) for m, columns in P.items() for t, values in columns.items() for p in values]
    frame = pl.DataFrame(rows, schema=["model", "test", "pvalue"], orient="row")
    for ax, other in zip(size_and_power(P), size_and_power(frame), strict=True):
        for line, again in zip(ax.lines, other.lines, strict=True):
            assert np.array_equal(line.get_xydata(), again.get_xydata())


def test_tests_keep_their_line_in_all_panels():
    """More than seven have other pairs of colour and style."""
    tests = {f"test {i}": RNG.random(20) for i in range(12)}
    first, second = size_and_power({"A": tests, "B": dict(list(tests.items())[3:])})
    looks = {line.get_label(): (line.get_color(), line.get_linestyle()) for line in first.lines}
    assert len(set(looks.values())) >= 12
    for line in second.lines[:-1]:
        assert (line.get_color(), line.get_linestyle()) == looks[line.get_label()]


def test_figure_of_the_caller_is_filled():
    """A subfigure too; nothing of another layout is changed."""
    parts = Figure(figsize=(8, 4), layout="constrained").subfigures(1, 2)
    panels = size_and_power(P, fig=parts[1])
    assert all(ax.figure is parts[1] for ax in panels)
    assert not parts[0].axes


@pytest.mark.parametrize(
    ("pvalues", "options", "message"),
    [
        ({"a": [0.1, 1.2]}, {}, "pvalues of 'a' must lie in .0, 1.; got 1.2 at row 1"),
        ({"a": [0.1, np.nan]}, {}, "pvalues of 'a' must lie in .0, 1.; got nan at row 1"),
        ({"a": []}, {}, "pvalues of 'a' must be a column of p-values"),
        ({}, {}, "pvalues must map each test, or each model and each test"),
        ({"M1": {}}, {}, "pvalues must map each test.*; got nothing"),
        ({"a": [0.1], "M1": {"a": [0.1]}}, {}, "got a mixture of both"),
        ([0.1, 0.2], {}, "pvalues must be a Mapping; got a list"),
        (P, {"calibrated": ["M7"]}, "calibrated must be among"),
        (P, {"errors": True}, "errors needs calibrated="),
        (P, {"levels": (0.5, 0.1)}, "levels must be two numbers with 0 <= low < high <= 1"),
        (P, {"band": 95}, "band must lie strictly between 0 and 1"),
        (P, {"fig": 3}, "fig must be a FigureBase; got an int"),
        (pl.DataFrame({"p": [0.1]}), {}, "must have the columns 'pvalue' and 'test'; got 'p'"),
    ],
)
def test_illegal_call_names_rule_value_and_remedy(pvalues, options, message):
    with pytest.raises(InvalidInput, match=message):
        size_and_power(pvalues, **options)
