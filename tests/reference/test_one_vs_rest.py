"""One-vs-rest maps against scikit-learn's."""

import json

import numpy as np
import pytest
from scipy.special import softmax

from caltest.calibrators import IsotonicCalibrator, OneVsRest


@pytest.fixture(scope="module")
def predictions():
    """Return the predictions and labels of peers.json, by the generator that it states."""
    r = np.random.RandomState(7)
    logits = r.normal(0, 1.5, (200, 4))
    logits[np.arange(200), r.randint(0, 4, 200)] += 1 + np.log(4)
    cumulative = softmax(0.7 * logits, axis=1).cumsum(axis=1)
    y = (cumulative < r.uniform(size=(200, 1))).sum(axis=1).clip(0, 3)
    return softmax(logits, axis=1), y


def test_isotonic_one_vs_rest_is_that_of_scikit_learn(predictions, reference_dir):
    """CalibratedClassifierCV(method="isotonic") on the same probabilities, to ten digits."""
    with (reference_dir / "peers.json").open() as file:
        values = json.load(file)["multi200x4"]["values"]
    probs, y = predictions
    ours = OneVsRest(IsotonicCalibrator()).fit(probs, y).predict_proba(probs)
    expected = values["peer_sklearn_isotonic_ovr[:2]"]
    np.testing.assert_allclose(ours[: len(expected)], expected, atol=2e-10)
