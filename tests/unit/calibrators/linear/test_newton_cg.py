from dataclasses import replace

import numpy as np
import pytest

from caltest.calibrators.linear import softmax_regression as newton_cg
from caltest.calibrators.linear.softmax_regression import Problem, minimise

pytestmark = pytest.mark.loops


def problem(n, m, seed=0):
    """Logits, labels of which half is noise, and an off-diagonal penalty."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([3 * rng.normal(size=(n, m)), np.ones(n)])
    codes = (X[:, :m] / 3 + rng.gumbel(size=(n, m))).argmax(axis=1)
    penalty = np.full((m, m + 1), 1e-3)
    np.fill_diagonal(penalty, 0.0)
    start = np.eye(m, m + 1)
    return Problem(X, codes, np.full(n, 1 / n), penalty, start, np.ones(start.shape, bool))


def test_minimum_has_no_gradient_whatever_the_preconditioner(monkeypatch):
    """The Hessian of all rows or of some, its blocks, and their common shape lead to one point."""
    task = problem(500, 5)
    fits = [minimise(task)]
    for limits in ({"ROWS": 100}, {"DENSE": 0}, {"DENSE": 0, "BLOCKS": 0}):
        with monkeypatch.context() as patch:
            for name, value in limits.items():
                patch.setattr(newton_cg, name, value)
            fits.append(minimise(task))
    for theta, norm, escaping, _, converged in fits:
        assert norm < 1e-9
        assert converged
        assert not escaping
        assert theta == pytest.approx(fits[0][0], abs=1e-6)


def test_more_rows_precondition_where_some_tell_too_little(monkeypatch):
    """Labels that are nearly separated: few rows say little of the Hessian, which all rows give."""
    task = problem(2000, 6)
    task.codes[50:] = task.X[50:, :6].argmax(axis=1)
    monkeypatch.setattr(newton_cg, "ROWS", 10)
    summed = []
    hessian = newton_cg.hessian
    monkeypatch.setattr(
        newton_cg, "hessian", lambda p, *a: summed.append(p.shape[1]) or hessian(p, *a)
    )
    norm = minimise(replace(task, penalty=0 * task.penalty))[1]
    assert norm < 1e-9
    assert summed[0] == 168
    assert summed[-1] == 2000


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_fixed_entries_stay_and_tied_ones_are_equal(tied, scale):
    """What is not free has the value of the start, but for its best multiple."""
    task = replace(problem(300, 4), tied=tied, scale=scale)
    task.free[:, 4] = task.free[0, 1] = False
    theta, norm, *_ = minimise(task)
    assert norm < 1e-9
    assert not theta[~task.free].any()
    assert (np.ptp(np.diagonal(theta)) < 1e-15) == tied


def test_start_at_the_minimum_is_the_minimum():
    task = problem(200, 3)
    theta = minimise(task)[0]
    again = minimise(replace(task, start=theta, scale=False))
    assert again[0] == pytest.approx(theta, abs=1e-7)
    assert not again[2]


def test_minimum_at_infinity_is_recognised():
    """Separated labels: the gradient vanishes at weights that are finite."""
    task = problem(50, 3)
    codes = task.X[:, :3].argmax(axis=1)
    theta, norm, escaping, *_ = minimise(replace(task, codes=codes, penalty=0 * task.penalty))
    assert escaping
    assert norm < 1e-9
    assert np.abs(theta).max() < 1e6


def test_nothing_free_takes_no_step():
    task = problem(50, 3)
    found = minimise(replace(task, free=~task.free, scale=False))
    theta, norm, escaping, steps, _ = found
    assert (theta == task.start).all()
    assert (norm, escaping, steps) == (0.0, False, 0)
