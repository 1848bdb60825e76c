"""Hosmer-Lemeshow and Pigeon-Heyse: the plainest sums, groups, degenerate cases."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from caltest import DegenerateDataWarning, InvalidInput, Predictions
from caltest.measures import hosmer_lemeshow, pigeon_heyse
from caltest.measures.grades.hosmer_lemeshow import HosmerLemeshow


def plain(probs, labels, place=0, groups=10):
    """Sum (O - E)^2 / E over groups and classes."""
    score = 1 - probs[:, place]
    cuts = np.quantile(score, np.linspace(0, 1, groups + 1))[1:-1]
    group, total = np.searchsorted(cuts, score), 0.0
    for g in range(groups):
        rows = group == g
        expected = probs[rows].sum(axis=0)
        observed = np.bincount(labels[rows], minlength=probs.shape[1])
        total += float(((observed - expected) ** 2 / expected).sum())
    return total


@pytest.mark.parametrize("m", [2, 3, 5])
def test_statistic_is_the_plain_sum(m):
    rng = np.random.default_rng(m)
    probs, labels = rng.dirichlet(np.ones(m), 333), rng.integers(m, size=333)
    assert hosmer_lemeshow(probs, labels) == pytest.approx(plain(probs, labels), rel=1e-12)


def test_reference_class_orders_the_rows():
    """By its name; another class makes other groups."""
    rng = np.random.default_rng(0)
    probs, labels = rng.dirichlet(np.ones(3), 200), rng.integers(3, size=200)
    data = Predictions(probs, np.array(["a", "b", "c"])[labels], classes=["a", "b", "c"])
    assert hosmer_lemeshow(data, reference="c") == pytest.approx(plain(probs, labels, 2))
    assert hosmer_lemeshow(data) == pytest.approx(plain(probs, labels))


def test_reference_is_refused_for_two_classes():
    """Their order does not depend on it, even if it is one of them."""
    with pytest.raises(InvalidInput, match="reference has no effect where the lens leaves two"):
        hosmer_lemeshow([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1], reference=1)


@pytest.mark.parametrize("m", [2, 3])
def test_impossible_label_makes_the_statistic_infinite(m):
    """An expected count of 0 adds 0 where the class is not observed."""
    right = np.append(np.zeros(20, int), 1 + np.arange(20) % (m - 1))
    probs = np.eye(m)[right]
    with pytest.warns(DegenerateDataWarning, match="expected count 0"):
        assert hosmer_lemeshow(probs, right) == 0
    with pytest.warns(DegenerateDataWarning, match="expected count 0"):
        assert hosmer_lemeshow(probs, (right + 1) % m) == math.inf


def test_three_groups_leave_one_degree_of_freedom():
    """In the sample that the model was fitted to; expected counts of just 5 are no few."""
    p, y = np.repeat([0.25, 0.5, 0.75], 20), np.arange(60) % 4 == 0
    found = HosmerLemeshow(groups=3, internal=True).limit(Predictions(p, y))
    assert found.pvalue == pytest.approx(chi2.sf(hosmer_lemeshow(p, y, groups=3), 1))
    assert "expected counts are below" not in " ".join(found.notes)


def test_factor_and_exact_variances_are_the_same():
    """Both forms of the docstring, on unequal predictions."""
    rng = np.random.default_rng(0)
    p, y = np.sort(rng.random(200)), rng.integers(2, size=200)
    with_phi = exact = 0.0
    for rows in np.array_split(np.arange(200), 10):
        o, e, n = y[rows].sum(), p[rows].sum(), rows.size
        variance = (p[rows] * (1 - p[rows])).sum()
        phi = variance / (e * (1 - e / n))
        with_phi += (o - e) ** 2 / (phi * e) + (o - e) ** 2 / (phi * (n - e))
        exact += (o - e) ** 2 / variance
    assert pigeon_heyse(p, y) == pytest.approx(with_phi, rel=1e-12)
    assert pigeon_heyse(p, y) == pytest.approx(exact, rel=1e-12)
