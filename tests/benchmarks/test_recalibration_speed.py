"""How long logistic recalibration takes, beside other packages in the same run.

    pytest tests/benchmarks/test_recalibration_speed.py --benchmark-columns=median,rounds \
        --benchmark-sort=name

The extra `bench` installs probcal and calzone-tool; pycaleva is measured where it is installed. Its
one likelihood ratio is that of its calibration belt, of which the test of a straight line is the
first step, so that it does more.
"""

from functools import cache

import numpy as np
import pytest
from scipy.special import expit

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.datasets import generative_model
from caltest.measures import cox

pytest.importorskip("pytest_benchmark", reason='pip install ".[bench]"')
pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.filterwarnings("ignore"),  # those of other packages
]

MILLION = 10**6


@cache
def binary(n):
    """Return P(class 1) and labels of overconfident predictions of two classes."""
    rng = np.random.default_rng(0)
    x = rng.normal(-1, 1.5, n)
    return expit(x), (rng.random(n) < expit(0.1 + 0.9 * x)).astype(np.int64)


def caltest_arrays(event, labels):
    """Return the likelihood ratio of arrays, which are checked."""
    return cox(event, labels)


def caltest_predictions(event, labels):
    """Return the likelihood ratio of Predictions that were checked before."""
    return cox(predictions(event.size))


@cache
def predictions(n):
    return Predictions(*binary(n))


def probcal_test(event, labels):
    """Return the likelihood ratio."""
    from probcal.metrics import calibration_test as recalibration_test

    return recalibration_test(labels, event).statistic


def calzone_fit(event, labels):
    """Fit intercept and slope with statsmodels; there is no ratio."""
    from calzone.metrics import cox_regression_analysis

    cox_regression_analysis(labels, np.column_stack([1 - event, event]))


def pycaleva_belt(event, labels):
    from pycaleva import CalibrationEvaluator

    return CalibrationEvaluator(labels, event, outsample=True).calbelt(plot=False).statistic


@pytest.mark.parametrize(
    ("package", "call"),
    [
        (None, caltest_predictions),
        (None, caltest_arrays),
        ("probcal", probcal_test),
        ("calzone", calzone_fit),
        ("pycaleva", pycaleva_belt),
    ],
)
def test_ratio_of_a_million_rows(package, call, benchmark):
    """Goal: faster than each; theirs take .19 s on a machine like ours."""
    if package is not None:
        pytest.importorskip(package, exc_type=ImportError)
    benchmark.group = "Cox, n = 10^6"
    data = binary(MILLION)
    value = benchmark.pedantic(call, data, rounds=5 if package is None else 3, warmup_rounds=1)
    if package == "probcal":
        assert value == pytest.approx(cox(*data), rel=1e-9)


@pytest.mark.parametrize(("n", "m", "redraws"), [(10**4, 2, 999), (10**6, 2, 999), (10**4, 10, 99)])
def test_exact_pvalue(n, m, redraws, benchmark):
    """With two classes the fits take little time beside drawing the labels."""
    benchmark.group = f"Cox, exact p-value of {redraws} redraws, n = {n}, m = {m}"
    data = predictions(n) if m == 2 else generative_model("M1", n=n, m=m, alpha=1.0, rng=0)
    call = {"test": "cox", "rng": 0, "n_jobs": 2, "n_resamples": redraws}
    benchmark.pedantic(calibration_test, (data,), call, rounds=1)
