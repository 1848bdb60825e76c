"""The confidence band: its p-value against all blocks, bounds, and where it leaves the diagonal."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from caltest import NotApplicable, Predictions
from caltest.measures import confidence_band, confidence_band_curve


def all_blocks(x, labels):
    """Return -log10 of (M^2 + M) times the smallest tail over all blocks."""
    values = np.unique(x)
    n, y = (np.array([f(x == v) for v in values]) for f in (np.sum, lambda at: labels[at].sum()))
    tails = [
        min(
            binom.sf(y[j : k + 1].sum() - 1, n[j : k + 1].sum(), values[k]),
            binom.cdf(y[j : k + 1].sum(), n[j : k + 1].sum(), values[j]),
        )
        for k in range(values.size)
        for j in range(k + 1)
    ]
    return -math.log10(min(tails) * (values.size**2 + values.size))


@pytest.mark.parametrize("seed", range(10))
def test_statistic_is_that_of_all_blocks(seed):
    """Two loops over distinct predictions, both sides."""
    rng = np.random.default_rng(seed)
    x = rng.choice(np.linspace(0.05, 0.95, 25), 120)
    labels = (rng.random(120) < x**2).astype(int)
    assert confidence_band(x, labels) == pytest.approx(all_blocks(x, labels), rel=1e-9)


def test_yang_barber_and_impossible_labels():
    """Hoeffding's inequality is not better than the exact tail; impossible labels are infinite."""
    rng = np.random.default_rng(0)
    x = rng.random(500)
    labels = (rng.random(500) < x**3).astype(int)
    hoeffding = confidence_band(x, labels, method="yang-barber")
    assert 0 < hoeffding < confidence_band(x, labels)
    assert confidence_band([0.0, 0.5], [1, 0]) == math.inf


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_too_many_distinct_predictions_are_not_applicable():
    x = np.linspace(0, 1, 50_001)
    with pytest.raises(NotApplicable, match=r"50001 groups .* use method='round'"):
        confidence_band(x, x > 0.5, method="standard")
    with pytest.raises(NotApplicable, match=r"50001 groups .* use fewer digits"):
        confidence_band(x, x > 0.5, digits=8)


METHODS = ["standard", "round", "yang-barber"]


def sample(n=300, seed=0, power=2.0):
    """Return predictions that are too high."""
    rng = np.random.default_rng(seed)
    x = rng.choice(np.linspace(0.02, 0.98, 60), n)
    return Predictions(x, (rng.random(n) < x**power).astype(int))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_p_value_is_the_level_at_which_the_diagonal_leaves_the_band(method, power):
    """Just above it the diagonal is inside, just below it is not."""
    for seed in range(5):
        data = sample(seed=seed, power=power)
        pvalue = confidence_band_curve(data, method=method).pvalue
        if pvalue < 0.49:  # bands are of one half or more
            out = confidence_band_curve(data, method=method, confidence=1 - 1.001 * pvalue)
            assert out.above or out.below
        inside = confidence_band_curve(data, method=method, confidence=max(0.5, 1 - pvalue / 1.001))
        assert inside.above == inside.below == ()


def test_intervals_are_where_the_diagonal_is_outside():
    band = confidence_band_curve(sample(3000))
    assert band.below
    grid = np.linspace(0, 1, 10_001)
    lower, upper = band.at(grid)
    outside = [any(a < p <= b for a, b in band.below) for p in grid]
    np.testing.assert_array_equal(upper < grid, outside)
    assert not band.above
    assert (lower <= grid).all()


@pytest.mark.parametrize("method", METHODS)
def test_other_label_turns_the_band_around(method):
    """1 - p and 1 - y give 1 minus the bounds."""
    data = sample(100)
    band = confidence_band_curve(data, method=method)
    turned = confidence_band_curve(1 - data.probs[:, 1], 1 - data.labels, method=method)
    np.testing.assert_allclose(turned.lower, 1 - band.upper[::-1], atol=1e-12)
    assert len(turned.above) == len(band.below)


def test_bounds_between_predictions_are_those_of_neighbours():
    """The lower from the left, the upper from the right; 0 and 1 beyond."""
    band = confidence_band_curve([0.4] * 30 + [0.6] * 30, [0] * 20 + [1] * 30 + [0] * 10)
    lower, upper = band.at([0.1, 0.4, 0.5, 0.9])
    np.testing.assert_array_equal(lower, [0, band.lower[0], band.lower[0], band.lower[1]])
    np.testing.assert_array_equal(upper, [band.upper[0], band.upper[0], band.upper[1], 1])


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_noncrossing_band_holds_the_isotonic_fit():
    """Labels that decrease make the bounds cross; the wider ones do not."""
    x = np.repeat([0.3, 0.7], 200)
    labels = np.repeat([1, 0], 200)
    band = confidence_band_curve(x, labels)
    wide = confidence_band_curve(x, labels, noncrossing=True)
    assert (band.lower > band.upper).any()
    assert (wide.lower <= 0.5).all()
    assert (wide.upper >= 0.5).all()


def test_many_rows_are_rounded():
    """Predictions of 50,000 rows to three digits: two points for each."""
    rng = np.random.default_rng(0)
    x = rng.random(50_000)
    band = confidence_band_curve(x, (rng.random(x.size) < x).astype(int))
    assert (band.method, band.digits, band.n) == ("round", 3, 50_000)
    assert 1000 < band.x.size <= 2002
    assert band.above == band.below == ()
