"""Temperature and vector scaling."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from caltest.calibrators import TemperatureScaling, VectorScaling
from caltest.errors import DegenerateDataWarning


@pytest.fixture
def data():
    """Logits of three classes that are twice as large as they should be, and labels."""
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, (400, 3))
    return z, (softmax(z / 2, axis=1).cumsum(axis=1) < rng.random((400, 1))).sum(axis=1)


def fit_with_warning(match, X, y, kind=TemperatureScaling, **options):
    """Fit to data of which it is said that they are degenerate."""
    with pytest.warns(DegenerateDataWarning, match=match):
        return kind(**options).fit(X, y)


def test_temperature_scaling_divides_logits(data):
    """The map is softmax(z / T), also of logarithms of probabilities."""
    z, y = data
    calibrator = TemperatureScaling(from_logits=True).fit(z, y)
    expected = softmax(z / calibrator.temperature_, axis=1)
    np.testing.assert_allclose(calibrator.predict_proba(z), expected, rtol=1e-13)
    W, b = calibrator.linear_
    np.testing.assert_allclose(softmax(z @ W.T + b, axis=1), expected, rtol=1e-13)
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
    calibrator = TemperatureScaling(from_logits=True).fit(z, [1, 1, 0, 2])
    assert np.isfinite(calibrator.predict_proba(z)).all()


@pytest.mark.parametrize("unit", [1e-4, 1e6, 1e50])
def test_temperature_is_in_the_units_of_the_logits(data, unit):
    """Beyond 1e6 too, where logits are so large, and what is said of the labels is true."""
    z, y = data
    plain = TemperatureScaling(from_logits=True).fit(z, y)
    scaled = TemperatureScaling(from_logits=True).fit(z * unit, y)
    assert scaled.temperature_ == pytest.approx(plain.temperature_ * unit)
    assert scaled.predict_proba(z * unit) == pytest.approx(plain.predict_proba(z))
    worst = fit_with_warning("lower logits", z * unit, z.argmin(axis=1), from_logits=True)
    assert worst.predict_proba(z * unit) == pytest.approx(np.full(z.shape, 1 / 3), abs=1e-3)
    fit_with_warning("nearly equal: the log loss is less", z * 1e-9, y, from_logits=True)


def test_huge_weights_count_as_their_ratios(data):
    z, y = data
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


def test_missing_class_has_a_small_probability(weighed):
    """Not zero; the other classes are almost as without it."""
    z, y = weighed
    names = ["cat", "dog", "eel", "owl"]
    z4 = np.column_stack([z, np.random.default_rng(1).normal(size=len(z))])
    with pytest.warns(DegenerateDataWarning, match="no label is 'owl'"):
        calibrator = VectorScaling(from_logits=True, classes=names).fit(z4, np.array(names)[y])
    probs = calibrator.predict_proba(z4)
    assert 1e-7 < probs[:, 3].mean() < 1e-4
    without = VectorScaling(from_logits=True).fit(z, y)
    np.testing.assert_allclose(probs[:, :3], without.predict_proba(z), atol=1e-4)
    assert calibrator.weights_stderr_ is None


def test_collinear_logits_are_weighed_alike(weighed):
    """Where one logit is the negative of the other, only the sum of their weights matters."""
    z, y = weighed
    log_odds, event = z[:, 1] - z[:, 0], (y == 1).astype(int)
    both = np.column_stack([-log_odds, log_odds])
    calibrator = fit_with_warning("collinear", both, event, VectorScaling, from_logits=True)
    assert calibrator.weights_[0] == pytest.approx(calibrator.weights_[1], abs=1e-9)
    expected = VectorScaling(from_logits=True).fit(log_odds, event).predict_proba(log_odds)
    np.testing.assert_allclose(calibrator.predict_proba(both), expected, atol=1e-5)


def test_uniform_predictions_become_the_frequencies():
    """Weights and biases are not determined, the probabilities are."""
    calibrator = fit_with_warning(
        "constant", np.full((6, 3), 1 / 3), [0, 0, 0, 1, 1, 2], VectorScaling
    )
    probs = calibrator.predict_proba([[1 / 3, 1 / 3, 1 / 3]])
    np.testing.assert_allclose(probs, [[1 / 2, 1 / 3, 1 / 6]], atol=1e-5)


def test_vector_logits_of_any_size_give_finite_answers(weighed):
    """Squares of logits near the largest number overflow nowhere."""
    z, y = weighed
    z[:3] = [[1e308, -1e308, 0], [-1e308, 1e308, 0], [0, 1e200, -1e200]]
    calibrator = fit_with_warning("separable", z, y, VectorScaling, from_logits=True)
    assert np.isfinite(calibrator.predict_proba(z)).all()
    assert np.isfinite(calibrator.predict_proba(z)).all()
