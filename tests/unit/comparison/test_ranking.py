"""Average ranks, Friedman's test and the critical difference."""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

from caltest import DegenerateDataWarning, InvalidInput
from caltest.comparison import rank_methods

LOSSES = [[0.3, 0.4, 0.5], [0.3, 0.5, 0.4], [0.2, 0.2, 0.9], [0.1, 0.3, 0.2]]


def test_average_ranks_share_ties_and_give_the_best_1():
    """The lowest loss, or the highest accuracy, has rank 1."""
    assert rank_methods(LOSSES).ranks.tolist() == [1.125, 2.375, 2.5]
    best_last = rank_methods(LOSSES, lower_is_better=False)
    assert best_last.ranks.tolist() == [2.875, 1.625, 1.5]


def test_statistic_is_that_of_friedman_with_ties():
    """Chi^2 is the tie-corrected one of SciPy, F its transform, and each p an upper tail."""
    rng = np.random.default_rng(3)
    scores = rng.integers(0, 6, (12, 5)).astype(float)
    chi2, tail = stats.friedmanchisquare(*scores.T)
    ranking = rank_methods(scores)
    assert (ranking.chi2, ranking.chi2_pvalue) == pytest.approx((chi2, tail), rel=1e-11)
    F = 11 * chi2 / (12 * 4 - chi2)
    assert ranking.statistic == pytest.approx(F, rel=1e-12)
    assert ranking.pvalue == pytest.approx(stats.f.sf(F, 4, 44), rel=1e-12)
    assert ranking.df == (4, 44)


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_ranks_do_not_depend_on_the_scale(scale):
    assert np.array_equal(rank_methods(np.array(LOSSES) * scale).ranks, rank_methods(LOSSES).ranks)


def test_ranks_without_a_difference_and_all_alike():
    """One order everywhere has its own chance, the least that there is; all tied is degenerate."""
    ranking = rank_methods([[1, 2, 3]] * 4)
    assert math.isinf(ranking.statistic)
    assert ranking.pvalue == pytest.approx(6.0**-3)
    tied = rank_methods([[1, 2, 2]] * 5 + [[1, 2, 3]])  # 3 orders in five sets, 6 in one
    assert tied.pvalue == pytest.approx(3.0**-5)
    assert rank_methods([[1, 2]] * 3).chi2_pvalue == pytest.approx(0.25)  # all or none, of 8
    with pytest.warns(DegenerateDataWarning, match="all methods tie in every data set"):
        ranking = rank_methods(np.ones((3, 4)))
    assert (ranking.statistic, ranking.pvalue, ranking.groups) == (0, 1, ((0, 1, 2, 3),))


def test_groups_are_the_largest_sets_within_the_critical_difference():
    """Best first; a method that differs from all others is in none."""
    ranking = rank_methods([1.0, 2.0, 3.1, 4.0, 4.9], n_datasets=40)
    assert replace(ranking, critical_difference=1.95).groups == ((0, 1), (1, 2), (2, 3, 4))
    assert replace(ranking, critical_difference=1.0).groups == ((2, 3), (3, 4))
    assert replace(ranking, critical_difference=1.2).groups == ((0, 1), (1, 2), (2, 3), (3, 4))


def test_control_has_one_group_around_it():
    """It holds the control and what is within the critical difference of Bonferroni and Dunn."""
    scores = np.arange(8.0) + np.random.default_rng(0).normal(0, 1, (20, 8))
    ranking = rank_methods(scores, names=list("abcdefgh"), control="d")
    near = np.abs(ranking.ranks - ranking.ranks[3]) < ranking.critical_difference
    assert ranking.procedure == "Bonferroni-Dunn"
    assert [sorted(group) for group in ranking.groups] == [np.flatnonzero(near).tolist()]


def test_columns_of_a_data_frame_name_the_methods():
    """As those of an array are numbered from 1."""
    frame = pl.DataFrame(LOSSES, schema=["a", "b", "c"], orient="row")
    assert rank_methods(frame).names == ("a", "b", "c")
    assert rank_methods(LOSSES).names == ("1", "2", "3")


def test_ranking_is_read_only_and_leaves_its_input():
    """The ranks cannot be changed; nor does the caller's array change."""
    scores = np.array(LOSSES)
    ranking = rank_methods(scores)
    assert scores.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        ranking.ranks[0] = 1


@pytest.mark.parametrize(
    ("scores", "options", "message"),
    [
        ([[1.0, 2.0]], {}, "must have a row per data set and a column per method"),
        ([[1.0, np.nan], [1, 2]], {}, "must be finite; got nan at row 0, column 1"),
        ([1.0, 5.0], {"n_datasets": 4}, "must be average ranks, two or more from 1"),
        ([1.0, 1.0, 3.0], {"n_datasets": 4}, "whose mean is 2; got a mean of 1.667"),
        ([1.0, 2.0], {}, "n_datasets must be an integer of at least 2; got None"),
        (LOSSES, {"n_datasets": 4}, "n_datasets has no effect where scores are given"),
        (LOSSES, {"names": ["a", "b", "a"]}, "names in names must differ; got 'a' twice"),
        (LOSSES, {"names": ["a", "b"]}, "must name each method once; got 2 for 3"),
        (LOSSES, {"control": "z"}, "control must be one of the methods"),
        (LOSSES, {"level": 0}, "level must lie strictly between 0 and 1"),
    ],
)
def test_illegal_call_names_rule_value_and_remedy(scores, options, message):
    with pytest.raises(InvalidInput, match=message):
        rank_methods(scores, **options)
