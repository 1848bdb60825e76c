"""T-Cal is the largest of standardised debiased errors."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import caltest as ct
from caltest.measures import t_cal

EVENTS = st.lists(st.integers(1, 49).map(lambda k: k / 50), min_size=2, max_size=12)


def plain_statistic(p, y, scales):
    """Return the maximum over the scales at which a bin has two rows."""
    best = -np.inf
    for b in range(1, scales + 1):
        cells = np.ceil(p * 2**b)
        error = variance = 0.0
        for c in np.unique(cells):
            e, v = (y - p)[cells == c], (p * (1 - p))[cells == c]
            error += (e.sum() ** 2 - np.square(e).sum()) / len(e)
            variance += 2 * (v.sum() ** 2 - np.square(v).sum()) / len(e) ** 2
        if variance > 1e-15:
            best = max(best, error / np.sqrt(variance))
    return best


@given(EVENTS, st.integers(1, 8), st.randoms(use_true_random=False))
def test_t_cal_is_the_largest_standardised_error(event, scales, random):
    p = np.array(event)
    y = np.array([random.random() < 0.5 for _ in p]).astype(int)
    expected = plain_statistic(p, y, scales)
    assume(np.isfinite(expected))
    value = t_cal(ct.Predictions(p, y, classes=[0, 1]), scales=scales)
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-9)
