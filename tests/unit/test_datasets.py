"""The simulators have the moments of Widmann et al. 2019; the models of the demo are fitted."""

import json

import numpy as np
import pytest

from caltest.datasets import digits_models, generative_model
from caltest.errors import InvalidInput


def mean_label_minus_prediction(predictions):
    """Column means of the one-hot labels minus the predictions."""
    labels = np.eye(predictions.m)[predictions.labels]
    return (labels - predictions.probs).mean(axis=0)


@pytest.mark.parametrize(("n", "m", "alpha"), [(1, 2, 1.0), (40, 10, 0.1), (7, 1000, 0.01)])
def test_model_gives_predictions_of_the_asked_size(n, m, alpha):
    """Rows lie on the simplex, labels are codes, also far in the corners."""
    predictions = generative_model("M1", n, m, alpha=alpha, rng=1)
    assert predictions.probs.shape == (n, m)
    assert predictions.classes.tolist() == list(range(m))
    np.testing.assert_allclose(predictions.probs.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_seed_repeats_the_data():
    """And a generator goes on."""
    first, again, other = (generative_model("M2", rng=seed) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.probs, again.probs)
    np.testing.assert_array_equal(first.labels, again.labels)
    assert not np.array_equal(first.probs, other.probs)
    rng = np.random.default_rng(1)
    first, second = generative_model(rng=rng), generative_model(rng=rng)
    assert not np.array_equal(first.probs, second.probs)


def test_model_is_named_in_the_print():
    """The source says which model it was."""
    assert generative_model("M2", rng=1).source == "M2(m = 10, alpha = 0.1, pi = 0.5)"


def test_m1_labels_follow_the_predictions():
    """The mean of e_y - p is 0 within five standard errors, in every bin of p."""
    predictions = generative_model("M1", 200_000, 3, alpha=1.0, rng=1)
    for low in (0.0, 0.25, 0.5, 0.75):
        p = predictions.probs[:, 0]
        rows = (p >= low) & (p < low + 0.25)
        delta = (predictions.labels[rows] == 0) - p[rows]
        assert abs(delta.mean()) < 5 * delta.std() / np.sqrt(rows.sum())


def test_m2_replaces_a_share_of_the_labels_by_the_first_class():
    delta = mean_label_minus_prediction(generative_model("M2", 100_000, rng=1))
    np.testing.assert_allclose(delta, [0.45] + 9 * [-0.05], rtol=0, atol=0.008)
    assert not generative_model("M2", pi=1, rng=1).labels.any()
    calibrated = generative_model("M2", 100_000, pi=0, rng=1)
    np.testing.assert_allclose(mean_label_minus_prediction(calibrated), 0.0, atol=0.005)


def test_m3_labels_ignore_the_predictions():
    """The label is the predicted class with probability 1/m."""
    predictions = generative_model("M3", 100_000, rng=1)
    right = predictions.probs.argmax(axis=1) == predictions.labels
    assert abs(right.mean() - 0.1) < 5 * np.sqrt(0.09 / 100_000)
    np.testing.assert_allclose(np.bincount(predictions.labels) / 1e5, 0.1, rtol=0, atol=0.005)


@pytest.mark.parametrize("name", ["M2", "M3"])
def test_skce_is_that_of_the_paper(reference_dir, name):
    """The mean of h over disjoint pairs is the true SKCE of skce.json within five errors."""
    truth = json.loads((reference_dir / "skce.json").read_text())["true_values"]["m10_alpha0.1"]
    predictions = generative_model(name, 200_000, rng=1)
    delta = np.eye(10)[predictions.labels] - predictions.probs
    distance = np.abs(predictions.probs[::2] - predictions.probs[1::2]).sum(axis=1) / 2
    kernel = np.exp(-distance / truth["mean_TV_bandwidth"])
    h = kernel * (delta[::2] * delta[1::2]).sum(axis=1)
    value, error = truth["SKCE_mean_kernel"][name]
    assert abs(h.mean() - value) < 5 * np.hypot(h.std() / np.sqrt(h.size), error)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "M4"}, "name must be one of 'M1', 'M2', 'M3'"),
        ({"n": 0}, "n must be an integer of at least 1; got 0"),
        ({"m": 1}, "m must be an integer of at least 2; got 1"),
        ({"alpha": 0}, "alpha must be a positive number; got 0"),
        ({"name": "M2", "pi": 1.5}, r"pi must lie in \[0, 1\]; got 1.5"),
        ({"name": "M2", "pi": [0.5]}, r"pi must lie in \[0, 1\]; got \[0.5\]"),
        ({"name": "M1", "pi": 0.5}, "pi must be 0 for M1, the calibrated model; got 0.5"),
        ({"rng": "seed"}, "rng must be None, a non-negative integer"),
    ],
)
def test_illegal_argument_is_named(arguments, message):
    """The message names the argument, its rule and the value."""
    with pytest.raises(InvalidInput, match=message):
        generative_model(**arguments)


@pytest.mark.full
def test_digits_models_are_good_and_repeatable():
    """Four fitted classifiers, each right on most of the digits it has not seen."""
    digits = digits_models(rng=1)
    assert len(digits.models) == 4
    assert digits.X.shape == (899, 64)
    for model in digits.models.values():
        assert model.score(digits.X, digits.y) > 0.75
    again = digits_models(rng=1)
    np.testing.assert_array_equal(again.y, digits.y)
