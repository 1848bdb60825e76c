"""Recalibrated scores put back into rows: nearest rows with the same order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from caltest.calibrators.spline.calibrator import largest_classes, put_back_rank, put_back_sum

pytestmark = pytest.mark.loops

KINDS = {"rank": put_back_rank, "sum": put_back_sum}


def score_of(row, order, kind, r):
    """The r-th largest, or the sum of the r largest, by the old order."""
    return row[order[r - 1]] if kind == "rank" else row[order[:r]].sum()


def nearest(p, g, kind, r):
    """Minimise the divergence from p in falling order under the order and the score, by SLSQP."""
    constraints = [
        {"type": "eq", "fun": lambda x: x.sum() - 1},
        {"type": "eq", "fun": lambda x: score_of(x, np.arange(len(p)), kind, r) - g},
        {"type": "ineq", "fun": lambda x: x[:-1] - x[1:]},
    ]
    bounds = [(1e-12, 1)] * len(p)
    start = np.full(len(p), 1 / len(p))
    return minimize(
        lambda x: np.sum(x * np.log(x / p)),
        start,
        jac=lambda x: np.log(x / p) + 1,
        bounds=bounds,
        constraints=constraints,
        tol=1e-13,
        options={"maxiter": 1000},
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("r", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_row_is_the_nearest(kind, r, seed):
    """No row that SLSQP finds is nearer."""
    rng = np.random.default_rng(seed)
    p = np.sort(rng.dirichlet(np.full(5, 0.4)))[::-1] * 0.999 + 0.0002
    low, high = (r / 5, 1.0) if kind == "sum" or r == 1 else (0.0, 1 / r)
    g = low + (high - low) * rng.uniform(0.05, 0.95)
    row = KINDS[kind](p[np.newaxis], np.arange(5)[np.newaxis], r, np.array([g]))[0]
    found = nearest(p, g, kind, r)
    assert score_of(row, np.arange(5), kind, r) == pytest.approx(g, abs=1e-12)
    assert np.sum(row * np.log(row / p)) <= found.fun + 1e-7
    assert np.all(np.diff(row) <= 0)


@given(
    st.lists(
        st.sampled_from([2.3e-16, 1e-9, 0.1, 0.2, 0.2000001, 0.5, 1.0]), min_size=2, max_size=7
    ),
    st.floats(0, 1),
    st.sampled_from(sorted(KINDS)),
    st.data(),
)
def test_rows_keep_order_and_sum(weights, g, kind, data):
    """Whatever the ties, and however far the new score is from the old one."""
    p = np.array(weights) / np.sum(weights)
    m = len(p)
    r = data.draw(st.integers(1, m if kind == "rank" else m - 1))
    order = largest_classes(p[np.newaxis], m)
    row = KINDS[kind](p[np.newaxis], order[:, : r + 1], r, np.array([g]))[0]
    assert row.sum() == pytest.approx(1, abs=1e-12)
    assert row.min() >= 0
    assert row.argmax() == p.argmax()
    assert np.all(np.diff(row[order[0]]) <= 1e-15)
    low, high = (r / m, 1) if kind == "sum" or r == 1 else (2.3e-16, 1 / r)
    assert score_of(row, order[0], kind, r) == pytest.approx(min(max(g, low), high), abs=1e-12)


def test_largest_classes_is_a_stable_sort():
    probs = np.random.default_rng(0).choice([0.0, 0.1, 0.2, 0.3], (200, 7))
    expected = np.argsort(-probs, axis=1, kind="stable")
    for r in range(1, 8):
        np.testing.assert_array_equal(largest_classes(probs, r), expected[:, :r])
