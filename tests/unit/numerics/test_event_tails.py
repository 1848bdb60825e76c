"""The exact distribution of numbers of events where more are expected."""

import numpy as np
import pytest
from scipy.stats import binomtest

from caltest.datasets import generative_model
from caltest.measures.bins.debiased_ece import DebiasedECE
from caltest.measures.bins.ece import MCE
from caltest.numerics.event_tails import (
    FewEvents,
    both_sides,
    end_cells,
    events_at_most,
    largest_prefix_tail,
    largest_tail,
    rate_limits,
    refined_normal,
)

RNG = np.random.default_rng(0)
PROBS = np.sort(RNG.uniform(0, 0.4, 30))
EVENTS = RNG.random(30) < PROBS


def test_raised_probabilities_have_the_excess():
    raised = FewEvents(PROBS, 0, 3.0).raised()
    assert raised.sum() == pytest.approx(PROBS.sum() + 3.0)
    changed = raised > PROBS
    assert np.ptp(raised[changed]) == 0.0
    assert raised[changed][0] <= PROBS[~changed].min()
    assert FewEvents(PROBS, 0, 25.0).raised().size == 0
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
    assert largest_tail(both_sides(PROBS, EVENTS, 26.0)) == 0.0
    assert largest_prefix_tail(PROBS, EVENTS, np.ones(30, dtype=bool), 30.0) == 0.0


# ---- how large an error a few rows may hide -----------------------------------------------------

DATA = generative_model("M2", n=60, m=2, alpha=1.0, rng=3)


@pytest.mark.parametrize("d", [0, 3, 20])
def test_limits_are_those_of_clopper_and_pearson(d):
    exact = binomtest(d, 20).proportion_ci(0.9)
    found = rate_limits(np.array([float(d)]), np.array([20.0]), 0.05)
    assert [float(end[0]) for end in found] == pytest.approx([exact.low, exact.high], abs=1e-12)


def by_bin():
    """Yield rows, gap and farthest gap of five bins."""
    place = np.ceil(5 * DATA.probs[:, 1])
    for b in np.unique(place):
        labels, event = DATA.labels[place == b], DATA.probs[place == b, 1]
        limits = binomtest(int(labels.sum()), labels.size).proportion_ci(0.95)
        ends = np.abs(np.array([limits.low, limits.high]) - event.mean())
        yield labels.size, abs(labels.mean() - event.mean()), ends.max()


def test_hidden_parts_are_those_of_the_worst_bin():
    """Of the debiased ECE, and of the MCE up to the farthest gap."""
    expected = max(np.sqrt(n / 60) * (far - gap) for n, gap, far in by_bin())
    assert DebiasedECE(bins=5).unseen_reach(DATA, 0.025) == pytest.approx(expected, rel=1e-9)
    farthest = max(far for _, _, far in by_bin())
    measure = MCE(bins=5)
    reach = measure.unseen_reach(DATA, 0.025)
    assert measure.evaluate(DATA) + reach == pytest.approx(farthest, rel=1e-9)


def test_end_cells_halve_the_rows_from_either_end():
    """All rows, then the lower and the upper half and quarter."""
    event, labels = np.array([0.4, 0.1, 0.3, 0.2]), np.array([1, 0, 1, 0])
    events, expected, size = end_cells(event, labels)
    assert size.tolist() == [1, 2, 4, 1, 2, 4]
    assert events.tolist() == [0, 0, 2, 1, 2, 2]
    assert expected == pytest.approx([0.1, 0.3, 1.0, 0.4, 0.7, 1.0])
