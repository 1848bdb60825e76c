"""The RBF kernel."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from caltest.classifiers.rbf import kernel_gradient, rbf

pytestmark = pytest.mark.loops

RNG = np.random.default_rng(0)
X, Z, SCALES = RNG.normal(size=(9, 2)), RNG.normal(size=(4, 2)), np.array([0.6, 1.7])


def test_kernel_is_that_of_scikit_learn():
    """With one length scale per feature, and with one for all."""
    np.testing.assert_allclose(rbf(X, Z, 2.5, SCALES), 2.5 * RBF(SCALES)(X, Z), rtol=1e-12)
    np.testing.assert_allclose(rbf(X, Z, 2.5, SCALES[:1]), 2.5 * RBF(0.6)(X, Z), rtol=1e-12)


def test_gradient_of_a_weighted_sum_is_that_of_finite_differences():
    weights, h = RNG.normal(size=(9, 4)), 1e-6
    kernel = rbf(X, Z, 2.5, SCALES)
    by_variance, *by_scales = kernel_gradient(weights * kernel, X, Z, SCALES)
    assert by_variance == pytest.approx(np.vdot(weights, kernel))
    for by_scale, unit in zip(by_scales, np.eye(2), strict=True):
        ends = [np.vdot(weights, rbf(X, Z, 2.5, SCALES * np.exp(s * h * unit))) for s in (-1, 1)]
        assert by_scale == pytest.approx((ends[1] - ends[0]) / (2 * h), rel=1e-6)
