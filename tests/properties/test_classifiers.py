"""Properties of the classifiers on any small data set."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.exceptions import ConvergenceWarning

from caltest.classifiers import (
    DirichletGPClassifier,
    GPRegressionClassifier,
    NystroemKRRClassifier,
    VariationalGPClassifier,
)
from caltest.errors import DegenerateDataWarning

MODELS = [
    DirichletGPClassifier(max_iter=10, n_samples=64),
    DirichletGPClassifier(alpha=0.01, max_iter=10, n_inducing=4, n_samples=64, random_state=0),
    GPRegressionClassifier(max_iter=10, n_inducing=4, platt=True, random_state=0),
    VariationalGPClassifier(max_iter=3, n_inducing=4, n_points=16, n_samples=64, random_state=0),
    NystroemKRRClassifier(n_components=4, n_splits=2, random_state=0),
]
pytestmark = pytest.mark.filterwarnings("ignore:.*is the (least|largest) of the values")
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


@st.composite
def data_sets(draw):
    """Features of any size, with ties, and labels of two or three classes."""
    n = draw(st.integers(4, 12))
    X = draw(arrays(np.float64, (n, 2), elements=st.floats(-1e3, 1e3, width=32)))
    rest = draw(st.lists(st.integers(0, 2), min_size=n - 2, max_size=n - 2))
    return X, np.array([0, 1, *rest])


@every_model
@settings.get_profile("few")
@given(data=data_sets())
def test_probabilities_lie_on_the_simplex(model, data):
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        probs = model.fit(X, y).predict_proba(X)
    assert ((probs >= 0) & (probs <= 1)).all()
    np.testing.assert_allclose(probs.sum(axis=1), 1, rtol=1e-9)


@every_model
@settings.get_profile("fewest")
@given(data=data_sets(), power=st.integers(-8, 8))
def test_unit_of_the_features_does_not_count(model, data, power):
    """Features times a power of two: the start of the length scale goes with them."""
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        one = model.fit(X, y).predict_proba(X)
        other = model.fit(X * 2.0**power, y).predict_proba(X * 2.0**power)
    np.testing.assert_allclose(one, other, atol=1e-3)
