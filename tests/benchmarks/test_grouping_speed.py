"""How long tests over risk groups and loess errors take, beside probcal, pycaleva, calzone-tool.

    pytest tests/benchmarks/test_grouping_speed.py --benchmark-columns=median,rounds \
        --benchmark-sort=name

prints a table for each work; the number in brackets is the ratio to the fastest. "caltest" is given
Predictions, which are checked once; all others, "caltest, arrays" too, are given arrays. Everything
is called once before it is timed, unless it takes seconds. The goals are those of the project's
sixth issue: faster than each of them.

The extra `bench` installs probcal and calzone-tool; pycaleva is measured where it is installed.
"""

from functools import cache

import numpy as np
import pytest
from statsmodels.nonparametric.smoothers_lowess import lowess

from caltest import Predictions
from caltest import test_calibration as calibration_test
from caltest.measures import ici

pytest.importorskip("pytest_benchmark", reason='pip install ".[bench]"')
pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.filterwarnings("ignore"),  # those of other packages
]

N = 10**6
B = 99
SPAN = 0.75
PACKAGES = {"probcal": "probcal", "pycaleva": "pycaleva", "calzone": "calzone"}


@cache
def binary(n):
    """Return P(class 1) and labels of calibrated predictions."""
    rng = np.random.default_rng(0)
    event = rng.random(n)
    return event, (rng.random(n) < event).astype(np.int64)


# ---- the works: name -> package -> function of (event, labels) ----------------------------------


def limit(test, *data):
    """Return the p-value of the limit law for external data."""
    return calibration_test(*data, test=test, null="asymptotic").pvalue


def probcal_hosmer_lemeshow(event, labels):
    """Return the p-value, ten groups of equal mass, df = 10."""
    from probcal.metrics import hosmer_lemeshow

    return hosmer_lemeshow(labels, event).p_value


def pycaleva_evaluator(event, labels):
    """Return the object of all tests, ten groups of equal size."""
    from pycaleva import CalibrationEvaluator

    return CalibrationEvaluator(labels, event, outsample=True, n_groups=10)


def pycaleva_hosmer_lemeshow(event, labels):
    """Return the p-value, df = 10."""
    return pycaleva_evaluator(event, labels).hosmerlemeshow(verbose=False).pvalue


def pycaleva_pigeon_heyse(event, labels):
    """Return the p-value, df = 10."""
    return pycaleva_evaluator(event, labels).pigeonheyse(verbose=False).pvalue


def calzone_hosmer_lemeshow(event, labels):
    """Return the p-value, ten bins of equal mass, df = 10."""
    from calzone.metrics import hosmer_lemeshow_test, reliability_diagram

    probs = np.column_stack([1 - event, event])
    bins = reliability_diagram(labels, probs, num_bins=10, class_to_plot=1, is_equal_freq=True)
    return hosmer_lemeshow_test(*bins[:2], bins[3], df=10)[1]


def probcal_ici(event, labels):
    """Return the ICI with lines at 512 knots of equal mass."""
    from probcal.metrics import ici as probcal_index

    return probcal_index(labels, event, frac=SPAN)


def calzone_ici(event, labels):
    """Return the ICI of statsmodels, in steps of 0.001."""
    from calzone.metrics import lowess_regression_analysis

    probs = np.column_stack([1 - event, event])
    return lowess_regression_analysis(labels, probs, span=SPAN)[0]


def statsmodels_ici(event, labels):
    """Return the ICI with our span and steps."""
    fit = lowess(labels, event, frac=SPAN, it=0, delta=0.01 * np.ptp(event))
    return np.abs(fit[:, 0] - fit[:, 1]).mean()


def our_hosmer_lemeshow(*data):
    """Return the p-value."""
    return limit("hosmer-lemeshow", *(data if len(data) == 2 else (None, *data)))


def our_pigeon_heyse(*data):
    """Return the p-value."""
    return limit("pigeon-heyse", *(data if len(data) == 2 else (None, *data)))


def our_ici(*data):
    return ici(*data, span=SPAN)


WORKS = {
    "Hosmer-Lemeshow": (
        our_hosmer_lemeshow,
        {
            "probcal": probcal_hosmer_lemeshow,
            "pycaleva": pycaleva_hosmer_lemeshow,
            "calzone": calzone_hosmer_lemeshow,
        },
    ),
    "Pigeon-Heyse": (our_pigeon_heyse, {"pycaleva": pycaleva_pigeon_heyse}),
    "ICI": (
        our_ici,
        {"probcal": probcal_ici, "calzone": calzone_ici, "statsmodels": statsmodels_ici},
    ),
}
CASES = [
    (work, who)
    for work, (_, peers) in WORKS.items()
    for who in ("caltest", "caltest, arrays", *peers)
]


@pytest.mark.parametrize(("work", "who"), CASES, ids=[f"{w}, {who}" for w, who in CASES])
def test_time_of_a_value(benchmark, work, who):
    """A million rows; the numbers agree, but for other knots and steps of the loess."""
    if who in PACKAGES:
        pytest.importorskip(PACKAGES[who])
    event, labels = binary(N)
    own, peers = WORKS[work]
    data = (Predictions(event, labels),) if who == "caltest" else (event, labels)
    function = peers.get(who, own)
    benchmark.group = f"{work}, n = 10^6"
    expected = own(event, labels)
    slow = work == "ICI" and who in peers
    rounds = 7 if "caltest" in who else 1 if slow else 3
    value = benchmark.pedantic(function, data, rounds=rounds, warmup_rounds=int(not slow))
    assert value == pytest.approx(expected, rel=2e-2 if work == "ICI" else 1e-6)


@pytest.mark.parametrize("test", ["hosmer-lemeshow", "pigeon-heyse", "ici", "brier"])
def test_time_of_the_exact_null(benchmark, test):
    """99 redraws of a million labels; the Brier score is the yardstick."""
    data = Predictions(*binary(N))
    benchmark.group = f"exact null, B = {B}, n = 10^6"
    settings = {"test": test, "n_resamples": B, "rng": 0, "n_jobs": 2}
    benchmark.pedantic(calibration_test, (None, data), settings, rounds=1, warmup_rounds=0)
