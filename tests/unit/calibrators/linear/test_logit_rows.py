import numpy as np
import pytest

from caltest.calibrators import (
    DirichletCalibrator,
    MatrixScaling,
    TemperatureScaling,
    VectorScaling,
)

LEAVES = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [1.0, 0.0, 0.0]])


def drawn(probs, rng):
    """Labels that are a little less certain than predicted."""
    cumulative = (0.8 * probs + 0.2 / 3).cumsum(axis=1)
    return (rng.uniform(size=(len(probs), 1)) > cumulative).sum(axis=1)


@pytest.mark.parametrize(
    "calibrator",
    [
        TemperatureScaling(),
        VectorScaling(),
        MatrixScaling(lam=1e-3),
        DirichletCalibrator(lam=1e-3),
        DirichletCalibrator(lam=[1e-3]),
    ],
    ids=repr,
)
def test_merged_rows_give_the_map_of_all(calibrator, monkeypatch):
    """The sums are the same in another order."""
    rng = np.random.default_rng(1)
    probs = LEAVES[rng.integers(4, size=1200)]
    y = drawn(probs, rng)
    merged = calibrator.fit(probs, y).predict_proba(LEAVES)
    monkeypatch.setattr("caltest.calibrators.linear.softmax_regression._merged", lambda *rows: rows)
    assert merged == pytest.approx(calibrator.fit(probs, y).predict_proba(LEAVES), abs=1e-7)
