"""Size of the tests in comparisons, and honesty of the nested estimate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom
from threadpoolctl import threadpool_limits

from caltest import Predictions, compare_calibrators, compare_models
from caltest import test_calibration as calibration_test
from caltest.calibrators import HistogramBinning, Identity, TemperatureScaling
from caltest.comparison.calibration_tests import averaged_pvalue

LEVEL = 0.05


def sharp(n, seed, temperature):
    """Simulate calibrated log odds, and predict with a multiple of them."""
    rng = np.random.default_rng(seed)
    z = 1.5 * rng.normal(size=n)
    labels = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)
    return Predictions(1 / (1 + np.exp(-temperature * z)), labels)


class Truth(TemperatureScaling):
    """The map that is calibrated, whatever it is fitted to; but the fit costs labels nothing."""

    key = "truth"

    def _fit(self, data):
        super()._fit(data)
        self.temperature_ = 2.0


def sizes(sets, level=LEVEL):
    """Return the numbers of calibrated maps that are rejected: combined, and the first part."""
    combined = first = 0
    with threadpool_limits(1):
        for seed in range(sets):
            data = sharp(60, seed, 2.0)
            result = compare_calibrators(
                data,
                calibrators=[Truth()],
                cv=3,
                inner_cv=2,
                correction=None,
                n_resamples=39,
                rng=seed,
            )
            test = result["truth"].tests[0]
            combined += test.pvalue <= level
            first += test.fold_pvalues[0] <= level
    return combined, first


def test_held_out_tests_of_a_calibrated_map_hold_their_level():
    """A part by itself is exact; all together are conservative."""
    combined, first = sizes(60)
    assert binom.ppf(0.0005, 60, LEVEL) <= first <= binom.ppf(0.9995, 60, LEVEL)
    assert combined <= binom.ppf(0.9995, 60, LEVEL)


@pytest.mark.slow
def test_held_out_tests_hold_their_level_over_many_data_sets():
    """The long version: 2000 data sets."""
    combined, first = sizes(2000)
    assert binom.ppf(0.0005, 2000, LEVEL) <= first <= binom.ppf(0.9995, 2000, LEVEL)
    assert combined <= binom.ppf(0.9995, 2000, LEVEL)


@pytest.mark.parametrize("shared", [0.0, 0.5, 0.9, 0.999])
def test_averaged_pvalue_holds_its_level_under_dependence(shared):
    """Normal scores with a common part; antithetic pairs too."""
    rng = np.random.default_rng(0)
    from scipy.special import ndtr

    common, own = rng.normal(size=(20_000, 1)), rng.normal(size=(20_000, 4))
    p = ndtr(np.sqrt(shared) * common + np.sqrt(1 - shared) * own)
    for values in (p, np.column_stack([p[:, 0], 1 - p[:, 0]])):
        rejected = np.mean([averaged_pvalue(row) <= LEVEL for row in values])
        assert rejected <= binom.ppf(0.9999, 20_000, LEVEL) / 20_000


def test_averaged_pvalue_reaches_its_level():
    """Rueschendorf's bound is sharp: p-values that are U and c - U below c have the mean c / 2."""
    rng = np.random.default_rng(1)
    u = rng.random(20_000)
    p = np.column_stack([u, np.where(u < LEVEL, LEVEL - u, u)])
    rejected = np.mean([averaged_pvalue(row) <= LEVEL + 1e-12 for row in p])
    assert abs(rejected - LEVEL) < 4 * np.sqrt(LEVEL * (1 - LEVEL) / 20_000)


NOISE = {f"bins {k}": HistogramBinning(bins=k) for k in range(2, 12)}


def optimism(sets):
    """Return the score of the winner, and the nested score, less that of the map on fresh rows."""
    scores = []
    with threadpool_limits(1):
        for seed in range(sets):
            result = compare_calibrators(
                sharp(90, seed, 1.0),
                calibrators=NOISE,
                score="brier",
                cv=3,
                n_resamples=1,
                rng=seed,
                correction=None,
            )
            winner = min(row.scores["Brier score"] for row in result.rows[:-1])
            nested = result["selected"].scores["Brier score"]
            fresh = sharp(4000, 1000 + seed, 1.0)
            event = result.best.predict_proba(fresh)[:, 1]
            truth = np.mean(np.square(event - fresh.labels))
            scores.append([winner - truth, nested - truth])
    return np.array(scores).T


def in_standard_errors(values):
    """Return a mean in units of its standard error."""
    return values.mean() / (values.std(ddof=1) / np.sqrt(values.size))


def test_nested_score_is_not_that_of_the_winner():
    """Of ten maps that fit noise, the least score is smaller than what nested folds find."""
    winner, nested = optimism(15)
    assert in_standard_errors(nested) > -3
    assert (nested - winner).mean() > 0


@pytest.mark.slow
def test_nested_score_is_not_optimistic_and_that_of_the_winner_is():
    """The long version: 300 data sets, against the score of the selected map on fresh rows."""
    winner, nested = optimism(300)
    assert in_standard_errors(nested) > -2
    assert in_standard_errors(winner) < -2


def test_sign_flips_hold_their_level():
    """Two models that are equally far from the truth, on either side of it in random rows."""
    rejected = 0
    for seed in range(300):
        rng = np.random.default_rng(seed)
        p = rng.uniform(0.2, 0.8, 50)
        labels = (rng.random(50) < p).astype(int)
        swap = rng.random(50) < 0.5
        first, second = np.where(swap, p + 0.1, p - 0.1), np.where(swap, p - 0.1, p + 0.1)
        result = compare_models(
            {"a": first, "b": second},
            labels,
            n_resamples=39,
            rng=seed,
            test="brier",
            correction=None,
        )
        rejected += result.pairs[0].pvalue <= LEVEL
    assert binom.ppf(0.0005, 300, LEVEL) <= rejected <= binom.ppf(0.9995, 300, LEVEL)


def test_planted_temperature_wins_nearly_always():
    """Predictions that are twice as sharp as they should be, over data sets."""
    wins = 0
    for seed in range(15):
        result = compare_calibrators(
            sharp(300, seed, 2.0),
            calibrators="temperature",
            cv=3,
            n_resamples=1,
            rng=seed,
            correction=None,
        )
        wins += result.selected == "temperature" and not isinstance(result.best, Identity)
    assert wins >= 14


def test_uncalibrated_model_is_found():
    """The test of all rows has the power of test_calibration, since it is that test."""
    data = sharp(300, 3, 3.0)
    found = compare_calibrators(data, calibrators=["temperature"], cv=2, n_resamples=99, rng=1)
    assert found["identity"].tests[0].pvalue == 0.01
    assert calibration_test(data, n_resamples=99, rng=1).pvalue == 0.01
