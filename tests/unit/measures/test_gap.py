"""The gap of mean prediction and share of events, and its interval."""

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from caltest import Predictions
from caltest.measures.gap import EventRows, event_rows, gap_of, gap_of_counts


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


def test_rows_of_a_cluster_that_agree_make_it_wider():
    """Twenty equal copies of each row are no more than the row."""
    rng = np.random.default_rng(3)
    p = rng.random(30)
    y = rng.random(30) < p
    once = gap_of(EventRows(p, y), "event", "1")
    copies = EventRows(np.repeat(p, 20), np.repeat(y, 20), None, np.repeat(np.arange(30), 20))
    assert gap_of(copies, "event", "1").low < once.low + 0.02
    assert gap_of(copies._replace(clusters=None), "event", "1").low > once.low + 0.05


def test_weights_count_rows():
    """The means are weighted, and few heavy rows have the interval of few rows."""
    p, y = np.array([0.25, 0.75] * 50), np.array([True, False] * 50)
    heavy = gap_of(EventRows(p, y, np.array([1.0, 3.0] * 50)), "event", "1")
    assert (heavy.predicted, heavy.observed) == (0.625, 0.25)
    uneven = gap_of(EventRows(p, y, np.where(np.arange(100) < 10, 50.0, 0.1)), "event", "1")
    assert uneven.high - uneven.low > 2 * (heavy.high - heavy.low)


def test_event_is_the_second_class_or_that_the_predicted_one_is_right():
    two = event_rows(Predictions([0.25, 0.5], [1, 0]))
    assert two.probs.tolist() == [0.25, 0.5]
    assert two.happened.tolist() == [True, False]
    three = event_rows(Predictions([[0.25, 0.5, 0.25], [0.125, 0.125, 0.75]], [1, 0]))
    assert three.probs.tolist() == [0.5, 0.75]
    assert three.happened.tolist() == [True, False]
