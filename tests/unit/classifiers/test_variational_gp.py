"""Sparse variational Gaussian-process classification."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from caltest.classifiers import VariationalGPClassifier, variational_gp
from caltest.measures import log_loss

X, Y = make_blobs(150, centers=3, cluster_std=3, random_state=1)


@pytest.mark.full
@pytest.mark.parametrize("m", [2, 3])
def test_bound_grows_with_the_inducing_points(m):
    """More of them, as rows, can only help; 60 say almost all."""
    rows = m > Y
    bounds = [
        VariationalGPClassifier(n_inducing=M, random_state=0).fit(X[rows], Y[rows]).bound_
        for M in (3, 60, 1000)
    ]
    assert bounds[0] < bounds[1] < bounds[2] + 0.05
    assert bounds[1] == pytest.approx(bounds[2], abs=1)


@pytest.mark.full
@pytest.mark.parametrize("m", [2, 3])
def test_kernel_is_the_best_nearby(m):
    """No other variance or length scale has a higher bound."""
    rows = m > Y
    model = VariationalGPClassifier(n_inducing=20, random_state=0).fit(X[rows], Y[rows])
    from caltest.classifiers.rbf import RBFParameters
    from caltest.classifiers.variational_gp import Labelled, _Ridge, prior, start

    Z = model.inducing_points_
    data = Labelled(X[rows], Y[rows].astype(np.int64), Z, model._expectation(), None)
    ridge = _Ridge(prior(data, RBFParameters(1.0, np.ones(1))), start(1 if m == 2 else m, len(Z)))
    variance, scales = kernel = RBFParameters(model.variance_, model.length_scale_)
    assert ridge.climb(kernel) == pytest.approx(model.bound_, abs=1e-2)
    for factor in (0.8, 1.25):
        assert ridge.climb(RBFParameters(factor * variance, scales)) < model.bound_
        assert ridge.climb(RBFParameters(variance, factor * scales)) < model.bound_


@pytest.mark.full
@pytest.mark.parametrize("m", [2, 3])
def test_start_at_the_kernel_of_a_sample_changes_nothing(m, monkeypatch, capsys):
    """But time: the fit to all rows ends where it ends without."""
    rows = m > Y
    model = VariationalGPClassifier(n_inducing=20, random_state=0, verbose=True)
    plain = model.fit(X[rows], Y[rows]).bound_
    assert f"of {rows.sum() // 8} rows" not in capsys.readouterr().out
    monkeypatch.setattr(variational_gp, "ROWS_FOR_SHARE", 10)
    assert model.fit(X[rows], Y[rows]).bound_ == pytest.approx(plain, abs=0.01)
    assert f"of {rows.sum() // 8} rows" in capsys.readouterr().out


def test_first_latent_function_of_two_classes_is_zero():
    """The softmax of (0, f) is the logistic function of f."""
    model = VariationalGPClassifier(n_inducing=20, random_state=0).fit(X[Y < 2], Y[Y < 2])
    mean, variance = model.predict_latent(X)
    assert not mean[:, 0].any()
    assert not variance[:, 0].any()
    assert (variance[:, 1] > 0).all()


@pytest.mark.full
def test_two_classes_can_be_swapped():
    rows = Y < 2
    one = VariationalGPClassifier(n_inducing=20, random_state=0).fit(X[rows], Y[rows])
    two = VariationalGPClassifier(n_inducing=20, random_state=0).fit(X[rows], 1 - Y[rows])
    found = one.predict_proba(X[rows])
    np.testing.assert_allclose(found, two.predict_proba(X[rows])[:, ::-1], atol=1e-3)


def test_classifier_learns():
    model = VariationalGPClassifier(n_inducing=20, random_state=0).fit(X[::2], Y[::2])
    assert log_loss(model.predict_proba(X[1::2]), Y[1::2]) < 0.9 * np.log(3)


def test_length_scale_of_a_feature_without_information_is_the_longest():
    noise = np.random.default_rng(0).normal(scale=X.std(), size=len(X))
    model = VariationalGPClassifier(ard=True, n_inducing=50, random_state=0)
    scales = model.fit(np.column_stack([X, noise]), Y).length_scale_
    assert scales[2] > scales[:2].max()
