"""Temperature and vector scaling."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from caltest.calibrators import TemperatureScaling, VectorScaling
from caltest.errors import DegenerateDataWarning


def fit_with_warning(match, X, y, kind=TemperatureScaling, **options):
    """Fit to data of which it is said that they are degenerate."""
    with pytest.warns(DegenerateDataWarning, match=match):
        return kind(**options).fit(X, y)


def test_temperature_scaling_divides_logits(logits):
    """The map is softmax(z / T), also of logarithms of probabilities."""
    z, y = logits
    calibrator = TemperatureScaling(from_logits=True).fit(z, y)
    expected = softmax(z / calibrator.temperature_, axis=1)
    np.testing.assert_allclose(calibrator.predict_proba(z), expected, rtol=1e-13)
    W, b = calibrator.linear_
    np.testing.assert_allclose(softmax(z @ W.T + b, axis=1), expected, rtol=1e-13)
    of_probs = TemperatureScaling().fit(softmax(z, axis=1), y)
    assert of_probs.temperature_ == pytest.approx(calibrator.temperature_, rel=1e-12)
    np.testing.assert_allclose(of_probs.predict_proba(softmax(z, axis=1)), expected, rtol=1e-12)


def test_standard_error_is_that_of_the_observed_information(logits):
    """Against the second difference of the log likelihood in T: at the optimum they agree."""
    z, y = logits
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    calibrator = TemperatureScaling(from_logits=True).fit(z, y, sample_weight=weight)
    t, h = calibrator.temperature_, 1e-3

    def loglikelihood(t):
        return weight @ log_softmax(z / t, axis=1)[np.arange(len(y)), y]

    second = (loglikelihood(t - h) - 2 * loglikelihood(t) + loglikelihood(t + h)) / h**2
    (coefficient,) = calibrator.coefficients()
    assert (coefficient.name, coefficient.value) == ("temperature", t)
    assert coefficient.stderr == pytest.approx((-second) ** -0.5, rel=1e-4)


def test_uniform_predictions_keep_the_temperature_of_one():
    """Any temperature fits; a warning says so."""
    calibrator = fit_with_warning("any temperature", np.full((3, 3), 1 / 3), [0, 1, 2])
    assert calibrator.temperature_ == 1
    assert calibrator.temperature_stderr_ is None
    nearly = fit_with_warning("any temperature", [1e-200, 1e-200], [0, 1], from_logits=True)
    assert nearly.temperature_ == 1


def test_logits_of_any_size_give_finite_answers():
    """Differences and squares of logits near the largest number overflow nowhere."""
    z = np.array([[1e308, -1e308, 0], [-1e308, 1e308, 0], [1, 2, 3], [-1e308, 0, 1]])
    calibrator = TemperatureScaling(from_logits=True).fit(z, [1, 1, 0, 2])
    assert np.isfinite(calibrator.predict_proba(z)).all()


@pytest.mark.parametrize("unit", [1e-4, 1e6, 1e50])
def test_temperature_is_in_the_units_of_the_logits(logits, unit):
    """Beyond 1e6 too, where logits are so large, and what is said of the labels is true."""
    z, y = logits
    plain = TemperatureScaling(from_logits=True).fit(z, y)
    scaled = TemperatureScaling(from_logits=True).fit(z * unit, y)
    assert scaled.temperature_ == pytest.approx(plain.temperature_ * unit)
    assert scaled.predict_proba(z * unit) == pytest.approx(plain.predict_proba(z))
    worst = fit_with_warning("lower logits", z * unit, z.argmin(axis=1), from_logits=True)
    assert worst.predict_proba(z * unit) == pytest.approx(np.full(z.shape, 1 / 4), abs=1e-3)
    fit_with_warning("nearly equal: the log loss is less", z * 1e-9, y, from_logits=True)


def test_huge_weights_count_as_their_ratios(logits):
    z, y = logits
    weight = np.random.default_rng(1).uniform(0.5, 1, len(y))
    plain = TemperatureScaling(from_logits=True).fit(z, y, sample_weight=weight)
    huge = TemperatureScaling(from_logits=True).fit(z, y, sample_weight=weight * 1e300)
    assert huge.temperature_ == pytest.approx(plain.temperature_, rel=1e-13)
    assert huge.temperature_stderr_ == pytest.approx(plain.temperature_stderr_ / 1e150)


W = np.array([0.4, 0.7, 1.1])
B = np.array([-0.5, 0.2, 0.3])


@pytest.fixture
def weighed():
    """Logits of three classes, and labels drawn from softmax(W z + B)."""
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, (2000, 3))
    return z, (softmax(W * z + B, axis=1).cumsum(axis=1) < rng.random((2000, 1))).sum(axis=1)


def test_vector_scaling_weighs_each_logit(weighed):
    """The map is softmax(w z + b), which `linear_` writes with a diagonal matrix."""
    z, y = weighed
    calibrator = VectorScaling(from_logits=True).fit(z, y)
    matrix, bias = calibrator.linear_
    expected = softmax(z @ matrix.T + bias, axis=1)
    np.testing.assert_allclose(calibrator.predict_proba(z), expected, rtol=1e-12)
    assert abs(calibrator.biases_.sum()) < 1e-14
    of_log_probs = VectorScaling(from_logits=True).fit(log_softmax(z, axis=1), y)
    of_probs = VectorScaling().fit(softmax(z, axis=1), y)
    np.testing.assert_allclose(of_probs.weights_, of_log_probs.weights_, rtol=1e-9)


def test_standard_errors_are_those_of_a_logistic_regression(weighed):
    """Two classes and log odds: statsmodels, with the second bias half of its intercept."""
    from statsmodels.api import GLM, families

    z, y = weighed
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


def test_reference_class_keeps_its_weight(weighed):
    """That of log odds has the logit 0: its weight has no effect, and no standard error."""
    z, y = weighed
    calibrator = VectorScaling(from_logits=True).fit(z[:, 1], y == 1)
    assert calibrator.weights_[0] == 1
    assert calibrator.weights_stderr_[0] == np.inf
    assert [c.stderr is None for c in calibrator.coefficients()] == [True, False, False, False]


def test_coefficients_have_the_names_of_the_classes(weighed):
    z, y = weighed
    names = np.array(["cat", "dog", "eel"])
    coefficients = VectorScaling(from_logits=True).fit(z, names[y]).coefficients()
    expected = ["w[cat]", "w[dog]", "w[eel]", "b[cat]", "b[dog]", "b[eel]"]
    assert [c.name for c in coefficients] == expected


def test_vector_logits_of_any_size_give_finite_answers(weighed):
    """Squares of logits near the largest number overflow nowhere."""
    z, y = weighed
    z[:3] = [[1e308, -1e308, 0], [-1e308, 1e308, 0], [0, 1e200, -1e200]]
    calibrator = fit_with_warning("separable", z, y, VectorScaling, from_logits=True)
    assert np.isfinite(calibrator.predict_proba(z)).all()
