"""Polynomials in the log odds: the sums, the fit and its likelihood region."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from caltest.measures.recalibration.belt_fit import (
    basis_values,
    interpolation_nodes,
    largest_rise,
    likelihood_bounds,
    monomials,
    orthonormal_basis,
    polynomial_sums,
    select_degree,
)
from caltest.measures.recalibration.binary_fit import maximise, support

pytestmark = pytest.mark.loops

CUT = 3.841458820694124  # the 95 % point of chi^2 with one degree of freedom


def sample(n=400, seed=0, slope=0.7):
    """Return log odds, probabilities and labels of overconfident predictions."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-0.5, 1.5, n)
    return z, expit(z), (rng.random(n) < expit(0.2 + slope * z)).astype(np.uint8)


def prepared(z, p, y, degree=4):
    """Return basis, sums and rows."""
    basis = orthonormal_basis(z, p * (1 - p), degree)
    phi = basis_values(z, *basis)
    w = np.ones(z.size)
    return basis, polynomial_sums(y[None], p, z, w, *basis), support(z, w, phi.T)


def log_likelihood(beta, z, y):
    """Sum the log probabilities of the labels."""
    eta = np.vander(z, len(beta), increasing=True) @ beta
    return np.sum(y * eta - np.logaddexp(0, eta))


def test_sums_are_those_of_the_basis():
    """Over several blocks of rows, with weights."""
    z, p, _ = sample(5000)
    w = np.random.default_rng(0).random(5000)
    labels = np.random.default_rng(1).integers(2, size=(3, 5000)).astype(np.uint8)
    basis = orthonormal_basis(z, p * (1 - p), 3)
    expected = (labels - p) @ (basis_values(z, *basis) * w[:, None])
    sums = polynomial_sums(labels, p, z, w, *basis)
    np.testing.assert_allclose(sums, expected, rtol=1e-9)


@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_maximum_is_that_of_a_general_optimiser(degree):
    """SciPy's BFGS on the log likelihood in powers of the log odds."""
    z, p, y = sample()
    (shift, norm), sums, rows = prepared(z, p, y, degree)
    gamma = np.zeros(degree + 1)
    value, attained = maximise(sums[0], rows, gamma, separable=True)
    beta = gamma @ monomials(shift, norm)
    beta[1] += 1
    peer = minimize(lambda b: -log_likelihood(b, z, y), beta * 0.9, options={"gtol": 1e-8})
    diagonal = log_likelihood(np.array([0.0, 1.0]), z, y)
    assert attained
    assert value == pytest.approx(-peer.fun - diagonal, rel=1e-9)
    assert value == pytest.approx(log_likelihood(beta, z, y) - diagonal, rel=1e-11)


@pytest.mark.full
def test_outlier_does_not_stop_the_fit():
    """Labels know nothing of log odds that reach -250; the score of the fit is 0."""
    rng = np.random.default_rng(0)
    z = np.append(rng.normal(0, 20, 2000), -250.0)
    y = (rng.random(z.size) < 0.25).astype(np.uint8)
    _, sums, rows = prepared(z, expit(z), y)
    gamma = np.zeros(5)
    value, attained = maximise(sums[0], rows, gamma, separable=True)
    eta = z + gamma @ rows.phi
    assert attained
    np.testing.assert_allclose(
        (y - expit(eta)) @ rows.phi.T / np.abs(rows.phi).sum(axis=1), 0, atol=1e-9
    )
    diagonal = log_likelihood(np.array([0.0, 1.0]), z, y)
    assert value == pytest.approx(np.sum(y * eta - np.logaddexp(0, eta)) - diagonal, rel=1e-11)


@pytest.mark.full
def test_degree_rises_while_the_next_one_gains_enough():
    for seed in range(20):
        z, p, y = sample(seed=seed)
        _, sums, rows = prepared(z, p, y + 0)
        fits = [maximise(sums[0], rows, np.zeros(d + 1), separable=True)[0] for d in range(5)]
        degree = 1
        while degree < 4 and 2 * (fits[degree + 1] - fits[degree]) >= CUT:
            degree += 1
        statistic, chosen, gamma, attained = select_degree(sums, rows, 1, 4, CUT)
        assert (chosen[0], attained[0]) == (degree, True)
        assert statistic[0] == pytest.approx(2 * fits[degree], rel=1e-10)
        assert (gamma[0, degree + 1 :] == 0).all()


@pytest.mark.full
def test_fit_on_nodes_is_that_on_rows():
    z, p, y = sample(20_000)
    basis, sums, rows = prepared(z, p, y)
    nodes, weights = interpolation_nodes(z, np.ones(z.size))
    few = support(nodes, weights, basis_values(nodes, *basis).T)
    long = select_degree(sums, rows, 1, 4, CUT)
    short = select_degree(sums, few, 1, 4, CUT)
    assert short[0][0] == pytest.approx(long[0][0], rel=1e-12)
    np.testing.assert_allclose(short[2], long[2], rtol=1e-7, atol=1e-12)
    assert largest_rise(short[2][0], few) < 1


def test_likelihood_region_has_the_bounds_of_a_constrained_optimiser():
    """SciPy's SLSQP with the likelihood as constraint, degree 2."""
    z, p, y = sample(200)
    (shift, norm), sums, rows = prepared(z, p, y, 2)
    gamma, drop = np.zeros(3), 6.0
    maximise(sums[0], rows, gamma, separable=True)
    at = np.array([-3.0, 0.0, 2.0])
    bounds = likelihood_bounds(
        sums[0], rows, gamma, np.array(basis_values(at, shift, norm), order="C"), drop
    )
    best = gamma @ monomials(shift, norm) + [0, 1, 0]
    least = log_likelihood(best, z, y) - drop / 2
    inside = {"type": "ineq", "fun": lambda b: log_likelihood(b, z, y) - least}
    for point, pair in zip(at, bounds, strict=True):
        f = point ** np.arange(3)
        for side, sign in zip(pair, (1, -1), strict=True):
            options = {"ftol": 1e-14, "maxiter": 500}
            peer = minimize(lambda b, s=sign, f=f: s * f @ b, best, constraints=inside,
                            method="SLSQP", options=options)  # fmt: skip
            assert point + side == pytest.approx(f @ peer.x, rel=1e-6)
