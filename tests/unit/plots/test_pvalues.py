"""The picture of a table of p-values."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import PathCollection

import caltest as ct
from caltest import InvalidInput, NotApplicable
from caltest.plots import calibration_errors, null_distribution, pvalues
from caltest.plots.pvalues import _distinct, _extreme, _limits

DATA = ct.datasets.generative_model("M2", n=100, m=3, rng=1)


def table_of(**options):
    return ct.test_calibration(DATA, n_resamples=39, rng=1, **options)


def points(ax):
    dots = [part for part in ax.collections if isinstance(part, PathCollection)]
    marks = np.concatenate([part.get_offsets().data for part in dots])
    return marks[np.lexsort(marks.T)]


def names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


@pytest.mark.full
def test_rows_are_named_by_what_differs():
    assert names(pvalues(table_of(lens=["strong", "confidence"]))) == ["strong", "confidence"]
    assert names(pvalues(table_of(test=["skce", "ece"]))) == ["skce", "ece"]
    both = table_of(test=["skce", "ece"], lens=["strong", "confidence"])
    assert names(pvalues(both))[1] == "skce, confidence"


def test_marks_are_the_pvalues_before_and_after_adjustment():
    """Without correction there is one a row."""
    table = table_of(lens=["strong", "confidence"], correction="bonferroni")
    got = points(pvalues(table))
    assert got[:, 0] == pytest.approx(np.ravel([table.pvalues, table.adjusted], order="F").tolist())
    assert "Bonferroni over 2 tests" in pvalues(table).get_xlabel()
    table = table_of(lens=["strong", "confidence"], correction=None)
    assert points(pvalues(table))[:, 0] == pytest.approx(table.pvalues.tolist())
    assert pvalues(table).get_xlabel() == "p-value"


def test_many_rows_show_the_smallest_in_their_order():
    """And the axis says how many there are."""
    table = table_of(by=np.arange(100) % 10, correction=None)
    ax = pvalues(table, rows=3)
    worst = sorted(np.argsort(table.pvalues, kind="stable")[:3])
    assert names(ax)[:3] == [str(table[i].group) for i in worst]
    assert ax.get_xlabel().endswith("; the 3 smallest")


def test_small_pvalues_are_arrows_at_the_edge():
    """As the prints show them as bounds."""
    table = ct.test_master_scale([0.01, 0.1], [500, 10], [1000, 100])
    ax = pvalues(table)
    assert points(ax)[:, 0].min() == 1e-4
    assert "below 1e-04" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_method_plot_takes_the_natural_picture():
    """Grades for master scales, p-values for the rest, either by name."""
    scale = ct.test_master_scale([0.01, 0.1], [20, 10], [1000, 100])
    assert scale.plot().get_xlabel() == "grade"
    assert scale.plot("pvalues").get_xlabel().startswith("p-value")
    assert table_of(lens=["strong", "confidence"]).plot().get_xlabel().startswith("p-value")
    with pytest.raises(InvalidInput, match="kind must be one of"):
        scale.plot("reliability")


def test_errors_stand_beside_those_of_calibrated_models():
    """Bars of the observed errors, lines and dots of the quantiles of the resamples."""
    table = table_of(test="ece", lens=["strong", "confidence"])
    ax = calibration_errors(table, confidence=0.8)
    assert [bar.get_width() for bar in ax.patches] == [row.statistic for row in table]
    null = np.sort([row.null_distribution for row in table], axis=1)
    ends = np.array([line[:, 0] for line in ax.collections[0].get_segments()])
    assert np.all(np.mean(null[:, :, None] <= ends[:, None], axis=1).round(1) == [0.1, 0.9])
    assert ax.lines[0].get_xdata() == pytest.approx(null[:, 19])
    assert names(ax) == ["strong", "confidence"]


def test_what_has_no_axis_or_no_resamples_is_not_applicable(result):
    with pytest.raises(InvalidInput, match='one measure; got skce, ece; run them with test="skce"'):
        calibration_errors(table_of(test=["skce", "ece"]))
    with pytest.raises(NotApplicable, match="null='exact'"):
        null_distribution(replace(result, null_distribution=None))
    with pytest.raises(InvalidInput, match="result must be an HTest"):
        null_distribution(0.05)


# ---- the null distribution ----------------------------------------------------------------------

VALUES = np.random.default_rng(0).normal(size=199)


@pytest.fixture(scope="module")
def result():
    """Return a two-sided test of two classes."""
    data = ct.datasets.generative_model("M1", 100, 2, rng=1)
    return ct.test_calibration(data, test="spiegelhalter", n_resamples=199, rng=1)


def area(patch):
    values, edges, baseline = patch.get_data()
    return float(np.sum((values - baseline) * np.diff(edges)))


def test_areas_are_the_shares_of_the_tails(result):
    """Both parts together have the area 1, and the shaded one is the p-value but for the +1."""
    ax = null_distribution(result)
    others, extreme = map(area, ax.patches[:2])
    assert others + extreme == pytest.approx(1.0)
    assert extreme == pytest.approx(result.pvalue * 200 / 199 - 2 / 199)


@pytest.mark.parametrize("statistic", [-2.1, -0.3, 0.4, 2.5])
def test_extreme_values_are_those_that_the_pvalue_counts(statistic):
    """Large values, small values, or as many at both ends, by the alternative."""
    upper, lower = np.greater_equal(VALUES, statistic), np.less_equal(VALUES, statistic)
    np.testing.assert_array_equal(_extreme(VALUES, statistic, "greater"), upper)
    np.testing.assert_array_equal(_extreme(VALUES, statistic, "less"), lower)
    both = _extreme(VALUES, statistic, "two-sided")
    k = min(upper.sum(), lower.sum())
    order = np.argsort(VALUES)
    np.testing.assert_array_equal(np.flatnonzero(both), np.sort([*order[:k], *order[199 - k :]]))


@pytest.mark.parametrize("statistic", [0.0, 2.0, -2.0, np.inf])
def test_constant_law_is_one_bar(result, statistic):
    """One value takes all of the mass, and the axis has a length."""
    ax = null_distribution(replace(result, statistic=statistic, null_distribution=np.zeros(99)))
    assert sum(patch.get_height() for patch in ax.patches) == pytest.approx(1.0)
    low, high = ax.get_xlim()
    assert low < 0 < high
    assert np.isinf(statistic) or low < statistic < high


def test_few_values_are_drawn_each(result):
    """Values that differ by rounding are one."""
    values = np.repeat([0.1, 0.2, 0.4], 33) + np.tile([0.0, 1e-15, -1e-15], 33)
    distinct, place = _distinct(values)
    np.testing.assert_allclose(distinct, [0.1, 0.2, 0.4])
    np.testing.assert_array_equal(np.bincount(place), [33, 33, 33])
    ax = null_distribution(replace(result, statistic=0.4, null_distribution=values))
    assert len(ax.patches) == 6


def test_infinite_values_are_counted_and_left_out(result):
    """The name of the axis says how many there are."""
    values = np.append(VALUES, [np.inf, np.inf])
    ax = null_distribution(replace(result, null_distribution=values))
    assert ax.get_xlabel().endswith("(2 infinite)")
    with pytest.raises(NotApplicable, match="infinite; nothing to draw"):
        null_distribution(replace(result, null_distribution=np.full(9, np.inf)))


def test_bins_are_as_many_as_asked_for(result):
    """Or one more, so that the statistic is the end of a bin and every value is in one."""
    patch = null_distribution(result, bins=7).patches[0]
    edges = patch.get_data().edges
    assert len(edges) == 9
    assert np.abs(edges - result.statistic).min() < 1e-12
    values = result.null_distribution
    assert edges[0] <= values.min() < values.max() <= edges[-1] + 1e-9


@pytest.mark.parametrize("statistic", [-5.0, 0.0, 1.0, 5.0])
def test_limits_hold_all_values(statistic):
    """Whatever the statistic, the distribution is seen whole."""
    low, high = _limits(np.array([0.0, 1.0]), statistic)
    assert low < 0
    assert high > 1
