"""Places: calibrated rows are rarely named, and intervals hold for what the search picks."""

import numpy as np
import pytest
from scipy import special

import caltest as ct
from caltest.htests.places import find_places

SETS = 300
BOUND = 0.05 + 3 * np.sqrt(0.05 * 0.95 / SETS)


def searched(p, q, rng, **options):
    """Draw labels from q, and search as if p were true."""
    q = q / q.sum(axis=1, keepdims=True)
    labels = (rng.random(len(p))[:, None] > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
    data = ct.Predictions(p, labels, classes=list(range(p.shape[1])), **options)
    seed = int(rng.integers(2**31))
    return data, find_places(data, lens="strong", n_resamples=199, seed=seed, level=None)


def two(p):
    return np.column_stack([1 - p, p])


def drawn(kind, rng, n):
    """Draw predictions (n, m) of a kind."""
    if kind == "five classes":
        return rng.dirichlet(np.ones(5), n)
    shapes = {"spread": (1, 1.5), "rare": (0.5, 20), "extreme": (0.1, 0.1)}
    p = rng.beta(*shapes.get(kind, (1, 1)), n).clip(1e-6, 1 - 1e-6)
    return two(np.round(p, 1) if kind == "ties" else p)


@pytest.mark.slow
@pytest.mark.parametrize("n", [50, 400])
@pytest.mark.parametrize("kind", ["spread", "rare", "extreme", "ties", "five classes"])
def test_calibrated_places_are_named_in_5_percent(kind, n):
    """At most, of the data sets: whatever is named there holds no wrong row."""
    rng = np.random.default_rng(n)
    named = [bool(searched(p, p, rng)[1]) for p in (drawn(kind, rng, n) for _ in range(SETS))]
    assert np.mean(named) <= BOUND


@pytest.mark.slow
@pytest.mark.parametrize("m", [2, 5])
@pytest.mark.parametrize("n", [200, 1000])
def test_intervals_of_named_places_hold_together(n, m):
    """In all but 5 % of the data sets, under predictions that are too extreme."""
    rng = np.random.default_rng(n + m)
    missed = 0
    for _ in range(SETS):
        p = rng.dirichlet(np.ones(m), n).clip(1e-9)
        p /= p.sum(axis=1, keepdims=True)
        q = special.softmax(0.7 * np.log(p), axis=1)
        data, places = searched(p, q, rng)
        for place in places:
            event, rows = place.where.event, place.mask(data)
            k = data.predicted if event is None else np.full(n, int(event))
            gap = (q - data.probs)[np.arange(n), k][rows].mean()
            if not place.low <= gap <= place.high:
                missed += 1
                break
    assert missed / SETS <= BOUND


@pytest.mark.parametrize("ask", ["groups", "segments"])
def test_interval_of_the_worst_of_many_holds(ask):
    """That of the worst of 12 groups or segments that are right leaves out 0 in 5 % at most."""
    rng, missed = np.random.default_rng(5), 0
    group = np.repeat(np.arange(12), 40)
    for _ in range(60):
        p = rng.beta(1, 3, group.size)
        asked = {"by": group, "test": "ks"} if ask == "groups" else {"segments": {"g": group}}
        y = (rng.random(group.size) < p).astype(int)
        found = ct.test_calibration(p, y, n_resamples=19, rng=1, **asked)
        rows = found.rows[:3]
        gaps = (
            [found.place(row) for row in rows]
            if ask == "segments"
            else [row.size.one_of(12) for row in found.rows]
        )
        missed += any(gap.is_clear for gap in gaps)
    assert missed <= 8  # P(Bin(60, 0.05) > 8) = 0.003


@pytest.mark.slow
def test_places_of_clusters_keep_the_level():
    """Rows of a cluster have the same label if they are equal, as a whole probability has it."""
    rng = np.random.default_rng(1)
    named = 0
    for _ in range(SETS):
        own, cluster = rng.random(60), np.repeat(np.arange(60), 10)
        p = np.clip(own[cluster] + rng.uniform(-0.05, 0.05, 600), 0.01, 0.99)
        happens = np.repeat(rng.random(60), 10) < p
        data = ct.Predictions(p, happens.astype(int), classes=[0, 1], clusters=cluster)
        seed = int(rng.integers(2**31))
        named += bool(find_places(data, lens="strong", n_resamples=199, seed=seed, level=None))
    assert named / SETS <= BOUND
