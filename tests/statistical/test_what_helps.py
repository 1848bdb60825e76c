"""The map that a verdict names lowers the log loss of the population."""

import numpy as np
import pytest
from scipy.stats import binom

import caltest as ct
from caltest.comparison.out_of_fold import first_map

TURN = np.eye(3) + 0.3 * np.random.default_rng(7).normal(size=(3, 3))


WORLDS = {  # draws of the predictions, and the logits of the truth
    "slope": (lambda rng, n: rng.beta(1, 1.5, n), lambda z: 0.6 * z),
    "shift": (lambda rng, n: rng.beta(1, 1.5, n), lambda z: z - [0.0, 0.5]),
    "linear map": (lambda rng, n: rng.dirichlet(np.ones(3), n), lambda z: z @ TURN),
}


def drawn(world, n, rng):
    """Return predictions with labels, and the true probabilities."""
    draw, truth = WORLDS[world]
    p = draw(rng, n).clip(1e-6, 1 - 1e-6)
    p = np.column_stack([1 - p, p]) if p.ndim == 1 else p / p.sum(axis=1, keepdims=True)
    q = np.exp(truth(np.log(p)))
    q /= q.sum(axis=1, keepdims=True)
    labels = (rng.random((n, 1)) > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
    return ct.Predictions(p, labels, classes=range(p.shape[1])), q


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("n", [200, pytest.param(600, marks=pytest.mark.slow)])
def test_named_map_lowers_the_loss_in_nine_of_ten_cases(world, n):
    """Fitted to as many fresh rows; no more harm than the binomial band of 10 % allows."""
    sets = 120
    far, truth = drawn(world, 3000, np.random.default_rng(3))
    lowered = []
    for seed in range(sets):
        rng = np.random.default_rng([seed, n])
        data, fresh = drawn(world, n, rng)[0], drawn(world, n, rng)[0]
        found = first_map([data], seed)
        if found.name != "identity":
            probs = found.calibrator.fit(fresh).predict_proba(far.probs)
            lowered.append((truth * np.log(probs / far.probs)).sum() > 0)
    harmed = len(lowered) - sum(lowered)
    assert harmed <= binom.ppf(0.99, max(len(lowered), 1), 0.1)
    assert len(lowered) >= (5 if n == 200 else 60)


def test_calibrated_predictions_have_a_map_seldom():
    """Less often than a 95 % interval misses on one side, since a fitted map loses on average."""
    rng = np.random.default_rng(5)
    named = 0
    for seed in range(100):
        p = rng.beta(1, 1.5, 200)
        data = ct.Predictions(p, (rng.random(200) < p).astype(int), classes=[0, 1])
        named += first_map([data], seed).name != "identity"
    assert named <= binom.ppf(0.99, 100, 0.025)


@pytest.mark.slow
@pytest.mark.parametrize("world", ["slope", "linear map"])
def test_number_of_rows_that_is_told_is_enough_in_most_cases(world):
    """At that number a map is named in more than half of the data sets."""
    enough = []
    for seed in range(60):
        rng = np.random.default_rng([seed, 8])
        found = first_map([drawn(world, 150, rng)[0]], seed)
        if found.needed is not None:
            enough.append(first_map([drawn(world, found.needed, rng)[0]], seed).name != "identity")
    assert sum(enough) >= binom.ppf(0.01, len(enough), 0.5)
    assert len(enough) >= 10
