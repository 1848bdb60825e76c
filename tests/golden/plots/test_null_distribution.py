"""The null distribution and its tails."""

import numpy as np
import pytest

import caltest as ct
from caltest.plots import null_distribution

RESULT = {
    "test": "brier",
    "method": "Exact test of calibration: Brier score",
    "statistic_name": "Brier",
    "estimate_name": "Brier",
    "null": "exact",
    "null_text": "exact",
    "n": 100,
    "m": 2,
    "lens": "strong",
    "claim": "the predictions are calibrated (strong)",
    "data_name": "arrays",
}
NORMAL = np.random.default_rng(1).normal(size=499)


def result_of(statistic, values, pvalue, alternative="greater", **options):
    numbers = {"statistic": statistic, "estimate": statistic, "pvalue": pvalue}
    options["alternative"] = alternative
    return ct.HTest(**RESULT, **numbers, null_distribution=values, **options)


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("two_sided", result_of(1.7, NORMAL, 2 * np.mean(NORMAL >= 1.7), "two-sided")),
        ("one_sided", result_of(1.7, NORMAL, np.mean(NORMAL >= 1.7))),
        ("far", result_of(25.0, NORMAL, 0.002)),
        ("few_values", result_of(2.0, np.repeat([0, 1, 2, 4], [50, 90, 40, 19]), 0.3)),
    ],
)
def test_null_distribution(assert_same_picture, name, result):
    """One tail, both, a statistic beyond the axis, a law of few values."""
    assert_same_picture(null_distribution(result).figure, f"null_{name}")
