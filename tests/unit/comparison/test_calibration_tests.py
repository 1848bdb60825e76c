"""Tests in a comparison, and the p-value of several."""

from __future__ import annotations

import numpy as np
import pytest

from caltest import InvalidInput
from caltest.comparison.calibration_tests import averaged_pvalue, make_calibration_tests
from caltest.datasets import generative_model

SETTINGS = {
    "null": None,
    "correction": "holm",
    "level": None,
    "n_resamples": 19,
    "n_jobs": None,
    "options": {},
}


@pytest.mark.parametrize("size", [2, 3, 4, 7])
def test_averaged_pvalue_is_the_least_level_at_which_markov_rejects(size):
    """Its formula against a fine grid of levels."""
    levels = np.linspace(1e-4, 1.0, 20_000)
    for seed in range(20):
        p = np.random.default_rng(seed).random(size) ** 4
        evidence = np.maximum(2 - 2 * p[:, None] / levels, 0).mean(axis=0)
        rejected = levels[evidence >= 1]
        expected = rejected[0] if rejected.size else 1.0
        assert averaged_pvalue(p) == pytest.approx(expected, abs=1e-4)
        assert averaged_pvalue(p) <= 2 * p.mean() * (1 + 1e-12)


def test_averaged_pvalue_is_at_most_1():
    """A p-value is no larger than 1; one by itself stays as it is."""
    assert averaged_pvalue([0.9, 0.7, 0.8]) == 1.0
    assert averaged_pvalue([0.7]) == 0.7
    assert averaged_pvalue([0.1, 0.2, 0.3]) == pytest.approx(0.4)


def test_judge_runs_every_test_under_every_lens():
    """In the order of test_calibration, one of each."""
    judge = make_calibration_tests(["skce", "ks"], ["confidence", "classwise[0]"], **SETTINGS)
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
        make_calibration_tests("skce", "classwise", **SETTINGS)
