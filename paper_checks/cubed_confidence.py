"""The synthetic set of figure 2 of Wenger et al. 2020: right with the cube of the confidence."""

from __future__ import annotations

import warnings

import numpy as np

from caltest.calibrators import GPCalibrator
from paper_checks.check import Row
from paper_checks.gp_protocol import Floats, Ints, measured

ROWS = 100  # of the calibration set


def errors(seed: int) -> list[Row]:
    """Distance of the confidence from z^3, and ECE, before and after calibration, on new rows."""
    probs, labels = sample(ROWS, seed)
    new, new_labels = sample(5000, 1000 + seed)
    calibrated = fitted(probs, labels).predict_proba(new)
    truth = new.max(axis=1) ** 3
    before, after = (np.abs(p.max(axis=1) - truth).mean() for p in (new, calibrated))
    found = measured(calibrated, new_labels)
    raw = measured(new, new_labels)
    return [
        {
            "experiment": "figure 2",
            "seed": seed,
            "distance before": float(before),
            "distance after": float(after),
            "ECE before": raw["ECE"],
            "ECE after": found["ECE"],
        }
    ]


def fitted(probs: Floats, labels: Ints) -> GPCalibrator:
    """Calibrator of the check, fitted."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the latent mean falls", UserWarning)
        return GPCalibrator(covariance="diagonal", classes=range(4)).fit(probs, labels)


def sample(n: int, seed: int) -> tuple[Floats, Ints]:
    """Draw rows of four classes, whose confidence z is Beta(2, 0.75) on [1/4, 1].

    The predicted class is right with probability z^3.
    """
    rng = np.random.default_rng(seed)
    top = 0.25 + 0.75 * rng.beta(2.0, 0.75, n)
    rest = _rests(rng, top)
    predicted = rng.integers(4, size=n)
    probs = np.empty((n, 4))
    for i, k in enumerate(predicted):
        probs[i] = np.insert(rest[i], k, top[i])
    right = rng.random(n) < top**3
    return probs, np.where(right, predicted, (predicted + rng.integers(1, 4, n)) % 4)


def _rests(rng: np.random.Generator, top: Floats) -> Floats:
    """Draw three probabilities that sum to 1 - top and are at most top."""
    shares = rng.dirichlet([1.0, 1.0, 1.0], len(top))
    rest = (1 - top)[:, None]
    most = shares.max(axis=1, keepdims=True)
    # Towards equal shares where one would be the largest of the row.
    room = np.minimum(1.0, (top[:, None] / rest - 1 / 3) / np.maximum(most - 1 / 3, 1e-12))
    return rest * (1 / 3 + 0.999 * np.clip(room, 0, 1) * (shares - 1 / 3))
