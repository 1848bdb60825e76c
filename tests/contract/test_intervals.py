"""Confidence intervals and exact p-values of every test agree, with few events above all."""

from contextlib import suppress

import numpy as np
import pytest

import caltest as ct
from caltest.errors import NotApplicable
from caltest.htests import REGISTRY
from caltest.intervals import choose

RESAMPLES = 99


def has_interval(key):
    """Tell whether a test has an interval at all."""
    with suppress(NotApplicable):
        return bool(choose(REGISTRY[key].with_options(options_of(key))))
    return False


def options_of(key):
    """Return the options that a test does not run without."""
    return {"correlation": 0.1} if key == "vasicek" else {}


def rare(seed):
    """Draw 5 to 60 predictions of rare, certain or tied events, and labels that may differ."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 61))
    kinds = (
        rng.beta(1, 60, n),
        rng.beta(60, 1, n),
        rng.beta(0.1, 0.1, n),
        np.exp(rng.uniform(np.log(1e-4), np.log(0.05), n)),
        rng.choice([0.0, 0.02, 0.3, 1.0], n),
        np.full(n, rng.choice([0.001, 0.05, 0.5])),
    )
    event = kinds[rng.integers(len(kinds))]
    odds = rng.choice([0.2, 1.0, 1.0, 5.0])
    rate = odds * event / (1.0 - event + odds * event)
    rate = np.where(rng.random(n) < rng.choice([0.0, 0.0, 0.1]), 0.5, rate)
    return ct.Predictions(event, (rng.random(n) < rate).astype(int), classes=[0, 1])


def contradiction(key, data, seed, level):
    """Return what speaks of a contradiction; None where there is none, or no interval."""
    options = {"n_resamples": RESAMPLES, "rng": seed, "n_jobs": 1, **options_of(key)}
    try:
        result = ct.test_calibration(data, test=key, **options)
        interval = result.confidence_interval(level, n_resamples=RESAMPLES, n_jobs=1)
    except NotApplicable:
        return None
    measure = result.evidence.measure
    value, rejected = measure.calibrated_value(data), result.pvalue <= 1.0 - level
    left_out = interval.low > value or (interval.high < value and not measure.is_one_sided)
    said = any("the test rejects calibration" in note for note in interval.notes)
    if rejected == left_out or (rejected and said):
        return None
    return key, seed, result.pvalue, value, interval.low, interval.high


@pytest.mark.cases(2, full=12)
@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize(
    "sets",
    [4, pytest.param(12, marks=pytest.mark.full), pytest.param(2000, marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("key", [key for key in REGISTRY if has_interval(key)])
def test_interval_and_exact_pvalue_never_contradict_each_other(key, sets):
    """Its value is left out only where p is small; where it stays all the same, a note says so."""
    level = 0.95
    found = [contradiction(key, rare(seed), seed, level) for seed in range(sets)]
    assert [one for one in found if one is not None] == []


@pytest.mark.cases(1, full=8)
@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize("sets", [3])
@pytest.mark.parametrize("key", [key for key in REGISTRY if has_interval(key)])
def test_interval_stays_in_the_range_of_what_it_estimates(key, sets):
    """By each of its methods, with few events: no error below 0, no Brier score above 1."""
    for seed in range(sets):
        data = rare(seed)
        options = {"n_resamples": RESAMPLES, "rng": seed, "n_jobs": 1, **options_of(key)}
        with suppress(NotApplicable):
            result = ct.test_calibration(data, test=key, **options)
            least, largest = result.evidence.measure.support(2)
            for method in result.evidence.measure.intervals:
                with suppress(NotApplicable):
                    found = result.confidence_interval(
                        n_resamples=RESAMPLES, n_jobs=1, method=method
                    )
                    assert least <= found.low <= found.high <= largest, (method, seed)
