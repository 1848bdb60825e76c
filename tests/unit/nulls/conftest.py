"""What the tests of all nulls share."""

from dataclasses import dataclass

import numpy as np
import pytest

from caltest.measures import BoundMeasure, Measure
from caltest.nulls import REGISTRY
from caltest.numerics.loops import threads


class BoundCount(BoundMeasure):
    """How many labels are the last class, plus the mean probability of the first class."""

    def values(self, labels):
        last = self.predictions.m - 1
        return (labels == last).sum(axis=1) + self.predictions.probs[:, 0].mean()


@dataclass(frozen=True)
class Count(Measure):
    """A measure whose law is easy to write down."""

    key = "count"
    title = "number of labels of the last class"
    symbol = "N"

    def bind(self, predictions):
        return BoundCount(predictions)


@pytest.fixture
def count():
    """Return a measure that knows no limit law and whose exact law is a sum of Bernoullis."""
    return Count()


@pytest.fixture
def outcome_of():
    """Judge a measure by the null of a key, with few resamples unless told otherwise."""

    def call(key, measure, predictions, *, n_resamples=99, seed=0, n_jobs=None):
        with threads(n_jobs):
            return REGISTRY[key].test(measure, predictions, n_resamples=n_resamples, seed=seed)

    return call


def enumerated_tail(measure, predictions):
    """Return P(T* >= T) over all m^n label vectors; ties within rounding."""
    n, m = predictions.probs.shape
    bound = measure.bind(predictions)
    labels = np.indices((m,) * n).reshape(n, -1).T.astype(np.uint8)
    weight = np.prod(predictions.probs[np.arange(n), labels], axis=1)
    extreme = bound.values(np.ascontiguousarray(labels)) >= bound.value() - 1e-12
    return float(weight[extreme].sum())


@pytest.fixture(name="enumerated_tail")
def enumerated_tail_fixture():
    """Return the function that enumerates the exact law."""
    return enumerated_tail
