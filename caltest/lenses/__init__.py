"""Calibration lenses: which aspect of the predictions a test looks at.

A lens maps predictions and labels to those of an induced model, which is calibrated if that aspect
is. Induced binary predictions put the event in column 1. Ties between probabilities are broken by
the order of the classes. A family, such as `Classwise()`, stands for one lens per class.
"""

# ruff: noqa: F403, F405, PLE0604 - a file says in its __all__ what is public

from caltest.lenses import base, classes, forecasts
from caltest.lenses.base import *
from caltest.lenses.classes import *
from caltest.lenses.forecasts import *

REGISTRY: dict[str, type[Lens]] = {
    "strong": Strong,
    "confidence": Confidence,
    "classwise": Classwise,
    "cumulative": Cumulative,
    "top-label": TopLabel,
    "top-R": TopRank,
    "within-top-R": WithinTop,
    "largest-R": Largest,
    "grouped[...]": Grouped,
    "exceeds[...]": Exceeds,
    "below-quantile": BelowQuantile,
    "interval": Interval,
    "pit": PIT,
    "bands[...]": Bands,
}

__all__ = ["REGISTRY", *base.__all__, *classes.__all__, *forecasts.__all__]
