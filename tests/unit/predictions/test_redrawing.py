"""Every lens and every measure sees the same redrawn labels."""

import numpy as np
import pytest

from caltest import Predictions
from caltest.lenses import Classwise, Confidence, Custom, Grouped, Largest, TopRank, WithinTop
from caltest.numerics.labels import resample_keys

KEYS = resample_keys(3, 20)
LENSES = [
    Confidence(),
    Classwise(2),
    TopRank(2),
    WithinTop(2),
    Largest(2),
    Grouped([[0, 2], [1]]),
    Custom(lambda p, y: (p[:, 0], y == 0), name="first"),
]


@pytest.fixture(scope="module")
def predictions():
    """Forty rows of five classes, some of them impossible, some tied."""
    rng = np.random.default_rng(0)
    probs = np.round(rng.dirichlet(np.ones(5), 40), 1)
    return Predictions(probs / probs.sum(axis=1, keepdims=True), np.arange(40) % 5)


def relabelled(predictions, labels):
    return Predictions(predictions.probs, labels)


@pytest.mark.parametrize("lens", LENSES, ids=str)
def test_lens_shows_the_redrawn_labels_of_the_predictions(lens, predictions):
    """What the lens makes of redrawn labels is what is redrawn under the lens."""
    seen = lens(predictions).redrawing.labels(KEYS)
    for labels, expected in zip(predictions.redrawing.labels(KEYS), seen, strict=True):
        np.testing.assert_array_equal(lens(relabelled(predictions, labels)).labels, expected)


def test_lens_of_a_lens_keeps_to_the_labels(predictions):
    """Confidence of the groups, by a table of the labels behind."""
    grouped = Grouped([[0, 2], [1]])
    seen = Confidence()(grouped(predictions))
    found = seen.redrawing.labels(KEYS)
    for labels, expected in zip(predictions.redrawing.labels(KEYS), found, strict=True):
        again = Confidence()(grouped(relabelled(predictions, labels)))
        np.testing.assert_array_equal(again.labels, expected)
