"""Time of sorted measures, scores and their p-values, beside the plainest NumPy code."""

from __future__ import annotations

import numpy as np
import pytest

import caltest as ct
from caltest import measures
from caltest.htests import REGISTRY

RESAMPLES = 999


def binary(n):
    """Calibrated predictions of two classes."""
    rng = np.random.default_rng(0)
    event = rng.random(n)
    return ct.Predictions(event, (rng.random(n) < event).astype(int))


def plain_ks(event, labels):
    """Compute the KS error without ties in two lines of NumPy."""
    order = np.argsort(event)
    return np.abs(np.cumsum((labels - event)[order])).max() / event.size


def plain_z(event, labels):
    """Compute Spiegelhalter's z in two lines of NumPy."""
    slope = 1 - 2 * event
    return np.sum((labels - event) * slope) / np.sqrt(np.sum(slope**2 * event * (1 - event)))


VALUES = {
    "ks_error": measures.ks_error,
    "kuiper_error": measures.kuiper_error,
    "ks, limit": lambda data: REGISTRY["ks"].with_options({}).limit(data),
    "smooth_ece": measures.smooth_ece,
    "smooth_ece, exact": lambda data: measures.smooth_ece(data, method="exact"),
    "spiegelhalter, limit": lambda data: REGISTRY["spiegelhalter"].with_options({}).limit(data),
    "brier_score": measures.brier_score,
    "log_loss": measures.log_loss,
    "spherical_score": measures.spherical_score,
    "overconfidence": measures.overconfidence,
    "score_decomposition": measures.score_decomposition,
}
PLAIN = {
    "sort": lambda event, _: np.sort(event),
    "argsort": lambda event, _: np.argsort(event),
    "ks": plain_ks,
    "z": plain_z,
    "brier": lambda event, labels: np.mean((event - labels) ** 2),
}


@pytest.mark.parametrize("name", VALUES)
def test_value_of_a_million_predictions(benchmark, name):
    """Two classes."""
    data = binary(10**6)
    benchmark(VALUES[name], data)


@pytest.mark.parametrize("name", PLAIN)
def test_plain_code_on_a_million_predictions(benchmark, name):
    """To compare with."""
    data = binary(10**6)
    benchmark(PLAIN[name], np.ascontiguousarray(data.probs[:, 1]), data.labels)


@pytest.mark.parametrize("name", ["ks_error", "brier_score"])
def test_value_of_ten_million_predictions(benchmark, name):
    """Two classes; to be compared with sorting them."""
    data = binary(10**7)
    benchmark.pedantic(VALUES[name], (data,), rounds=3, warmup_rounds=1)


def test_sort_of_ten_million_predictions(benchmark):
    """To compare with."""
    event = np.ascontiguousarray(binary(10**7).probs[:, 1])
    benchmark.pedantic(np.sort, (event,), rounds=3, warmup_rounds=1)


@pytest.mark.parametrize("n", [10**5, 10**6], ids=["1e5", "1e6"])
@pytest.mark.parametrize(
    "test", ["ks", "kuiper", "smooth-ece", "brier", "log-loss", "spiegelhalter"]
)
def test_exact_p_value(benchmark, test, n):
    """999 redrawn sets of labels on two threads."""
    data = binary(n)
    options = {"test": test, "rng": 0, "n_resamples": RESAMPLES, "n_jobs": 2}
    benchmark.pedantic(ct.test_calibration, (None, data), options, rounds=1, warmup_rounds=0)
