"""Exact regressions."""

from dataclasses import replace

import numpy as np
import pytest

from caltest.classifiers import regressions as collapsed_bound
from caltest.classifiers.rbf import RBFParameters
from caltest.classifiers.regressions import (
    ExactRegressions,
    SparseRegressions,
    label_targets,
    pseudo_targets,
)

pytestmark = pytest.mark.loops

RNG = np.random.default_rng(4)
X, CODES = RNG.normal(size=(50, 2)), np.sort(RNG.integers(0, 3, 50))
ROWS, COUNTS = ExactRegressions(X, CODES), np.bincount(CODES)
TARGETS = [pseudo_targets(0.01, COUNTS), label_targets(0.2, COUNTS)]


@pytest.mark.parametrize("targets", TARGETS, ids=["pseudo-observations", "labels"])
def test_collapsed_bound_with_all_inputs_inducing_is_exact(targets, monkeypatch):
    """Up to the jitter, by default 1e-8 of the variance."""
    monkeypatch.setattr(collapsed_bound, "JITTER", 1e-12)
    kernel = RBFParameters(1.5, np.array([0.5]))
    exact = ROWS.evidence(targets, kernel)
    bound = SparseRegressions(X, CODES, X).evidence(targets, kernel)
    assert bound.value == pytest.approx(exact.value, rel=1e-9)
    assert bound.log_noise == pytest.approx(exact.log_noise, rel=1e-6)
    assert bound.kernel.log_variance == pytest.approx(exact.kernel.log_variance, rel=1e-6)
    np.testing.assert_allclose(bound.kernel.log_scales, exact.kernel.log_scales, rtol=1e-6)


def test_noise_that_is_the_same_gives_the_same_either_way():
    """One root for all classes, or one for each."""
    targets = TARGETS[1]
    other = replace(targets, noise_on=targets.noise_on * (1 + 1e-13))
    one, each = (ROWS.evidence(own, RBFParameters(1.5, np.ones(2))) for own in (targets, other))
    assert targets.same_noise
    assert not other.same_noise
    assert one.value == pytest.approx(each.value, rel=1e-11)
    assert one.log_noise == pytest.approx(each.log_noise, rel=1e-10)
    np.testing.assert_allclose(one.kernel.log_scales, each.kernel.log_scales, rtol=1e-10)
