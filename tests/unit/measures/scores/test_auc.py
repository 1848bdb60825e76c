"""The area under the ROC curve and its interval, against scikit-learn and plain code."""

import numpy as np
import pytest
from scipy.special import stdtrit
from sklearn.metrics import roc_auc_score

import caltest as ct
from caltest import NotApplicable, Predictions
from caltest.measures import auc, auc_interval
from caltest.measures.scores.auc import area_of_cells
from caltest.sources import count_rows


def rounded(n, m, seed):
    """Return predictions with ties, labels drawn from them, and weights."""
    rng = np.random.default_rng(seed)
    p = np.round(rng.dirichlet(np.ones(m), n), 2)
    p /= p.sum(axis=1, keepdims=True)
    return p, (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1), rng.random(n)


def test_auc_is_that_of_scikit_learn():
    """Of two classes with ties and weights, of five the mean of Hand and Till."""
    p, y, weight = rounded(200, 2, 1)
    assert auc(p, y) == pytest.approx(roc_auc_score(y, p[:, 1]))
    weighted = Predictions(p, y, sample_weight=weight)
    assert auc(weighted) == pytest.approx(roc_auc_score(y, p[:, 1], sample_weight=weight))
    p, y, _ = rounded(300, 5, 2)
    assert auc(p, y) == pytest.approx(roc_auc_score(y, p, multi_class="ovo"))
    one_by_one = [roc_auc_score(y == k, p[:, k]) for k in range(5)]
    assert auc(p, y, lens="classwise") == pytest.approx(one_by_one)


def test_limits_are_as_far_off_as_delong_says():
    """By all pairs of rows: DeLong's variance at the area, Newcombe's shape at the limits."""
    p, y, _ = rounded(200, 2, 1)
    found = auc_interval(p, y, confidence=0.9)
    event, other = p[y == 1, 1], p[y == 0, 1]
    wins = (event[:, None] > other) + 0.5 * (event[:, None] == other)
    variance = sum(wins.mean(axis=k).var(ddof=1) / wins.shape[1 - k] for k in (0, 1))

    def shape(a):
        return a * (1 - a) * ((1 - a) / (2 - a) + a / (1 + a))

    scale = max(variance / shape(wins.mean()), (1 / event.size + 1 / other.size) / 2)
    for limit in (found.low, found.high):
        off = (limit - wins.mean()) ** 2 / (scale * shape(limit))
        assert off == pytest.approx(1.6448536269514722**2)


def test_cells_and_rows_have_one_interval():
    """Rows of a cell are ties; a row of weight 2 counts twice in the area."""
    p, y, _ = rounded(200, 2, 3)
    rows = auc_interval(p, y)
    cells = area_of_cells(count_rows(p[:, 1], y))
    assert (cells.auc, cells.low, cells.high) == pytest.approx((rows.auc, rows.low, rows.high))
    times = np.arange(200) % 3 + 1
    weighted = auc(Predictions(p, y, sample_weight=times))
    assert weighted == pytest.approx(auc(np.repeat(p, times, axis=0), np.repeat(y, times)))


def test_copies_of_rows_in_clusters_tell_nothing_new():
    """The interval of each row ten times is that of the rows, but for Student's quantile."""
    p, y, _ = rounded(400, 2, 4)
    copies = Predictions(np.repeat(p, 10, axis=0), np.repeat(y, 10))
    clustered = auc_interval(copies.with_clusters(np.repeat(np.arange(400), 10)))
    alone = auc_interval(p, y)
    assert (clustered.low, clustered.high) == pytest.approx((alone.low, alone.high), abs=1e-3)
    assert auc_interval(copies).high - clustered.auc < 0.5 * (clustered.high - clustered.auc)


def test_interval_of_clusters_is_near_that_of_the_jackknife():
    """Without the cluster that holds a third of the rows the area is another."""
    rng = np.random.default_rng(5)
    clusters = np.minimum(np.arange(300) // 10, 20)
    log_odds = rng.normal(size=300)
    shifted = log_odds - 2.0 * (clusters == 20) + rng.normal(size=21)[clusters]
    data = Predictions(1 / (1 + np.exp(-log_odds)), rng.random(300) < 1 / (1 + np.exp(-shifted)))
    found = auc_interval(data.with_clusters(clusters))
    without = np.array([auc(data.without(clusters == c)) for c in range(21)])
    error = np.sqrt(np.square(without - found.auc).sum() * 20 / 21)
    width = 2.0 * stdtrit(20, 0.975) * error
    assert found.high - found.low == pytest.approx(width, rel=0.1)


def test_perfect_order_is_not_certain():
    """Four rows in the right order do not show an area of 1; one class has none."""
    found = auc_interval([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])
    assert (found.auc, found.high) == (1.0, 1.0)
    assert 0.3 < found.low < 0.6
    assert auc_interval([0.1, 0.2, 0.8, 0.9], [1, 1, 0, 0]).gini == -1.0
    with pytest.raises(NotApplicable, match="only one was observed"):
        auc([0.1, 0.2], [0, 0])


@pytest.mark.full
@pytest.mark.parametrize(("n", "rate", "d"), [(50, 0.1, 0.36), (200, 0.5, 1.19), (200, 0.1, 2.33)])
def test_interval_holds_the_area(n, rate, d):
    """Of normal scores d apart, whose area is Phi(d / sqrt(2)), with 5 events and more."""
    rng = np.random.default_rng(1)
    area = {0.36: 0.600481, 1.19: 0.799948, 2.33: 0.950244}[d]
    held = []
    for _ in range(300):
        y = rng.random(n) < rate
        if 0 < y.sum() < n:
            score = rng.standard_normal(n) + d * y
            found = auc_interval(1 / (1 + np.exp(-score)), y.astype(int))
            held.append(found.low <= area <= found.high)
    assert np.mean(held) > 0.92


def test_report_has_discrimination():
    """Events first, then the area; Gini where the profile is that of credit."""
    rng = np.random.default_rng(1)
    p = rng.beta(1, 4, 300)
    y = (rng.random(300) < p).astype(int)
    page = ct.report(p, y, profile="credit", test="brier", n_resamples=19, rng=1)
    found = {one.name: one for one in page.content.scores.discrimination}
    assert next(iter(found)) == "defaults"
    assert found["defaults"].value == y.sum()
    area = roc_auc_score(y, p)
    assert found["AUC (C-statistic)"].value == pytest.approx(area)
    assert found["Gini (accuracy ratio)"].value == pytest.approx(2 * area - 1)
    skill = 1 - np.mean((p - y) ** 2) / np.mean((y.mean() - y) ** 2)
    assert found["Brier skill score"].value == pytest.approx(skill)
    parts = page.content.scores.parts[1].parts
    loss = -np.mean(np.log(np.where(y, p, 1 - p)))
    whole = parts.miscalibration - parts.discrimination + parts.uncertainty
    assert (parts.score, whole) == pytest.approx((loss, loss))
