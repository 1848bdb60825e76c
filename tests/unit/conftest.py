"""Fixtures of the unit tests."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax

from caltest.results import HTest, HTestTable

# By its file: the folder above it also holds caltest's source tree.
PAPERS = Path(__file__).parents[2] / "paper_checks"
if (PAPERS / "__init__.py").is_file() and "paper_checks" not in sys.modules:
    spec = importlib.util.spec_from_file_location(
        "paper_checks", PAPERS / "__init__.py", submodule_search_locations=[str(PAPERS)]
    )
    sys.modules["paper_checks"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["paper_checks"])

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


@pytest.fixture(scope="session")
def logits():
    """Return those of four classes in 400 rows, and labels of a softer model."""
    rng = np.random.default_rng(3)
    Z = rng.normal(0, 2, (400, 4))
    labels = (softmax(0.6 * Z, axis=1).cumsum(axis=1) < rng.uniform(size=(400, 1))).sum(axis=1)
    return Z, labels.clip(0, 3)


@pytest.fixture
def make_test():
    return lambda **changes: HTest(**(FIELDS | changes))


@pytest.fixture
def make_table(make_test):
    """Make an HTestTable of the given fields, one mapping for each row."""

    def make(*rows, correction="holm", level=None):
        tests = tuple(make_test(**changes) for changes in rows)
        adjusted = [min(1.0, len(tests) * test.pvalue) for test in tests]
        return HTestTable(tests, correction, adjusted, level)

    return make
