"""Targets of the regressions."""

import numpy as np
import pytest
from scipy.stats import lognorm

from caltest.classifiers.regressions import pseudo_targets

pytestmark = pytest.mark.loops

COUNTS = np.array([5, 10, 35])


@pytest.mark.parametrize("alpha", [1e-4, 0.01, 0.5])
def test_log_normal_has_the_moments_of_the_gamma(alpha):
    """Gamma(a, 1) has mean and variance a; equation 5 of the paper."""
    targets = pseudo_targets(alpha, COUNTS)
    for a, mean, noise in [
        (1 + alpha, targets.on, targets.noise_on),
        (alpha, targets.off, targets.noise_off),
    ]:
        found = lognorm(np.sqrt(noise), scale=np.exp(mean[0] + targets.centre[0]))
        np.testing.assert_allclose([found.mean(), found.var()], [a, a], rtol=1e-9)


def test_targets_have_the_means_of_the_labels():
    """The prior has the shares of the classes; centred targets have the mean 0."""
    centre = pseudo_targets(0.01, COUNTS).centre
    np.testing.assert_allclose(np.exp(centre) / np.exp(centre).sum(), COUNTS / 50)
    targets = pseudo_targets(0.01, np.array([10, 10, 10]))
    codes = np.repeat(np.arange(3), 10)
    assert targets.of(codes)[0].mean() == pytest.approx(0, abs=1e-12)
