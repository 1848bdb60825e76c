"""How long the SKCE and its exact test take, beside a plain NumPy implementation in the same run.

    pytest tests/benchmarks --benchmark-columns=median,rounds --benchmark-sort=name

prints a table for each size; the number in brackets is the ratio to the fastest. Both have two
cores: caltest as `n_jobs=2` (but one thread at n = 250), NumPy as the threads of BLAS. caltest is
called once before it is timed, so that compilation does not count. NumPy is given the bandwidth,
caltest takes the median itself. What takes NumPy minutes needs --slow. The goals are those of the
project's first issue, for two cores.
"""

import tracemalloc

import numpy as np
import pytest

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.measures import skce

pytest.importorskip("pytest_benchmark", reason='pip install ".[bench]"')
pytestmark = pytest.mark.benchmark

B = 999


# ---- plain NumPy --------------------------------------------------------------------------------


def residuals(predictions):
    """Return e_y - p."""
    return np.eye(predictions.m)[predictions.labels] - predictions.probs


def numpy_skce(predictions, bandwidth):
    """Return the unbiased SKCE, one row of the kernel matrix at a time."""
    probs, delta, n = predictions.probs, residuals(predictions), predictions.n
    total = 0.0
    for i in range(n - 1):
        distances = np.abs(probs[i + 1 :] - probs[i]).sum(axis=1) / 2
        total += np.exp(-distances / bandwidth) @ (delta[i + 1 :] @ delta[i])
    return 2 * total / (n * (n - 1))


def numpy_pvalue(predictions, bandwidth, rng):
    """Return the exact p-value from the whole kernel matrix, one resample at a time."""
    probs, (n, m) = predictions.probs, predictions.probs.shape
    kernel = np.empty((n, n))
    for i in range(n):
        kernel[i] = np.exp(-np.abs(probs - probs[i]).sum(axis=1) / 2 / bandwidth)
    np.fill_diagonal(kernel, 0.0)
    cumulative, rows = np.cumsum(probs, axis=1)[:, :-1], np.eye(m)

    def statistic(delta):
        return np.sum((kernel @ delta) * delta)

    observed, extreme = statistic(residuals(predictions)), 0
    for _ in range(B):
        labels = (rng.random((n, 1)) > cumulative).sum(axis=1)
        extreme += statistic(rows[labels] - probs) >= observed
    return (1 + extreme) / (1 + B)


# ---- data ---------------------------------------------------------------------------------------


def bandwidth_of(predictions):
    """Return the bandwidth that caltest takes."""
    result = calibration_test(None, predictions, null="distribution-free")
    return result.parameters["bandwidth"]


def binary(n):
    """Return calibrated binary predictions."""
    rng = np.random.default_rng(0)
    event = rng.random(n)
    return Predictions(event, (rng.random(n) < event).astype(np.int64))


def data(n, m):
    """Return calibrated predictions of m classes."""
    return binary(n) if m == 2 else generative_model("M1", n=n, m=m, alpha=1.0, rng=0)


def skip_unless_slow(request):
    """Leave out what takes NumPy minutes."""
    if not request.config.getoption("--slow"):
        pytest.skip("slow: runs with --slow")


# ---- the unbiased estimate ----------------------------------------------------------------------

ESTIMATES = [
    pytest.param((10_000, 2, 5), id="n = 10,000, m = 2"),
    pytest.param((10_000, 10, 5), id="n = 10,000, m = 10 (goal 0.4 s)"),
    pytest.param((30_000, 10, 3), id="n = 30,000, m = 10 (goal 3.5 s)"),
    pytest.param((1_000, 1_000, 5), id="n = 1000, m = 1000 (goal 0.06 s)"),
]


@pytest.mark.parametrize("library", ["caltest", "NumPy"])
@pytest.mark.parametrize("case", ESTIMATES)
def test_unbiased_skce(case, library, benchmark, request):
    n, m, rounds = case
    if library == "NumPy" and n == 30_000:
        skip_unless_slow(request)
    benchmark.group = "unbiased SKCE, " + request.node.callspec.id.removesuffix("-" + library)
    predictions = data(n, m)
    bandwidth = bandwidth_of(predictions)
    if library == "NumPy":
        value = benchmark.pedantic(numpy_skce, (predictions, bandwidth), rounds=1)
    else:
        skce(predictions, n_jobs=2)
        value = benchmark.pedantic(skce, (predictions,), {"n_jobs": 2}, rounds=rounds)
        benchmark.extra_info["SKCE"] = value
    if n < 20_000:
        assert value == pytest.approx(numpy_skce(predictions, bandwidth), rel=1e-9)


def test_unbiased_skce_of_ten_million(benchmark):
    """The memory on top of the predictions is in the extra info; 10^14 pairs are none for NumPy."""
    benchmark.group = "unbiased SKCE, n = 10,000,000, m = 2 (goal 3 s, 1 GiB)"
    predictions = binary(10_000_000)
    skce(binary(3000), n_jobs=2)
    benchmark.pedantic(skce, (predictions,), {"n_jobs": 2}, rounds=3)
    tracemalloc.start()
    skce(predictions, n_jobs=2)
    benchmark.extra_info["peak in MiB"] = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()


# ---- the exact test with 999 resamples ----------------------------------------------------------

TESTS = [
    pytest.param((250, 10, 20, None), id="n = 250, m = 10 (goal 0.01 s)"),
    pytest.param((10_000, 10, 3, 2), id="n = 10,000, m = 10 (goal 5 s)"),
    pytest.param((5_000, 2, 5, 2), id="n = 5000, m = 2"),
    pytest.param((100_000, 2, 3, 2), id="n = 100,000, m = 2 (goal 0.6 s)"),
]


@pytest.mark.parametrize("library", ["caltest", "NumPy"])
@pytest.mark.parametrize("case", TESTS)
def test_exact_test(case, library, benchmark, request):
    """The p-values differ by their resamples only."""
    n, m, rounds, n_jobs = case
    if library == "NumPy" and n > 10_000:
        pytest.skip("the kernel matrix would take 80 GB")
    if library == "NumPy" and n == 10_000:
        skip_unless_slow(request)
    benchmark.group = "exact test, " + request.node.callspec.id.removesuffix("-" + library)
    predictions = data(n, m)
    if library == "NumPy":
        arguments = predictions, bandwidth_of(predictions), np.random.default_rng(0)
        pvalue = benchmark.pedantic(numpy_pvalue, arguments, rounds=1)
    else:
        options = {"n_resamples": B, "rng": 0, "n_jobs": n_jobs}
        calibration_test(None, predictions, **options)
        arguments = (None, predictions)
        pvalue = benchmark.pedantic(calibration_test, arguments, options, rounds=rounds).pvalue
    benchmark.extra_info["p-value"] = pvalue
