"""Time of binned measures and their p-values, beside the plainest NumPy code."""

from __future__ import annotations

import numpy as np
import pytest

import caltest as ct
from caltest import measures

RESAMPLES = 999


def binary(n):
    """Calibrated predictions of two classes."""
    rng = np.random.default_rng(0)
    event = rng.random(n)
    return ct.Predictions(event, (rng.random(n) < event).astype(int))


def multiclass(n, m):
    """Calibrated predictions of m classes."""
    return ct.datasets.generative_model("M1", n=n, m=m, rng=0)


def plain_ece(event, labels, bins=15):
    """Compute the ECE in four lines of NumPy."""
    cells = np.minimum((event * bins).astype(int), bins - 1)
    return np.abs(np.bincount(cells, labels - event)).sum() / event.size


VALUES = {
    "ece": measures.ece,
    "ece, p = 2": lambda data: measures.ece(data, p=2),
    "ece, quantile": lambda data: measures.ece(data, binning="quantile"),
    "ece, sweep": lambda data: measures.ece(data, binning="sweep"),
    "ece, median-variance": lambda data: measures.ece(data, binning="median-variance"),
    "debiased_ece": measures.debiased_ece,
    "t_cal": measures.t_cal,
}


@pytest.mark.parametrize("name", VALUES)
def test_value_of_a_million_predictions(benchmark, name):
    """Two classes."""
    data = binary(10**6)
    benchmark(VALUES[name], data)


def test_plain_ece_of_a_million_predictions(benchmark):
    """To compare with."""
    data = binary(10**6)
    benchmark(plain_ece, np.ascontiguousarray(data.probs[:, 1]), data.labels)


@pytest.mark.parametrize(
    "measure", [measures.classwise_ece, measures.ece], ids=["classwise", "ece"]
)
def test_value_of_a_thousand_classes(benchmark, measure):
    """Ten thousand rows."""
    benchmark(measure, multiclass(10**4, 1000))


TESTS = [
    ("ece", 10**5, 2),
    ("ece", 10**6, 2),
    ("debiased-ece", 10**5, 2),
    ("t-cal", 10**4, 2),
    ("t-cal", 10**5, 2),
    ("ece", 10**4, 10),
    ("classwise-ece", 10**4, 10),
    ("classwise-ece", 10**4, 100),
]


@pytest.mark.parametrize(("test", "n", "m"), TESTS)
def test_exact_pvalue(benchmark, test, n, m):
    """On two threads."""
    data = binary(n) if m == 2 else multiclass(n, m)
    settings = {"test": test, "n_resamples": RESAMPLES, "rng": 0, "n_jobs": 2}
    benchmark.pedantic(ct.test_calibration, (None, data), settings, rounds=3, warmup_rounds=1)
