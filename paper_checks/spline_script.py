"""Spline calibration in the arithmetic of the authors' script.

github.com/kartikgupta-at-anu/spline-calibration at b6a2f603: recalibrate.py and cal_metrics/KS.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.special import softmax

Floats = NDArray[np.floating]
Ints = NDArray[np.integer]
Scored = tuple[Floats, Floats]  # scores and events
KNOTS = 6


def stored_scores(path: Path, part: str, rank: int) -> Scored:
    """Scores and events of a rank from stored logits, in their single precision."""
    stored = np.load(path)
    return ranked(softmax(stored[f"logits_{part}"], axis=1), stored[f"y_{part}"].ravel(), rank)


def shuffled(scored: Scored, rng: np.random.Generator) -> Scored:
    """Rows in another order, which equal scores keep when they are sorted."""
    order = rng.permutation(len(scored[0]))
    return scored[0][order], scored[1][order]


def ranked(probs: Floats, labels: Ints, rank: int) -> Scored:
    """Probability of the class of a rank, and whether it is the right one."""
    classes = np.argsort(probs, axis=1)[:, -rank]
    return probs[np.arange(len(probs)), classes], (classes == labels).astype(float)


def within(probs: Floats, labels: Ints, rank: int) -> Scored:
    """Sum of the largest probabilities up to a rank, and whether the right class is among them."""
    classes = np.argsort(probs, axis=1)[:, -rank:]
    score = np.take_along_axis(probs, classes, axis=1).sum(axis=1)
    return score, (classes == labels[:, np.newaxis]).any(axis=1).astype(float)


def recalibrated(
    score: Floats, event: Floats, at: Floats, *, middle: bool = False, knots: int = KNOTS
) -> Floats:
    """Recalibrate by a natural least-squares spline through every row.

    Between two scores the script exchanges the weights of its linear interpolation. It has the
    curve at the upper ends of its steps and fractiles from 0 to 1; `middle` has the curve in the
    middle of its steps and the fractiles i / n.
    """
    order = np.argsort(score, kind="stable")
    score, event = score[order], event[order]
    n = len(score)
    t, at_knots = np.linspace(0, 1, n), np.linspace(0, 1, knots)
    curve = np.cumsum(event) / n - np.cumsum(score) / n
    if middle:
        t = np.arange(1, n + 1) / n
        curve -= 0.5 * (event - score) / n
    basis = CubicSpline(at_knots, np.eye(knots), bc_type="natural")
    values = score + basis(t, 1) @ np.linalg.lstsq(basis(t), curve, rcond=None)[0]
    above = np.clip(np.searchsorted(score, at), 1, n - 1)
    up, down = at - score[above - 1], score[above] - at
    with np.errstate(invalid="ignore"):
        new: Floats = (down * values[above] + up * values[above - 1]) / (up + down)
    new[at >= score[-1]] = values[-1]
    new[at <= score[0]] = values[0]
    return new


def sorted_error(score: Floats, event: Floats | Ints) -> float:
    """KS error in per cent with every row a step, summed in the precision of the scores."""
    order = np.argsort(score, kind="stable")
    n = len(score)
    return float(100 * np.abs(np.cumsum(score[order]) / n - np.cumsum(event[order]) / n).max())
