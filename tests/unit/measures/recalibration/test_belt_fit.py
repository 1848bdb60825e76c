"""Polynomials in the log odds: basis, fit, likelihood region, and the law of the statistic."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import chi2

from caltest.measures.recalibration.belt_fit import (
    WIDTH,
    Selection,
    basis_values,
    monomials,
    orthonormal_basis,
    polynomial_basis,
    polynomial_sums,
    select_degree,
)
from caltest.measures.recalibration.binary_fit import (
    chebyshev_nodes,
    likelihood_bounds,
    maximise,
    support,
)

pytestmark = pytest.mark.loops


def test_basis_is_orthonormal_in_values_and_powers():
    """Up to the sum of the weights; coefficients of the polynomials reproduce their values."""
    z = np.random.default_rng(0).normal(-0.5, 1.5, 400)
    p = expit(z)
    h = p * (1 - p)
    phi = basis_values(z, *orthonormal_basis(z, h, 4))
    np.testing.assert_allclose(phi.T @ (phi * h[:, None]) / h.sum(), np.eye(5), atol=1e-12)
    shift, norm = orthonormal_basis(z, h, 4)
    powers = np.vander(z, 5, increasing=True)
    np.testing.assert_allclose(powers @ monomials(shift, norm).T, basis_values(z, shift, norm))


@pytest.mark.parametrize("distinct", [1, 2, 3, 4])
def test_basis_has_as_many_polynomials_as_there_are_values(distinct):
    """The next one is zero on all of them."""
    z = np.tile(np.linspace(-1, 2.1, 7)[:distinct], 20)
    shift, _ = orthonormal_basis(z, np.ones(z.size), 4)
    assert shift.size == distinct


@pytest.mark.full
def test_basis_of_many_rows_finds_rare_values():
    """A part of the rows is enough unless it has too few distinct values."""
    z = np.zeros(50_000)
    z[[7, 1003, 20_001, 33_333]] = [-1.0, 0.5, 1.5, 2.0]
    assert polynomial_basis(z, np.ones(z.size), 4)[0].size == 5
    assert polynomial_basis(z, np.ones(z.size), 2)[0].size == 3


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
    eta = np.vander(z, len(beta), increasing=True) @ beta
    return np.sum(y * eta - np.logaddexp(0, eta))


@pytest.mark.cases(1)
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
    nodes, weights = chebyshev_nodes(z, np.ones(z.size), WIDTH)
    few = support(nodes, weights, basis_values(nodes, *basis).T)
    long = select_degree(sums, rows, 1, 4, CUT)
    short = select_degree(sums, few, 1, 4, CUT)
    assert short[0][0] == pytest.approx(long[0][0], rel=1e-12)
    np.testing.assert_allclose(short[2], long[2], rtol=1e-7, atol=1e-12)


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


Q = 0.05
K = chi2.ppf(0.95, 1)


def integral(function, low, high):
    """Integrate to twelve digits."""
    return quad(function, low, high, epsabs=1e-13, epsrel=1e-12)[0]


def cone4(r):
    """Return the solid angle of givitiR's integrand for external data and degree 4."""
    s, part = r * r / K, 2 * math.sqrt(K) / r
    value = -math.pi * math.sqrt(K) / (2 * r) + part * math.asin((s - 1) ** -0.5)
    value += part * math.atan((s - 2) ** -0.5) - 2 * math.atan((1 - 2 / s) ** -0.5)
    value += 2 * math.atan(r / math.sqrt(K) * math.sqrt(s - 2))
    return value - part * math.atan(math.sqrt(s - 2))


def external(t, m):
    """Return the distribution function of givitiStatCdf(t, m, "external", .95)."""
    if m == 1:
        return chi2.cdf(t, 2)
    if m == 2:
        root = math.sqrt(t) - math.sqrt(K)
        return (chi2.cdf(t, 1) - 1 + Q - math.sqrt(2 / math.pi) * math.exp(-t / 2) * root) / Q
    if m == 3:
        first = integral(lambda y: (chi2.cdf(t - y, 1) - 1 + Q) * chi2.pdf(y, 1), K, t - K)
        other = integral(lambda y: (math.sqrt(t - y) - math.sqrt(K)) / math.sqrt(y), K, t - K)
        return (first - math.exp(-t / 2) / math.pi * other) / Q**2
    value = integral(
        lambda r: r * r * (math.exp(-r * r / 2) - math.exp(-t / 2)) * cone4(r),
        math.sqrt(3 * K),
        math.sqrt(t),
    )
    return (2 / (math.pi * Q**2)) ** 1.5 * value


def internal(t, m):
    """Return the distribution function of givitiStatCdf(t, m, "internal", .95)."""
    if m == 2:
        return chi2.cdf(t, 1)
    if m == 3:
        angle = integral(
            lambda r: r * math.exp(-r * r / 2) * math.acos(math.sqrt(K) / r),
            math.sqrt(K),
            math.sqrt(t),
        )
        return 2 / (math.pi * Q) * angle

    def cone(r):
        s, part = r * r / K, math.sqrt(K) / r
        value = math.atan(math.sqrt(s * (s - 2))) - part * math.atan(math.sqrt(s - 2))
        return r * r * math.exp(-r * r / 2) * (value - part * math.acos((s - 1) ** -0.5))

    return (2 / math.pi) ** 1.5 / Q**2 * integral(cone, math.sqrt(2 * K), math.sqrt(t))


@pytest.mark.parametrize("t", [0.5, 4.0, 8.0, 12.0, 20.0, 30.0])
@pytest.mark.parametrize(("first", "law"), [(1, external), (2, internal)])
def test_tail_is_one_minus_the_formulas_of_givitir(t, first, law):
    """For all degrees, to the digits that the difference leaves."""
    for degree in range(first, 5):
        expected = 1 - law(t, degree) if t > (degree - first) * K else 1.0
        assert Selection(first, 4, 0.95).sf(t, degree) == pytest.approx(expected, abs=2e-13)


@pytest.mark.parametrize(("first", "degree"), [(1, 1), (1, 2), (1, 4), (2, 2), (2, 4)])
def test_far_tail_keeps_its_digits(first, degree):
    """Where 1 - cdf is 0: the ratio to the next point is close to exp(-1/2)."""
    near, far = (Selection(first, 4, 0.95).sf(t, degree) for t in (400.0, 401.0))
    assert 0 < far < near < 1e-75
    assert far / near == pytest.approx(math.exp(-0.5), rel=0.01)


@pytest.mark.parametrize("level", [0.001, 0.5, 0.8, 0.95, 0.999])
def test_quantile_inverts_the_tail(level):
    for first in (1, 2):
        for degree in range(first, 5):
            t = Selection(first, 4, 0.9).quantile(level, degree)
            assert Selection(first, 4, 0.9).sf(t, degree) == pytest.approx(1 - level, rel=1e-9)
