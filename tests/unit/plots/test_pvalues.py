"""The picture of a table of p-values."""

import numpy as np
import pytest
from matplotlib.collections import PathCollection

import caltest as ct
from caltest import InvalidInput
from caltest.plots import calibration_errors, pvalues

DATA = ct.datasets.generative_model("M2", n=100, m=3, rng=1)


def table_of(**options):
    return ct.test_calibration(DATA, n_resamples=39, rng=1, **options)


def points(ax):
    """Return the marks, sorted by row."""
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
    table = table_of(lens=["strong", "confidence"], correction="bonferroni")
    got = points(pvalues(table))
    assert got[:, 0] == pytest.approx(np.ravel([table.pvalues, table.adjusted], order="F").tolist())
    assert "Bonferroni over 2 tests" in pvalues(table).get_xlabel()


def test_without_correction_there_is_one_mark_a_row():
    table = table_of(lens=["strong", "confidence"], correction=None)
    assert points(pvalues(table))[:, 0] == pytest.approx(table.pvalues.tolist())
    assert pvalues(table).get_xlabel() == "p-value"


def test_level_is_drawn_where_it_was_given():
    """A dashed line, named in the legend."""
    ax = pvalues(table_of(lens=["strong", "confidence"], level=0.1))
    assert ax.lines[0].get_xdata() == [0.1, 0.1]
    assert ax.get_legend().get_texts()[-1].get_text() == "level 0.1"
    assert not pvalues(table_of(lens=["strong", "confidence"])).lines


def test_groups_have_the_test_of_all_below_a_line():
    ax = pvalues(table_of(by=np.repeat(["a", "b"], 50)))
    assert names(ax) == ["a", "b", "all groups"]
    assert ax.lines[0].get_ydata() == [1.5, 1.5]


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


def test_what_is_no_table_is_refused():
    """A single result has the plot of its null distribution."""
    with pytest.raises(InvalidInput, match="table must be a HTestTable; got a HTest"):
        pvalues(table_of())


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


def test_errors_of_several_measures_have_no_axis_in_common():
    with pytest.raises(InvalidInput, match='one measure; got skce, ece; run them with test="skce"'):
        calibration_errors(table_of(test=["skce", "ece"]))
