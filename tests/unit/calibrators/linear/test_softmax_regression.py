"""Softmax regression: its start, and Newton's method with conjugate gradients."""

from dataclasses import replace

import numpy as np
import pytest

from caltest.calibrators.linear import softmax_regression
from caltest.calibrators.linear.softmax_regression import Problem, hessian, minimise

pytestmark = pytest.mark.loops


def penalised(X, codes, weight, penalty):
    """All entries are free."""
    shape = penalty.shape
    return Problem(X, codes, weight, penalty, np.eye(*shape), np.ones(shape, bool))


def test_hessian_keeps_its_digits_where_a_class_is_almost_certain():
    """1e-12 is left of a sum of ones."""
    probs = np.array([[1e-12], [1 - 1e-12]])
    found = hessian(probs, np.ones((1, 1)), np.ones(1))
    assert found == pytest.approx(1e-12 * np.array([[1, -1], [-1, 1]]), rel=1e-3)


@pytest.mark.parametrize("factor", [1e-8, 1.0, 1e8])
def test_scaled_start_finds_the_temperature_of_any_scale(factor):
    """Labels drawn at the temperature 2 times the factor, within the accuracy that is aimed at."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(2000, 3))
    codes = (z / 2 + rng.gumbel(size=(2000, 3))).argmax(axis=1)
    weight = np.full(2000, 1 / 2000)
    start = penalised(factor * z, codes, weight, np.zeros((3, 3))).scaled_start()
    aim = min(0.5 / factor, 10)
    assert start == pytest.approx(aim * np.eye(3), rel=0.2)


def random_problem(n, m, seed=0):
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
    task = random_problem(500, 5)
    fits = [minimise(task)]
    for limits in ({"ROWS": 100}, {"DENSE": 0}, {"DENSE": 0, "BLOCKS": 0}):
        with monkeypatch.context() as patch:
            for name, value in limits.items():
                patch.setattr(softmax_regression, name, value)
            fits.append(minimise(task))
    for theta, norm, escaping, _, converged in fits:
        assert norm < 1e-9
        assert converged
        assert not escaping
        assert theta == pytest.approx(fits[0][0], abs=1e-6)


def test_more_rows_precondition_where_some_tell_too_little(monkeypatch):
    """Labels that are nearly separated: few rows say little of the Hessian, which all rows give."""
    task = random_problem(2000, 6)
    task.codes[50:] = task.X[50:, :6].argmax(axis=1)
    monkeypatch.setattr(softmax_regression, "ROWS", 10)
    summed = []
    hessian = softmax_regression.hessian
    monkeypatch.setattr(
        softmax_regression, "hessian", lambda p, *a: summed.append(p.shape[1]) or hessian(p, *a)
    )
    norm = minimise(replace(task, penalty=0 * task.penalty))[1]
    assert norm < 1e-9
    assert summed[0] == 168
    assert summed[-1] == 2000


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_fixed_entries_stay_and_tied_ones_are_equal(tied, scale):
    """What is not free has the value of the start, but for its best multiple."""
    task = replace(random_problem(300, 4), tied=tied, scale=scale)
    task.free[:, 4] = task.free[0, 1] = False
    theta, norm, *_ = minimise(task)
    assert norm < 1e-9
    assert not theta[~task.free].any()
    assert (np.ptp(np.diagonal(theta)) < 1e-15) == tied


def test_minimum_at_infinity_is_recognised():
    """Separated labels: the gradient vanishes at weights that are finite."""
    task = random_problem(50, 3)
    codes = task.X[:, :3].argmax(axis=1)
    theta, norm, escaping, *_ = minimise(replace(task, codes=codes, penalty=0 * task.penalty))
    assert escaping
    assert norm < 1e-9
    assert np.abs(theta).max() < 1e6
