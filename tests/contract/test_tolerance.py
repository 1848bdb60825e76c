"""What holds for every named test with a tolerance: a valid answer, or a refusal that helps."""

import warnings

import numpy as np
import pytest

import caltest as ct
from caltest.errors import DegenerateDataWarning, NotApplicable
from caltest.htests import REGISTRY

KNOWN = ("skce", "skce-linear", "skce-block", "debiased-ece", "ks")
BLOCKS = ("skce-linear", "skce-block")  # blocks are consecutive rows

every_known = pytest.mark.parametrize("key", KNOWN)
both_sides = pytest.mark.parametrize("equivalence", [False, True])
every_number_of_classes = pytest.mark.parametrize("m", [2, 3])


def predictions_of(m, n=120):
    """Return uncalibrated predictions without zeros, ones or ties."""
    rng = np.random.default_rng(m)
    return ct.Predictions(rng.dirichlet(np.ones(m), n), rng.integers(m, size=n))


def run(key, predictions, **settings):
    """Run a test under a lens that suits it."""
    lens = "confidence" if key == "ks" and predictions.m > 2 else "strong"
    settings = {"tolerance": 0.05, "n_resamples": 49, "rng": 7} | settings
    return ct.test_calibration(None, predictions, test=key, lens=lens, **settings)


def attempt(key, predictions, **settings):
    """Return the result, or None and the message where the test is not applicable."""
    try:
        return run(key, predictions, **settings), ""
    except NotApplicable as error:
        return None, str(error)


@pytest.mark.parametrize(
    "key",
    [
        key
        for key, test in REGISTRY.items()
        if key not in KNOWN and test.measure.of is not ct.Forecasts
    ],
)
def test_unknown_tolerance_is_refused_with_alternatives(key):
    """The message names the tests that know one."""
    with pytest.raises(NotApplicable, match="no test with a tolerance; use .*" + ".*".join(KNOWN)):
        run(key, predictions_of(2))


@every_number_of_classes
@both_sides
@every_known
def test_result_is_complete(key, equivalence, m):
    """A p-value in (0, 1], numbers, a hypothesis in words, and forms that can be stored."""
    result = run(key, predictions_of(m), equivalence=equivalence)
    assert 0 < result.pvalue <= 1
    assert np.isfinite([result.statistic, result.estimate]).all()
    assert (result.test, result.null) == (key, "tolerance")
    side = "least" if equivalence else "most"
    assert result.claim == f"the {result.estimate_name} is at {side} 0.05"
    assert ct.HTest.from_dict(result.to_dict()) == result


@both_sides
@every_known
def test_same_seed_gives_the_same_pvalue_with_any_number_of_threads(key, equivalence):
    data = predictions_of(3)
    first, second = (run(key, data, equivalence=equivalence, n_jobs=jobs) for jobs in (1, 2))
    assert first.pvalue == pytest.approx(second.pvalue, rel=1e-9)


@every_number_of_classes
@both_sides
@every_known
def test_permuted_rows_give_the_same_statistic(key, equivalence, m):
    """The order of the observations carries no information, but for blocks."""
    if key in BLOCKS:
        pytest.skip("blocks are consecutive rows")
    data = predictions_of(m)
    other = data.subset(np.random.default_rng(0).permutation(data.n))
    first, second = (run(key, one, equivalence=equivalence) for one in (data, other))
    # The variance at zero is estimated from neighbours in a bin.
    rounding = 0.2 if key == "debiased-ece" else 1e-9
    assert first.statistic == pytest.approx(second.statistic, rel=rounding)


@every_known
def test_weights_are_refused(key):
    """The laws are for independent draws of the same weight."""
    data = predictions_of(2)
    ones = ct.Predictions(data.probs, data.labels, sample_weight=np.ones(data.n))
    with pytest.raises(NotApplicable, match="takes no sample weights; use"):
        run(key, ones)


def degenerate(name, m):
    """Return degenerate predictions and labels."""
    rng = np.random.default_rng(0)
    n = {"one": 1, "two": 2, "three": 3, "two right": 2}.get(name, 30)
    probs, labels = rng.dirichlet(np.ones(m), n), rng.integers(m, size=n)
    corners = np.eye(m)[np.arange(n) % m]
    constant = np.tile(np.arange(1, m + 1) / (m * (m + 1) / 2), (n, 1))
    return {
        "one": (probs, labels),
        "two": (probs, labels),
        "three": (probs, labels),
        "two right": (np.eye(m)[:2], np.arange(2)),
        "constant": (constant, labels),
        "constant and one class": (constant, np.full(n, m - 1)),
        "one class": (probs, np.full(n, 0)),
        "zeros and ones, right": (corners, np.arange(n) % m),
        "zeros and ones, one wrong": (corners, np.append(1, np.arange(1, n) % m)),
        "certain and wrong": (np.eye(m)[np.zeros(n, int)], np.full(n, 1)),
        "tiny": (np.where(corners > 0, 1 - (m - 1) * 1e-300, 1e-300), labels),
    }[name]


NAMES = [
    "one",
    "two",
    "three",
    "two right",
    "constant",
    "constant and one class",
    "one class",
    "zeros and ones, right",
    "zeros and ones, one wrong",
    "certain and wrong",
    "tiny",
]


@every_number_of_classes
@both_sides
@every_known
def test_degenerate_data_give_a_defined_answer(key, equivalence, m, case):
    """A p-value in (0, 1] and no NaN, or NotApplicable with a remedy."""
    for name in NAMES:
        with case(name):
            check_degenerate(key, equivalence, m, name)


def check_degenerate(key, equivalence, m, name):
    """Check the answer of a test on degenerate data."""
    probs, labels = degenerate(name, m)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        data = ct.Predictions(probs, labels, classes=np.arange(m))
        result, message = attempt(key, data, equivalence=equivalence)
    if result is None:
        assert "; " in message  # the reason and the alternative
        return
    assert 0 < result.pvalue <= 1
    assert not np.isnan([result.statistic, result.estimate]).any()
    assert "nan" not in str(result).lower()
