"""Exact regressions."""

import numpy as np
import pytest

from caltest.classifiers import collapsed_bound
from caltest.classifiers.collapsed_bound import (
    bound_and_gradient,
    label_targets,
    pseudo_targets,
    rows_by_class,
)
from caltest.classifiers.regressions import evidence_and_gradient

pytestmark = pytest.mark.loops

RNG = np.random.default_rng(4)
X, CODES = RNG.normal(size=(50, 2)), np.sort(RNG.integers(0, 3, 50))
ROWS = rows_by_class(X, CODES, 3)
TARGETS = [pseudo_targets(0.01, ROWS.counts), label_targets(0.2, ROWS.counts)]


@pytest.mark.parametrize("targets", TARGETS, ids=["pseudo-observations", "labels"])
def test_collapsed_bound_with_all_inputs_inducing_is_exact(targets, monkeypatch):
    """Up to the jitter, by default 1e-8 of the variance."""
    monkeypatch.setattr(collapsed_bound, "JITTER", 1e-12)
    scales = np.array([0.5])
    exact = evidence_and_gradient(
        X, 3, lambda k: targets.of(k, CODES), 1.5, scales, same_noise=targets.same_noise
    )
    bound = bound_and_gradient(ROWS, targets, X, 1.5, scales)
    assert bound.value == pytest.approx(exact.value, rel=1e-9)
    assert bound.log_noise == pytest.approx(exact.log_noise, rel=1e-6)
    assert bound.kernel.log_variance == pytest.approx(exact.kernel.log_variance, rel=1e-6)
    np.testing.assert_allclose(bound.kernel.log_scales, exact.kernel.log_scales, rtol=1e-6)


def test_noise_that_is_the_same_gives_the_same_either_way():
    """One root for all classes, or one for each."""
    targets = TARGETS[1]
    one, each = (
        evidence_and_gradient(
            X, 3, lambda k: targets.of(k, CODES), 1.5, np.ones(2), same_noise=same
        )
        for same in (True, False)
    )
    assert one.value == pytest.approx(each.value, rel=1e-12)
    assert one.log_noise == pytest.approx(each.log_noise, rel=1e-10)
    np.testing.assert_allclose(one.kernel.log_scales, each.kernel.log_scales, rtol=1e-10)
