"""Platt's sigmoid of a score, fitted by Newton's steps."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

STEPS = 100
HALVINGS = 40
TOLERANCE = 1e-12  # of the decrement, per row


def platt(scores: Floats, event: NDArray[np.bool_]) -> tuple[float, float]:
    """Return slope and intercept of P(event) = expit(slope score + intercept).

    The targets are (N+ + 1) / (N+ + 2) and 1 / (N- + 2), so that the fit is finite where the
    scores separate the labels (Platt 1999, section 2.2).

    Parameters
    ----------
    scores : (n,) array
        Any real numbers.
    event : (n,) array of bool
        Labels.
    """
    positive, negative = event.sum(), (~event).sum()
    target = np.where(event, (positive + 1) / (positive + 2), 1 / (negative + 2))
    centre, spread = scores.mean(), scores.std()
    # Of constant scores the slope is not defined: 0.
    z = (scores - centre) / spread if spread > 0 else np.zeros_like(scores)
    design = np.column_stack([z, np.ones_like(z)])
    theta = np.array([0.0, np.log((positive + 1) / (negative + 1))])
    value = _loss(design @ theta, target)
    for _ in range(STEPS):
        p = expit(design @ theta)
        slope = design.T @ (p - target)
        curvature = (design.T * (p * (1 - p))) @ design
        curvature[np.diag_indices(2)] += 1e-12 * max(1.0, float(np.trace(curvature)))
        step = np.linalg.solve(curvature, slope)
        size = 1.0
        for _ in range(HALVINGS):
            new = _loss(design @ (theta - size * step), target)
            if new <= value:
                break
            size /= 2
        theta, value = theta - size * step, new
        if slope @ step <= TOLERANCE * len(scores):
            break
    scale = theta[0] / spread if spread > 0 else 0.0
    return float(scale), float(theta[1] - scale * centre)


def _loss(logits: Floats, target: Floats) -> float:
    return float((np.logaddexp(0, logits) - target * logits).sum())
