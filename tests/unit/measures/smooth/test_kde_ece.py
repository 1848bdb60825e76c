"""The ECE by kernel density estimates."""

import numpy as np
import pytest

from caltest.errors import InvalidInput, NotApplicable
from caltest.measures import kde_ece


def simulated(n=200, seed=0):
    """Scores, and events with the square of the score."""
    rng = np.random.default_rng(seed)
    score = rng.beta(2, 1, n)
    return score, (rng.random(n) < score**2).astype(int)


def triweight(distance, width):
    """The kernel that ends at `width`."""
    u = distance / width
    return np.where(np.abs(u) < 1, 35 / 32 * (1 - u**2) ** 3 / width, 0.0)


def by_definition(score, event, bandwidth):
    """Both densities on a fine grid, each score with its images behind 0 and 1."""
    t = np.linspace(0, 1, 20_001)
    places = np.stack([score, -score, 2 - score])
    kernel = np.array([triweight(t - place[:, None], 3 * bandwidth).sum(0) for place in places.T])
    return np.trapezoid(np.abs(t * kernel.mean(0) - event @ kernel / len(score)), t)


@pytest.mark.full
@pytest.mark.parametrize("bandwidth", [None, 0.01, 0.1])
def test_value_is_the_integral_of_the_definition(bandwidth):
    """To seven digits; by default the bandwidth is s (2 n)^(-1/5)."""
    score, event = simulated(50)
    used = score.std() * 100**-0.2 if bandwidth is None else bandwidth
    expected = by_definition(score, event, used)
    assert kde_ece(score, event, bandwidth=bandwidth) == pytest.approx(expected, rel=2e-7)


def test_value_is_that_of_the_authors_code():
    """`ece_kde_binary` of Mix-n-Match, with KDEpy 1.1.12: a coarser grid, equal to three digits.

    Its bandwidth is over the scores of events.
    """
    for seed, theirs in ((0, 0.1362038836763385), (1, 0.18240350077233589)):
        score, event = simulated(500, seed)
        bandwidth = score[event == 1].std() * 1000**-0.2
        assert kde_ece(score, event, bandwidth=bandwidth) == pytest.approx(theirs, rel=5e-4)


def test_one_score_gives_its_gap_and_noise_falls():
    """The bandwidth is then the smallest that is resolved; the noise falls with n."""
    assert kde_ece(np.full(10, 0.3), [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]) == pytest.approx(0.2, abs=1e-3)
    values = []
    for n in (100, 10_000, 1_000_000):
        rng = np.random.default_rng(n)
        score = rng.beta(2, 1, n)
        values.append(kde_ece(score, (rng.random(n) < score).astype(int)))
    assert values[0] > 2 * values[1] > 4 * values[2]


@pytest.mark.parametrize(
    ("bandwidth", "error"), [(0.0, InvalidInput), (-1.0, InvalidInput), (1e-5, NotApplicable)]
)
def test_bandwidth_is_checked(bandwidth, error):
    """Positive, and not finer than the grid."""
    with pytest.raises(error, match="bandwidth"):
        kde_ece([0.2, 0.7], [0, 1], bandwidth=bandwidth)


def test_widest_kernel_leaves_the_mean_label():
    """The integral of |t - 1/2| over [0, 1]."""
    assert kde_ece([0.2, 0.4, 0.6, 0.8], [0, 1, 1, 0], bandwidth=1e9) == pytest.approx(0.25)
