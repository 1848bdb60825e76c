"""Platt's sigmoid."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from caltest.numerics.platt_sigmoid import platt


def test_sigmoid_is_the_logistic_regression_on_platts_targets():
    """Each row counts twice, once for each label, with the target as its weight."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=200)
    event = rng.random(200) < expit(2 * scores - 1)
    slope, intercept = platt(scores, event)
    target = np.where(event, (event.sum() + 1) / (event.sum() + 2), 1 / ((~event).sum() + 2))
    model = LogisticRegression(C=np.inf, tol=1e-10)
    model.fit(
        np.tile(scores, 2)[:, None],
        np.repeat([1, 0], 200),
        sample_weight=np.concatenate([target, 1 - target]),
    )
    assert slope == pytest.approx(model.coef_[0, 0], rel=1e-5)
    assert intercept == pytest.approx(model.intercept_[0], rel=1e-5)


def test_sigmoid_of_separable_scores_is_finite():
    """Platt's targets are neither 0 nor 1."""
    slope, intercept = platt(np.linspace(-1, 1, 20), np.arange(20) >= 10)
    assert 0 < slope < 1000
    assert abs(intercept) < 1


@pytest.mark.parametrize("event", [np.zeros(9, bool), np.arange(9) < 3, np.ones(9, bool)])
def test_sigmoid_of_constant_scores_is_the_mean_target(event):
    """The slope is 0."""
    slope, intercept = platt(np.full(9, 4.0), event)
    N, rest = event.sum(), (~event).sum()
    target = (N * (N + 1) / (N + 2) + rest / (rest + 2)) / 9
    assert slope == 0
    assert expit(intercept) == pytest.approx(target, rel=1e-9)
