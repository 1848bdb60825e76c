"""How often tests reject right and wrong risks where times are censored."""

from contextlib import suppress

import numpy as np
import pytest
from scipy.stats import binom

import caltest as ct

BAND = 0.999


def times(rng, n, rate):
    """Times with proportional hazards, censored at a rate."""
    hazard = 0.45 * np.exp(0.8 * rng.normal(size=n))
    first, lost = rng.exponential(1 / hazard), rng.exponential(1 / rate, n)
    return hazard, np.minimum(first, lost), first <= lost


@pytest.mark.parametrize("components", [None, ["skce-narrow"]])
def test_default_keeps_its_level_where_few_rows_are_known(components):
    """Of 50 rows some 35 are lost; labels that are redrawn as if all were known fail for one."""
    rejected = sets = 0
    for seed in range(300):
        hazard, time, event = times(np.random.default_rng([seed, 1]), 50, 1.9)
        if time.max() < 1.0:  # no row tells of the horizon
            continue
        sets += 1
        data = ct.SurvivalPredictions(-np.expm1(-hazard), time, event, horizon=1.0)
        options = {"components": components, "n_resamples": 99, "rng": seed}
        rejected += ct.test_calibration(data, test="combined", **options).pvalue <= 0.05
    assert sets > 250
    assert rejected <= binom.ppf(BAND, sets, 0.05)


@pytest.mark.parametrize("n", [8, 50, 500])
def test_a_calibration_keeps_about_its_level(n):
    """Its chi^2 distribution is that of many rows, and rejects up to 7 %."""
    rejected = sets = 0
    for seed in range(400):
        hazard, time, event = times(np.random.default_rng([seed, n]), n, 1.0)
        if event.any():
            sets += 1
            rejected += ct.survival.a_calibration(np.exp(-hazard * time), event).pvalue <= 0.05
    assert rejected <= binom.ppf(BAND, sets, 0.07)


def test_a_calibration_finds_what_d_calibration_misses():
    """Half of 500 rows are lost, and hazards are 0.7 times what they should be."""
    found = np.zeros(2)
    for seed in range(40):
        hazard, time, event = times(np.random.default_rng([seed, 2]), 500, 1.0)
        own = np.exp(-0.7 * hazard * time)
        tests = ct.survival.a_calibration, ct.survival.d_calibration
        found += [test(own, event).pvalue <= 0.05 for test in tests]
    assert found[0] >= binom.ppf(1 - BAND, 40, 0.9)
    assert found[0] > found[1] + 10


@pytest.mark.parametrize("n", [500, 1500])
def test_interval_of_the_slope_holds_it_where_events_are_rare(n):
    """Risks of 3 % with 11 and 32 events; the robust standard error alone covers in 88 to 92 %."""
    covered = sets = 0
    for seed in range(300):
        rng = np.random.default_rng([seed, 3])
        hazard, lost = np.exp(rng.normal(-4, 0.9, n)), rng.exponential(2, n)
        first = rng.exponential(1 / hazard)
        rows = -np.expm1(-hazard), np.minimum(first, lost), first <= lost
        with suppress(ct.NotApplicable):  # a step from 0 to 1 fits best
            slope = ct.survival.calibration_slope(ct.SurvivalPredictions(*rows, horizon=1))[1]
            sets, covered = sets + 1, covered + (slope.low <= 1 <= slope.high)
    assert sets > 270
    assert covered >= binom.ppf(1 - BAND, sets, 0.96)


def test_interval_of_the_ratio_knows_how_few_clusters_there_are():
    """Of three clusters a normal quantile covers in 78 %."""
    covered = 0
    for seed in range(300):
        hazard, time, event = times(np.random.default_rng([seed, 4]), 200, 0.5)
        given = {"horizon": 1, "clusters": np.arange(200) % 3}
        rows = ct.SurvivalPredictions(-np.expm1(-hazard), time, event, **given)
        ratio = ct.survival.observed_expected_ratio(rows)
        covered += ratio.low <= 1 <= ratio.high
    assert covered >= binom.ppf(1 - BAND, 300, 0.95)
