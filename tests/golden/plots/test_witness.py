"""Pictures of the witness."""

import numpy as np

from caltest import Predictions, plots, test_calibration

NAMES = ["a class with a long name, 1", "a class with a long name, 2", "<b>&$x$", "dog"]


def predictions(m):
    """Return predictions whose first class happens too often where it is likely, by no generator.

    The fractional parts of multiples of irrational numbers are spread evenly.
    """
    i = np.arange(1, 301)
    weights = np.column_stack([(i * np.sqrt(k)) % 1 for k in (2, 3, 5, 7)[:m]]) + 0.02
    probs = weights / weights.sum(axis=1, keepdims=True)
    u = (i * np.sqrt(11)) % 1
    cuts = np.cumsum(probs**0.6 / (probs**0.6).sum(axis=1, keepdims=True), axis=1)
    labels = np.minimum((u[:, None] > cuts).sum(axis=1), m - 1)
    return Predictions(probs, labels)


def test_curve_looks_as_it_did(assert_same_picture):
    """Under- and over-prediction, and the predictions below."""
    result = test_calibration(predictions(2), test="skce", n_resamples=19, rng=1)
    assert_same_picture(plots.witness(result).figure, "witness_curve")


def test_map_looks_as_it_did(assert_same_picture):
    """Names that are equal when cut, and text that is no mathematics."""
    data = predictions(4)
    named = Predictions(data.probs, np.array(NAMES)[data.labels], classes=NAMES)
    result = test_calibration(named, test="skce", n_resamples=19, rng=1)
    assert_same_picture(plots.witness(result).figure, "witness_map")
