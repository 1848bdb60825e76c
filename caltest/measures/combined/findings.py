"""What a component finds, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

AT_A_TIME = 1 << 22  # numbers in a temporary array


@dataclass(frozen=True)
class Finding:
    """What a component sees in the labels that were observed.

    Attributes
    ----------
    text : str
        In the words of the user, with direction and unit: "too sure: a temperature of 1.21".
    estimate : float
        The number in it.
    estimate_name : str
        What the number is, with its unit.
    in_words : bool
        Whether the text tells a user of the model what is wrong: not by how many z, nor of rows or
        a class that were picked because they look worst.
    """

    text: str
    estimate: float
    estimate_name: str
    in_words: bool = True


NO_GAP = Finding("no gap", 0.0, "mean gap there", in_words=False)
NO_TEMPERATURE = Finding(
    "no temperature changes the probabilities", 1.0, "temperature", in_words=False
)


def points(difference: float) -> str:
    """Write a difference of probabilities in percentage points."""
    return f"{100 * abs(difference):.3g} points"


def percent(share: float) -> str:
    """Write a probability in percent."""
    return f"{round(100 * share, 4):.3g} %"


def farthest(where: str, mean: float, share: float, estimate_name: str) -> Finding:
    """Describe what was picked because it is farthest off, which says nothing of other rows."""
    text = f"farthest is {where}: {percent(mean)} on average, {percent(share)} observed"
    return Finding(text, float(share - mean), estimate_name, in_words=False)


def ratio(numerator: Floats, denominator: Floats | float) -> Floats:
    """Divide; where the denominator is 0 the numerator stays."""
    return np.asarray(numerator / np.where(np.asarray(denominator) > 0, denominator, 1.0))


def mending_temperature(logs: Floats, labels: Codes, weight: Floats) -> float:
    """Return T that makes p^(1/T), normalised, most likely, within [0.05, 20]; by Newton steps."""
    rows, beta = np.arange(labels.size), 1.0
    own = float(weight @ logs[rows, labels])
    step = max(1, AT_A_TIME // logs.shape[1])
    for _ in range(25):
        slope, curvature = own, 0.0
        for start in range(0, rows.size, step):
            some = slice(start, start + step)
            z = beta * logs[some]
            z -= z.max(axis=1, keepdims=True)
            np.exp(z, out=z)
            z /= z.sum(axis=1, keepdims=True)
            mean = np.einsum("ik,ik->i", z, logs[some])
            square = np.einsum("ik,ik,ik->i", z, logs[some], logs[some])
            slope -= float(weight[some] @ mean)
            curvature += float(weight[some] @ (square - np.square(mean)))
        if curvature <= 0:
            break
        new = min(max(beta + slope / curvature, beta / 3.0, 0.05), beta * 3.0, 20.0)
        if abs(new - beta) < 1e-6 * beta:
            break
        beta = new
    return 1.0 / beta
