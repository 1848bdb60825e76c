"""Whatever the predictions, ties and weights, spline calibration gives probabilities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caltest.calibrators import SplineCalibrator

pytestmark = pytest.mark.filterwarnings("ignore::caltest.errors.DegenerateDataWarning")

WEIGHTS = [0.0, 1e-300, 1e-12, 0.1, 0.25, 1.0, 3.0]


@st.composite
def calibration_sets(draw, classes=(2, 3, 10)):
    """Probabilities with zeros and ties, labels, and sample weights or none."""
    m = draw(st.sampled_from(classes))
    n = draw(st.integers(1, 25))
    seed = draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    raw = rng.choice(WEIGHTS, (n, m)) if draw(st.booleans()) else rng.random((n, m)) ** 4
    raw[np.arange(n), rng.integers(0, m, n)] += 0.5
    weight = rng.choice([0.0, 0.5, 1.0, 1e6], n) if draw(st.booleans()) else None
    if weight is not None:
        weight[0] = 1.0
    return raw / raw.sum(axis=1, keepdims=True), rng.integers(0, m, n), weight


def options(m):
    modes = [f"top-{r}" for r in range(1, m + 1)] + [f"within-top-{r}" for r in range(1, m)]
    return st.fixed_dictionaries(
        {
            "mode": st.sampled_from([*modes, "class-wise"]),
            "knots": st.none() | st.integers(4, 9),
            "runout": st.sampled_from(["natural", "parabolic", "cubic"]),
            "target": st.sampled_from(["cumulative", "difference"]),
            "constrained": st.booleans(),
            "monotone": st.booleans(),
        }
    )


@given(calibration_sets(), st.data())
def test_rows_are_probabilities_and_keep_the_predicted_class(sample, data):
    """On the calibration set and off it; class-wise maps may change the class."""
    probs, labels, weight = sample
    chosen = data.draw(options(probs.shape[1]))
    fitted = SplineCalibrator(classes=range(probs.shape[1]), **chosen)
    fitted.fit(probs, labels, sample_weight=weight)
    others = probs[::-1] ** 1.7
    for rows in (probs, others / others.sum(axis=1, keepdims=True)):
        calibrated = fitted.predict_proba(rows)
        np.testing.assert_allclose(calibrated.sum(axis=1), 1, atol=1e-12)
        assert calibrated.min() >= 0
        assert calibrated.max() <= 1
        if chosen["mode"] != "class-wise":
            np.testing.assert_array_equal(calibrated.argmax(axis=1), rows.argmax(axis=1))


@given(calibration_sets(), st.data())
def test_monotone_scores_never_fall(sample, data):
    """A larger score has no smaller recalibrated score, and constraints keep both in [0, 1]."""
    probs, labels, weight = sample
    chosen = data.draw(options(probs.shape[1])) | {"monotone": True}
    fitted = SplineCalibrator(classes=range(probs.shape[1]), **chosen)
    fitted.fit(probs, labels, sample_weight=weight)
    for values in fitted.recalibrated_:
        assert np.all(np.diff(values) >= 0)
        assert values.min() >= 0
        assert values.max() <= 1


@given(st.integers(0, 10**6), st.data())
def test_order_of_classes_and_rows_has_no_effect(seed, data):
    """Without equal probabilities in a row, permuting classes permutes the map."""
    rng = np.random.default_rng(seed)
    probs, labels = rng.dirichlet(np.ones(4), 60), rng.integers(0, 4, 60)
    order, rows = rng.permutation(4), rng.permutation(60)
    chosen = data.draw(options(4))
    one = SplineCalibrator(**chosen).fit(probs, labels).predict_proba(probs)
    fitted = SplineCalibrator(**chosen).fit(probs[rows][:, order], np.argsort(order)[labels[rows]])
    np.testing.assert_allclose(fitted.predict_proba(probs[:, order]), one[:, order], atol=1e-9)
