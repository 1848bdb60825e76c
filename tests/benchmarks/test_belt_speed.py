"""How long belt, CORP and band take, beside other packages in the same run.

    pytest tests/benchmarks/test_belt_speed.py --benchmark-columns=median,rounds \
        --benchmark-sort=name

The number in brackets is the ratio to the fastest. "caltest" is given Predictions, which are
checked once; "caltest, arrays" and all others are given arrays. probcal and pycaleva are measured
where they are installed. calibrationband is R, so that the band has plain SciPy beside it.
"""

from functools import cache

import numpy as np
import pytest
from scipy.special import betaincinv

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.measures import calibration_belt_curve, confidence_band_curve, corp_miscalibration
from caltest.measures.recalibration.belt import CalibrationBelt

pytest.importorskip("pytest_benchmark", reason='pip install ".[bench]"')
pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.filterwarnings("ignore"),  # those of other packages
]


@cache
def binary(n):
    """Return calibrated P(class 1) and labels."""
    rng = np.random.default_rng(0)
    event = rng.uniform(0.01, 0.99, n)
    return event, (rng.random(n) < event).astype(np.int64)


def belt_pvalue(*data):
    """Return the asymptotic p-value of the belt."""
    return calibration_test(*data, test="calibration-belt", null="asymptotic").pvalue


def probcal_belt(event, labels):
    """Return the p-value of probcal."""
    probcal = pytest.importorskip("probcal")
    return probcal.calibration_belt(labels, event).p_value


def pycaleva_belt(event, labels):
    """Return the p-value of pycaleva."""
    calbelt = pytest.importorskip("pycaleva.calbelt")
    return calbelt.CalibrationBelt(labels, event, outsample=True).stats().pvalue


def scipy_band(event, labels):
    """Return the lower bounds of calibrationband by a vector of quantiles for each group."""
    order = np.argsort(event)
    y, size = labels[order], event.size
    sums, bounds = np.append(0, np.cumsum(y)), np.zeros(size)
    for k in range(size):
        counts, n = sums[k + 1] - sums[: k + 1], k + 1 - np.arange(k + 1)
        some = counts > 0
        error = 0.05 / (size * (size + 1))
        limits = betaincinv(counts[some], n[some] - counts[some] + 1, error)
        bounds[k] = max(limits.max(initial=0.0), bounds[k - 1] if k else 0.0)
    return bounds[-1]


def sklearn_corp(event, labels):
    """Return the miscalibration by scikit-learn's isotonic regression."""
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression().fit_transform(event, labels)
    return np.mean((labels - event) ** 2) - np.mean((labels - fitted) ** 2)


def last_bound(*data):
    """Return the lower bound at the largest prediction."""
    return confidence_band_curve(*data).lower[-1]


WORKS = {
    "belt p-value, n = 10^6 (goal 0.52 s)": (
        10**6,
        belt_pvalue,
        {"probcal": probcal_belt, "pycaleva": pycaleva_belt},
    ),
    "belt of 200 points at 80 % and 95 %, n = 10^6": (
        10**6,
        lambda *data: calibration_belt_curve(*data).pvalue,
        {},
    ),
    "CORP miscalibration, n = 10^6": (10**6, corp_miscalibration, {"scikit-learn": sklearn_corp}),
    "band of 1000 distinct predictions": (1000, last_bound, {"SciPy": scipy_band}),
    "band, rounded, n = 10^6": (10**6, last_bound, {}),
}
CASES = [
    pytest.param(work, library, id=f"{work}-{library}")
    for work, (_, _, peers) in WORKS.items()
    for library in ("caltest", "caltest, arrays", *peers)
]
EXACT = [(test, n) for n in (10**3, 10**5, 10**6) for test in ("calibration-belt", "corp")]


@pytest.mark.parametrize(("work", "library"), CASES)
def test_belts_and_bands(work, library, benchmark):
    """Libraries that compute the same give the same number."""
    n, ours, peers = WORKS[work]
    call, event_and_labels = peers.get(library, ours), binary(n)
    benchmark.group = work
    data = (Predictions(*event_and_labels),) if library == "caltest" else event_and_labels
    if ours is belt_pvalue and library == "caltest":
        data = (None, *data)
    value = benchmark.pedantic(call, data, rounds=3 if library in peers else 7, warmup_rounds=1)
    if library in peers:
        assert value == pytest.approx(ours(*event_and_labels), rel=1e-6)


@pytest.mark.parametrize(("test", "n"), [*EXACT, ("confidence-band", 1000)])
def test_exact_pvalues(test, n, benchmark):
    """999 resamples, the selection of the degree or the isotonic fit redone for each."""
    benchmark.group = f"exact p-value, 999 resamples, n = {n}"
    data = (None, Predictions(*binary(n)))
    options = {"test": test, "null": "exact", "rng": 0, "n_jobs": 2}
    benchmark.pedantic(calibration_test, data, options, rounds=1, warmup_rounds=int(n < 10**5))


def test_binding_a_belt(benchmark):
    """What depends on the predictions alone, n = 10^6."""
    benchmark.group = "belt, bind and fit, n = 10^6"
    data = Predictions(*binary(10**6))
    benchmark.pedantic(lambda: CalibrationBelt().bind(data).value(), rounds=7)
