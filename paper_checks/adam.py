"""Adam as Kull et al. ran it, to see what early stopping does to their numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ROWS, PATIENCE, EPOCHS = 128, 15, 500
EPS = np.finfo(float).eps


@dataclass
class Adam:
    """Softmax regression fitted by Adam with the settings of experiments_dnn.

    128 rows at a time in a new order for each pass, 500 passes at most, until the training loss has
    not fallen for 15. The matrix forms go on with a tenth of the learning rate. Weights start at
    the identity; the penalty of a batch is lam sum w^2 (of the weights off the diagonal for
    `odir`) + mu sum b^2.

    Attributes
    ----------
    kind : {"diagonal", "odir", "l2"}
        The map.
    lam, mu : float
        Its penalties.
    seed : int
        Seed of the orders.
    """

    kind: str
    lam: float = 0.0
    mu: float = 0.0
    seed: int = 0

    def fit(self, Z: Floats, y: Ints) -> Adam:
        """Fit to rows of logits or of log probabilities."""
        m = Z.shape[1]
        self.W, self.b = np.eye(m), np.zeros(m)
        rng = np.random.default_rng(self.seed)
        for rate in (1e-3,) if self.kind == "diagonal" else (1e-3, 1e-4):
            self._descend(Z, np.eye(m)[y], rate, rng)
        return self

    def predict_proba(self, Z: Floats) -> Floats:
        """Probabilities of new rows."""
        return softmax(Z @ self.W + self.b, axis=1)

    def _descend(self, Z: Floats, Y: Floats, rate: float, rng: np.random.Generator) -> None:
        moments = [np.zeros((2, *part.shape)) for part in (self.W, self.b)]
        best, waited, step = np.inf, 0, 0
        for _ in range(EPOCHS):
            order, total = rng.permutation(len(Z)), 0.0
            for rows in np.split(order, range(ROWS, len(Z), ROWS)):
                step += 1
                loss, slopes = self._loss(Z[rows], Y[rows])
                total += loss * len(rows)
                steps = [_direction(s, m, step) for s, m in zip(slopes, moments, strict=True)]
                self.W -= rate * steps[0]
                self.b -= rate * steps[1]
            if total < best:
                best, waited = total, 0
            else:
                waited += 1
            if waited >= PATIENCE:
                return

    def _loss(self, Z: Floats, Y: Floats) -> tuple[float, tuple[Floats, Floats]]:
        P = self.predict_proba(Z)
        loss = -np.log(np.maximum((P * Y).sum(axis=1), 1e-7)).mean()  # Keras' epsilon
        free = np.eye(len(self.b)) if self.kind == "diagonal" else np.ones_like(self.W)
        punished = {"diagonal": 0.0, "l2": 1.0, "odir": 1.0 - np.eye(len(self.b))}[self.kind]
        D = (P - Y) / len(Z)
        slope_W = free * (Z.T @ D) + 2 * self.lam * punished * self.W
        slope_b = D.sum(axis=0) + 2 * self.mu * self.b
        penalty = self.lam * np.sum(punished * self.W**2) + self.mu * np.sum(self.b**2)
        return float(loss + penalty), (slope_W, slope_b)


def _direction(slope: Floats, moment: Floats, step: int) -> Floats:
    """Adam's step in units of the rate; `moment` is updated."""
    moment[0] += 0.1 * (slope - moment[0])
    moment[1] += 0.001 * (slope**2 - moment[1])
    first, second = moment[0] / (1 - 0.9**step), moment[1] / (1 - 0.999**step)
    return first / (np.sqrt(second) + 1e-7)
