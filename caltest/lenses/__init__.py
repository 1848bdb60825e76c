"""Calibration lenses: which aspect of the predictions a test looks at.

A lens maps predictions and labels to those of an induced model, which is calibrated if that aspect
is. Induced binary predictions put the event in column 1. Ties between probabilities are broken by
the order of the classes. A family, such as `Classwise()`, stands for one lens per class.
"""

from __future__ import annotations

from collections.abc import Mapping

from caltest.lenses.base import Lens, Strong, resolve_lens
from caltest.lenses.classes import (
    Classwise,
    Confidence,
    Custom,
    Grouped,
    Largest,
    TopLabel,
    TopRank,
    WithinTop,
)

__all__ = [
    "REGISTRY",
    "Classwise",
    "Confidence",
    "Custom",
    "Grouped",
    "Largest",
    "Lens",
    "Strong",
    "TopLabel",
    "TopRank",
    "WithinTop",
    "resolve_lens",
]

REGISTRY: Mapping[str, type[Lens]] = {
    "strong": Strong,
    "confidence": Confidence,
    "classwise": Classwise,
    "top-label": TopLabel,
    "top-R": TopRank,
    "within-top-R": WithinTop,
    "largest-R": Largest,
    "grouped[...]": Grouped,
}
