"""Temperature scaling is the minimum of a convex loss, and what leaves the loss leaves T."""

import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from caltest.calibrators import TemperatureScaling
from caltest.errors import DegenerateDataWarning
from caltest.numerics.softmax import inverse_temperature

SETTINGS = settings.get_profile("some")


@st.composite
def samples(draw, classes=(2, 3, 10)):
    """Logits of some scale with ties, labels from a model of some temperature, and weights."""
    m = draw(st.sampled_from(classes))
    n = draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    z = rng.normal(0, draw(st.sampled_from([0.1, 1.0, 10.0])), (n, m))
    z = z.round() if draw(st.booleans()) else z
    probs = softmax(z * draw(st.sampled_from([0.0, 0.3, 1.0])), axis=1)
    y = (probs.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, m - 1)
    return z, y, rng.integers(1, 4, n)


def fit(z, y, weight=None):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DegenerateDataWarning)
        calibrator = TemperatureScaling(from_logits=True, classes=np.arange(z.shape[1]))
        calibrator.fit(z, y, sample_weight=weight)
    assume(calibrator.temperature_stderr_ is not None)
    assert not [w for w in caught if "every label" not in str(w.message)]
    return calibrator


def loss(z, y, weight, beta):
    """Return the weighted mean log loss."""
    return -np.average(log_softmax(beta * z, axis=1)[np.arange(len(y)), y], weights=weight)


@SETTINGS
@given(samples())
def test_slope_vanishes_at_the_optimum(sample):
    """Its terms cancel up to rounding errors."""
    z, y, weight = sample
    beta = 1 / fit(z, y, weight).temperature_
    centred = z - z.max(axis=1, keepdims=True)
    means = (softmax(beta * centred, axis=1) * centred).sum(axis=1)
    terms = weight * (means - centred[np.arange(len(y)), y])
    assert abs(terms.sum()) <= 1e-11 * (weight @ np.abs(centred).max(axis=1))


@SETTINGS
@given(samples())
def test_loss_is_not_above_that_of_scipy(sample):
    """Brent's bounded search over the logarithm of beta, at its own precision."""
    z, y, weight = sample
    calibrator = fit(z, y, weight)
    found = minimize_scalar(
        lambda t: loss(z, y, weight, np.exp(t)), bounds=(-12, 12), options={"xatol": 1e-8}
    )
    ours = loss(z, y, weight, 1 / calibrator.temperature_)
    assert ours <= found.fun + 1e-13 * max(1, found.fun)


@SETTINGS
@given(samples(), st.floats(-8, 8))
def test_any_start_gives_the_same_temperature(sample, log_start):
    z, y, weight = sample
    beta = 1 / fit(z, y, weight).temperature_
    start = 10.0**log_start
    found, _ = inverse_temperature(z, y, weight.astype(float), (1e-6, 1e6), start)
    assert found == pytest.approx(beta, rel=1e-11)


@SETTINGS
@given(samples(), st.randoms(use_true_random=False))
def test_classes_and_rows_may_come_in_any_order(sample, random):
    """Neither has a part in the loss."""
    z, y, weight = sample
    classes = random.sample(range(z.shape[1]), z.shape[1])
    rows = random.sample(range(len(y)), len(y))
    permuted = fit(z[rows][:, classes], np.argsort(classes)[y[rows]], weight[rows])
    assert permuted.temperature_ == pytest.approx(fit(z, y, weight).temperature_, rel=1e-11)


@pytest.mark.full
@SETTINGS
@given(samples(), st.floats(-20, 20))
def test_numbers_added_to_rows_do_not_matter(sample, shift):
    """Logits and logarithms of probabilities give the same temperature."""
    z, y, weight = sample
    shifted = fit(z + shift * np.arange(1, len(y) + 1)[:, np.newaxis] / len(y), y, weight)
    assert shifted.temperature_ == pytest.approx(fit(z, y, weight).temperature_, rel=1e-9)


@SETTINGS
@given(samples(), st.sampled_from([0.25, 8.0]))
def test_temperature_scales_with_the_logits(sample, factor):
    """Twice the logits have twice the temperature, and the same calibrated probabilities."""
    z, y, weight = sample
    ours, scaled = fit(z, y, weight), fit(factor * z, y, weight)
    assert scaled.temperature_ == pytest.approx(factor * ours.temperature_, rel=1e-11)
    probs = scaled.predict_proba(factor * z)
    np.testing.assert_allclose(probs, ours.predict_proba(z), rtol=1e-9, atol=1e-15)
