"""Active learning with and without calibration, section 4 of Wenger et al. 2020."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import SGDClassifier
from sklearn.neural_network import MLPClassifier

from caltest.calibrators import GPCalibrator
from paper_checks.check import Row
from paper_checks.gp_protocol import measured

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

# figures/active_learning/active_learning_calibration.py of their program
START, BATCH, CALIBRATION, THRESHOLD = 500, 250, 250, 0.25
POINTS = (500, 2000, 3500)  # labels bought when a calibration set is bought
PASSES = 5  # of the network over the rows of a batch

LEARNERS = {
    "logistic regression": lambda seed: SGDClassifier(
        loss="log_loss", alpha=1e-3, average=True, random_state=seed
    ),
    "1layer_NN": lambda seed: MLPClassifier((100,), learning_rate_init=3e-3, random_state=seed),
}


def entropy(probs: Floats) -> Floats:
    """Entropy of each row, relative to that of equal probabilities."""
    safe = np.maximum(probs, np.finfo(float).tiny)
    return -(probs * np.log(safe)).sum(axis=1) / np.log(probs.shape[1])


def kitti(path: Path) -> tuple[Floats, Ints, Floats, Ints]:
    """KITTI with all its classes, standardised by the training part."""
    stored = np.load(path)
    X, X_test = stored["X_train"].astype(float), stored["X_test"].astype(float)
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    deviation[deviation == 0] = 1
    labels = np.concatenate([stored["y_train"], stored["y_test"]])
    codes = np.unique(labels, return_inverse=True)[1]
    return (X - mean) / deviation, codes[: len(X)], (X_test - mean) / deviation, codes[len(X) :]


class Learner:
    """An online classifier, and a calibrator that is fitted when labels are bought for it."""

    def __init__(self, name: str, m: int, seed: int) -> None:
        self.classes = np.arange(m)
        self.model = LEARNERS[name](seed)
        self.passes = PASSES if name == "1layer_NN" else 1
        self.calibrator: GPCalibrator | None = None
        self.kept: list[tuple[Floats, Ints]] = []

    def learn(self, X: Floats, y: Ints) -> None:
        """Learn from new rows."""
        for _ in range(self.passes if len(y) else 0):
            self.model.partial_fit(X, y, classes=self.classes)

    def raw(self, X: Floats) -> Floats:
        """Uncalibrated probabilities; a row of zeros becomes uniform."""
        probs = self.model.predict_proba(X)
        total = probs.sum(axis=1, keepdims=True)
        return np.where(total > 0, probs / np.where(total > 0, total, 1), 1 / probs.shape[1])

    def calibrate(self, X: Floats, y: Ints) -> None:
        """Add rows to the calibration set and fit to all of it."""
        self.kept.append((self.raw(X), y))
        probs, labels = (np.concatenate(part) for part in zip(*self.kept, strict=True))
        self.calibrator = GPCalibrator(covariance="diagonal", classes=self.classes)
        self.calibrator.fit(probs, labels)

    def predict(self, X: Floats) -> Floats:
        """Probabilities, calibrated after the first calibration."""
        probs = self.raw(X)
        return probs if self.calibrator is None else self.calibrator.predict_proba(probs)


def run(path: Path, name: str, seed: int, *, calibrate: bool) -> list[Row]:
    """Pass once through KITTI: labels are bought where the entropy is above the threshold."""
    X, y, X_test, y_test = kitti(path)
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = X[order], y[order]
    learner = Learner(name, int(max(y.max(), y_test.max())) + 1, seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the latent mean falls", UserWarning)
        rows = _pass(learner, (X, y), (X_test, y_test), calibrate=calibrate)
    start = {"experiment": "active", "classifier": name, "seed": seed, "calibrated": calibrate}
    return [start | row for row in rows]


def _pass(learner: Learner, train: Any, test: Any, *, calibrate: bool) -> list[Row]:
    X, y = train
    learner.learn(X[:START], y[:START])
    at, bought, points, rows = START, START, list(POINTS if calibrate else ()), []
    while at < len(y):
        if points and bought >= points[0]:
            # The next uncertain rows are bought to calibrate, not to learn from.
            chosen = _uncertain(learner, X, at)[:CALIBRATION]
            learner.calibrate(X[chosen], y[chosen])
            bought, at, _ = bought + len(chosen), int(chosen[-1]) + 1, points.pop(0)
        found = measured(learner.predict(test[0]), test[1])
        rows.append({"seen": at, "bought": bought} | found)
        batch = slice(at, at + BATCH)
        wanted = entropy(learner.predict(X[batch])) > THRESHOLD
        learner.learn(X[batch][wanted], y[batch][wanted])
        at, bought = at + BATCH, bought + int(wanted.sum())
    return rows


def _uncertain(learner: Learner, X: Floats, at: int) -> Ints:
    return at + np.flatnonzero(entropy(learner.predict(X[at:])) > THRESHOLD)
