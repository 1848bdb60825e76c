"""Kernel ridge regression with Nyström features."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from caltest.classifiers import NystroemKRRClassifier, nystroem_krr

X, Y = make_blobs(200, centers=3, cluster_std=3, random_state=1)


@pytest.mark.full
def test_blocks_of_rows_give_the_same_and_slopes_are_positive(monkeypatch):
    whole = NystroemKRRClassifier(n_components=30, random_state=0).fit(X, Y).predict_proba(X)
    monkeypatch.setattr(nystroem_krr, "CHUNK", 1000)
    parts = NystroemKRRClassifier(n_components=30, random_state=0).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(parts, whole, rtol=1e-6)
    model = NystroemKRRClassifier(random_state=0).fit(X, Y)
    assert (model.slopes_ > 0).all()
    assert NystroemKRRClassifier(platt=False, random_state=0).fit(X, Y).slopes_ is None


def test_one_value_need_not_be_a_sequence():
    one = NystroemKRRClassifier(gammas=0.1, alphas=0.5, random_state=0).fit(X, Y)
    assert (one.gamma_, one.alpha_) == (0.1, 0.5)


def test_penalty_below_rounding_errors_gives_probabilities():
    """Features that are the same leave the sums of squares without a root."""
    rows, labels = np.repeat(X[:10], 4, axis=0), np.repeat(Y[:10], 4)
    model = NystroemKRRClassifier(alphas=1e-300, random_state=0).fit(rows, labels)
    np.testing.assert_allclose(model.predict_proba(rows).sum(axis=1), 1)
    assert (model.predict(rows) == labels).all()
