"""Planned power and numbers of rows, against distributions that are known without simulation."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import beta, binom, norm

import caltest as ct
from caltest.planning.truths import as_distribution, truth_of_classes
from caltest.predictions import ModelData

BAND = 0.999
LEVEL = 0.05
RISKS = beta(2, 5)


@pytest.fixture(params=[400, pytest.param(2000, marks=pytest.mark.slow)])
def n_datasets(request):
    """Return the number of data sets: 400, and 2000 where --slow asks for it."""
    return request.param


def in_band(row, rate, size=BAND):
    """Tell whether the rejections lie in the central 99.9 % of the binomial distribution."""
    low, high = binom.interval(size, row.n_datasets, rate)
    return low <= row.rejections <= high


@pytest.mark.parametrize("test", ["skce", "ece", "brier"])
def test_size_of_an_exact_test_is_its_level(test, n_datasets):
    """Without a truth the labels are those of calibrated predictions, and 5 % are rejected."""
    result = ct.power(RISKS, n=60, test=test, n_datasets=n_datasets, rng=1)
    assert in_band(result[0], LEVEL)


@pytest.mark.parametrize("n", [50, 200])
@pytest.mark.parametrize("ratio", [0.5, 0.8, 1.5])
def test_power_of_the_binomial_test_is_that_of_the_binomial_distribution(n, ratio, n_datasets):
    """With one risk the number of events is binomial under the truth too."""
    risk = 0.2
    critical = np.flatnonzero(binom.sf(np.arange(n + 1) - 1, n, risk) <= LEVEL)[0]
    expected = binom.sf(critical - 1, n, risk / ratio)
    result = ct.power([risk], n=n, ratio=ratio, test="binomial", n_datasets=n_datasets, rng=1)
    assert in_band(result[0], expected)


def moments(truth):
    """Return mean and deviation of Spiegelhalter's terms under the truth, and his deviation."""
    p = RISKS.ppf((np.arange(20_000) + 0.5) / 20_000)
    q, weight = truth(p), 1 - 2 * p
    null = math.sqrt(np.mean(weight**2 * p * (1 - p)))
    mean = np.mean(weight * (q - p))
    second = np.mean(weight**2 * (q * (1 - q) + (q - p) ** 2))
    return mean, math.sqrt(second - mean**2), null


def normal_power(n, truth):
    """Return the power of Spiegelhalter's test by the normal limit of its statistic."""
    mean, deviation, null = moments(truth)
    critical = norm.isf(LEVEL / 2) * null
    shift = math.sqrt(n) * mean
    return norm.sf((critical - shift) / deviation) + norm.cdf((-critical - shift) / deviation)


@pytest.mark.parametrize("ratio", [1.15, 1.3])
@pytest.mark.parametrize("n", [300, 1000])
def test_power_of_spiegelhalters_test_is_that_of_its_normal_limit(n, ratio, n_datasets):
    """Mean and variance of z under the truth give the power for large n."""
    options = {"test": "spiegelhalter", "null": "asymptotic", "rng": 1}
    result = ct.power(RISKS, n=n, ratio=ratio, n_datasets=n_datasets, **options)
    assert in_band(result[0], normal_power(n, lambda p: p / ratio))


def test_rows_for_spiegelhalters_test_are_those_of_its_normal_limit(n_datasets):
    """The number of rows solves the equation for the power."""
    ratio = 1.25
    expected = brentq(lambda n: normal_power(n, lambda p: p / ratio) - 0.8, 100, 5000)
    options = {"test": "spiegelhalter", "null": "asymptotic", "rng": 1}
    result = ct.sample_size(RISKS, ratio=ratio, n_datasets=n_datasets, **options)
    error = (result.high - result.low) / (2 * norm.isf(0.025))
    assert abs(result.n - expected) < norm.isf((1 - BAND) / 2) * error
    assert error < 0.1 * expected


@pytest.mark.parametrize("test", ["skce", "brier"])
def test_power_grows_with_the_rows_and_with_the_deviation(test):
    options = {"test": test, "n_datasets": 120, "rng": 1}
    by_rows = ct.power(RISKS, n=[50, 150, 450], slope=0.6, **options).power
    assert (np.diff(by_rows) > 0).all()
    by_slope = [ct.power(RISKS, n=200, slope=b, **options)[0].power for b in (0.9, 0.6, 0.3)]
    assert by_slope == sorted(by_slope)
    assert by_slope[0] < by_slope[-1]


@pytest.mark.slow
def test_more_resamples_change_the_power_little():
    """B = 199 has almost the power of B = 999 (Davidson and MacKinnon 2000)."""
    options = {"n": 200, "slope": 0.5, "n_datasets": 300, "rng": 1, "test": "ece"}
    few, many = (ct.power(RISKS, n_resamples=B, **options)[0] for B in (199, 999))
    assert abs(few.power - many.power) < 0.06


@pytest.mark.slow
def test_mean_estimate_is_the_true_error():
    """The unbiased SKCE has the mean that the truth gives, by a double sum over the risks."""
    n, ratio = 50, 1.5
    p = RISKS.ppf((np.arange(800) + 0.5) / 800)
    d = p / ratio - p
    kernel = np.exp(-np.abs(p[:, None] - p) / 0.2)
    expected = 2 * d @ kernel @ d / 800**2
    result = ct.power(
        RISKS,
        n=n,
        ratio=ratio,
        kernel=ct.kernels.Exponential(bandwidth=0.2),
        null="distribution-free",
        n_datasets=1500,
        rng=1,
    )
    assert result[0].estimate == pytest.approx(expected, rel=0.08)


@pytest.mark.parametrize("truth", [{}, {"slope": 0.7, "intercept": 0.2}, {"noise": 0.3}])
def test_planned_standard_errors_are_those_of_simulated_studies(truth):
    """The slope and the intercept of studies of the planned size vary as planned."""
    options = {"ratio_width": None, "slope_width": 0.5, "intercept_width": 0.3}
    planned = ct.sample_size_for_precision(RISKS, rng=1, **options, **truth)
    for row, test in zip(planned.rows, ("calibration_slope", "calibration_intercept"), strict=True):
        predictions, true = as_distribution(ModelData(RISKS)), truth_of_classes(2, **truth)
        rng = np.random.default_rng(2)
        values = []
        for _ in range(400):
            p = predictions.draw(rng, row.n)
            labels = rng.random(row.n) < true.of(p)[:, 1]
            values.append(getattr(ct.measures, test)(p, labels.astype(int)))
        assert np.mean(values) == pytest.approx(row.value, abs=5 * row.standard_error / 20)
        assert np.std(values) == pytest.approx(row.standard_error, rel=0.15)
