"""Bets on the next outcome: what they win, against plain code, and on average nothing."""

import copy

import numpy as np
import pytest
from scipy.special import expit, logit, softmax
from sklearn.isotonic import IsotonicRegression

from caltest.monitoring import loops
from caltest.monitoring.stream import (
    BANDWIDTH,
    CELLS,
    LEVELS,
    PRIOR_VARIANCE,
    SLOPES,
    WITNESS_CELLS,
    Stream,
    bets_for,
)
from caltest.numerics import loops as numerics


def stream_of(m, *, restart=False, memory=1.0):
    """Begin an e-process for m classes."""
    return Stream(bets_for(m), LEVELS, restart=restart, memory=memory, whole=True)


def rows(n, m, seed, exponent=1.0):
    """Draw probabilities, and labels from a power of them."""
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.ones(m), n)
    true = probs**exponent
    true /= true.sum(axis=1, keepdims=True)
    labels = (rng.random(n)[:, None] > true.cumsum(axis=1)).sum(axis=1).clip(0, m - 1)
    return probs, labels


def by_part(stream, values):
    return np.split(values, np.cumsum(stream.bets.sizes)[:-1])


@pytest.mark.parametrize("m", [2, 3, 7])
def test_temperatures_and_frequencies_are_likelihood_ratios(m):
    """Against products over all rows at once."""
    probs, labels = rows(150, m, seed=1)
    stream = stream_of(m)
    stream.advance(probs, labels)
    own = np.arange(len(labels))
    expected = []
    for slope in SLOPES:
        q = softmax(slope * np.log(probs), axis=1)
        expected.append(np.log(q[own, labels] / probs[own, labels]).sum())
    temperatures, frequencies = by_part(stream, stream.log_wealth)[:2]
    np.testing.assert_allclose(temperatures, expected, rtol=1e-9, atol=1e-9)
    expected = []
    for k, offset in zip(stream.game.offset_class, stream.game.offset, strict=True):
        shift = np.where(np.arange(m) == k, offset, 0.0)
        q = softmax(np.log(probs) + shift, axis=1)
        expected.append(np.log(q[own, labels] / probs[own, labels]).sum())
    np.testing.assert_allclose(frequencies, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("m", [2, 4, 12])
def test_recalibration_is_an_online_newton_step(m):
    """With the information of the rows, of many classes its estimate, solved anew at each row."""
    probs, labels = rows(120, m, seed=2, exponent=0.5)
    stream = stream_of(m)
    stream.advance(probs, labels)
    theta = np.append(1.0, np.zeros(m))
    matrix = np.eye(m + 1) / PRIOR_VARIANCE
    log_wealth = 0.0
    for p, y in zip(probs, labels, strict=True):
        q = softmax(theta[0] * np.log(p) + theta[1:])
        log_wealth += np.log(loops.KEPT + (1 - loops.KEPT) * q[y] / p[y])
        residual = np.eye(m)[y] - q
        gradient = np.append(residual @ np.log(p), residual)
        features = np.column_stack([np.log(p), np.eye(m)])
        deviations = features - q @ features
        informed = m <= loops.MOST_INFORMED
        matrix += (q * deviations.T) @ deviations if informed else np.outer(gradient, gradient)
        theta = theta + np.linalg.solve(matrix, gradient)
    np.testing.assert_allclose(stream.state["theta"], theta, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(stream.log_parts[2], log_wealth, rtol=1e-7)


@pytest.mark.parametrize("m", [2, 3])
def test_isotonic_bet_follows_isotonic_regression(m):
    """scikit-learn fits the same shares to the same cells at the rows at which caltest does."""
    probs, labels = rows(200, m, seed=3, exponent=2.0)
    stream = stream_of(m)
    stream.advance(probs, labels)
    top = np.full(len(labels), 1) if m == 2 else probs.argmax(axis=1)
    chance, happened = probs[np.arange(len(labels)), top], labels == top
    cell = np.clip(((logit(chance) + 10.0) * CELLS / 20.0).astype(int), 0, CELLS - 1)
    shift, log_wealth, refit_at = np.zeros(CELLS), 0.0, 1
    for t in range(len(labels)):
        q = expit(logit(chance[t]) + shift[cell[t]])
        won = q / chance[t] if happened[t] else (1 - q) / (1 - chance[t])
        log_wealth += np.log(loops.KEPT + (1 - loops.KEPT) * won)
        if t + 1 >= refit_at:
            refit_at = max(t + 2, int(np.ceil(loops.REFIT * (t + 1))))
            found = np.unique(cell[: t + 1])
            past = [cell[: t + 1] == c for c in found]
            count = np.array([r.sum() for r in past])
            mean = np.array([chance[: t + 1][r].mean() for r in past])
            events = np.array([happened[: t + 1][r].sum() for r in past])
            weight = count + loops.PRIOR_ROWS
            share = (events + loops.PRIOR_ROWS * mean) / weight
            fitted = IsotonicRegression().fit_transform(mean, share, sample_weight=weight)
            shift[found] = logit(fitted) - logit(mean)
    np.testing.assert_allclose(stream.log_parts[3], log_wealth, rtol=1e-7)


@pytest.mark.parametrize("memory", [1.0, 0.95])
def test_kernel_bet_of_two_classes_is_on_the_witness(memory):
    """The witness is the sum of the kernel times the residuals of the rows before, which fade."""
    probs, labels = rows(150, 2, seed=4, exponent=2.0)
    stream = stream_of(2, memory=memory)
    stream.advance(probs, labels)
    centres = (np.arange(WITNESS_CELLS) + 0.5) / WITNESS_CELLS
    cell = np.minimum((probs[:, 1] * WITNESS_CELLS).astype(int), WITNESS_CELLS - 1)
    residual = labels - probs[:, 1]
    bet, curvature, log_wealth = 0.0, 1.0, 0.0
    for t in range(len(labels)):
        near = np.exp(-np.abs(centres[:, None] - centres[cell[:t]]) / BANDWIDTH)
        witness = near @ (memory ** np.arange(t)[::-1] * residual[:t])
        gain = witness[cell[t]] * residual[t] / np.abs(witness).max() if t else 0.0
        log_wealth += np.log1p(bet * gain)
        slope = gain / (1 + bet * gain)
        curvature = 1.0 + memory * (curvature - 1.0) + slope**2
        bet = np.clip(bet + loops.STEP * slope / curvature, 0.0, loops.MOST_BET)
    np.testing.assert_allclose(stream.log_parts[4], log_wealth, rtol=1e-7)


def test_kernel_bet_of_several_classes_forgets():
    """Where a prediction has become right, nothing is left of how wrong it was."""
    stream, row = stream_of(3, memory=0.98), np.full((1, 3), 1 / 3)
    stream.advance(np.repeat(row, 300, axis=0), np.zeros(300, dtype=np.int64))
    reach = stream.state["levels"][loops.REACH]
    stream.advance(np.repeat(row, 900, axis=0), np.tile([0, 1, 2], 300))
    assert np.abs(stream.state["sums"]).max() < 1.0
    assert stream.state["levels"][loops.REACH] < 0.1 * reach


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("m", [2, 3, 6])
def test_no_bet_gains_if_the_predictions_are_true(m, restart):
    """The mean wealth after a row, over its outcomes, is that before; one more if begun anew."""
    probs, labels = rows(90, m, seed=5, exponent=2.0)
    stream = stream_of(m, restart=restart, memory=0.99 if restart else 1.0)
    for t in range(89):
        stream.advance(probs[t : t + 1], labels[t : t + 1])
        if t % 11:
            continue
        mean = np.zeros(len(stream.log_wealth))
        for k in range(m):
            other = copy.deepcopy(stream)
            other.advance(probs[t + 1 : t + 2], np.array([k]))
            mean += probs[t + 1, k] * np.exp(other.log_wealth)
        np.testing.assert_allclose(mean, np.exp(stream.log_wealth) + restart, rtol=1e-9)


def test_extreme_rows_keep_finite_numbers():
    """Probabilities near 0 on what happened win as much as a float can hold, and no more."""
    tiny = np.array([1e-300, 1e-12, 1e-300, 0.5] * 30)
    probs = np.column_stack([1.0 - tiny, tiny])
    stream = stream_of(2)
    stream.advance(probs, np.ones(len(tiny), dtype=np.int64))
    assert np.isfinite(stream.log_parts).all()
    assert stream.log_evalue > 1000
    again = stream_of(2)
    for row in probs:
        again.advance(row[None], np.ones(1, dtype=np.int64))
    assert again.log_evalue == stream.log_evalue


@pytest.mark.parametrize(
    ("m", "restart", "expected"),
    [
        (2, False, [-1.4271127791, -0.61259793761, -1.6460581895, -3.3238736548, 0.32251822676]),
        (3, False, [-0.37747815645, -0.30288233731, -0.86574182013, -2.1296656618, 0.33664453056]),
        (12, False, [-0.98687846917, -0.62078579046, -6.0123681360, -2.1803322366, -0.64709619692]),
        (2, True, [5.5106403111, 5.451831043847, 5.572951018197, 4.771389645163, 5.712303183805]),
        (3, True, [5.421739099106, 5.957351143214, 6.513091407743, 4.932500874031, 6.518463922919]),
    ],
)
def test_evalues_stay_what_they_were(m, restart, expected):
    """Logarithms of the parts as caltest first gave them: a state goes on in a later version."""
    probs, labels = rows(500, m, seed=11, exponent=0.9)
    stream = stream_of(m, restart=restart, memory=0.999 if restart else 1.0)
    stream.advance(probs, labels)
    np.testing.assert_allclose(stream.log_parts, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.full
def test_path_keeps_at_most_a_thousand_points():
    """Where it is full, every second point stays."""
    probs, labels = rows(loops.BLOCK * 2500, 2, seed=6)
    stream = stream_of(2)
    stream.advance(probs, labels)
    steps = np.diff(stream.path[:, 0])
    assert 512 <= len(stream.path) <= loops.MOST_POINTS
    assert len(set(steps.tolist())) == 1


@pytest.mark.parametrize("restart", [False, True])
def test_python_code_and_compiled_code_agree_to_the_last_bit(restart, monkeypatch):
    """So that it does not matter which of the two a short stream was watched by."""
    probs, labels = rows(200, 3, seed=8, exponent=0.6)
    both = [stream_of(3, restart=restart, memory=0.99) for _ in range(2)]
    with monkeypatch.context() as patch:
        patch.setattr("caltest.monitoring.stream.plain", lambda loop, _: loop.as_python())
        patch.setattr(loops, "advance", numerics.njit()(loops.advance.py_func))
        both[0].advance(probs, labels)
    monkeypatch.setattr("caltest.monitoring.stream.plain", lambda *_: None)
    both[1].advance(probs, labels)
    assert both[0].to_dict() == both[1].to_dict()
