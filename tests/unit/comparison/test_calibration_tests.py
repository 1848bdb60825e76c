"""Tests in a comparison, and the p-value of several."""

import numpy as np
import pytest
from scipy.stats import combine_pvalues

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
