"""Polynomials that are orthonormal, and nodes that have the sums of all rows."""

import numpy as np
import pytest
from scipy.special import expit

from caltest.measures.recalibration.belt_fit import (
    basis_values,
    interpolation_nodes,
    monomials,
    orthonormal_basis,
    polynomial_basis,
)

pytestmark = pytest.mark.loops


def test_basis_is_orthonormal_under_its_weights():
    """Up to the sum of the weights."""
    z = np.random.default_rng(0).normal(-0.5, 1.5, 400)
    p = expit(z)
    h = p * (1 - p)
    phi = basis_values(z, *orthonormal_basis(z, h, 4))
    np.testing.assert_allclose(phi.T @ (phi * h[:, None]) / h.sum(), np.eye(5), atol=1e-12)


def test_basis_in_powers_is_the_basis():
    """The coefficients of the polynomials reproduce their values."""
    z = np.random.default_rng(0).normal(-0.5, 1.5, 400)
    p = expit(z)
    shift, norm = orthonormal_basis(z, p * (1 - p), 4)
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


def test_nodes_give_the_sums_of_smooth_functions():
    """To rounding for the log partition, for which they are made."""
    z = np.random.default_rng(0).normal(0, 3, 20_000)
    w = np.random.default_rng(1).random(z.size)
    nodes, weights = interpolation_nodes(z, w)
    assert nodes.size < z.size / 10
    for slope in (0.5, 1.0, 2.0):
        value = weights @ np.logaddexp(0, slope * nodes - 1)
        assert value == pytest.approx(w @ np.logaddexp(0, slope * z - 1), rel=1e-13)


def test_nodes_are_left_out_where_rows_are_few():
    """They would be more than the rows."""
    assert interpolation_nodes(np.linspace(-5, 5, 200), np.ones(200)) is None
