"""The posterior at a row of the fit given the other rows, beside fits without it."""

import numpy as np
import pytest

from caltest.classifiers.rbf import RBFParameters
from caltest.classifiers.regressions import label_targets, pseudo_targets, regressions

RNG = np.random.default_rng(3)
X, CODES = RNG.normal(size=(40, 2)), RNG.integers(0, 3, 40)
COUNTS = np.bincount(CODES)
KERNEL = RBFParameters(1.7, np.array([0.8, 1.2]))
TARGETS = {
    "pseudo-observations": pseudo_targets(0.01, COUNTS),
    "large alpha": pseudo_targets(3, COUNTS),
    "labels": label_targets(0.3, COUNTS),
}


def latent(rows, targets, Z):
    """The posterior of a fit to some rows; kernel, targets and inducing points stay."""
    return regressions(X[rows], CODES[rows], Z, None).posterior(targets, KERNEL)


@pytest.mark.parametrize("targets", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("Z", [None, X[:12] + 0.01], ids=["exact", "sparse"])
def test_closed_form_is_that_of_fits_without_the_row(targets, Z):
    everything = np.arange(len(X))
    mean, variance = latent(everything, targets, Z).without_own(X, CODES, targets, None)
    for i in everything:
        others = np.delete(everything, i)
        expected_mean, expected_variance = latent(others, targets, Z)(X[[i]], None)
        np.testing.assert_allclose(mean[i], expected_mean[0], rtol=1e-8)
        np.testing.assert_allclose(variance[i], expected_variance[0], rtol=1e-8)
