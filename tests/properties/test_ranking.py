"""Average ranks and groups, for any scores."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from caltest.comparison import rank_methods

pytestmark = pytest.mark.filterwarnings("ignore:all methods tie")

SCORES = array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=8).flatmap(
    lambda shape: arrays(float, shape, elements=st.integers(0, 5).map(float))
)


@given(SCORES, st.randoms(use_true_random=False))
def test_order_of_methods_and_data_sets_does_not_matter(scores, random):
    n, k = scores.shape
    columns, rows = random.sample(range(k), k), random.sample(range(n), n)
    first, second = rank_methods(scores), rank_methods(scores[rows][:, columns])
    assert second.ranks == pytest.approx(first.ranks[columns])
    assert second.pvalue == pytest.approx(first.pvalue, rel=1e-9)


@given(SCORES)
def test_groups_are_all_maximal_sets_without_a_difference(scores):
    ranking = rank_methods(scores)
    k, ranks = ranking.ranks.size, ranking.ranks

    def joined(some):
        return np.ptp(ranks[list(some)]) < ranking.critical_difference

    sets = [set(s) for size in range(2, k + 1) for s in itertools.combinations(range(k), size)]
    good = [s for s in sets if joined(s)]
    largest = [s for s in good if not any(s < other for other in good)]
    assert sorted(map(sorted, largest)) == sorted(map(sorted, ranking.groups))


@example(np.array([[0.0, 0.0], [0.0, 1.0]]))  # the chance of such ranks rounded to above 1
@given(SCORES)
def test_pvalue_is_in_the_unit_interval_and_not_0(scores):
    """And the mean rank is (k + 1) / 2."""
    ranking = rank_methods(scores)
    assert 0 < ranking.pvalue <= 1
    assert ranking.ranks.mean() == pytest.approx((scores.shape[1] + 1) / 2)
