"""How large an error a few rows may hide."""

import numpy as np
import pytest
from scipy.stats import binomtest, entropy

from caltest.datasets import generative_model
from caltest.measures.bins.debiased_ece import DebiasedECE
from caltest.measures.bins.ece import MCE
from caltest.numerics.event_tails import end_cells, hidden_information, rate_limits

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


def test_hidden_part_of_the_debiased_ece_is_that_of_its_worst_bin():
    """The root of the share of the bin, times what its limits allow beyond its gap."""
    expected = max(np.sqrt(n / 60) * (far - gap) for n, gap, far in by_bin())
    assert DebiasedECE(bins=5).unseen_reach(DATA, 0.025) == pytest.approx(expected, rel=1e-9)


def test_hidden_part_of_the_mce_reaches_the_farthest_gap():
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


def test_hidden_information_of_one_cell_is_that_of_its_upper_limit():
    """No event: twice the divergence of the limit from the prediction, less what is seen."""
    high = binomtest(0, 20).proportion_ci(0.95).high
    roots = [np.sqrt(2 * entropy([q, 1 - q], [0.02, 0.98])) for q in (high, 0.0)]
    cell = (np.array([0.0]), np.array([0.4]), np.array([20.0]))
    assert hidden_information(*cell, 20, 0.025) == pytest.approx(roots[0] - roots[1], rel=1e-9)


def test_hidden_information_where_rates_are_right_is_a_number():
    """A divergence of 0 may round to less: the mean of 50 probabilities of 0.3 is not 15 of 50."""
    expected = np.cumsum(np.full(50, 0.3))[-1:]
    found = hidden_information(np.array([15.0]), expected, np.array([50.0]), 50, 0.025)
    assert 0 < found < 1
