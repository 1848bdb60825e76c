"""Where inducing points lie."""

import numpy as np
import pytest

from caltest.classifiers import rbf as inducing
from caltest.classifiers.rbf import inducing_points

X = np.random.default_rng(0).normal(size=(200, 2))

both_placements = pytest.mark.parametrize("placement", ["k-means", "random"])


def points(rows, size, placement):
    return inducing_points(rows, size, placement, np.random.RandomState(0))


@both_placements
def test_points_are_distinct_and_as_many_as_asked(placement):
    """Random ones are rows."""
    found = points(X, 40, placement)
    assert len(np.unique(found, axis=0)) == len(found) == 40
    assert {*map(tuple, found)} <= {*map(tuple, X)} or placement == "k-means"


@both_placements
def test_points_are_the_distinct_rows_where_there_are_no_more(placement):
    """Fewer rows than points, or many that are the same."""
    for rows in (X[:10], np.repeat(X[:10], 9, axis=0)):
        found = points(rows, 20, placement)
        np.testing.assert_array_equal(np.unique(found, axis=0), np.unique(X[:10], axis=0))


def test_centres_of_kmeans_are_nearer_to_the_rows():
    near, far = (
        np.linalg.norm(X[:, None] - points(X, 20, placement), axis=2).min(axis=1).mean()
        for placement in ("k-means", "random")
    )
    assert near < far


def test_kmeans_looks_at_some_of_the_rows(monkeypatch):
    monkeypatch.setattr(inducing, "ROWS", 50)
    assert points(X, 20, "k-means").shape == (20, 2)
    assert len(points(X, 100, "k-means")) == 100
