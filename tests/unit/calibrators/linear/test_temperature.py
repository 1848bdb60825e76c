"""Temperature scaling: what is fitted, what is printed and saved, and degenerate data."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from caltest.calibrators import TemperatureScaling
from caltest.errors import DegenerateDataWarning


@pytest.fixture
def data():
    """Logits of three classes that are twice as large as they should be, and labels."""
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, (400, 3))
    return z, (softmax(z / 2, axis=1).cumsum(axis=1) < rng.random((400, 1))).sum(axis=1)


def fit_with_warning(match, X, y, **options):
    """Fit to data of which it is said that they are degenerate."""
    with pytest.warns(DegenerateDataWarning, match=match):
        return TemperatureScaling(**options).fit(X, y)


def test_temperature_scaling_divides_logits(data):
    """The map is softmax(z / T), also of logarithms of probabilities."""
    z, y = data
    calibrator = TemperatureScaling(from_logits=True).fit(z, y)
    expected = softmax(z / calibrator.temperature_, axis=1)
    np.testing.assert_allclose(calibrator.predict_proba(z), expected, rtol=1e-13)
    of_probs = TemperatureScaling().fit(softmax(z, axis=1), y)
    assert of_probs.temperature_ == pytest.approx(calibrator.temperature_, rel=1e-12)
    np.testing.assert_allclose(of_probs.predict_proba(softmax(z, axis=1)), expected, rtol=1e-12)


def test_standard_error_is_that_of_the_observed_information(data):
    """Against the second difference of the log likelihood in T: at the optimum they agree."""
    z, y = data
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y))
    calibrator = TemperatureScaling(from_logits=True).fit(z, y, sample_weight=weight)
    t, h = calibrator.temperature_, 1e-3

    def loglikelihood(t):
        return weight @ log_softmax(z / t, axis=1)[np.arange(len(y)), y]

    second = (loglikelihood(t - h) - 2 * loglikelihood(t) + loglikelihood(t + h)) / h**2
    (coefficient,) = calibrator.coefficients()
    assert (coefficient.name, coefficient.value) == ("temperature", t)
    assert coefficient.stderr == pytest.approx((-second) ** -0.5, rel=1e-4)


def test_linear_parameters_are_those_of_the_map(data):
    """W is the identity over T and b zero."""
    z, y = data
    calibrator = TemperatureScaling(from_logits=True).fit(z, y)
    W, b = calibrator.linear_
    np.testing.assert_allclose(
        calibrator.predict_proba(z), softmax(z @ W.T + b, axis=1), rtol=1e-13
    )


def test_separable_labels_have_the_smallest_temperature(data):
    """Each label is the most probable class, or one of several; a warning says so."""
    z, _ = data
    z[0] = 1.0
    calibrator = fit_with_warning("T = 1e-06", z, z.argmax(axis=1), from_logits=True)
    assert calibrator.temperature_ == 1e-6
    assert calibrator.coefficients()[0].stderr is None
    probs = calibrator.predict_proba(z)
    np.testing.assert_allclose(probs[0], 1 / 3)
    assert np.isfinite(probs).all()


def test_labels_against_the_logits_have_the_largest_temperature(data):
    """Predictions become uniform; a warning says so."""
    z, _ = data
    calibrator = fit_with_warning("T = 1e.06", z, z.argmin(axis=1), from_logits=True)
    assert calibrator.temperature_ == 1e6
    np.testing.assert_allclose(calibrator.predict_proba(z), 1 / 3, rtol=1e-4)


def test_uniform_predictions_keep_the_temperature_of_one():
    """Any temperature fits; a warning says so."""
    calibrator = fit_with_warning("any temperature", np.full((3, 3), 1 / 3), [0, 1, 2])
    assert calibrator.temperature_ == 1
    assert calibrator.temperature_stderr_ is None
    nearly = fit_with_warning("any temperature", [1e-200, 1e-200], [0, 1], from_logits=True)
    assert nearly.temperature_ == 1


@pytest.mark.filterwarnings("ignore:every label is")
def test_one_observation_is_enough():
    """Right it is separable, wrong with the last of two classes it is against the logits."""
    right = fit_with_warning("certain", [[0.2, 0.8]], [1])
    wrong = fit_with_warning("uniform", [[0.2, 0.8]], [0])
    assert (right.temperature_, wrong.temperature_) == (1e-6, 1e6)


def test_observed_class_of_probability_zero_is_clipped():
    """It counts as 2.2e-16, and 1 as itself."""
    probs = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.5, 0.25, 0.25]]
    calibrator = TemperatureScaling().fit(probs, [1, 1, 2, 0])
    log_probs = np.log(np.maximum(probs, np.finfo(float).eps))
    same = TemperatureScaling(from_logits=True).fit(log_probs, [1, 1, 2, 0])
    assert calibrator.temperature_ == same.temperature_
    assert np.isfinite(calibrator.predict_proba(probs)).all()


def test_logits_of_any_size_give_finite_answers():
    """Differences and squares of logits near the largest number overflow nowhere."""
    z = np.array([[1e308, -1e308, 0], [-1e308, 1e308, 0], [1, 2, 3], [-1e308, 0, 1]])
    calibrator = fit_with_warning("lower logits", z, [1, 1, 0, 2], from_logits=True)
    assert np.isfinite(calibrator.predict_proba(z)).all()


def test_huge_weights_count_as_their_ratios(data):
    z, y = data
    weight = np.random.default_rng(1).uniform(0.5, 1, len(y))
    plain = TemperatureScaling(from_logits=True).fit(z, y, sample_weight=weight)
    huge = TemperatureScaling(from_logits=True).fit(z, y, sample_weight=weight * 1e300)
    assert huge.temperature_ == pytest.approx(plain.temperature_, rel=1e-13)
    assert huge.temperature_stderr_ == pytest.approx(plain.temperature_stderr_ / 1e150)
