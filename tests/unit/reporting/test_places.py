"""Places: what is found, its p-values and its direction."""

import numpy as np
import pytest

import caltest as ct
from caltest.htests.places import Values
from caltest.reporting.source import Rows
from caltest.reporting.where import judged, round_cuts


def find_places(predictions, **options):
    """Return the places of some rows, the worst first."""
    return judged(Rows(predictions).search(), **options)


def test_gap_is_observed_less_predicted():
    rng = np.random.default_rng(1)
    p = rng.random(500)
    data = ct.Predictions(p, (rng.random(500) < p**2).astype(int))
    for gap in find_places(data, n_resamples=19, seed=1):
        words = gap.name.removesuffix(" %").replace("up to", "0 to").split()
        ends = [0.01 * float(word) for word in words if word.isdigit()]
        low, high = (*ends, 1.0)[:2]
        some = (p > low) & (p <= high)
        assert gap.n == some.sum()
        assert gap.predicted == pytest.approx(p[some].mean())
        assert gap.observed == pytest.approx(data.labels[some].mean())
        assert gap.gap == gap.observed - gap.predicted
        assert gap.low <= gap.gap < gap.high


@pytest.mark.full
def test_calibrated_places_are_rarely_named():
    """The smallest adjusted p-value is at most 0.1 in about a tenth of calibrated data sets."""
    rng, small = np.random.default_rng(3), 0
    for seed in range(60):
        data = ct.datasets.generative_model("M1", n=300, m=3, rng=rng)
        small += find_places(data, n_resamples=99, seed=seed)[0].pvalue <= 0.1
    assert small <= 12  # P(Bin(60, 0.1) > 12) = 0.01


def test_worst_class_stands_first_with_its_direction():
    """A class that is predicted too often leads, and its ranges have the same direction."""
    rng = np.random.default_rng(4)
    q = rng.dirichlet([2.0, 2.0, 2.0], 3000)
    y = (rng.random(3000)[:, None] > q.cumsum(axis=1)).sum(axis=1)
    p = q * [1.5, 1.0, 1.0]
    data = ct.Predictions(p / p.sum(axis=1, keepdims=True), y)
    places = find_places(data, n_resamples=99, seed=1)
    classes = [gap for gap in places if gap.kind == "class"]
    assert classes[0].name == "0"
    assert classes[0].gap < 0
    named = [gap for gap in places if gap.part and gap.name == "0" and gap.pvalue <= 0.1]
    assert named
    assert all(gap.gap < 0 for gap in named)


def test_clusters_are_not_taken_for_rows():
    """Copies of rows make a small p-value where they are taken for rows, and none as clusters."""
    rng = np.random.default_rng(6)
    p = rng.uniform(0.1, 0.9, 300)
    y, cluster = (rng.random(300) < p).astype(int), np.repeat(range(300), 20)
    rows = ct.Predictions(np.repeat(p, 20), np.repeat(y, 20))
    assert find_places(rows, n_resamples=99, seed=1)[0].pvalue < 0.05
    clustered = rows.with_clusters(cluster)
    assert find_places(clustered, n_resamples=99, seed=1)[0].pvalue > 0.05


def test_ranges_have_enough_rows():
    """Each has a twentieth of the rows, and the ends are round."""
    values = np.random.default_rng(7).beta(8, 1, 1000)
    ordered = np.sort(values)
    ends = round_cuts(Values(ordered, ordered, ordered, np.ones(1000), ordered))
    assert np.histogram(values, (0, *ends, 1))[0].min() >= 50


@pytest.mark.filterwarnings("ignore::caltest.SuspectInputWarning")
def test_names_of_classes_may_hold_anything():
    """A zero character, or what looks like the number of a class."""
    rng = np.random.default_rng(2)
    probs = rng.dirichlet(np.ones(3), 300)
    names = ["1\0a", "b\0b", "c"]
    data = ct.Predictions(probs, np.array(names, dtype=object)[probs.argmax(1)], classes=names)
    found = find_places(data, n_resamples=19, seed=1)
    assert {gap.name for gap in found} >= {"b\0b", "1\0a"}
