"""The generative models of Widmann et al. (2019), section 7 and appendix J.2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaln

from caltest.datasets import generative_model
from caltest.predictions import Predictions

N = 250  # observations of a data set


@dataclass(frozen=True, slots=True)
class Model:
    """A model: predictions from Dir(alpha, ..., alpha), labels in part from a fixed distribution.

    Attributes
    ----------
    name : {"M1", "M2", "M3"}
        Of `generative_model`: the fixed distribution is the first class for M2, uniform for M3.
    alpha : float
        Concentration of the predictions.
    pi : float
        Share of the labels that come from the fixed distribution.
    """

    name: str
    alpha: float
    pi: float

    def draw(self, m: int, seed: np.random.SeedSequence) -> Predictions:
        """Data set of N observations and m classes."""
        return generative_model(self.name, n=N, m=m, alpha=self.alpha, pi=self.pi, rng=seed)

    def true_ece(self, m: int) -> float:
        """Expected calibration error with the total variation distance, appendix J.2.1."""
        a, total = self.alpha, m * self.alpha
        beta = np.eye(m)[0] if self.name == "M2" else np.full(m, 1 / m)
        inside = beta * betainc(a, total - a, beta) - a / total * betainc(a + 1, total - a, beta)
        return float(self.pi * inside.sum())

    def mean_distance(self, m: int) -> float:
        """Mean total variation distance of two predictions, appendix J.2.2."""
        total, rest = m * self.alpha, (m - 1) * self.alpha
        logs = betaln(total, total) - betaln(self.alpha, self.alpha) - betaln(rest, rest)
        return float(2 / self.alpha * np.exp(logs))

    def matches(self, alpha: float, pi: float, *, only_first: bool) -> bool:
        """Whether these are its parameters in the paper's files."""
        # Without fixed labels the two distributions of them are one model, which is listed twice.
        return (self.alpha, self.pi, self.name == "M2") == (alpha, pi, only_first)


# Section 7.
MODELS = {
    "M1": Model("M1", 0.1, 0.0),
    "M2": Model("M2", 0.1, 0.5),
    "M3": Model("M3", 0.1, 1.0),
}


def _label(model: Model) -> str:
    fixed = {"M1": "calibrated", "M2": "first class", "M3": "uniform"}[model.name]
    return f"alpha = {model.alpha:g}, pi = {model.pi:g}, {fixed}"


# The other models of the appendix.
_GRID = [
    Model(name, alpha, pi)
    for alpha in (0.1, 1.0)
    for name, shares in (("M1", (0.0,)), ("M2", (0.25, 0.5, 0.75, 1)), ("M3", (0.25, 0.5, 0.75, 1)))
    for pi in shares
]
APPENDIX = {_label(model): model for model in _GRID if model not in MODELS.values()}
ALL = MODELS | APPENDIX


def seeds(label: str, m: int, chunk: int, size: int) -> list[np.random.SeedSequence]:
    """Return the seeds of the data sets of a chunk, the same in every mode of run."""
    number = list(ALL).index(label) + 1
    return [np.random.SeedSequence((2019, number, m, chunk, i)) for i in range(size)]
