"""Centered isotonic regression against the algorithm of the package cir, in plain Python."""

import numpy as np
import pytest

from caltest.calibrators import CenteredIsotonicCalibrator


def plain(x, y, weight):
    """Pool the first pair that does not rise, but at 0 and 1, until none is left."""
    points = [
        (v, np.average(y[x == v], weights=weight[x == v]), weight[x == v].sum())
        for v in np.unique(x)
    ]
    while True:
        for i in range(len(points) - 1):
            (a, p, v), (b, q, w) = points[i], points[i + 1]
            if p > q or (p == q and 0 < p < 1):
                mean = ((a * v + b * w) / (v + w), (p * v + q * w) / (v + w), v + w)
                points[i : i + 2] = [mean]
                break
        else:
            return np.array(points)


@pytest.mark.parametrize("weighted", [False, True])
def test_centered_isotonic_is_the_algorithm_of_cir(weighted):
    rng = np.random.default_rng(5)
    x = rng.integers(1, 50, 150) / 50
    y = (rng.random(150) < x**2 * 1.2).astype(float)
    weight = rng.integers(1, 4, 150).astype(float) if weighted else np.ones(150)
    points = plain(x, y, weight)
    calibrator = CenteredIsotonicCalibrator().fit(x, y, weight if weighted else None)
    new = np.linspace(0, 1, 301)
    expected = np.interp(new, points[:, 0], points[:, 1])
    np.testing.assert_allclose(calibrator.predict_proba(new)[:, 1], expected, atol=1e-12)


def test_centered_isotonic_keeps_the_ranking_that_isotonic_regression_loses():
    rng = np.random.default_rng(0)
    p = np.sort(rng.random(500))
    calibrator = CenteredIsotonicCalibrator(bound="auto").fit(p, rng.random(500) < p)
    inside = (p >= calibrator.x_[1]) & (p <= calibrator.x_[-2])
    assert (np.diff(calibrator.predict_proba(p[inside])[:, 1]) > 0).all()
    assert calibrator.y_[[0, -1]].tolist() == [1 / 502, 501 / 502]
