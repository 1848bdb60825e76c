"""Confidence intervals hold the true value as often as they say; docs/studies has the rates."""

import numpy as np
import pytest
from scipy.stats import binom, norm

import caltest as ct
from caltest import Predictions
from caltest.intervals.bootstrap import bca_interval
from caltest.kernels import Exponential
from caltest.measures import ECE
from caltest.nulls.base import Draws

LEVEL = 0.95
M2_BANDWIDTH, M2_SKCE = 0.8274012122141459, 0.0893735  # shared/reference/skce.json, m = 10
BINARY_BANDWIDTH, BINARY_SKCE = 0.4889275982237544, 0.1016853  # m = 2


def overconfident(n, seed):
    """Draw binary labels with log odds 0.8 times those predicted."""
    rng = np.random.default_rng(seed)
    event = rng.random(n)
    true = 1.0 / (1.0 + (1.0 / event - 1.0) ** 0.8)
    return Predictions(event, (rng.random(n) < true).astype(int))


def coverage(draw, truth, sets, n_resamples=199, **options):
    """Count the data sets whose interval holds the truth."""
    held = 0
    for seed in range(sets):
        result = ct.test_calibration(draw(seed), n_resamples=1, rng=seed, **options)
        held += truth in result.confidence_interval(LEVEL, n_resamples=n_resamples)
    return held


def true_value(**options):
    """Return the error of a large sample, whose own bias is below 0.001."""
    data = overconfident(400_000, 10**6)
    return ct.test_calibration(data, n_resamples=1, rng=0, **options).estimate


@pytest.mark.parametrize("sets", [60, pytest.param(400, marks=pytest.mark.slow)])
def test_interval_of_the_skce_holds_that_of_m2(sets):
    """The normal limit of a U-statistic, within the binomial band, for n = 250 and m = 10."""
    held = coverage(
        lambda seed: ct.datasets.generative_model("M2", n=250, rng=seed),
        M2_SKCE,
        sets,
        kernel=Exponential(M2_BANDWIDTH),
    )
    assert held >= binom.ppf(0.001, sets, LEVEL)


@pytest.mark.parametrize("sets", [60, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n", [50, 250])
@pytest.mark.parametrize("key", ["skce", "kce", "skce-linear"])
def test_interval_of_rare_errors_counts_those_that_are_not_among_the_data(key, n, sets):
    """Of fifty rows two or three show the error; without added rows coverage is 72 to 85 %."""
    held = coverage(
        lambda seed: ct.datasets.generative_model("M2", n=n, m=2, pi=0.1, rng=seed),
        np.sqrt(BINARY_SKCE) / 5.0 if key == "kce" else BINARY_SKCE / 25.0,
        sets,
        test=key,
        kernel=Exponential(BINARY_BANDWIDTH),
    )
    assert held >= binom.ppf(0.001, sets, LEVEL)


@pytest.mark.parametrize("sets", [60, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("key", ["binomial", "jeffreys", "vasicek"])
def test_interval_of_a_grade_holds_its_rate(key, sets):
    """Two hundred obligors; with a common factor for the one-factor model."""

    def draw(seed):
        rng = np.random.default_rng(seed)
        rate = 0.05
        if key == "vasicek":
            rate = norm.cdf((norm.ppf(0.05) + np.sqrt(0.1) * rng.standard_normal()) / np.sqrt(0.9))
        return Predictions(np.full(200, 0.02), rng.random(200) < rate, classes=[False, True])

    options = {"correlation": 0.1} if key == "vasicek" else {}
    assert coverage(draw, 0.05, sets, test=key, **options) >= binom.ppf(0.001, sets, LEVEL)


@pytest.mark.parametrize("sets", [60, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    "key",
    [
        *("ece", "ks", "debiased-ece", "corp", "brier", "log-loss"),
        *("calibration-slope", "calibration-in-the-large"),
    ],
)
def test_interval_holds_the_value_of_a_large_sample(key, sets):
    """Mild overconfidence, n = 250: the error is small and the ECE biased."""
    held = coverage(lambda seed: overconfident(250, seed), true_value(test=key), sets, test=key)
    assert held >= binom.ppf(0.001, sets, LEVEL)


@pytest.mark.parametrize("key", ["ece", "mce", "ks", "kuiper", "classwise-ece"])
def test_interval_of_a_calibrated_model_reaches_zero(key):
    """Where a bootstrap of the error itself never does; n = 250."""

    def draw(seed):
        return ct.datasets.generative_model("M1", n=250, m=2, alpha=1.0, rng=seed)

    assert coverage(draw, 0.0, 60, test=key) >= binom.ppf(0.001, 60, LEVEL)


@pytest.mark.slow
def test_bca_interval_of_the_ece_misses_it():
    """Why it is not the default: the bias of the plug-in ECE enters twice."""
    data = [overconfident(250, seed) for seed in range(20)]
    truth, held = true_value(test="ece"), 0
    for one in data:  # by itself: results stretch it to 0 where the exact test does not reject
        ends = bca_interval(ECE(), one, LEVEL, Draws(199, 0, 1))
        held += ends.low <= truth <= ends.high
    assert held <= 10
