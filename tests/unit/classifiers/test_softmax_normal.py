"""The softmax of normal variables."""

import numpy as np
import pytest
from scipy.special import softmax as plain_softmax

from caltest.classifiers import VariationalGPClassifier
from caltest.classifiers import base as softmax_normal
from caltest.classifiers.base import normal_samples, softmax_means

pytestmark = pytest.mark.loops

RNG = np.random.default_rng(0)
MEAN, DEVIATION = 3 * RNG.normal(size=(7, 3)), RNG.uniform(0, 2, (7, 3))
POINTS = normal_samples(64, 3, np.random.default_rng(1))


def samples():
    """The softmax of each row at all points, (7, 64, 3)."""
    return plain_softmax(MEAN[:, None] + DEVIATION[:, None] * POINTS, axis=2)


def test_points_are_standard_normal():
    points = normal_samples(4096, 3, np.random.default_rng(0))
    np.testing.assert_allclose(points.mean(axis=0), 0, atol=0.01)
    np.testing.assert_allclose(np.cov(points.T), np.eye(3), atol=0.02)


@pytest.mark.parametrize("jobs", [None, 2])
def test_means_are_those_of_the_samples(jobs, monkeypatch):
    monkeypatch.setattr(softmax_normal, "CHUNK", 3)
    found = softmax_means(MEAN, DEVIATION, POINTS, jobs)
    np.testing.assert_allclose(found, samples().mean(axis=1), rtol=1e-12)


def test_quantiles_are_those_of_the_samples(monkeypatch):
    """In blocks of two rows."""
    X = RNG.normal(size=(12, 2))
    model = VariationalGPClassifier(n_inducing=5, n_samples=64).fit(X, np.arange(12) % 3)
    monkeypatch.setattr(softmax_normal, "HELD", 2 * 3 * 64)
    mean, variance = model.predict_latent(X)
    points = normal_samples(64, 3, np.random.default_rng(0))
    probs = plain_softmax(mean[:, None] + np.sqrt(variance)[:, None] * points, axis=2)
    expected = np.quantile(probs, [0.1, 0.9], axis=1)
    found = model.predict_proba_interval(X, confidence=0.8)
    np.testing.assert_allclose(found, np.moveaxis(expected, 0, 2), rtol=1e-10)


def test_large_logits_do_not_overflow():
    mean = np.array([[0.0, 1000.0, -1000.0]])
    np.testing.assert_allclose(softmax_means(mean, np.ones((1, 3)), POINTS, None), [[0, 1, 0]])
