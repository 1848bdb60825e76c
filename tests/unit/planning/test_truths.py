"""What is true in a planned study, against formulas written out."""

import numpy as np
import pytest

from caltest import InvalidInput, NotApplicable
from caltest.planning.truths import CALIBRATED, StatedTruth

P2 = np.array([[0.7, 0.3], [0.1, 0.9], [1.0, 0.0]])
P3 = np.array([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])


def test_truth_is_calibration_where_none_is_given():
    """The labels have the distribution that was predicted."""
    truth = StatedTruth().for_classes(3)
    assert truth.text == CALIBRATED
    assert truth.of(P3) is P3


@pytest.mark.parametrize("p", [P2, P3])
def test_temperature_is_a_power_of_the_probabilities(p):
    """softmax(log p / T) is p^(1/T) rescaled, zeros included."""
    powers = p ** (1 / 1.5)
    expected = powers / powers.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        StatedTruth(temperature=1.5).for_classes(p.shape[1]).of(p), expected, atol=1e-15
    )


def test_slope_and_intercept_are_those_of_the_log_odds():
    """They map logit p to intercept + slope logit p."""
    q = StatedTruth(slope=0.8, intercept=-0.3).for_classes(2).of(P2[:2])
    logit = np.log(P2[:2, 1] / P2[:2, 0])
    np.testing.assert_allclose(np.log(q[:, 1] / q[:, 0]), -0.3 + 0.8 * logit)


def test_slope_is_the_inverse_of_the_temperature():
    """The two families meet where there is no intercept."""
    by_slope, by_temperature = (
        StatedTruth(slope=0.5).for_classes(3),
        StatedTruth(temperature=2).for_classes(3),
    )
    np.testing.assert_allclose(by_slope.of(P3), by_temperature.of(P3), atol=1e-15)


def test_intercept_of_several_classes_has_one_for_each():
    """Probabilities are multiplied by exp(intercept) and rescaled."""
    a = np.array([0.0, 1.0, -0.5])
    expected = P3 * np.exp(a)
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(StatedTruth(intercept=a).for_classes(3).of(P3), expected, atol=1e-15)


def test_ratio_divides_the_risk():
    """Expected over observed events is the ratio in every row."""
    q = StatedTruth(ratio=1.2).for_classes(2).of(P2)
    np.testing.assert_allclose(q[:, 1], P2[:, 1] / 1.2)
    np.testing.assert_allclose(q.sum(axis=1), 1)


def test_ratio_below_one_may_not_lead_beyond_one():
    with pytest.raises(InvalidInput, match=r"got 1\.8 for p = 0\.9"):
        StatedTruth(ratio=0.5).for_classes(2).of(P2)


def test_ratio_has_no_meaning_for_several_classes():
    with pytest.raises(NotApplicable, match="ratio is about the event of two classes"):
        StatedTruth(ratio=1.2).for_classes(3)


def test_noise_mixes_with_the_uniform_distribution():
    """A share of the labels does not depend on the prediction."""
    np.testing.assert_allclose(StatedTruth(noise=0.4).for_classes(3).of(P3), 0.6 * P3 + 0.4 / 3)


def test_truth_may_be_a_function_or_a_calibrator():
    """A calibrator's output is taken for true."""
    from caltest.calibrators import TemperatureScaling

    labels = np.array([0, 1, 2, 1, 2, 0])
    fitted = TemperatureScaling().fit(np.tile(P3, (2, 1)) * 0.9 + 0.1 / 3, labels)
    np.testing.assert_array_equal(
        StatedTruth(truth=fitted).for_classes(3).of(P3), fitted.predict_proba(P3)
    )
    q = StatedTruth(truth=lambda p: p[:, ::-1]).for_classes(3).of(P3)
    np.testing.assert_array_equal(q, P3[:, ::-1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0}, "temperature must be a positive number"),
        ({"temperature": 2, "noise": 0.1}, "got temperature and noise; leave out all but one"),
        ({"slope": 1, "truth": np.abs}, "got slope and intercept and truth"),
        ({"slope": float("nan")}, "slope must be a finite number"),
        ({"slope": True}, "slope must be a finite number"),
        ({"intercept": [0.1, 0.2]}, "intercept must be 3 finite numbers"),
        ({"intercept": 0.1}, "intercept must be 3 finite numbers"),
        ({"noise": 1.5}, r"noise must lie in \[0, 1\]"),
        ({"truth": 3}, "truth must be a function of the predictions or a fitted calibrator"),
    ],
)
def test_faulty_truth_is_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        StatedTruth(**options).for_classes(3)


def test_truth_of_the_wrong_shape_is_refused():
    """A function that drops a row or a class is a mistake."""
    truth = StatedTruth(truth=lambda p: p[:2]).for_classes(3)
    with pytest.raises(InvalidInput, match=r"truth must return probabilities of shape \(3, 3\)"):
        truth.of(P3)
