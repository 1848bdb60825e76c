import numpy as np
import pytest

from caltest import Predictions
from caltest.measures import ece, reliability_bins

RNG = np.random.default_rng(1)
P = RNG.random(200)
Y = (RNG.random(200) < P).astype(int)


@pytest.mark.parametrize("binning", ["uniform", "quantile"])
def test_bins_are_those_of_the_ece(binning):
    found = reliability_bins(P, Y, binning=binning, bins=7)
    gaps = np.abs(found.frequency - found.mean)
    assert found.mass @ gaps / 200 == pytest.approx(ece(P, Y, binning=binning, bins=7), rel=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_limits_hold_at_least_the_level(level):
    """Of redrawn labels the frequencies lie between the limits with probability `level` or more."""
    found = reliability_bins(P, Y, bins=4, confidence=level)
    code = np.minimum(np.ceil(4 * P).astype(int) - 1, 3)
    drawn = np.random.default_rng(2).random((4000, 200)) < P
    rates = np.stack([drawn[:, code == k].mean(axis=1) for k in range(4)], axis=1)
    inside = ((found.lower - 1e-9 <= rates) & (rates <= found.upper + 1e-9)).mean(axis=0)
    assert (inside > level - 3 * np.sqrt(level * (1 - level) / 4000)).all()


def test_weights_count_rows_and_those_of_zero_are_left_out():
    """A row of weight 2 counts twice in means and frequencies, and one of weight 0 not at all."""
    weighted = reliability_bins(
        Predictions([0.1, 0.3, 0.35, 0.9], [0, 1, 0, 1], sample_weight=[1, 2, 0, 1]), bins=2
    )
    repeated = reliability_bins([0.1, 0.3, 0.3, 0.9], [0, 1, 1, 1], bins=2)
    np.testing.assert_allclose(weighted.mean, repeated.mean)
    np.testing.assert_allclose(weighted.frequency, repeated.frequency)
    assert weighted.count.tolist() == [2, 1]
