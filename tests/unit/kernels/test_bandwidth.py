"""Bandwidth rules: median and mean of the distances over pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from caltest.kernels import (
    Exponential,
    FittedKernel,
    Gaussian,
    Matern32,
    Matern52,
    RationalQuadratic,
    Scaled,
)
from caltest.kernels.bandwidth import ALL_PAIRS_UP_TO, PAIRS, bandwidth_by_rule, sampled_pairs
from caltest.measures import skce

RULES = {"median": np.median, "mean": np.mean}


def fitted(probs, rule="median", metric="tv"):
    """Return the scalar kernel fitted to predictions."""
    return FittedKernel(Scaled(Exponential(rule, metric)), probs).scalars[0]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("size", [1, 2, 7, 8, 1001])
def test_rule_equals_numpy(rule, size):
    """An even number of distances has the mean of the two middle ones as its median."""
    distances = np.random.default_rng(size).random(size)
    assert bandwidth_by_rule(rule, distances.copy())[0] == pytest.approx(RULES[rule](distances))


def test_median_of_zero_gives_way_to_the_mean_of_the_positive_distances():
    """Few distinct predictions have many distances of 0."""
    value, words = bandwidth_by_rule("median", np.array([0.0, 0.0, 0.0, 0.2, 0.4]))
    assert value == pytest.approx(0.3)
    assert words == "mean of the positive distances, since their median is 0"


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("size", [0, 5])
def test_rule_gives_none_where_no_distance_is_positive(rule, size):
    """The caller decides what a kernel of equal predictions is."""
    assert bandwidth_by_rule(rule, np.zeros(size))[0] is None


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("metric", "scipy", "unit"), [("tv", "cityblock", 0.5), ("euclidean",) * 2 + (1,)]
)
@pytest.mark.parametrize("m", [2, 3])
def test_bandwidth_is_taken_over_pairs_of_different_rows(rule, metric, scipy, unit, m):
    """The zeros of the diagonal do not count."""
    probs = np.random.default_rng(0).dirichlet(np.ones(m), 41)
    expected = RULES[rule](unit * pdist(probs, scipy))
    assert fitted(probs, rule, metric).bandwidth == pytest.approx(expected, rel=1e-12)


def test_bandwidth_is_one_where_all_predictions_are_equal():
    """Then there is no distance, which the fitted kernel says."""
    scalar = fitted(np.full((5, 2), 0.5))
    assert scalar.bandwidth == 1.0
    assert scalar.is_degenerate


def test_bandwidth_of_many_predictions_is_taken_over_a_sample():
    """Beyond the limit a million seeded pairs stand for all, within a per cent here."""
    n = ALL_PAIRS_UP_TO + 1
    probs = np.random.default_rng(0).dirichlet(np.ones(3), n)
    scalar = fitted(probs)
    assert "sampled pairs" in scalar.rule
    assert scalar.bandwidth == pytest.approx(np.median(pdist(probs, "cityblock")) / 2, rel=0.01)
    assert scalar.bandwidth == fitted(probs).bandwidth
    assert "sampled" not in fitted(probs[1:]).rule


def test_sampled_pairs_are_of_different_rows():
    """All pairs i != j are equally likely, and every call gives the same."""
    left, right = sampled_pairs(3)
    assert left.size == PAIRS
    counts = np.bincount(3 * left + right, minlength=9).reshape(3, 3)
    assert (np.diag(counts) == 0).all()
    np.testing.assert_allclose(counts[~np.eye(3, dtype=bool)], PAIRS / 6, rtol=0.02)
    np.testing.assert_array_equal(sampled_pairs(3)[0], left)


@pytest.mark.parametrize("m", [2, 3])
def test_distances_that_would_overflow_count_as_zero(m):
    """Certain models have predictions 1e-200 apart; no kernel becomes nan by dividing by that."""
    tiny = 10.0 ** -np.linspace(150, 320, 40)
    event = np.concatenate([tiny, [0.2, 0.5]])
    probs = np.column_stack([1 - event] + [event / (m - 1)] * (m - 1))
    scalar = fitted(probs)
    distances = pdist(probs, "cityblock") / 2
    assert np.median(distances) < 1e-100
    assert scalar.bandwidth == pytest.approx(distances[distances > 1e-100].mean())
    for kernel in (Gaussian, Matern32, Matern52, RationalQuadratic):
        assert np.isfinite(skce(probs, np.zeros(42, int), kernel=kernel(metric="tv")))
