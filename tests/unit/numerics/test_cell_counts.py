"""Numbers of events of cells are drawn from the distribution of sums of Bernoullis."""

import itertools

import numpy as np
import pytest
from scipy import special, stats

from caltest.numerics.cell_counts import (
    LARGE,
    binomial_distance,
    cell_law,
    draw_counts,
    normal_quantile,
)
from caltest.numerics.labels import resample_keys, row_hashes


def drawn(n, p, size, large=LARGE):
    """Draw the number of one cell of n rows with the prediction p."""
    one = np.array([n]), np.array([n * p]), np.array([n * p * (1 - p)])
    law = cell_law(*one, large=large)
    return draw_counts(law, row_hashes(np.arange(1)), resample_keys(3, size))[:, 0]


@pytest.mark.parametrize(
    ("n", "p"),
    [
        (7, 0),
        (7, 1),
        (1, 0.3),
        (5, 0.9),
        (40, 0.02),
        (390, 0.5),
        (420, 0.5),
        (9000, 0.02),
        (9000, 0.98),
    ],
)
def test_counts_follow_the_binomial_distribution(n, p):
    """On both sides of the switch, in rare, frequent and certain events."""
    counts, pmf = drawn(n, p, 40_000), stats.binom.pmf(np.arange(n + 1), n, p)
    seen = np.bincount(counts.astype(int), minlength=n + 1)
    some = 40_000 * pmf > 5
    chi2 = ((seen - 40_000 * pmf)[some] ** 2 / (40_000 * pmf[some])).sum()
    assert stats.chi2.sf(chi2, some.sum()) > 1e-3


@pytest.mark.parametrize("p", [0.5, 0.02, 0.9])
def test_switch_changes_no_tail(p):
    """The normal quantile against the exact one, at the variance where one takes over."""
    n = int(LARGE / (p * (1 - p))) + 1
    normal, exact = drawn(n, p, 20_000, large=LARGE), drawn(n, p, 20_000, large=np.inf)
    assert np.abs(normal - exact).max() <= 1  # the same uniform numbers
    assert (normal != exact).mean() < 0.002


@pytest.mark.parametrize("large", [LARGE, np.inf])
def test_many_numbers_at_once_are_those_of_each_key(large):
    """A table of the distribution function gives what inversion gives, also far out."""
    rng = np.random.default_rng(0)
    n = np.append(rng.integers(1, 10_000, 300), [1, 2, 50_000_000, 4_000_000, 9])
    p = np.append(rng.beta(0.3, 0.6, 300), [1.0, 0.0, 1e-7, 0.5, 1e-300])
    law = cell_law(n, n * p, n * p * (1 - p), large=large)
    cells, keys = row_hashes(np.arange(n.size)), resample_keys(3, 3000)
    alone = np.concatenate([draw_counts(law, cells, keys[i : i + 5]) for i in range(0, 3000, 5)])
    assert np.array_equal(draw_counts(law, cells, keys), alone)


def test_binomial_distance_bounds_total_variation():
    """Against the Poisson-binomial probabilities, by the sum over all label vectors."""
    probs = np.array([0.02, 0.05, 0.3, 0.31, 0.5])
    exact = np.zeros(6)
    for labels in itertools.product([0, 1], repeat=5):
        exact[sum(labels)] += np.prod(np.where(labels, probs, 1 - probs))
    distance = 0.5 * np.abs(exact - stats.binom.pmf(np.arange(6), 5, probs.mean())).sum()
    sums = np.array([5]), np.array([probs.sum()]), np.array([(probs * (1 - probs)).sum()])
    bound = binomial_distance(*sums)[0]
    assert distance <= bound <= 3 * distance
    equal = np.array([5]), np.array([1.0]), np.array([0.8])
    assert binomial_distance(*equal)[0] == 0.0


def test_normal_quantile_is_that_of_scipy():
    """In the middle and in both tails."""
    u = np.array([1e-18, 1e-9, 1e-3, 0.08, 0.3, 0.7, 0.93, 0.999])
    got = [normal_quantile(one) for one in u]
    np.testing.assert_allclose(got, special.ndtri(u), rtol=1e-14)
    assert normal_quantile(0.5) == 0.0
