import numpy as np
import pytest

from caltest.calibrators import (
    DirichletCalibrator,
    MatrixScaling,
    TemperatureScaling,
    VectorScaling,
)
from caltest.calibrators.base import CalibrationSet
from caltest.calibrators.inputs import Inputs
from caltest.calibrators.linear.softmax_regression import logit_rows

LEAVES = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6], [1.0, 0.0, 0.0]])


def drawn(probs, rng):
    """Labels that are a little less certain than predicted."""
    cumulative = (0.8 * probs + 0.2 / 3).cumsum(axis=1)
    return (rng.uniform(size=(len(probs), 1)) > cumulative).sum(axis=1)


def test_equal_rows_become_one_with_their_weight():
    """At most one row for each leaf and label."""
    rng = np.random.default_rng(0)
    probs = LEAVES[rng.integers(4, size=2500)]
    y, weight = drawn(probs, rng), rng.uniform(size=2500)
    rows = logit_rows(CalibrationSet(Inputs(probs, from_logits=False), y, weight))
    assert len(rows.logits) == 12
    assert rows.total == pytest.approx(weight.sum())
    assert rows.weight.sum() == pytest.approx(1)
    first = (probs[:, 0] == 0.7) & (y == 1)
    place = np.flatnonzero((rows.codes == 1) & (rows.logits[:, 0] == np.log(0.7)))
    assert rows.weight[place] == pytest.approx(weight[first].sum() / weight.sum())


def test_rows_that_differ_stay_as_they_are():
    probs = np.random.default_rng(0).dirichlet(np.ones(3), size=1500)
    probs[::4] = probs[0]
    y = np.zeros(1500, dtype=np.int64)
    rows = logit_rows(CalibrationSet(Inputs(probs, from_logits=False), y, None))
    assert rows.logits == pytest.approx(np.log(probs))


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
