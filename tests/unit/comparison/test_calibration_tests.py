"""Tests in a comparison, and the p-value of several."""

import numpy as np
import pytest
from scipy.stats import combine_pvalues

import caltest as ct
from caltest import InvalidInput
from caltest.comparison.outcomes import fisher_pvalue, make_calibration_tests

SETTINGS = {"null": None, "correction": "holm", "level": None, "n_resamples": 19, "n_jobs": None}


@pytest.mark.parametrize("size", [2, 3, 10])
def test_fisher_pvalue_is_that_of_scipy(size):
    """SciPy computes it by its chi-squared distribution."""
    for seed in range(5):
        p = np.random.default_rng(seed).random(size) ** 4
        assert fisher_pvalue(p) == pytest.approx(combine_pvalues(p, method="fisher").pvalue)


def test_judge_refuses_a_family_of_lenses():
    """A comparison has a column for a test, not for a class."""
    with pytest.raises(InvalidInput, match="got classwise; name a member"):
        make_calibration_tests(test="skce", lens="classwise", **SETTINGS)


@pytest.mark.parametrize(
    "ask",
    [
        lambda p, y, **options: ct.compare_models({"a": p, "b": 1 - p}, y, **options),
        lambda p, y, **options: ct.compare_calibrators(p, y, calibrators=["platt"], **options),
        lambda p, _, **options: ct.power(p, n=50, n_datasets=20, **options),
    ],
)
def test_tests_of_one_name_are_refused_where_it_tells_them_apart(ask):
    """Of two the comparison of models had a traceback, and that of maps one p-value."""
    p = np.linspace(0.05, 0.95, 40)
    tests = ["ece", ct.measures.ECE(bins=5)]
    with pytest.raises(InvalidInput, match="tests of different names here; got 'ece' twice"):
        ask(p, np.arange(40) % 2, test=tests, n_resamples=19, rng=1)
