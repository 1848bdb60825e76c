"""Kernel ridge regression with Nyström features."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from caltest.classifiers import NystroemKRRClassifier, nystroem_krr
from caltest.measures import log_loss

X, Y = make_blobs(200, centers=3, cluster_std=3, random_state=1)


def test_choice_is_that_of_the_least_error_across_folds():
    """One gamma and alpha at a time give the errors of the grid."""
    gammas, alphas = (0.001, 0.1, 10.0), (1e-3, 1.0)
    model = NystroemKRRClassifier(gammas=gammas, alphas=alphas, random_state=0).fit(X, Y)
    errors = {
        (gamma, alpha): NystroemKRRClassifier(gammas=[gamma], alphas=[alpha], random_state=0)
        .fit(X, Y)
        .error_
        for gamma in gammas
        for alpha in alphas
    }
    assert (model.gamma_, model.alpha_) == min(errors, key=errors.get)
    assert model.error_ == pytest.approx(min(errors.values()), rel=1e-9)


def test_blocks_of_rows_give_the_same_and_slopes_are_positive(monkeypatch):
    whole = NystroemKRRClassifier(n_components=30, random_state=0).fit(X, Y).predict_proba(X)
    monkeypatch.setattr(nystroem_krr, "CHUNK", 1000)
    parts = NystroemKRRClassifier(n_components=30, random_state=0).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(parts, whole, rtol=1e-6)
    model = NystroemKRRClassifier(random_state=0).fit(X, Y)
    assert (model.slopes_ > 0).all()
    assert NystroemKRRClassifier(platt=False, random_state=0).fit(X, Y).slopes_ is None


def test_platt_scaling_lowers_the_log_loss():
    """Cut-off scores say 0 of what happens."""
    losses = [
        log_loss(
            NystroemKRRClassifier(platt=platt, random_state=0)
            .fit(X[::2], Y[::2])
            .predict_proba(X[1::2]),
            Y[1::2],
            eps=1e-9,
        )
        for platt in (False, True)
    ]
    assert losses[1] < losses[0]


def test_one_value_need_not_be_a_sequence():
    one = NystroemKRRClassifier(gammas=0.1, alphas=0.5, random_state=0).fit(X, Y)
    assert (one.gamma_, one.alpha_) == (0.1, 0.5)


def test_penalty_below_rounding_errors_gives_probabilities():
    """Features that are the same leave the sums of squares without a root."""
    rows, labels = np.repeat(X[:10], 4, axis=0), np.repeat(Y[:10], 4)
    model = NystroemKRRClassifier(alphas=1e-300, random_state=0).fit(rows, labels)
    np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1)
    assert (model.predict(rows) == labels).all()
