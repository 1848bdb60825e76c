"""The KS and the Kuiper error are the largest deviations over thresholds and intervals."""

import math

import numpy as np
import pytest
from hypothesis import assume, given

from caltest.measures import ks_error, kuiper_error
from caltest.testing import strategies

PREDICTIONS = strategies.predictions((1, 15), 2)


def definition(data):
    """Compare the events and the scores up to every threshold."""
    event, labels = data.probs[:, 1], data.labels
    weight = np.ones(data.n) if data.sample_weight is None else data.sample_weight
    residual = weight * (labels - event)
    return max(abs(residual[event <= t].sum()) for t in event) / weight.sum()


@given(PREDICTIONS)
def test_ks_error_is_the_largest_deviation_over_thresholds(data):
    """A threshold lies between distinct scores, so equal scores are one step."""
    assert ks_error(data) == pytest.approx(definition(data), abs=1e-14)


@given(PREDICTIONS)
def test_scaled_is_over_the_standard_deviation_of_the_sum(data):
    """sqrt(sum w^2 p (1 - p)) / sum w."""
    event = data.probs[:, 1]
    weight = np.ones(data.n) if data.sample_weight is None else data.sample_weight
    sd = math.sqrt(np.sum(weight**2 * event * (1 - event))) / weight.sum()
    assume(sd > 1e-6)
    assert ks_error(data, scaled=True) == pytest.approx(ks_error(data) / sd, rel=1e-9)


def definition_of_kuiper(data):
    """Compare the events and the scores in every interval."""
    event = data.probs[:, 1]
    weight = np.ones(data.n) if data.sample_weight is None else data.sample_weight
    residual = weight * (data.labels - event)
    sums = [residual[(event >= a) & (event <= b)].sum() for a in event for b in event]
    return max(map(abs, sums)) / weight.sum()


@given(PREDICTIONS)
def test_kuiper_error_is_the_largest_deviation_over_intervals(data):
    """The range of partial sums that start at 0 is the largest difference of two."""
    assert kuiper_error(data) == pytest.approx(definition_of_kuiper(data), abs=1e-14)
