"""The combined test holds its level at every n, and sees what the SKCE does not."""

import numpy as np
import pytest
from scipy.stats import binom

import caltest as ct
from caltest.measures import REGISTRY
from caltest.numerics.labels import resample_keys

B, SETS, EACH = 99, 20, 25


@pytest.mark.parametrize("n", [8, 50, 500])
@pytest.mark.parametrize("m", [2, 3, 100])
def test_level_is_held(m, n):
    """Inside the 99.9 % band of Bin(500, 5 %), or below where few label vectors differ."""
    rejected = 0
    for number in range(SETS):
        rng = np.random.default_rng([number, n, m])
        probs = rng.dirichlet(np.full(m, 0.3), n)
        data = ct.Predictions(probs, np.zeros(n, int), classes=range(m))
        bound = REGISTRY["combined"]().bind(data)
        labels = bound.redraw(resample_keys(number, EACH * (B + 1)))
        values = bound.values(labels).reshape(EACH, B + 1)
        rejected += int(np.sum(np.mean(values >= values[:, :1] - 1e-12, axis=1) <= 0.05))
    low, high = binom.ppf([0.0005, 0.9995], SETS * EACH, 0.05)
    assert (low if n > 8 else 0) <= rejected <= high


def test_temperature_of_many_classes_is_seen():
    """True temperature 1.5, 100 classes: rejected always, where the SKCE is at its level."""
    hits = {"combined": 0, "skce": 0}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        probs = rng.dirichlet(np.full(100, 0.05), 300)
        flat = np.maximum(probs, 1e-12) ** (1 / 1.5)
        truth = ct.Predictions(flat / flat.sum(axis=1, keepdims=True), np.zeros(300, int))
        data = ct.Predictions(probs, truth.simulate(seed).labels, classes=range(100))
        for key in hits:
            p = ct.test_calibration(None, data, test=key, n_resamples=99, rng=seed).pvalue
            hits[key] += p <= 0.05
    assert hits["combined"] == 10
    assert hits["skce"] <= 4
