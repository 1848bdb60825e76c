import numpy as np
import pytest
from scipy import stats

from caltest.measures.bins.reliability_bins import count_distribution, count_limits, sum_limits

pytestmark = pytest.mark.loops


def convolved(event):
    """The law of the number of events, one event after the other."""
    law = np.ones(1)
    for p in event:
        law = np.convolve(law, [1 - p, p])
    return law


def limits_of(law, error):
    """Its quantiles `error` and 1 - `error`."""
    below = np.cumsum(law)
    return [int(np.argmax(below >= share - 1e-12)) for share in (error, 1 - error)]


def both(event, error):
    """`count_limits` of one bin."""
    lower, upper = count_limits(event, np.array([0, event.size]), error)
    return [int(lower[0]), int(upper[0])]


@pytest.mark.parametrize("n", [1, 2, 3, 10, 101, 2000])
@pytest.mark.parametrize("shape", [(0.05, 0.05), (1, 1), (0.5, 60)])
def test_count_law_is_the_convolution(n, shape):
    """P(N = k) agrees with the convolution of the events to 14 digits, left-out counts with 0."""
    event = np.random.default_rng(n).beta(*shape, n)
    first, pmf = count_distribution(event)
    whole = np.zeros(n + 1)
    whole[first : first + pmf.size] = pmf
    np.testing.assert_allclose(whole, convolved(event), rtol=0, atol=3e-15)


@pytest.mark.full
def test_count_law_of_a_million_events_leaves_little_out():
    """With n = 10^6 less than one count in a hundred is kept, and all but 1e-12 of the mass."""
    first, pmf = count_distribution(np.linspace(0, 1, 10**6))
    assert pmf.size < 10**4
    assert first < 5e5 < first + pmf.size
    assert pmf.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("event", [0.0, 1.0])
def test_count_law_of_certain_events_is_one_count(event):
    """Events of probability 0 or 1 leave nothing to chance."""
    assert both(np.full(7, event), 0.025) == [7 * event] * 2


@pytest.mark.parametrize("error", [1e-12, 1e-6, 0.025, 0.25, 0.5])
def test_count_limits_are_those_of_the_binomial(error):
    """Equal probabilities have the quantiles of SciPy's binomial law."""
    law = stats.binom(40, 0.3)
    assert both(np.full(40, 0.3), error) == [law.ppf(error), law.isf(error)]


def test_count_limits_take_a_level_that_is_reached_exactly():
    """P(N <= 0) = 1/4 for two fair coins, so that 0 is the quantile 1/4 in spite of rounding."""
    assert both(np.array([0.5, 0.5]), 0.25) == [0, 1]


def sums(event, weight, error=0.025):
    """`sum_limits` of one bin."""
    start, quantile = np.array([0, event.size]), stats.norm.isf(error)
    return np.ravel(sum_limits(event, weight, start, error, quantile))


def test_sum_limits_of_integer_weights_are_exact():
    """They are the quantiles of the law over all label vectors."""
    event, weight = np.array([0.1, 0.3, 0.5, 0.8]), np.array([3.0, 1.0, 2.0, 1.0])
    labels = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T
    law = np.bincount(labels @ weight.astype(int), np.prod(np.abs(1 - labels - event), axis=1))
    assert sums(event, weight, 0.1).tolist() == limits_of(law, 0.1)


@pytest.mark.parametrize("n", [5, 80, 3000])
def test_sum_limits_are_near_simulated_ones(n):
    """With unequal weights they agree with the quantiles of simulated sums to 4 % of the width."""
    rng = np.random.default_rng(n)
    event, weight = rng.random(n), rng.exponential(size=n)
    drawn = np.array([(rng.random(n) < event) @ weight for _ in range(20_000)])
    expected = np.quantile(drawn, [0.025, 0.975])
    assert np.abs(sums(event, weight) - expected).max() < 0.04 * np.diff(expected)[0]


def test_sum_limits_of_few_expected_events_keep_their_order():
    """The expansion would cross itself: 600 rows with 1/100 expected event."""
    low, high = sums(np.full(600, 1e-2 / 600), np.random.default_rng(1).random(600))
    assert 0 <= low <= high


@pytest.mark.parametrize("repeats", [1, 300])
def test_sum_limits_of_certain_events_are_their_sum(repeats):
    """Without chance both limits are the sum of the weights of the events, up to the grid."""
    event, weight = np.tile([[1.0, 0.0, 1.0], [2.0, 5.0, 3.0]], repeats)
    np.testing.assert_allclose(sums(event, weight), 5.0 * repeats, rtol=2 / 4096)
