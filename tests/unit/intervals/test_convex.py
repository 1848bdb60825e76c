"""Intervals of norms of gaps, compared with resamples written out."""

import numpy as np
import pytest

from caltest import NotApplicable, Predictions
from caltest.datasets import generative_model
from caltest.intervals.base import counted
from caltest.intervals.bootstrap import convex_interval
from caltest.intervals.mean import ScoredRows
from caltest.kernels import Exponential
from caltest.measures.bins.ece import ECE, MCE, WORST, ClasswiseECE
from caltest.measures.cumulative.cumulative import KSError, KuiperError
from caltest.measures.kernel.cme import FIXED, UCME
from caltest.nulls.base import Draws

MEASURES = {
    "ece": (ECE(), 2),
    "ece-quantile": (ECE(binning="quantile", bins=5), 2),
    "ece-power": (ECE(p=2), 2),
    "ece-cityblock": (ECE(distance="cityblock"), 2),
    "ece-simplex": (ECE(bins=3), 3),
    "ece-simplex-cityblock": (ECE(bins=3, distance="cityblock", p=1.5), 3),
    "ece-median-variance": (ECE(binning="median-variance"), 3),
    "mce": (MCE(bins=4), 2),
    "mce-simplex": (MCE(bins=2), 3),
    "classwise": (ClasswiseECE(bins=5), 3),
    "classwise-power": (ClasswiseECE(bins=5, p=2), 3),
    "classwise-quantile": (ClasswiseECE(binning="quantile", bins=5), 3),
    "ks": (KSError(), 2),
    "kuiper": (KuiperError(), 2),
}
OPTIONS = (0.9, Draws(199, 5))


def drawn(m, *, weighted=False):
    """Draw predictions, with weights and tied scores on request."""
    data = generative_model("M2", n=60, m=m, alpha=1.0, rng=3)
    if not weighted:
        return data
    weights = np.random.default_rng(4).uniform(0.0, 2.0, 60) * (np.arange(60) != 7)
    return Predictions(data.probs, data.labels, sample_weight=weights)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("key", MEASURES)
def test_norm_of_the_gaps_is_the_error(key, weighted):
    """All rows, each once, give the measure itself."""
    measure, m = MEASURES[key]
    data = drawn(m, weighted=weighted)
    gaps = measure.gaps(counted(data))
    assert measure.intervals[0] == "convex"
    value = gaps.norm(gaps.vector(np.arange(gaps.n, dtype=np.int32)))
    assert value == pytest.approx(measure.evaluate(data), rel=1e-12)


@pytest.mark.parametrize("key", ["ece", "ece-simplex", "mce", "classwise", "ks", "kuiper"])
def test_norm_of_drawn_rows_is_the_error_of_these_rows(key):
    """Bins of equal width and partial sums are the same for drawn rows."""
    measure, m = MEASURES[key]
    data = drawn(m)
    # Partial sums number the rows in the order of the scores.
    data = data.subset(np.lexsort((data.labels, data.probs[:, 1])))
    rows = np.random.default_rng(0).integers(60, size=60)
    gaps = measure.gaps(counted(data))
    expected = measure.evaluate(data.subset(rows))
    assert gaps.norm(gaps.vector(rows)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("m", [2, 3])
def test_root_of_the_ucme_is_the_norm_of_its_gaps(m, weighted):
    """At test locations that are given; rows that repeat are rows."""
    data = drawn(m, weighted=weighted)
    measure = UCME(locations=(data.probs[:4], data.labels[:4]), kernel=Exponential(0.5))
    gaps = measure.gaps(counted(data))
    kept = data if data.sample_weight is None else data.subset(data.sample_weight > 0)
    rows = np.random.default_rng(0).integers(gaps.n, size=gaps.n, dtype=np.int32)
    for some in (np.arange(gaps.n, dtype=np.int32), rows):
        expected = measure.evaluate(kept.subset(some))
        assert gaps.norm(gaps.vector(some)) ** 2 == pytest.approx(expected, rel=1e-12)


def test_ends_of_the_ucme_are_squares():
    """The interval holds the estimate and is not below 0."""
    measure = UCME(kernel=Exponential(0.5))
    found = convex_interval(measure, drawn(2), *OPTIONS)
    assert 0.0 <= found.low < measure.evaluate(drawn(2)) == pytest.approx(found.estimate)
    assert found.estimate < found.high
    assert FIXED in found.notes


def test_gaps_without_variance_and_few_rows_have_no_interval():
    same = Predictions(np.full((10, 2), 0.5), np.ones(10, int))
    with pytest.raises(NotApplicable, match="gaps that vary between rows"):
        convex_interval(ECE(), same, *OPTIONS)
    data = generative_model("M2", n=4, m=2, rng=1)
    with pytest.raises(NotApplicable, match="at least 5 observations, and there are 4"):
        convex_interval(ECE(), data, *OPTIONS)


@pytest.mark.parametrize(
    "measure", [ECE(distance="sqeuclidean"), ECE(binning="sweep"), KSError(scaled=True)]
)
def test_measures_that_are_no_norm_have_no_gaps(measure):
    """Squares, bins that the labels choose and ratios are left to the general bootstrap."""
    assert "convex" not in measure.intervals


def test_interval_of_the_worst_bin_has_a_note():
    """A bin with few rows may be the worst."""
    data = drawn(2)
    assert WORST in convex_interval(MCE(bins=4), data, *OPTIONS).notes
    assert WORST not in convex_interval(ECE(bins=4), data, *OPTIONS).notes


@pytest.mark.parametrize("n", [248, 250])
def test_a_row_that_was_not_seen_counts_until_250_carry_the_variance(n):
    """Then it reaches hardly farther than the normal limit of the mean, and is left out."""
    y = np.arange(n) % 2
    table = np.tile([-0.5, 0.5], (n, 1))
    rows = ScoredRows.of_rows(Predictions(np.full(n, 0.5), y), table, table[np.arange(n), y])
    assert rows.carriers == pytest.approx(n)
    assert np.isfinite(rows.upper_limit(0.025, Draws(99, 1))) == (n < 250)
    assert 0.5 / n < rows.limit(1.0, 0.025, Draws(9999, 1)) < 1.1 * 1.96 * 0.5 / np.sqrt(n)
