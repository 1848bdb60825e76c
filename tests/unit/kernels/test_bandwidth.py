"""Bandwidth rules: median, weighted median and mean of the distances over pairs."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import caltest as ct
from caltest.kernels import (
    Exponential,
    FittedKernel,
    Gaussian,
    Matern32,
    Matern52,
    RationalQuadratic,
    Scaled,
)
from caltest.kernels.bandwidth import ALL_PAIRS_UP_TO, PAIRS, sampled_pairs
from caltest.measures import skce


def fitted(probs, rule="median", metric="tv"):
    """Return the scalar kernel fitted to predictions."""
    return FittedKernel(Scaled(Exponential(rule, metric)), probs).scalars[0]


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


def plain_weighted_median(probs, weight=None):
    """Sort all pairs i < j by their distance, and stop at half of the weight v_i v_j."""
    p = probs[:, 1]
    v = p * (1 - p) * (1 if weight is None else weight)
    left, right = np.tril_indices(p.size, k=-1)
    order = np.argsort(abs(p[left] - p[right]))
    reached = np.cumsum((v[left] * v[right])[order])
    return abs(p[left] - p[right])[order][np.searchsorted(reached, reached[-1] / 2)]


def binary(event):
    return np.column_stack([1 - np.asarray(event), event])


def saturated(n, rng):
    """Draw predictions as under the lenses of a network: most of them nearly certain."""
    return binary(1 / (1 + np.exp(-rng.normal(-30, 20, n))))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_default_on_a_line_is_the_median_weighted_by_variance(seed, weighted):
    """Found by bisection, and one of the distances."""
    rng = np.random.default_rng(seed)
    probs = saturated(60, rng)
    weight = rng.integers(0, 4, 60).astype(float) if weighted else None
    (scalar,) = FittedKernel(Scaled(Exponential()), probs, weight=weight).scalars
    assert scalar.bandwidth == pytest.approx(plain_weighted_median(probs, weight), rel=1e-5)
    assert scalar.rule == "weighted median"


@pytest.mark.full
def test_weighted_median_of_a_callable_metric_and_of_many_classes():
    """All pairs are sorted there, with v the total variance of a row; beyond the limit a sample."""
    probs = np.random.default_rng(0).dirichlet(np.full(3, 0.3), 2400)
    sampled = fitted(probs, "weighted-median")
    few = fitted(probs[:ALL_PAIRS_UP_TO], "weighted-median")
    assert sampled.bandwidth == pytest.approx(few.bandwidth, rel=0.05)
    assert sampled.rule.endswith("sampled pairs")
    two = saturated(50, np.random.default_rng(1))
    own = fitted(two, "auto", lambda s, t: abs(s[1] - t[1]))
    assert own.bandwidth == pytest.approx(fitted(two, "auto").bandwidth, rel=1e-5)


def test_weighted_median_without_distance_gives_way():
    """To the weighted mean of positive distances; certain rows do not count."""
    probs = binary([0.1, 0.4, 0.8, 0.0, 1.0, 1e-300, 0.3])
    weight = np.array([1, 1, 1, 1, 1, 1, 0.0])
    (scalar,) = FittedKernel(Scaled(Exponential()), probs, weight=weight).scalars
    assert scalar.bandwidth == fitted(probs[:3], "auto").bandwidth
    scalar = fitted(binary([0.5] * 10 + [0.2, 0.0, 1.0]), "auto")
    assert scalar.bandwidth == pytest.approx(0.3)
    assert scalar.rule == "mean of the positive distances, since their weighted median is 0"


@pytest.mark.parametrize("tiny", [1e-300, 1e-17])
def test_bandwidth_of_equal_rows_beside_one_that_is_all_but_certain(tiny):
    """Its weight is lost in a sum with the others, and must not be in their distance."""
    probs = np.array([[0.5, 0.5]] * 5 + [[tiny, 1.0]])
    assert fitted(probs, "auto").bandwidth == pytest.approx(0.5, rel=1e-12)
    data = ct.Predictions(probs, [0, 1, 0, 1, 0, 1])
    assert 0 < ct.test_calibration(data, test="skce", rng=0).pvalue <= 1


@pytest.mark.parametrize("event", [[0.0, 1.0, 1.0], [0.5, 0.0, 1.0]])
def test_weighted_median_without_variance_gives_way_to_the_median(event):
    """No two rows of different predictions have variance."""
    scalar = fitted(binary(event), "auto")
    assert scalar.bandwidth == pytest.approx(np.median(pdist(np.array(event)[:, None])))
    assert scalar.rule == "median"


def test_weighted_median_of_many_rows_is_taken_over_a_sample(monkeypatch):
    """Rows are drawn with a fixed seed, and the print says how many."""
    probs = saturated(5000, np.random.default_rng(0))
    all_rows = fitted(probs, "auto")
    monkeypatch.setattr("caltest.kernels.bandwidth.ROWS_ON_LINE", 4000)
    sample = fitted(probs, "auto")
    assert sample.rule == "weighted median of 4,000 sampled rows"
    assert sample.bandwidth == pytest.approx(all_rows.bandwidth, rel=0.1)
