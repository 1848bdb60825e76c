import numpy as np
import pytest
from scipy.special import expit

from caltest.numerics.logistic import (
    PLAIN,
    ROWS_FOR_START,
    STRIDES,
    exp_minus,
    fit_logistic,
    newton_sums,
)

pytestmark = pytest.mark.loops


def problem(n, k=2, seed=0):
    """Features, labels, weights that sum to 1, and coefficients of moderate size."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(size=(k, n)), np.ones(n)])
    beta = rng.normal(size=k + 1)
    t = (rng.random(n) < expit(beta @ X)).astype(float)
    w = rng.random(n)
    return X, t, w / w.sum(), beta


def sums(X, w, beta, base=PLAIN):
    """First and second derivatives."""
    first, second = np.empty(len(beta)), np.empty((len(beta), len(beta)))
    newton_sums(beta, X, w, base, first, second)
    return first, second


def test_sums_do_not_depend_on_where_the_arrays_lie():
    """Equal to the last digit: a fit that is repeated has the same parameters."""
    offset = np.array([[-np.log(3), np.log(2), 0.0, 0.0]])
    rng, kept, found = np.random.default_rng(0), [], set()
    for _ in range(2000):
        kept = [*kept[-200:], np.empty(rng.integers(1, 200), np.uint8)]  # moves the next arrays
        first, second = sums(offset.copy(), np.full(4, 0.25), np.array([0.5]))
        found.add((first.tobytes(), second.tobytes()))
    assert len(found) == 1


def gradient(X, t, w, beta):
    """Of the mean loss, as it is written down."""
    return X @ (w * (expit(beta @ X) - t))


@pytest.mark.parametrize("eta", [-1e300, -710.0, 0.0, 36.0, 1e300])
def test_newton_sums_of_far_log_odds_are_finite(eta):
    first, second = sums(np.ones((1, 1)), np.ones(1), np.array([eta]))
    assert first[0] == pytest.approx(expit(eta), rel=1e-15, abs=1e-300)
    assert 0 <= second[0, 0] <= 0.25


def test_exp_minus_is_exact_to_rounding():
    """Within 4e-16 of the library's, up to the smallest normal number."""
    x = np.concatenate([np.linspace(0, 2, 2001), np.linspace(0, 708, 2001)])
    assert np.array([exp_minus(value) for value in x]) == pytest.approx(np.exp(-x), rel=4e-16)
    assert exp_minus(np.inf) == exp_minus(708.0)


@pytest.mark.parametrize("z", [-40.0, 40.0])
def test_newton_sums_of_deviations_keep_their_digits(z):
    """Where p is 1 but for 4e-18 its change is not 0."""
    base = np.array([[z], [expit(z)], [expit(-z)]])
    first, _ = sums(np.ones((1, 1)), np.ones(1), np.array([0.5]), base)
    assert first[0] == pytest.approx(np.sign(z) * np.exp(-40) * -np.expm1(-np.sign(z) * 0.5))


LARGE = pytest.param(ROWS_FOR_START * STRIDES[0] + 1, marks=pytest.mark.full)


@pytest.mark.full
@pytest.mark.parametrize("n", [50, ROWS_FOR_START * STRIDES[-1] + 1, LARGE])
def test_fit_ends_where_the_gradient_is_zero(n):
    """Whether it starts from all rows, every 8th or every 64th."""
    X, t, w, _ = problem(n)
    beta, hessian = fit_logistic(X, t, w, np.zeros(3))
    assert np.abs(gradient(X, t, w, beta)).max() < 1e-14
    assert hessian == pytest.approx(sums(X, w, beta)[1], rel=1e-6)
