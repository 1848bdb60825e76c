"""Kernel calibration against a double loop over the densities of SciPy."""

import math

import numpy as np
import pytest
from scipy.stats import dirichlet

from caltest.calibrators import KernelCalibrator


def data_of(m, n=40, seed=5):
    """Return predictions, labels and whole weights, some of them 0."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(m), n), rng.integers(0, m, n), rng.integers(0, 4, n) * 1.0


def regression(q, rows, b, prior=1.0):
    """Return the formula at one prediction, a term after the other."""
    m = len(q)
    total = prior * math.gamma(m) * q
    for p, y, w in zip(*rows, strict=True):
        density = dirichlet.pdf(q, p / b + 1)
        total = total + w * density * np.eye(m)[y]
    return total / total.sum()


@pytest.mark.parametrize("prior", [0.0, 2.5])
@pytest.mark.parametrize("m", [2, 4])
def test_kernel_is_the_mean_of_labels_by_densities(m, prior):
    probs, codes, weight = data_of(m)
    q = np.random.default_rng(0).dirichlet(np.ones(m), 5)
    calibrator = KernelCalibrator(bandwidth=0.07, prior=prior).fit(probs, codes, weight)
    expected = [regression(row, (probs, codes, weight), 0.07, prior) for row in q]
    np.testing.assert_allclose(calibrator.predict_proba(q), expected, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("m", [2, 3])
def test_bandwidth_has_the_least_leave_one_out_log_loss(m):
    """A row of weight w is w rows, of which one is left out."""
    probs, codes, weight = data_of(m, n=15)
    probs, codes = (np.repeat(each, weight.astype(int), axis=0) for each in (probs, codes))

    def loss(b):
        left = [np.arange(len(codes)) != i for i in range(len(codes))]
        terms = (
            regression(probs[i], (probs, codes, one), b)[codes[i]] for i, one in enumerate(left)
        )
        return -sum(map(math.log, terms))

    grid = np.logspace(-5, 1, 19)
    best = grid[np.argmin([loss(b) for b in grid])]
    assert KernelCalibrator().fit(*data_of(m, n=15)).bandwidth_ == pytest.approx(best)
