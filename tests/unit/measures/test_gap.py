"""The gap of mean prediction and share of events, and its interval."""

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from caltest.measures.gap import EventRows, gap_of, gap_of_counts


@pytest.mark.parametrize("events", [0, 1, 7, 40])
def test_interval_of_equal_predictions_is_that_of_clopper_and_pearson(events):
    """As statsmodels has it, for rows and for counts."""
    happened = np.arange(40) < events
    low, high = proportion_confint(events, 40, method="beta")
    for gap in (
        gap_of(EventRows(np.full(40, 0.25), happened), "event", "1"),
        gap_of_counts(0.25, events, 40, "1"),
    ):
        assert (gap.low, gap.high) == pytest.approx((low - 0.25, high - 0.25), abs=1e-12)
        assert gap.gap == pytest.approx(events / 40 - 0.25)


@pytest.mark.parametrize("spread", [0.1, 1.0, 50.0])
def test_interval_covers_the_true_gap(spread):
    """In 95 % of 1000 data sets or more; less wide where p tells events apart."""
    rng, hits, widths = np.random.default_rng(2), 0, []
    for _ in range(1000):
        p = rng.beta(spread, spread, 100)
        q = np.clip(p + 0.02, 0, 1)
        gap = gap_of(EventRows(p, rng.random(100) < q), "event", "1")
        hits += gap.low <= (q - p).mean() <= gap.high
        widths.append(gap.high - gap.low)
    assert hits / 1000 > 0.95 - 3 * np.sqrt(0.95 * 0.05 / 1000)
    assert np.mean(widths) < (0.13 if spread < 0.5 else 0.22)


def test_variance_by_clusters_is_that_of_the_jackknife():
    """With weights, and one of 30 clusters with a third of the rows."""
    rng = np.random.default_rng(3)
    clusters = np.repeat(np.arange(30), [60, *[4] * 29])
    p, weight = rng.uniform(0.2, 0.8, clusters.size), rng.lognormal(size=clusters.size)
    happened = np.where(rng.random(p.size) < 0.6, rng.random(30)[clusters], rng.random(p.size)) < p
    gap = gap_of(EventRows(p, happened, weight, clusters), "event", "1")
    others = [clusters != c for c in range(30)]
    means = np.array([np.average((happened - p)[s], weights=weight[s]) for s in others])
    variance = 29 / 30 * np.square(means - gap.gap).sum()
    assert gap.effective == pytest.approx(gap.observed * (1 - gap.observed) / variance)
