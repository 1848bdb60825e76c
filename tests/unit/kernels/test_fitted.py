"""Fitted kernels: values beside other points, metrics of users, and what the print is told."""

import itertools

import numpy as np
import pytest

from caltest.errors import InvalidInput, NotApplicable
from caltest.kernels import (
    Exponential,
    FittedKernel,
    Gaussian,
    Matern32,
    Matern52,
    Product,
    RationalQuadratic,
    Scaled,
    Sum,
    fitted,
)
from caltest.kernels.fitted import LineKernel


def chebyshev(s, t):
    """Return a metric that caltest does not know."""
    return np.abs(s - t).max()


def predictions(m, n=9):
    """Return predictions with a tie and two corners of the simplex."""
    probs = np.random.default_rng(m).dirichlet(np.ones(m), n)
    probs[1], probs[2], probs[3] = probs[0], np.eye(m)[0], np.eye(m)[1]
    return probs


@pytest.mark.parametrize(
    ("m", "metric"), [*itertools.product([2, 3], ["tv", "euclidean", chebyshev]), (2, "logit")]
)
def test_cross_equals_pairs_with_other_points(m, metric):
    """Kernel values between rows and other points have the bandwidth of the rows."""
    probs = predictions(m)
    kernel = Product(Exponential(0.5), Gaussian(0.4, metric))
    (term,) = FittedKernel(kernel, probs).terms
    left, right = np.indices((9, 9)).reshape(2, -1)
    expected = term.pairs(left, right).reshape(9, 9)
    np.testing.assert_allclose(term.cross(probs, slice(2, 7)), expected[2:7], rtol=1e-12)


def test_parameters_name_the_rules():
    """The print says where a bandwidth comes from, and when from a sample of pairs."""
    kernel = Sum(Exponential(), Gaussian("mean"), Matern32(1.0))
    assert (
        FittedKernel(kernel, predictions(3)).parameters["bandwidth rule"] == "median, mean, given"
    )
    many = np.random.default_rng(0).dirichlet(np.ones(3), 2001)
    rule = FittedKernel(Scaled(Exponential()), many).parameters["bandwidth rule"]
    assert rule == "median of 1,000,000 sampled pairs"


def test_notes_name_kernels_that_may_be_indefinite():
    """Only those that are not known to be positive semi-definite are named, once."""
    doubtful = RationalQuadratic(0.5, "tv")
    kernel = Sum(Exponential(), doubtful, Scaled(doubtful))
    (note,) = FittedKernel(kernel, predictions(3)).notes
    assert note.startswith("rational quadratic of total variation, alpha = 1 is not known to be")
    assert FittedKernel(kernel, predictions(2)).notes == ()


def test_equal_predictions_and_other_classes_have_no_distance():
    probs = np.full((3, 2), 0.5)
    (message,) = FittedKernel(Scaled(Exponential()), probs).degenerate
    assert "all predictions are equal" in message
    assert FittedKernel(Scaled(Exponential(1.0)), probs).degenerate == ()
    with pytest.raises(NotApplicable, match="needs two classes, and these predictions have 3"):
        FittedKernel(Scaled(Exponential(metric="logit")), predictions(3))


def test_callable_metric_takes_a_bounded_number_of_predictions(monkeypatch):
    """It keeps n x n distances, which has its price."""
    monkeypatch.setattr(fitted, "CALLABLE_UP_TO", 8)
    with pytest.raises(NotApplicable, match="takes n up to 8; n is 9; use metric='tv'"):
        FittedKernel(Scaled(Exponential(metric=chebyshev)), predictions(3))


@pytest.mark.parametrize(
    ("metric", "rule"),
    [
        (lambda *_: np.nan, "return finite distances >= 0"),
        (lambda *_: np.inf, "return finite distances >= 0"),
        (lambda *_: -1.0, "return finite distances >= 0"),
        (lambda s, t: max(s[0] - t[0], 0.0), "be symmetric"),
        (lambda *_: 0.5, "be symmetric, and 0 from a row to itself"),
        (lambda s, t: abs(s - t), "return a number; got"),
        (lambda *_: "far", "return a number; got"),
    ],
)
def test_callable_metric_must_be_a_distance(metric, rule):
    """Of one that is not symmetric the SKCE depended on the order of the rows."""
    with pytest.raises(InvalidInput, match=f"metric must {rule}"):
        FittedKernel(Scaled(Exponential(metric=metric)), predictions(3))


# ---- kernels on a line --------------------------------------------------------------------------

A = np.array([[2.0, 1.0], [1.0, 3.0]])
MARKOV = [Exponential, Matern32, Matern52]


@pytest.mark.parametrize("kernel", MARKOV)
def test_tiny_bandwidth_leaves_only_ties(kernel):
    """Points that are infinitely far apart in units of the bandwidth do not make nan."""
    event = np.array([0.1, 0.1, 0.9])
    (term,) = FittedKernel(Scaled(kernel(1e-100)), np.column_stack([1 - event, event])).terms
    line = LineKernel(term, event)
    ones, zeros = np.ones(3), np.zeros(3)
    assert line.pair_sums(ones, zeros, np.ones((1, 3), np.uint8))[0] == line.factor


@pytest.mark.parametrize(
    ("kernel", "m", "expected"),
    [
        (Exponential(), 2, True),
        (Matern52("mean", "logit"), 2, True),
        (Scaled(Matern32(), A), 2, True),
        (Exponential(), 3, False),
        (Gaussian(), 2, False),
        (RationalQuadratic(), 2, False),
        (Product(Exponential(), Exponential(1.0)), 2, False),
        (Exponential(metric=lambda s, t: abs(s[0] - t[0])), 2, False),
    ],
)
def test_line_takes_two_classes_and_one_markov_factor(kernel, m, expected):
    """Other kernels and more classes go by tiles."""
    probs = np.random.default_rng(0).dirichlet(np.ones(m), 4)
    matrix_kernel = kernel if isinstance(kernel, (Scaled, Product)) else Scaled(kernel)
    (term,) = FittedKernel(matrix_kernel, probs).terms
    assert term.is_line is expected
