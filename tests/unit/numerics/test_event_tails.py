"""The exact distribution of numbers of events where more are expected."""

import numpy as np
import pytest
from scipy.stats import binom

from caltest.numerics.event_tails import (
    FewEvents,
    both_sides,
    events_at_most,
    largest_prefix_tail,
    largest_tail,
    refined_normal,
)

RNG = np.random.default_rng(0)
PROBS = np.sort(RNG.uniform(0, 0.4, 30))
EVENTS = RNG.random(30) < PROBS


def test_equal_probabilities_give_the_binomial():
    """To the last digits, far out too."""
    for seen in (0, 1, 5, 60):
        expected = binom.cdf(seen, 200, 0.1)
        assert FewEvents(np.full(200, 0.04), seen, 12.0).exact() == pytest.approx(expected)
        assert events_at_most(np.full(200, 0.1), seen) == pytest.approx(expected)


def test_raised_probabilities_have_the_excess():
    """The smallest become equal, the others stay."""
    raised = FewEvents(PROBS, 0, 3.0).raised()
    assert raised.sum() == pytest.approx(PROBS.sum() + 3.0)
    changed = raised > PROBS
    assert np.ptp(raised[changed]) == 0.0
    assert raised[changed][0] <= PROBS[~changed].min()
    assert FewEvents(PROBS, 0, 25.0).raised().size == 0


def test_raised_probabilities_make_few_events_most_likely():
    """Among random ways to spread the same excess."""
    excess, rng = 4.0, np.random.default_rng(1)
    for seen in range(6):
        largest = FewEvents(PROBS, seen, excess).exact()
        for _ in range(50):
            gain = rng.dirichlet(np.full(30, 0.3)) * excess
            if (PROBS + gain).max() <= 1:
                assert events_at_most(PROBS + gain, seen) <= largest * (1 + 1e-9)


def test_too_few_non_events_are_the_other_side():
    low, high = both_sides(PROBS, EVENTS, 2.0)
    assert low.seen + high.seen == 30
    np.testing.assert_array_equal(high.probs, 1 - PROBS)


def test_refined_normal_is_near_the_exact_tail():
    q = np.linspace(0.01, 0.3, 60)
    v = q * (1 - q)
    for seen in range(4, 16):
        found = refined_normal(seen, q.sum(), v.sum(), v @ (1 - 2 * q))
        assert found == pytest.approx(events_at_most(q, seen), abs=0.003)


@pytest.mark.parametrize("excess", [0.5, 3.0, 8.0])
def test_prefix_tail_is_the_largest_of_all_first_rows(excess):
    """Written out over all of them, on both sides."""
    ends = np.ones(30, dtype=bool)
    sides = [
        side.exact() for k in range(1, 31) for side in both_sides(PROBS[:k], EVENTS[:k], excess)
    ]
    assert largest_prefix_tail(PROBS, EVENTS, ends, excess) == pytest.approx(max(sides), rel=0.02)


def test_prefix_tail_ends_where_it_may():
    ends = np.arange(30) == 29
    expected = largest_tail(both_sides(PROBS, EVENTS, 3.0))
    assert largest_prefix_tail(PROBS, EVENTS, ends, 3.0) == pytest.approx(expected)


def test_impossible_excess_has_no_tail():
    """More events than rows, and fewer than none."""
    assert largest_tail(both_sides(PROBS, EVENTS, 26.0)) == 0.0
    assert largest_prefix_tail(PROBS, EVENTS, np.ones(30, dtype=bool), 30.0) == 0.0
