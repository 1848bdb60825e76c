"""The smooth ECE: options, extremes, large data."""

import numpy as np
import pytest

from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.measures import smooth_ece
from caltest.measures.smooth.smooth_ece import SMALLEST_BANDWIDTH, SmoothECE


@pytest.mark.parametrize("n", [100, 10_000, 100_000])
def test_grid_and_exact_agree_on_large_data(n):
    """To five digits; the bandwidth shrinks as n grows."""
    data = generative_model("M1", n=n, m=2, rng=0)
    assert smooth_ece(data) == pytest.approx(smooth_ece(data, method="exact"), rel=2e-5)


@pytest.mark.parametrize("bandwidth", [None, 0.003, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_need_no_order_for_one_value(weighted, bandwidth):
    """The value of unsorted rows is that of the labels over sorted ones, which tests compare."""
    rng = np.random.default_rng(3)
    weights = np.append(rng.random(499), 0.0) if weighted else None
    event = np.concatenate([[0.0, 1.0, 0.5, 0.5], rng.beta(0.5, 0.5, 496)])
    data = Predictions(event, rng.random(500) < event**1.2, sample_weight=weights)
    bound = SmoothECE(bandwidth=bandwidth).bind(data)
    assert bound.value() == pytest.approx(bound.values(bound.observed[None])[0], rel=1e-9)


@pytest.mark.parametrize("method", ["grid", "exact"])
def test_constant_and_certain_predictions_have_a_value(method):
    """0 for the share of events, or all right; wrong in half, the fixed point below the share."""
    data = Predictions([0.25] * 4, [0, 1, 0, 0])
    assert smooth_ece(data, method=method) == pytest.approx(0, abs=1e-15)
    assert smooth_ece(data, method=method, bandwidth=0.01) == 0
    assert smooth_ece([0.0, 1.0], [0, 1], method=method) == 0.0
    assert 0.4 < smooth_ece([0.0, 1.0], [1, 0], method=method) < 0.5


@pytest.mark.full
def test_small_fixed_point_is_within_the_resolution():
    """Scores of 1e-5: the value at the smallest bandwidth stands for the fixed point."""
    rng = np.random.default_rng(0)
    event = rng.random(20_000) * 2e-5
    labels = np.arange(event.size) == 7
    residual = labels - event
    value = smooth_ece(event, labels)
    assert abs(residual.mean()) <= value <= np.abs(residual).mean()
    assert value == pytest.approx(smooth_ece(event, labels, method="exact"), abs=SMALLEST_BANDWIDTH)


@pytest.mark.parametrize("bandwidth", [SMALLEST_BANDWIDTH, 1e-3, 1.0, 100.0])
def test_bandwidth_may_be_small_or_large(bandwidth):
    """From one that separates the points to one that smooths all away."""
    data = generative_model("M3", n=60, m=2, rng=0)
    grid, exact = (smooth_ece(data, bandwidth=bandwidth, method=m) for m in ("grid", "exact"))
    assert grid == pytest.approx(exact, rel=1e-4)


def test_bandwidth_that_is_not_resolved_is_refused():
    with pytest.raises(NotApplicable, match=r"no bandwidth below 3.1e-05"):
        smooth_ece([0.5], [1], bandwidth=1e-6)


def test_root_at_a_node_of_the_grid_is_a_kink():
    """Residuals that are odd about 0.5 are 0 there, exactly or to rounding."""
    p = np.repeat([0.5, 0.0, 1.0], [6, 2, 5])
    y = np.array([0, 0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 1, 1])
    exact = smooth_ece(p, y, method="exact")
    for near in (p, np.where(p == 1.0, 1.0 - 1e-16, p), np.where(p == 0.0, 1e-16, p)):
        assert smooth_ece(near, y) == pytest.approx(exact, rel=1e-8)
        assert smooth_ece(1.0 - near, 1 - y) == pytest.approx(exact, rel=1e-8)
