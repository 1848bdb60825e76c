"""Vector scaling: what is fitted, what is printed and saved, and degenerate data."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from caltest.calibrators import VectorScaling
from caltest.errors import DegenerateDataWarning

W = np.array([0.4, 0.7, 1.1])
B = np.array([-0.5, 0.2, 0.3])


@pytest.fixture
def data():
    """Logits of three classes, and labels drawn from softmax(W z + B)."""
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, (2000, 3))
    return z, (softmax(W * z + B, axis=1).cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1)


def fit_with_warning(match, X, y, **options):
    """Fit to data of which it is said that they are degenerate."""
    with pytest.warns(DegenerateDataWarning, match=match):
        return VectorScaling(**options).fit(X, y)


def test_vector_scaling_finds_the_weights_and_biases(data):
    calibrator = VectorScaling(from_logits=True).fit(*data)
    assert (abs(calibrator.weights_ - W) < 4 * calibrator.weights_stderr_).all()
    assert (abs(calibrator.biases_ - B) < 4 * calibrator.biases_stderr_).all()
    assert abs(calibrator.biases_.sum()) < 1e-14


def test_vector_scaling_weighs_each_logit(data):
    """The map is softmax(w z + b), which `linear_` writes with a diagonal matrix."""
    z, y = data
    calibrator = VectorScaling(from_logits=True).fit(z, y)
    matrix, bias = calibrator.linear_
    expected = softmax(z @ matrix.T + bias, axis=1)
    np.testing.assert_allclose(calibrator.predict_proba(z), expected, rtol=1e-12)
    of_log_probs = VectorScaling(from_logits=True).fit(log_softmax(z, axis=1), y)
    of_probs = VectorScaling().fit(softmax(z, axis=1), y)
    np.testing.assert_allclose(of_probs.weights_, of_log_probs.weights_, rtol=1e-9)


def test_standard_errors_are_those_of_a_logistic_regression(data):
    """Two classes and log odds: statsmodels, with the second bias half of its intercept."""
    from statsmodels.api import GLM, families

    z, y = data
    log_odds, event = z[:, 1] - z[:, 0], y == 1
    weight = np.arange(len(y)) % 3
    calibrator = VectorScaling(from_logits=True).fit(log_odds, event, sample_weight=weight)
    design = np.column_stack([np.ones(len(y)), log_odds])
    model = GLM(event, design, family=families.Binomial(), freq_weights=weight).fit(tol=1e-14)
    coefficients = {c.name: c for c in calibrator.coefficients()}
    slope, bias = coefficients["w[True]"], coefficients["b[True]"]
    expected = [*model.params * [0.5, 1], *model.bse * [0.5, 1]]
    got = [bias.value, slope.value, bias.stderr, slope.stderr]
    np.testing.assert_allclose(got, expected, rtol=1e-7)


def test_reference_class_keeps_its_weight(data):
    """That of log odds has the logit 0: its weight has no effect, and no standard error."""
    z, y = data
    calibrator = VectorScaling(from_logits=True).fit(z[:, 1], y == 1)
    assert calibrator.weights_[0] == 1
    assert calibrator.weights_stderr_[0] == np.inf
    assert [c.stderr is None for c in calibrator.coefficients()] == [True, False, False, False]


def test_coefficients_have_the_names_of_the_classes(data):
    z, y = data
    names = np.array(["cat", "dog", "eel"])
    coefficients = VectorScaling(from_logits=True).fit(z, names[y]).coefficients()
    expected = ["w[cat]", "w[dog]", "w[eel]", "b[cat]", "b[dog]", "b[eel]"]
    assert [c.name for c in coefficients] == expected


def test_missing_class_has_a_small_probability(data):
    """Not zero; the other classes are almost as without it."""
    z, y = data
    names = ["cat", "dog", "eel", "owl"]
    z4 = np.column_stack([z, np.random.default_rng(1).normal(size=len(z))])
    with pytest.warns(DegenerateDataWarning, match="no label is 'owl'"):
        calibrator = VectorScaling(from_logits=True, classes=names).fit(z4, np.array(names)[y])
    probs = calibrator.predict_proba(z4)
    assert 1e-7 < probs[:, 3].mean() < 1e-4
    without = VectorScaling(from_logits=True).fit(z, y)
    np.testing.assert_allclose(probs[:, :3], without.predict_proba(z), atol=1e-4)
    assert calibrator.weights_stderr_ is None


def test_collinear_logits_are_weighed_alike(data):
    """Where one logit is the negative of the other, only the sum of their weights matters."""
    z, y = data
    log_odds, event = z[:, 1] - z[:, 0], (y == 1).astype(int)
    both = np.column_stack([-log_odds, log_odds])
    calibrator = fit_with_warning("collinear", both, event, from_logits=True)
    assert calibrator.weights_[0] == pytest.approx(calibrator.weights_[1], abs=1e-9)
    expected = VectorScaling(from_logits=True).fit(log_odds, event).predict_proba(log_odds)
    np.testing.assert_allclose(calibrator.predict_proba(both), expected, atol=1e-5)


def test_uniform_predictions_become_the_frequencies():
    """Weights and biases are not determined, the probabilities are."""
    calibrator = fit_with_warning("constant", np.full((6, 3), 1 / 3), [0, 0, 0, 1, 1, 2])
    probs = calibrator.predict_proba([[1 / 3, 1 / 3, 1 / 3]])
    np.testing.assert_allclose(probs, [[1 / 2, 1 / 3, 1 / 6]], atol=1e-5)


def test_logits_of_any_size_give_finite_answers(data):
    """Squares of logits near the largest number overflow nowhere."""
    z, y = data
    z[:3] = [[1e308, -1e308, 0], [-1e308, 1e308, 0], [0, 1e200, -1e200]]
    calibrator = fit_with_warning("separable", z, y, from_logits=True)
    assert np.isfinite(calibrator.predict_proba(z)).all()
    assert np.isfinite(calibrator.predict_proba(z)).all()
