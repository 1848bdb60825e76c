"""The Gaussian-process regressions behind the classifiers, beside those of scikit-learn.

The references are computed by scikit-learn itself, in the version that is installed.
"""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge

from caltest.classifiers import (
    DirichletGPClassifier,
    GPRegressionClassifier,
    NystroemKRRClassifier,
)
from caltest.classifiers import regressions as collapsed_bound
from caltest.classifiers.rbf import RBFParameters
from caltest.classifiers.regressions import label_targets, pseudo_targets, regressions

VARIANCE, SCALES = OWN = RBFParameters(1.7, np.array([0.8, 1.2]))
KERNEL = ConstantKernel(VARIANCE) * RBF(SCALES)
X, CODES = make_blobs(60, centers=3, cluster_std=2, random_state=0)
COUNTS = np.bincount(CODES)
TARGETS = {
    "pseudo-observations": pseudo_targets(0.01, COUNTS),
    "labels": label_targets(0.3, COUNTS),
}

both_targets = pytest.mark.parametrize("targets", TARGETS.values(), ids=TARGETS)


def regressor(targets, k, kernel=KERNEL):
    """scikit-learn's regression for class k with the noise of each row, and its targets."""
    y, noise = (values[:, k] for values in targets.of(CODES))
    return GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(X, y)


@both_targets
def test_exact_evidence_and_gradient_are_those_of_scikit_learn(targets):
    models = [regressor(targets, k) for k in range(3)]
    pairs = [m.log_marginal_likelihood(m.kernel_.theta, eval_gradient=True) for m in models]
    found = regressions(X, CODES, None, None).evidence(targets, OWN)
    assert found.value == pytest.approx(sum(value for value, _ in pairs), rel=1e-8)
    np.testing.assert_allclose(found.kernel, sum(slope for _, slope in pairs), rtol=1e-8)


@both_targets
def test_collapsed_bound_with_every_input_is_that_of_scikit_learn(targets, monkeypatch):
    """Heteroskedastic and homoskedastic, to 1e-8, with a jitter that does not count."""
    monkeypatch.setattr(collapsed_bound, "JITTER", 1e-12)
    expected = sum(regressor(targets, k).log_marginal_likelihood_value_ for k in range(3))
    found = regressions(X, CODES, X, None).evidence(targets, OWN).value
    assert found == pytest.approx(expected, rel=1e-8)


def test_dirichlet_classifier_predicts_as_scikit_learn():
    """Means and variances of the latent functions at the fitted kernel, to 1e-8."""
    model = DirichletGPClassifier(alpha=0.01, ard=True).fit(X, CODES)
    kernel = ConstantKernel(model.variance_) * RBF(model.length_scale_)
    targets = pseudo_targets(0.01, COUNTS)
    new = X + 0.3
    mean, variance = model.predict_latent(new)
    for k in range(3):
        other = regressor(targets, k, kernel)
        expected, deviation = other.predict(new, return_std=True)
        np.testing.assert_allclose(mean[:, k], expected + targets.centre[k], rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(variance[:, k], deviation**2, rtol=1e-6, atol=1e-8)
    assert model.bound_ == pytest.approx(
        sum(regressor(targets, k, kernel).log_marginal_likelihood_value_ for k in range(3))
    )


def test_regression_classifier_predicts_as_scikit_learn():
    """Means at the fitted kernel and noise."""
    model = GPRegressionClassifier().fit(X, CODES)
    kernel = ConstantKernel(model.variance_) * RBF(model.length_scale_)
    mean, _ = model.predict_latent(X + 0.3)
    for k in range(3):
        y = (k == CODES) - COUNTS[k] / len(CODES)
        other = GaussianProcessRegressor(kernel, alpha=model.noise_, optimizer=None).fit(X, y)
        expected = other.predict(X + 0.3) + COUNTS[k] / len(CODES)
        np.testing.assert_allclose(mean[:, k], expected, rtol=1e-8, atol=1e-8)


def test_nystroem_classifier_is_scikit_learns_pipeline():
    """Nystroem, Ridge on centred labels, without Platt scaling cut off at 0."""
    model = NystroemKRRClassifier(n_components=20, gammas=[0.1], platt=False, random_state=5)
    model.fit(X, CODES)
    features = model._map.transform(X - X.mean(axis=0))
    assert isinstance(model._map, Nystroem)
    labels = np.eye(3)[CODES]
    ridge = Ridge(alpha=model.alpha_, fit_intercept=False).fit(features, labels - labels.mean(0))
    scores = np.maximum(ridge.predict(features) + labels.mean(0), 0)
    expected = scores / scores.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-7, atol=1e-9)
