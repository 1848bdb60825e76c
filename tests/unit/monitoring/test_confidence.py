"""Confidence sequences: their boundary, and exponents between the places of the grid."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, log_expit
from scipy.stats import gamma

from caltest.monitoring.evalues import BEST_AT, exponents_left, log_mixture, mean_half_width
from caltest.monitoring.stream import SLOPES


@pytest.mark.parametrize(("squares", "rows", "level"), [(3.0, 20, 0.1), (40.0, 300, 0.05)])
def test_boundary_is_where_the_mixture_reaches_the_threshold(squares, rows, level):
    """The mixture of exp(l s - psi(l) v) over l in [0, 1), integrated numerically."""
    target = math.log(2.0 / level)
    rho = BEST_AT / (2.0 * target + math.log1p(2.0 * target))
    s = mean_half_width(squares, rows, level) * rows

    def density(x):  # 1 - l has a gamma distribution, cut off at 1
        return gamma.pdf(1.0 - x, rho, scale=1.0 / rho) / gamma.cdf(1.0, rho, scale=1.0 / rho)

    def integrand(x):
        psi = -math.log1p(-x) - x
        return density(x) * math.exp(x * s - psi * squares)

    mixture = quad(integrand, 0.0, 1.0, limit=200)[0]
    assert math.log(mixture) == pytest.approx(target, abs=1e-6)
    near = log_mixture([0.999 * s, 1.001 * s], squares, level)
    assert near[0] < target < near[1]


@pytest.mark.full
def test_exponents_between_the_grid_are_kept():
    """The ends hold all exponents whose likelihood is above the bound, and few others."""
    rng = np.random.default_rng(1)
    grid = np.geomspace(0.2, 5.0, 2001)
    for n, true in ((30, 1.0), (300, 0.5), (3000, 1.7), (20_000, 0.63)):
        odds = rng.normal(0.0, 1.5, n)
        y = rng.random(n) < expit(true * odds)

        signed = np.where(y, odds, -odds)

        def log_likelihood(b, signed=signed):
            return np.array([log_expit(one * signed).sum() - log_expit(signed).sum() for one in b])

        fine = log_likelihood(grid)
        kept = grid[fine >= fine.max() + math.log(0.05)]
        low, high = exponents_left(SLOPES, log_likelihood(SLOPES), fine.max(), 0.05)
        assert low <= kept.min()
        assert high >= kept.max()
        assert math.log(high / low) < math.log(kept.max() / kept.min()) + 0.35


def test_none_is_left_where_no_exponent_fits():
    """Of an alternative that is far better than any."""
    wealth = -1000.0 * (SLOPES - 1.0) ** 2
    assert exponents_left(SLOPES, wealth, 500.0, 0.05) is None
    assert exponents_left(SLOPES, 0.0 * wealth, 0.0, 0.05) == (0.0, math.inf)
