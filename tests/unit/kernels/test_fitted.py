"""Fitted kernels: values by tiles and by pairs, coordinates, and what the print is told."""

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
from caltest.numerics.loops import threads


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


@pytest.mark.parametrize("rank", [0, 1, 3, 4])
def test_projection_gives_the_quadratic_form(rank):
    """z_u . z_v = u' A v, whatever the rank of A, with as many columns as A has rank."""
    factor = np.random.default_rng(rank).normal(size=(4, rank))
    matrix = factor @ factor.T
    (term,) = FittedKernel(Scaled(Exponential(), matrix), predictions(4)).terms
    rows = np.random.default_rng(5).normal(size=(6, 4))
    z = term.project(rows)
    assert z.shape == (6, rank)
    np.testing.assert_allclose(z @ z.T, rows @ matrix @ rows.T, atol=1e-12)


def test_projection_of_the_identity_copies_nothing():
    """A separable kernel kappa I costs no product."""
    (term,) = FittedKernel(Scaled(Exponential()), predictions(4)).terms
    rows = np.ones((2, 4))
    assert term.project(rows) is rows


def test_distances_do_not_depend_on_threads():
    probs = np.random.default_rng(0).dirichlet(np.ones(10), 1500)
    one = FittedKernel(Scaled(Exponential()), probs)
    with threads(2):
        two = FittedKernel(Scaled(Exponential()), probs)
    assert one.scalars[0].bandwidth == two.scalars[0].bandwidth


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
    ],
)
def test_callable_metric_must_be_a_distance(metric, rule):
    """Of one that is not symmetric the SKCE depended on the order of the rows."""
    with pytest.raises(InvalidInput, match=f"metric must {rule}"):
        FittedKernel(Scaled(Exponential(metric=metric)), predictions(3))


@pytest.mark.parametrize("n", [2, 3, 10, 300])
@pytest.mark.parametrize("m", [2, 3, 20])
def test_usual_bandwidths_hide_nothing(n, m):
    """The default rules have no note, however few the rows."""
    probs = np.random.default_rng(n).dirichlet(np.ones(m), n)
    assert FittedKernel(Scaled(Exponential()), probs).notes == ()


# ---- kernels on a line --------------------------------------------------------------------------

A = np.array([[2.0, 1.0], [1.0, 3.0]])
MARKOV = [Exponential, Matern32, Matern52]


def line_and_gram(kernel, event):
    """Return the sorted line and the kernel matrix times a, in sorted order."""
    probs = np.column_stack([1 - event, event])
    (term,) = FittedKernel(kernel, probs).terms
    order = np.argsort(event)
    rows = np.repeat(order, event.size)
    columns = np.tile(order, event.size)
    line = LineKernel(term, event[order])
    return line, line.factor * term.pairs(rows, columns).reshape(event.size, -1)


@pytest.fixture(scope="module")
def event():
    """Probabilities with ties, zeros and ones, in no order."""
    return np.array([0.5, 0.0, 1.0, 0.5, 0.25, 1e-9, 1.0, 0.7, 0.9, 0.5])


@pytest.mark.parametrize("metric", ["tv", "euclidean", "logit"])
@pytest.mark.parametrize("kernel", MARKOV)
def test_pair_sums_equal_the_lower_triangle(kernel, metric, event):
    """Each row of counts gives the sum of a kappa_ij d_i d_j over j < i."""
    line, gram = line_and_gram(Scaled(kernel(0.4, metric), A), event)
    rng = np.random.default_rng(0)
    scale, shift = rng.random((2, event.size))
    counts = rng.integers(0, 3, (5, event.size)).astype(np.uint8)
    d = scale * (counts - shift)
    expected = np.einsum("bi,ij,bj->b", d, np.tril(gram, -1), d)
    np.testing.assert_allclose(line.pair_sums(scale, shift, counts), expected, atol=1e-13)


@pytest.mark.parametrize("metric", ["tv", "euclidean", "logit"])
@pytest.mark.parametrize("kernel", MARKOV)
def test_row_sums_leave_out_the_diagonal(kernel, metric, event):
    """The i-th value is d_i times the sum of a kappa_ij d_j over j != i."""
    line, gram = line_and_gram(Scaled(kernel(0.4, metric), A), event)
    d = np.random.default_rng(1).normal(size=event.size)
    expected = d * ((gram - np.diag(np.diag(gram))) @ d)
    np.testing.assert_allclose(line.row_sums(d), expected, atol=1e-12)


@pytest.mark.parametrize("kernel", MARKOV)
def test_tiny_bandwidth_leaves_only_ties(kernel):
    """Points that are infinitely far apart in units of the bandwidth do not make nan."""
    line, _ = line_and_gram(Scaled(kernel(1e-100)), np.array([0.1, 0.1, 0.9]))
    ones, zeros = np.ones(3), np.zeros(3)
    assert line.pair_sums(ones, zeros, np.ones((1, 3), np.uint8))[0] == line.factor


def test_factor_is_that_of_opposite_residuals():
    """With delta = d (-1, 1), delta' A delta' = (A_00 - A_01 - A_10 + A_11) d d'."""
    line, _ = line_and_gram(Scaled(Exponential(), A), np.array([0.2, 0.4]))
    assert line.factor == 3.0


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


@pytest.mark.parametrize("wrong", [lambda s, t: abs(s - t), lambda _s, _t: "far"])
def test_metric_that_returns_no_number_is_named(wrong):
    """Of a distance by class, and of text."""
    with pytest.raises(InvalidInput, match="metric must return a number; got"):
        FittedKernel(Scaled(Exponential(1.0, metric=wrong)), np.full((5, 3), 1 / 3))
