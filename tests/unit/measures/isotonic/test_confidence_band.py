"""The p-value of the confidence band against all blocks, and its errors."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from caltest import NotApplicable, Predictions
from caltest.measures import confidence_band
from caltest.measures.isotonic.confidence_band import ConfidenceBand


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


def test_rounded_statistic_uses_the_largest_and_smallest_prediction_of_a_group():
    """Groups by rounding up for one side and down for the other."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.random(200))
    labels = (rng.random(200) < np.sqrt(x)).astype(int)
    logs = []
    for rounding, end, tail in (
        (np.ceil, -1, lambda y, n, p: binom.logsf(y - 1, n, p)),
        (np.floor, 0, binom.logcdf),
    ):
        groups = rounding(10 * x)
        parts = [np.flatnonzero(groups == g) for g in np.unique(groups)]
        size = len(parts)
        for k in range(size):
            for j in range(k + 1):
                block = np.concatenate(parts[j : k + 1])
                p = x[parts[k][-1]] if end else x[parts[j][0]]
                logs.append(tail(labels[block].sum(), block.size, p) + math.log(size * (size + 1)))
    value = confidence_band(x, labels, method="round", digits=1)
    assert value == pytest.approx(-min(logs) / math.log(10), rel=1e-9)


def test_method_follows_the_number_of_distinct_predictions():
    """Up to 2,000 none is rounded; the print says what was done."""
    rng = np.random.default_rng(0)
    for n, expected in ((2000, {"method": "standard"}), (2001, {"method": "round", "digits": 3})):
        data = Predictions(rng.random(n), rng.integers(2, size=n))
        assert ConfidenceBand().bind(data).parameters == expected
    few = Predictions([0.21, 0.78], [0, 1])
    assert ConfidenceBand(digits=1).bind(few).parameters["method"] == "round"


def test_yang_barber_is_below_the_others():
    """Hoeffding's inequality is not better than the exact tail here."""
    rng = np.random.default_rng(0)
    x = rng.random(500)
    labels = (rng.random(500) < x**3).astype(int)
    hoeffding = confidence_band(x, labels, method="yang-barber")
    assert 0 < hoeffding < confidence_band(x, labels)


def test_impossible_labels_are_infinite():
    assert confidence_band([0.0, 0.5], [1, 0]) == math.inf


def test_one_prediction_gives_the_two_sided_binomial_test():
    value = confidence_band([0.3] * 20, [1] * 12 + [0] * 8)
    assert 10**-value == pytest.approx(2 * binom.sf(11, 20, 0.3), rel=1e-12)


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_too_many_distinct_predictions_are_not_applicable():
    x = np.linspace(0, 1, 50_001)
    with pytest.raises(NotApplicable, match=r"50001 groups .* use method='round'"):
        confidence_band(x, x > 0.5, method="standard")
    with pytest.raises(NotApplicable, match=r"50001 groups .* use fewer digits"):
        confidence_band(x, x > 0.5, digits=8)
