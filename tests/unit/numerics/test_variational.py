"""Roots of covariances; bounds and derivatives are compared in calibrators/gp."""

import numpy as np
import pytest

from caltest.numerics.variational import inverse_root

pytestmark = pytest.mark.loops


@pytest.mark.parametrize("size", [1.0, 1e12, 1e25])
def test_inverse_root_holds_for_any_precision(size):
    """A lower triangle even where rounding errors exceed the prior's precision."""
    half = np.random.default_rng(0).normal(size=(4, 4))
    H = size * (half @ half.T)
    C = inverse_root(H)
    assert np.triu(C, 1) == pytest.approx(0)
    assert C @ C.T @ (np.eye(4) + H) == pytest.approx(np.eye(4), abs=1e-8)


def test_inverse_root_of_rounding_errors_ends():
    """Of huge sums that should cancel: neither positive nor with a trace."""
    C = inverse_root(1e180 * np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert np.isfinite(C).all()
    assert (np.diagonal(C) > 0).all()
