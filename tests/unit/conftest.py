"""Fixtures of the unit tests."""

import numpy as np
import pytest

from caltest.results import HTest, HTestTable

FIELDS = {
    "test": "skce",
    "method": "Exact test of calibration: squared kernel calibration error (unbiased)",
    "statistic_name": "SKCE",
    "statistic": 0.0213389,
    "pvalue": 0.001,
    "estimate_name": "SKCE",
    "estimate": 0.0213389,
    "null": "exact",
    "alternative": "greater",
    "null_text": "labels redrawn from the predictions",
    "n": 899,
    "m": 10,
    "lens": "strong",
    "claim": "P(Y = k | p) = p_k for every class k",
    "data_name": "GaussianNB()",
    "parameters": {"kernel": "exponential", "bandwidth": 0.99733, "bandwidth rule": "median"},
    "n_resamples": 999,
    "seed": 20,
    "null_distribution": np.linspace(-0.001, 0.002, 999),
}


@pytest.fixture
def make_test():
    """Make an HTest with some fields changed."""
    return lambda **changes: HTest(**(FIELDS | changes))


@pytest.fixture
def make_table(make_test):
    """Make an HTestTable of the given fields, one mapping for each row."""

    def make(*rows, correction="holm", level=None):
        tests = tuple(make_test(**changes) for changes in rows)
        adjusted = [min(1.0, len(tests) * test.pvalue) for test in tests]
        return HTestTable(tests, correction, adjusted, level)

    return make
