"""Moments of the sums of clusters that predictions imply."""

import numpy as np
import pytest
from scipy import stats

import caltest as ct
from caltest.nulls.base import Draws
from caltest.nulls.cluster import Clusters, SkewedSum

SIZE, PROB, CORRELATION = 6, 0.2, 0.3


def beta_binomial(count):
    """Clusters of six rows with P = .2 whose numbers of events are beta-binomial."""
    rng = np.random.default_rng(0)
    own = 1.0 / CORRELATION - 1.0
    share = rng.beta(PROB * own, (1.0 - PROB) * own, count)
    clusters = np.repeat(np.arange(count), SIZE)
    labels = (rng.random(clusters.size) < share[clusters]).astype(int)
    return ct.Predictions(np.full(labels.size, PROB), labels, clusters=clusters)


def implied(p, n_resamples=199, seed=0):
    """The sums in the direction of their total."""
    return SkewedSum.of(p.deviations[0], Clusters.of(p), Draws(n_resamples, seed))


def test_moments_of_many_clusters_are_beta_binomial():
    """With 20,000 clusters the correlation is known: variance and third moment of the events."""
    own = 1.0 / CORRELATION - 1.0
    law = stats.betabinom(SIZE, PROB * own, (1.0 - PROB) * own)
    found = implied(beta_binomial(20_000))
    # Both classes move, by 1 and -1: a sum is twice that of the events.
    assert found.moments[0][0] == pytest.approx(4 * law.var(), rel=0.03)
    third = abs(found.moments[1][0])
    assert third == pytest.approx(8 * float(law.stats("s")) * law.var() ** 1.5, rel=0.05)


def test_side_of_the_long_tail_is_left_alone():
    """One of the two sides has another p-value."""
    many, few = (implied(beta_binomial(20).relabelled(np.full(120, label))) for label in (1, 0))
    assert many.raised(0.02, is_own=True) == 0.02
    assert few.raised(0.02, is_own=False) >= few.raised(0.02, is_own=True) > 0.02


def test_skewness_of_weights_is_no_doubt():
    """Weights that grow with p are known, bursts that few clusters show are not."""
    rng = np.random.default_rng(0)
    p, clusters = rng.random(300), np.arange(300) // 10
    weighted = ct.Predictions(
        p, rng.random(300) < p, classes=[0, 1], sample_weight=np.exp(4 * p), clusters=clusters
    )
    assert abs(implied(weighted).skewness) > 0.1
    assert implied(weighted).doubt < 0.5
    rare = ct.Predictions(np.full(300, 0.03), (clusters == 0).astype(int), clusters=clusters)
    assert implied(rare).doubt > 0.9
    assert implied(weighted.with_clusters(np.arange(300))).doubt == 0


def test_common_shift_is_no_correlation():
    """Eight events in each cluster of ten with P = .5: the model is wrong, the rows alone."""
    labels = (np.arange(300) % 10 < 8).astype(int)
    found = implied(ct.Predictions(np.full(300, 0.5), labels, clusters=np.arange(300) // 10))
    assert found.z > 5
    assert found.burst == pytest.approx(0)


def test_small_clusters_are_taken_together():
    """Of 5000 clusters, 400 sums keep the variance and the third moment."""
    found = implied(beta_binomial(5000))
    parts = found._grouped()
    assert parts.shape == (2, 2, 400)
    variance, third = parts.sum(axis=(0, 2))
    assert variance == pytest.approx(found.moments[0].sum())
    assert third == pytest.approx(found.moments[1].sum())


def test_effective_count_is_that_of_equal_clusters():
    """One of four clusters of which one has all the variance, nearly."""
    sizes = np.array([3000, 1, 1, 1])
    clusters = np.repeat(np.arange(4), sizes)
    p = ct.Predictions(np.full(3003, 0.5), np.arange(3003) % 2, clusters=clusters)
    assert implied(p).effective_count == pytest.approx(1.0, abs=0.01)
    assert implied(beta_binomial(30)).effective_count == pytest.approx(30)
