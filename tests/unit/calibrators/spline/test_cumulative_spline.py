"""The natural spline, and the rows that its scores are put back into."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline
from scipy.linalg import null_space
from scipy.optimize import minimize

from caltest.calibrators.spline.calibrator import largest_classes, put_back_rank, put_back_sum
from caltest.calibrators.spline.cumulative_spline import curvature_map, normal_equations

pytestmark = pytest.mark.loops

ENDS = {
    "natural": np.array([1.0, 0.0, 0.0]),
    "parabolic": np.array([1.0, -1.0, 0.0]),
    "cubic": np.array([1.0, -2.0, 1.0]),
}
runouts = pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)


def all_splines(K):
    """Return scipy's cubic splines on the knots, a basis, and their second derivatives there."""
    knots = np.linspace(0, 1, K)
    values = np.vstack([np.eye(K), np.zeros((2, K))])
    ends = np.vstack([np.zeros((K, 2)), np.eye(2)])
    basis = [
        CubicSpline(knots, y, bc_type=((2, a), (2, b)))
        for y, (a, b) in zip(values, ends, strict=True)
    ]
    return basis, np.column_stack([spline(knots, 2) for spline in basis])


def fitted_by_scipy(t, h, weight, K, end):
    """Fit by lstsq in the null space of the end conditions."""
    basis, second = all_splines(K)
    free = null_space(np.vstack([end @ second[:3], end[::-1] @ second[-3:]]))
    design = np.column_stack([spline(t) for spline in basis]) @ free
    root = np.sqrt(weight)
    found = np.linalg.lstsq(design * root[:, np.newaxis], h * root, rcond=None)[0]
    return (free @ found)[:K]


def fitted(t, h, K, end, longest=1.0):
    """Fit by the normal equations."""
    E = np.vstack([np.eye(K), curvature_map(K, end)])
    P, r = normal_equations(np.append(0.0, t), np.append(0.0, h), K, longest)
    return np.linalg.solve(E.T @ P @ E, E.T @ r)


@runouts
@pytest.mark.parametrize("K", [4, 6, 14])
def test_fit_is_that_of_scipy_splines_and_lstsq(K, end):
    """Each point has the weight of the step that ends in it."""
    rng = np.random.default_rng(K)
    weight = rng.exponential(size=300)
    weight /= weight.sum()
    t = np.cumsum(weight)
    t[-1] = 1.0
    h = np.cumsum(weight * rng.random(300))
    expected = fitted_by_scipy(t, h, weight, K, end)
    np.testing.assert_allclose(fitted(t, h, K, end), expected, atol=1e-12)


def test_three_knots_have_run_out():
    """With three, the parabolic run-out leaves one parabola: y = t^2 is met exactly."""
    t = np.linspace(0.01, 1, 100)
    y = fitted(t, t**2, 3, ENDS["parabolic"])
    np.testing.assert_allclose(y, [0, 0.25, 1], atol=1e-13)


@runouts
def test_a_long_step_is_a_chord(end):
    """One step, or few, count as points on straight lines."""
    y = fitted(np.array([1.0]), np.array([0.3]), 6, end, longest=1 / 15)
    np.testing.assert_allclose(y, 0.3 * np.linspace(0, 1, 6), atol=1e-14)
    few = fitted(np.array([0.4, 1.0]), np.array([0.4, 0.4]), 6, end, longest=1 / 15)
    t = np.concatenate([np.linspace(0, 0.4, 7)[1:], np.linspace(0.4, 1.0, 10)[1:]])
    many = fitted(t, np.minimum(t, 0.4), 6, end)
    np.testing.assert_allclose(few, many, atol=1e-13)


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
    assert np.all(np.diff(row[order[0]]) <= 0)
    low, high = (r / m, 1) if kind == "sum" or r == 1 else (2.3e-16, 1 / r)
    assert score_of(row, order[0], kind, r) == pytest.approx(min(max(g, low), high), abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_become_uniform_keep_their_order(kind):
    """Rounding does not put the last of the equal classes before others."""
    p = np.sort(np.random.default_rng(0).dirichlet(np.ones(6), 200))[:, ::-1]
    order = np.tile(np.arange(6), (200, 1))
    rows = KINDS[kind](p, order[:, :2], 1, np.full(200, 0.1))
    assert rows == pytest.approx(1 / 6)
    assert (np.diff(rows, axis=1) < 0).all()
