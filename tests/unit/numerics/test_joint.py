"""Tail scores beyond the resolution of ranks, and step-down adjusted p-values."""

import numpy as np
import pytest
from scipy import stats

from caltest.numerics.joint import step_down, tail_scores


def scores(values, *, two_sided=False):
    """Score values whose terms are about 1."""
    return tail_scores(np.asarray(values, dtype=float), 1.0, two_sided=two_sided)


@pytest.mark.parametrize("distribution", [stats.norm(), stats.chi2(3), stats.gamma(20)])
def test_scores_of_the_largest_are_near_their_tails(distribution):
    """A value far beyond the others gets the tail of its distribution, on average within e."""
    far = distribution.isf(1e-6)
    samples = (distribution.rvs(999, random_state=seed) for seed in range(20))
    found = [scores(np.append(far, values))[0] for values in samples]
    assert np.mean(found) == pytest.approx(-np.log(1e-6), abs=1.0)


def test_scores_increase_with_the_values():
    """A constant one has the score 0."""
    values = np.append(np.random.default_rng(0).poisson(0.3, 500).astype(float), np.inf)
    order = np.argsort(values)
    found = scores(values)[order]
    assert (np.diff(found) >= 0).all()
    assert (np.diff(found)[np.diff(values[order]) == 0] == 0).all()
    assert found[-1] > found[-2]
    assert (scores(np.ones(50)) == 0).all()
    assert (scores(np.ones(3), two_sided=True) == 0).all()


def test_step_down_is_that_of_westfall_and_young():
    """Each row, the most extreme first, against the largest score of those that are left."""
    rng = np.random.default_rng(0)
    found = rng.exponential(size=(4, 100))
    found[2, 0] = 5.0
    order, running = np.argsort(-found[:, 0]), 0.0
    expected = np.empty(4)
    for place, row in enumerate(order):
        largest = found[order[place:]].max(axis=0)
        running = max(running, np.mean(largest >= found[row, 0]))
        expected[row] = running
    np.testing.assert_allclose(step_down(found), expected)
