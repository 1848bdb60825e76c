"""Exact regressions."""

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
    np.testing.assert_allclose(bound.kernel, exact.kernel, rtol=1e-6)
