"""Tests in a comparison, and the p-value of several."""

import numpy as np
import pytest
from scipy.stats import combine_pvalues

from caltest import InvalidInput
from caltest.comparison.outcomes import fisher_pvalue, make_calibration_tests
from caltest.datasets import generative_model

SETTINGS = {
    "null": None,
    "correction": "holm",
    "level": None,
    "n_resamples": 19,
    "n_jobs": None,
}


@pytest.mark.parametrize("size", [2, 3, 10])
def test_fisher_pvalue_is_that_of_scipy(size):
    """SciPy computes it by its chi-squared distribution."""
    for seed in range(5):
        p = np.random.default_rng(seed).random(size) ** 4
        assert fisher_pvalue(p) == pytest.approx(combine_pvalues(p, method="fisher").pvalue)


def test_fisher_pvalue_is_never_0_and_one_stays_as_it_is():
    """A p-value of 0 claims what no test can show."""
    assert 0 < fisher_pvalue([0.0, 0.0, 1e-300]) < 1e-200
    assert fisher_pvalue([1.0, 1.0]) == 1.0
    assert fisher_pvalue([0.7]) == 0.7


def test_judge_runs_every_test_under_every_lens():
    """In the order of test_calibration, one of each."""
    judge = make_calibration_tests(
        test=["skce", "ks"], lens=["confidence", "classwise[0]"], **SETTINGS
    )
    results = judge(generative_model("M1", n=40, m=3, rng=1), seed=1)
    assert [(row.test, row.lens) for row in results] == [
        ("skce", "confidence"),
        ("skce", "classwise[0]"),
        ("ks", "confidence"),
        ("ks", "classwise[0]"),
    ]


def test_judge_refuses_a_family_of_lenses():
    """A comparison has a column for a test, not for a class."""
    with pytest.raises(InvalidInput, match="got classwise; name a member"):
        make_calibration_tests(test="skce", lens="classwise", **SETTINGS)
