"""The RBF kernel."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from caltest.classifiers.rbf import rbf

pytestmark = pytest.mark.loops

RNG = np.random.default_rng(0)
X, Z, SCALES = RNG.normal(size=(9, 2)), RNG.normal(size=(4, 2)), np.array([0.6, 1.7])


def test_kernel_is_that_of_scikit_learn():
    """With one length scale per feature, and with one for all."""
    np.testing.assert_allclose(rbf(X, Z, 2.5, SCALES), 2.5 * RBF(SCALES)(X, Z), rtol=1e-12)
    np.testing.assert_allclose(rbf(X, Z, 2.5, SCALES[:1]), 2.5 * RBF(0.6)(X, Z), rtol=1e-12)
