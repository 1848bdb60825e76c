"""Pictures of forecasts."""

import numpy as np
import pytest

import caltest as ct
from caltest import plots


@pytest.fixture(scope="module")
def forecasts():
    """Return forecasts that are too sure."""
    rng = np.random.default_rng(1)
    mean, scale = 3 * rng.normal(size=300), np.exp(0.4 * rng.normal(size=300))
    return ct.Forecasts(mean + 1.4 * scale * rng.normal(size=300), mean=mean, scale=scale)


@pytest.mark.parametrize(
    "name", ["pit_histogram", "coverage_curve", "quantile_reliability", "spread_against_error"]
)
def test_forecasts_look_as_they_did(forecasts, assert_same_picture, name):
    """The band of calibrated forecasts, and what is outside of it."""
    assert_same_picture(getattr(plots, name)(forecasts).figure, name)
