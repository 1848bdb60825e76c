"""Tolerance tests hold their level where the error is the tolerance, simulated.

Predictions are uniform, and all true probabilities are larger by the same shift, so that the KS
error is the shift, the squared error over bins its square, and the SKCE an integral.
"""

import math
from contextlib import suppress

import numpy as np
import pytest
from scipy.stats import binom

from caltest import NotApplicable, Predictions
from caltest import test_calibration as calibration_test
from caltest.kernels import Exponential

LEVEL, SHIFT, LOW, HIGH, BANDWIDTH = 0.05, 0.1, 0.1, 0.6, 0.3

# E exp(-|u - u'| / nu) for u, u' uniform on an interval of length L, with x = L / nu.
X = (HIGH - LOW) / BANDWIDTH
MEAN_KERNEL = 2 * (X - 1 + math.exp(-X)) / X**2

CASES = {
    "skce": (2 * SHIFT**2 * MEAN_KERNEL, {"kernel": Exponential(bandwidth=BANDWIDTH)}),
    "skce-linear": (2 * SHIFT**2 * MEAN_KERNEL, {"kernel": Exponential(bandwidth=BANDWIDTH)}),
    "skce-block": (
        2 * SHIFT**2 * MEAN_KERNEL,
        {"kernel": Exponential(bandwidth=BANDWIDTH), "block_size": 10},
    ),
    "debiased-ece": (SHIFT**2, {"binning": "quantile"}),
    "ks": (SHIFT, {}),
}


def shifted(n, seed, shift=SHIFT):
    """Draw a data set whose true probabilities are larger by the shift."""
    rng = np.random.default_rng([seed, n])
    event = rng.uniform(LOW, HIGH, n)
    return Predictions(event, (rng.random(n) < event + shift).astype(int))


def rejections(key, n, sets, *, equivalence, factor=1.0, shift=SHIFT):
    """Count the data sets that are rejected at a factor of the true error."""
    error, options = CASES[key]
    settings = {"tolerance": factor * error, "equivalence": equivalence, "n_resamples": 99}
    return sum(
        calibration_test(shifted(n, seed, shift), test=key, rng=seed, **settings, **options).pvalue
        <= LEVEL
        for seed in range(sets)
    )


@pytest.mark.slow
@pytest.mark.parametrize("equivalence", [False, True])
@pytest.mark.parametrize("key", CASES)
@pytest.mark.parametrize(("n", "sets"), [(300, 200), (250, 1000), (2000, 1000), (10_000, 300)])
def test_tolerance_holds_its_level_on_the_boundary(key, n, sets, equivalence):
    """At most the 99.95 % point of Bin(sets, 5 %)."""
    count = rejections(key, n, sets, equivalence=equivalence)
    assert count <= binom.ppf(0.9995, sets, LEVEL)


@pytest.mark.parametrize("n", [7, 20])
def test_tolerance_of_few_rows_holds_its_level(n):
    """Events are rarer than predicted by the tolerance, so that all labels are often 0."""
    found = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, n])
        event = rng.uniform(LOW, HIGH, n)
        data = Predictions(event, (rng.random(n) < event - LOW / 2).astype(int))
        settings = {"tolerance": LOW / 2, "n_resamples": 99, "rng": seed}
        found += calibration_test(data, test="ks", **settings).pvalue <= LEVEL
    assert found <= binom.ppf(0.9995, 200, LEVEL)


@pytest.mark.parametrize("expected", [3, 10])
@pytest.mark.parametrize("rate", [1e-4, 0.9999])
@pytest.mark.parametrize("key", CASES)
def test_few_events_certify_falsely_at_most_as_often_as_the_level(key, rate, expected):
    """With equal risks, over all numbers of events: the rates are exact but for blocks and KS."""
    n, shift = 1000, expected / 1000
    options = {k: v for k, v in CASES[key][1].items() if k != "binning"}
    tolerance = {"ks": shift, "debiased-ece": shift**2}.get(key, 2 * shift**2)
    settings = {"tolerance": tolerance, "equivalence": True, "n_resamples": 99, "rng": 1}
    risk = min(rate, 1 - rate)
    chances = binom.pmf(np.arange(3 * expected), n, risk + shift)
    found = np.ones(3 * expected)
    for events in range(3 * expected):
        rare = np.random.default_rng(events).permutation(n) < events
        data = Predictions(np.full(n, rate), rare ^ (rate > 0.5), classes=[False, True])
        with suppress(NotApplicable):
            found[events] = calibration_test(data, test=key, **settings, **options).pvalue
    for level in (0.05, 0.01, 0.001):
        assert chances[found <= level].sum() <= level


@pytest.mark.parametrize("key", ["skce", "debiased-ece", "ks"])
def test_tolerance_has_power_away_from_the_boundary(key):
    """Against a quarter of the error as the tolerance, and for a calibrated model."""
    assert rejections(key, 1500, 40, equivalence=False, factor=0.25) >= 36
    assert rejections(key, 1500, 40, equivalence=True, shift=0.0) >= 36
