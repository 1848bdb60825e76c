"""The collapsed bound of the regressions on labels."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from caltest.classifiers import regressions as collapsed_bound
from caltest.classifiers.rbf import RBFParameters, rbf
from caltest.classifiers.regressions import (
    SparseRegressions,
    label_targets,
    pseudo_targets,
    regressions,
)

pytestmark = pytest.mark.loops

VARIANCE, SCALES = KERNEL = RBFParameters(1.7, np.array([0.8, 1.2, 2.0]))
STEP = 1e-6

RNG = np.random.default_rng(0)
X, CODES, Z = RNG.normal(size=(60, 3)), RNG.integers(0, 3, 60), RNG.normal(size=(10, 3))
ROWS, COUNTS = regressions(X, CODES, Z, None), np.bincount(CODES)
TARGETS = {
    "pseudo-observations": pseudo_targets(0.01, COUNTS),
    "labels": label_targets(0.3, COUNTS),
}

both_targets = pytest.mark.parametrize("targets", TARGETS.values(), ids=TARGETS)


def plain_bound(targets):
    """Titsias (2009), equation 9, by n x n matrices, with the same jitter."""
    values, noises = targets.of(ROWS.codes)
    inner = rbf(Z, Z, VARIANCE, SCALES) + collapsed_bound.JITTER * VARIANCE * np.eye(len(Z))
    cross = rbf(ROWS.X, Z, VARIANCE, SCALES)
    Q = cross @ np.linalg.solve(inner, cross.T)
    total = 0.0
    for k in range(3):
        y, noise = values[:, k], noises[:, k]
        total += multivariate_normal(np.zeros(len(y)), Q + np.diag(noise)).logpdf(y)
        total -= 0.5 * np.sum((VARIANCE - np.diag(Q)) / noise)
    return total


def value(targets, log_variance=0.0, log_scales=0.0, log_noise=0.0):
    """The bound, with changed arguments."""
    factor = np.exp(log_noise)
    noisy = replace(
        targets, noise_on=targets.noise_on * factor, noise_off=targets.noise_off * factor
    )
    kernel = RBFParameters(VARIANCE * np.exp(log_variance), SCALES * np.exp(log_scales))
    return ROWS.evidence(noisy, kernel).value


def slope(function):
    """A central difference at 0."""
    return (function(STEP) - function(-STEP)) / (2 * STEP)


@both_targets
def test_bound_is_that_of_dense_matrices(targets):
    """Sums by class give what the n x n matrices give."""
    expected = pytest.approx(plain_bound(targets), rel=1e-10)
    assert ROWS.evidence(targets, KERNEL).value == expected


@both_targets
def test_gradient_is_that_of_finite_differences(targets):
    """By the variance, each length scale and the noise."""
    found = ROWS.evidence(targets, KERNEL)
    close = {"rel": 1e-5, "abs": 1e-5}
    assert found.kernel[0] == pytest.approx(slope(lambda h: value(targets, h)), **close)
    assert found.log_noise == pytest.approx(slope(lambda h: value(targets, log_noise=h)), **close)
    for j, unit in enumerate(np.eye(3)):
        by_scale = slope(lambda h, unit=unit: value(targets, log_scales=h * unit))
        assert found.kernel[1 + j] == pytest.approx(by_scale, **close)


@both_targets
@pytest.mark.parametrize("jobs", [1, 2])
def test_blocks_of_rows_give_the_same(targets, jobs, monkeypatch):
    """A block of any size, kept or computed again, in any number of threads."""
    whole = ROWS.evidence(targets, KERNEL)
    monkeypatch.setattr(collapsed_bound, "CHUNK", 70)
    monkeypatch.setattr(collapsed_bound, "KEPT", 0)
    blocks = replace(ROWS, n_jobs=jobs).evidence(targets, KERNEL)
    assert blocks.value == pytest.approx(whole.value, rel=1e-12)
    np.testing.assert_allclose(blocks.kernel, whole.kernel, rtol=1e-9, atol=1e-9)


def test_points_that_coincide_get_more_jitter():
    """Two equal inducing points leave k(Z, Z) singular up to the jitter."""
    twice = replace(ROWS, Z=np.vstack([Z, Z]))
    once = ROWS.evidence(TARGETS["labels"], KERNEL).value
    assert twice.evidence(TARGETS["labels"], KERNEL).value == pytest.approx(once, rel=1e-5)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows():
    """With n = 250,000 and M = 150, less than a third of k(X, Z)."""
    many = np.random.default_rng(1).normal(size=(250_000, 3))
    codes = np.repeat([0, 1], len(many) // 2)
    rows, targets = SparseRegressions(many, codes, many[:150]), pseudo_targets(0.01, [125_000] * 2)
    tracemalloc.start()
    rows.evidence(targets, RBFParameters(1.0, np.ones(1)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < len(many) * 150 * 8 / 3
