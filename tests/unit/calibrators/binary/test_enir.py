"""ENIR: its path, its models, ties, and degenerate sets."""

import numpy as np
import pytest
from scipy.special import xlog1py, xlogy

from caltest import DegenerateDataWarning
from caltest.calibrators import ENIR
from caltest.calibrators.binary.enir import bic_scores, mean_of_models, solution_path

pytestmark = pytest.mark.loops


@pytest.mark.full
def test_passed_over_models_have_no_weight():
    """All of some hundred breakpoints by the definition."""
    rng = np.random.default_rng(3)
    events = (rng.random(800) < np.linspace(0.1, 0.7, 800)).astype(float)
    mass = np.ones(800)
    blocks, merges = solution_path(mass, events)
    models, scores = bic_scores(blocks, merges, 800.0)
    bic = {}
    for t in range(1, len(merges[0]) + 1):
        if t < len(merges[0]) and merges[0][t] <= merges[0][t - 1] * (1 + 1e-10):
            continue
        first, last, value = mean_of_models(blocks, merges, np.array([t]), np.ones(1))
        beta = np.repeat(value, last - first + 1)
        loss = -(xlogy(events, beta) + xlog1py(1 - events, -beta)).sum()
        bic[t] = 2 * loss + len(value) * np.log(800)
    assert scores == pytest.approx([bic[t] for t in models])
    best = min(bic.values())
    assert all(bic[t] > best + 99 for t in bic if t not in models)


RNG = np.random.default_rng(5)
SCORES = RNG.random(300)
LABELS = (RNG.random(300) < SCORES**2).astype(int)


def test_enir_without_averaging_is_the_best_model():
    mean, best = ENIR().fit(SCORES, LABELS), ENIR(averaging=False).fit(SCORES, LABELS)
    assert best.bic_.tolist() == [mean.bic_.min()]
    assert best.lambdas_[0] == mean.lambdas_[np.argmin(mean.bic_)]


def test_enir_of_one_class_is_that_class():
    with pytest.warns(DegenerateDataWarning, match="one class"):
        enir = ENIR().fit([0.3], [1])
    assert enir.predict_proba([0.0, 1.0])[:, 1].tolist() == [1.0, 1.0]


def test_enir_steep_parts_stay_finite():
    enir = ENIR().fit([0.0, 5e-324, 1e-310, 1.0], [0, 1, 1, 1])
    assert enir.predict_proba([0.0, 5e-324, 0.5])[:, 1].tolist() == [0.0, 1.0, 1.0]


def test_enir_counts_at_least_the_distinct_scores():
    """Shares for weights leave the penalty of the BIC positive."""
    rng = np.random.default_rng(0)
    p = rng.random(50)
    y = (rng.random(50) < p).astype(int)
    enir = ENIR(averaging=False).fit(p, y, np.full(50, 1 / 50))
    mu = np.clip(enir.predict_proba(p)[:, 1], 1e-300, 1 - 1e-16)
    blocks = 1 + np.count_nonzero(np.diff(enir.predict_proba(np.sort(p))[:, 1]))
    loss = -np.mean(y * np.log(mu) + (1 - y) * np.log1p(-mu))
    assert enir.bic_[0] == pytest.approx(2 * loss + blocks * np.log(50))


def test_enir_reads_its_own_json_where_a_mean_is_rounded():
    """Weights of models that sum to 1 and an ulp made a value of as much, which none may be."""
    rng = np.random.default_rng(586)
    n = int(rng.choice([2, 3, 5, 8, 12, 20]))
    p = rng.random(n)
    y = (rng.random(n) < rng.choice([0.5, 0.9, 0.2])).astype(int)
    fitted = ENIR().fit(p, y)
    assert fitted.values_.max() <= 1
    assert (ENIR.from_json(fitted.to_json()).values_ == fitted.values_).all()
