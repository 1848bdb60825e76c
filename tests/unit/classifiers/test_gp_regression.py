"""Gaussian-process regression on labels."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_ndtr, ndtr
from sklearn.datasets import make_blobs
from sklearn.isotonic import IsotonicRegression

from caltest.classifiers import GPRegressionClassifier
from caltest.errors import DegenerateDataWarning

X, Y = make_blobs(300, centers=3, cluster_std=4, random_state=1)


@pytest.mark.parametrize("m", [2, 3])
def test_platt_scaling_is_a_sigmoid_of_the_posterior_mean(m):
    """Of the second of two classes, or of each, divided by the sum."""
    rows = m > Y
    model = GPRegressionClassifier(platt=True, random_state=0).fit(X[rows], Y[rows])
    mean, _ = model.predict_latent(X)
    scores = mean[:, 1:] if m == 2 else mean
    expected = expit(model.slopes_ * scores + model.intercepts_)
    expected = np.hstack([1 - expected, expected]) if m == 2 else expected
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-12)


@pytest.mark.parametrize("m", [2, 3])
def test_probit_and_isotonic_are_fitted_to_the_rows_held_out(m):
    """The likelihood with Platt's targets is greatest; scikit-learn gives the same steps."""
    x, y = X[m > Y], Y[m > Y]
    for platt in ("probit", "isotonic"):
        model = GPRegressionClassifier(platt=platt, random_state=0).fit(x, y)
        held = ~(x[:, None] == model._posterior.Z).all(axis=2).any(axis=1)
        assert held.mean() == pytest.approx(0.2, abs=0.01)
        mean, _ = model.predict_latent(x)
        expected = []
        for k in range(m == 2, m):
            event = y[held] == k
            if platt == "isotonic":
                fit = IsotonicRegression(out_of_bounds="clip").fit(mean[held, k], event)
                expected.append(fit.predict(mean[:, k]))
                continue
            positive, rest = event.sum(), (~event).sum()
            targets = np.where(event, (positive + 1) / (positive + 2), 1 / (rest + 2))

            def loss(beta, f=mean[held, k], targets=targets):
                up, down = log_ndtr(beta[0] + beta[1] * f), log_ndtr(-beta[0] - beta[1] * f)
                return -(targets * up + (1 - targets) * down).sum()

            beta = minimize(loss, [0, 0], method="Nelder-Mead", options={"xatol": 1e-10}).x
            expected.append(ndtr(beta[0] + beta[1] * mean[:, k]))
        rows = np.column_stack([1 - expected[0], *expected] if m == 2 else expected)
        rows /= rows.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(model.predict_proba(x), rows, atol=1e-6)
        assert {"probit": "probit scaling", "isotonic": "isotonic regression"}[platt] in str(
            model.summary()
        )


def test_classes_of_few_rows_are_not_held_out():
    """At least one row of each stays with the regression."""
    few = [0, 1, 2]
    labels = Y[few] if len(set(Y[few])) > 1 else np.array([0, 0, 1])
    with pytest.warns(DegenerateDataWarning, match="no row is held out"):
        model = GPRegressionClassifier(platt=True, held_out=0.1).fit(X[few], labels)
    assert np.isfinite(model.predict_proba(X)).all()


def test_noise_is_that_of_the_labels():
    """Labels that the features say nothing of have the variance of a label."""
    rng = np.random.default_rng(0)
    model = GPRegressionClassifier().fit(rng.normal(size=(300, 2)), rng.integers(0, 2, 300))
    assert model.noise_ + model.variance_ == pytest.approx(0.25, rel=0.1)


def test_interval_of_two_classes_is_symmetric():
    """P(1) = 1 - P(0), so that an interval of one is that of the other."""
    rows = Y < 2
    model = GPRegressionClassifier().fit(X[rows], Y[rows])
    found = model.predict_proba_interval(X)
    np.testing.assert_allclose(found[:, 0, 0], 1 - found[:, 1, 1], atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*still grew after max_iter")
def test_summary_says_what_platt_scaling_was_fitted_on():
    """The rows held out, or those of the regression."""
    model = GPRegressionClassifier(platt=True, held_out=0.25, random_state=0, max_iter=1)
    assert "on 75 rows held out" in str(model.fit(X, Y).summary())
    few = [np.flatnonzero(k == Y)[0] for k in range(3)]
    with pytest.warns(DegenerateDataWarning, match="no row is held out"):
        model.fit(X[few], Y[few])
    assert "on the rows of the regression" in str(model.summary())
