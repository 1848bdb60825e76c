"""Statistics that are equal in exact arithmetic are ties, rare predictions among them."""

from __future__ import annotations

import numpy as np
import pytest

import caltest as ct
from caltest.htests import REGISTRY
from caltest.numerics.joint import tie_tolerance

KEYS = (
    "t-cal",
    "cme",
    "cox",
    "calibration-slope",
    "calibration-in-the-large",
    "unreliability",
    "calibration-belt",
    "spiegelhalter",
    "le-cessie-van-houwelingen",
)
RARE = ([1e-4, 7e-4, 0.015], [0.9985, 0.9997], [1e-9, 0.002, 0.999])


def equal_labels(support, seed):
    """Draw 600 predictions of a few values, and labels exchanged among the rows of each."""
    rng = np.random.default_rng(seed)
    group = rng.integers(len(support), size=600)
    event = np.array(support)[group]
    first = rng.random(600) < np.clip(event, 0.004, 0.996)
    order = [np.empty(600, int) for _ in range(8)]
    for one in order:
        for g in range(len(support)):
            rows = np.flatnonzero(group == g)
            one[rows] = rng.permutation(rows)
    return event, np.array([first[one] for one in order]).astype(np.uint8)


@pytest.mark.filterwarnings("ignore::caltest.DegenerateDataWarning")
@pytest.mark.parametrize("support", RARE)
@pytest.mark.parametrize("key", KEYS)
def test_exchanged_labels_of_equal_predictions_are_ties(key, support):
    """The order of the terms of a sum is rounding, and no evidence."""
    for seed in range(3):
        event, labels = equal_labels(support, seed)
        measure = REGISTRY[key].with_options({})
        bound = measure.bind(ct.Predictions(event, labels[0], classes=[0, 1]))
        rows = labels if bound.order is None else labels[:, bound.order]
        values = bound.comparable(bound.values(np.ascontiguousarray(rows)))
        assert np.ptp(values) <= tie_tolerance(values.max(), bound.scale)
