import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from scipy.stats import dirichlet

from caltest.calibrators.linear import linear_maps as forms


@pytest.fixture(params=[2, 3, 5])
def linear(request):
    rng = np.random.default_rng(request.param)
    return rng.normal(size=(request.param, request.param)), rng.normal(size=request.param)


def predictions(k):
    return np.random.default_rng(1).dirichlet(np.ones(k), size=20)


def test_canonical_and_generative_forms_are_the_same_map(linear):
    """Theorem 1: softmax(A ln(k q) + ln c), and the posterior of Dirichlet laws."""
    q = predictions(len(linear[1]))
    A, c = forms.linear_to_canonical(*linear)
    expected = softmax(np.log(q) @ linear[0].T + linear[1], axis=1)
    assert softmax(np.log(len(c) * q) @ A.T + np.log(c), axis=1) == pytest.approx(expected)
    alpha, pi = forms.linear_to_generative(*linear)
    joint = np.log(pi) + np.column_stack([dirichlet.logpdf(q.T, row) for row in alpha])
    expected = log_softmax(np.log(q) @ linear[0].T + linear[1], axis=1)
    assert log_softmax(joint, axis=1) == pytest.approx(expected)
    assert alpha.min() == 1
    assert pi.sum() == pytest.approx(1)


def test_canonical_form_is_one(linear):
    """Constants added to a column of W or to b leave no trace."""
    W, b = linear
    A, c = forms.linear_to_canonical(W, b)
    again = forms.linear_to_canonical(W + np.arange(len(b)), b - 3)
    assert (A.min(axis=0) == 0).all()
    assert c.sum() == pytest.approx(1)
    assert again[0] == pytest.approx(A, abs=1e-14)
    assert again[1] == pytest.approx(c, abs=1e-14)


def test_generative_form_with_small_alpha_is_shifted():
    """Parameters below 1 have the same map as ones above."""
    alpha, pi = np.array([[0.2, 0.7], [1.1, 0.4]]), np.array([0.3, 0.7])
    shifted = forms.linear_to_generative(*forms.generative_to_linear(alpha, pi))
    assert shifted[0] == pytest.approx(np.array([[1, 1.3], [1.9, 1]]))
    pairs = [forms.generative_to_linear(*pair) for pair in ((alpha, pi), shifted)]
    expected, found = (forms.linear_to_canonical(*pair) for pair in pairs)
    assert found[1] == pytest.approx(expected[1])


def test_zero_shares_stay_zero():
    b = np.array([-np.inf, 0.0])
    assert forms.linear_to_canonical(np.eye(2), b)[1].tolist() == [0, 1]
