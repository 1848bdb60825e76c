"""Scaling-binning against its definition, on a sorted sample."""

import numpy as np

from caltest.calibrators import PlattScaling, ScalingBinning


def test_scaling_binning_averages_platt_scaling_over_bins_of_equal_mass():
    """400 rows without ties in 8 bins of 50."""
    rng = np.random.default_rng(2)
    p = rng.permutation(np.linspace(0.01, 0.99, 400))
    y = rng.random(400) < p**2
    scaled = PlattScaling().fit(p, y).predict_proba(p)[:, 1]
    order = np.argsort(scaled)
    expected = np.empty(400)
    for part in np.split(order, 8):
        expected[part] = scaled[part].mean()
    calibrator = ScalingBinning(bins=8).fit(p, y)
    np.testing.assert_allclose(calibrator.predict_proba(p)[:, 1], expected, rtol=1e-12)
    assert calibrator.values_.size == np.unique(calibrator.predict_proba(p)).size / 2 == 8
