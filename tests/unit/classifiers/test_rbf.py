"""The RBF kernel."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from caltest.classifiers.rbf import no_gradient, rbf

pytestmark = pytest.mark.loops

RNG = np.random.default_rng(0)
X, Z, SCALES = RNG.normal(size=(9, 2)), RNG.normal(size=(4, 2)), np.array([0.6, 1.7])


def test_kernel_is_that_of_scikit_learn():
    """With one length scale per feature, and with one for all."""
    np.testing.assert_allclose(rbf(X, Z, 2.5, SCALES), 2.5 * RBF(SCALES)(X, Z), rtol=1e-12)
    np.testing.assert_allclose(rbf(X, Z, 2.5, SCALES[:1]), 2.5 * RBF(0.6)(X, Z), rtol=1e-12)


def test_gradient_of_a_weighted_sum_is_that_of_finite_differences():
    weights, h = RNG.normal(size=(9, 4)), 1e-6
    found = no_gradient(4, 2)
    found.add(weights * rbf(X, Z, 2.5, SCALES), X, Z, SCALES)
    for j, unit in enumerate(np.eye(2)):
        ends = [np.vdot(weights, rbf(X, Z, 2.5, SCALES * np.exp(s * h * unit))) for s in (-1, 1)]
        np.testing.assert_allclose(found.log_scales[j], (ends[1] - ends[0]) / (2 * h), rtol=1e-6)
        shift = np.zeros_like(Z)
        shift[1] = h * unit
        ends = [np.vdot(weights, rbf(X, Z + s * shift, 2.5, SCALES)) for s in (-1, 1)]
        np.testing.assert_allclose(found.Z[1, j], (ends[1] - ends[0]) / (2 * h), rtol=1e-6)


def test_gradient_of_the_kernel_among_points_counts_them_twice():
    half, h = RNG.normal(size=(4, 4)), 1e-6
    weights = half + half.T
    found = no_gradient(4, 2)
    found.add_inner(weights * rbf(Z, Z, 2.5, SCALES), Z, SCALES)
    shift = np.zeros_like(Z)
    shift[2, 0] = h
    ends = [np.vdot(weights, rbf(Z + s * shift, Z + s * shift, 2.5, SCALES)) for s in (-1, 1)]
    np.testing.assert_allclose(found.Z[2, 0], (ends[1] - ends[0]) / (2 * h), rtol=1e-6)
