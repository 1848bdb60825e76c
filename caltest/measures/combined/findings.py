"""What a component finds, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


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
    """

    text: str
    estimate: float
    estimate_name: str


NO_GAP = Finding("no gap", 0.0, "mean gap there")


def points(difference: float) -> str:
    """Write a difference of probabilities in percentage points."""
    return f"{100 * abs(difference):.3g} points"


def percent(share: float) -> str:
    """Write a probability in percent."""
    return f"{100 * share:.3g} %"


def ratio(numerator: Floats, denominator: Floats | float) -> Floats:
    """Divide; where the denominator is 0 the numerator stays."""
    return np.asarray(numerator / np.where(np.asarray(denominator) > 0, denominator, 1.0))
