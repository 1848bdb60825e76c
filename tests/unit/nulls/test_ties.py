"""Statistics that are equal in exact arithmetic are ties, rare predictions among them."""

import numpy as np
import pytest

import caltest as ct
from caltest.htests import REGISTRY as EVERY_TEST
from caltest.numerics.joint import tie_tolerance

REGISTRY = {key: test for key, test in EVERY_TEST.items() if test.measure.of is not ct.Forecasts}

# Blocks and halves of rows depend on the order of the rows.
BY_PLACE = {"skce-linear", "skce-block", "e-likelihood-ratio", "e-hosmer-lemeshow"}
KEYS = [key for key in REGISTRY if key not in BY_PLACE]
OPTIONS = {"vasicek": {"correlation": 0.1}}
RARE = ([1e-4, 7e-4, 0.015], [0.9985, 0.9997], [1e-9, 0.002, 0.999], [0.0, 0.003, 1.0])
SEVERAL = (
    [[1e-4, 0.01, 0.9899], [0.3, 0.3, 0.4]],
    [[1e-6, 0.001, 0.998999], [0.998, 0.001, 0.001]],
    [[1 / 3, 1 / 3, 1 / 3], [0.1, 0.2, 0.7], [0.05, 0.05, 0.9]],
)


def measure_of(key):
    return REGISTRY[key].with_options(OPTIONS.get(key, {}))


def has_meaning(key, m):
    """Tell whether a test has a meaning for m classes."""
    try:
        measure_of(key).bind(ct.datasets.generative_model("M1", n=20, m=m, rng=0))
    except ct.NotApplicable:
        return False
    return True


def equal_labels(support, seed):
    """Draw 600 rows of a few predictions, and labels exchanged among the rows of each."""
    rng = np.random.default_rng(seed)
    probs = np.array([[1 - p, p] if np.ndim(p) == 0 else p for p in support])
    group = rng.integers(len(probs), size=600)
    chances = np.where(probs > 0, np.clip(probs, 0.004, 0.996), 0.0)
    chances /= chances.sum(axis=1, keepdims=True)
    first = (rng.random((600, 1)) > chances[group].cumsum(axis=1)).sum(axis=1)
    order = [np.empty(600, int) for _ in range(8)]
    for one in order:
        for g in range(len(probs)):
            rows = np.flatnonzero(group == g)
            one[rows] = rng.permutation(rows)
    return probs[group], np.array([first[one] for one in order]).astype(np.uint8)


@pytest.mark.cases(1)
@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize("key", KEYS)
def test_exchanged_labels_of_equal_predictions_are_ties(key, case):
    """The order of the terms of a sum is rounding, and no evidence."""
    for support in (*RARE, *(SEVERAL if has_meaning(key, 3) else ())):
        for seed in range(3):
            probs, labels = equal_labels(support, seed)
            classes = range(probs.shape[1])
            bound = measure_of(key).bind(ct.Predictions(probs, labels[0], classes=classes))
            rows = labels if bound.order is None else labels[:, bound.order]
            values = bound.comparable(bound.values(np.ascontiguousarray(rows)))
            with case(support, seed):
                assert np.ptp(values) <= tie_tolerance(values.max(), bound.scale)


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("more", [{}, {"cluster": np.arange(30) // 3}, {"by": np.arange(30) // 10}])
def test_what_is_0_but_for_rounding_is_0(key, more):
    """Labels that are as often right as predicted: ECE = 1.85e-17 was shown."""
    p, y = np.repeat([0.1, 0.3, 0.7], 10), np.tile(np.arange(10), 3) < np.repeat([1, 3, 7], 10)
    about = {"test": key, "n_resamples": 99, "rng": 1} | OPTIONS.get(key, {}) | more
    try:
        found = ct.test_calibration(p, y.astype(int), **about)
    except ct.NotApplicable:
        return
    for one in (*found.tests, *(part for row in found.tests for part in row.components or ())):
        sizes = np.abs([one.statistic, one.estimate])
        assert "e-" not in str(one.parameters.get("finding"))
        assert ((sizes == 0) | (sizes > 1e-9)).all()


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize("n", [5, 100])
@pytest.mark.parametrize("key", ["skce", "brier", "ece", "cramer-von-mises"])
@pytest.mark.parametrize("p", [1e-8, 1e-14])
def test_errors_of_tiny_probabilities_are_not_0(n, key, p):
    """A Brier score of 1e-16 is right where no event is predicted, and none happens."""
    found = ct.test_calibration(np.full(n, p), [0] * n, test=key, n_resamples=99, rng=1)
    assert found.statistic == found.estimate == pytest.approx(p ** (1 + (key != "ece")), rel=2)
    assert found.statistic > 0
