"""Calibration maps as scikit-learn estimators: fit(probs, y), predict_proba(probs).

A new calibrator is a file in the folder of its family and a line here. Lists, tables and pages
follow the order of the lines.
"""

# A file says in its __all__ what is public, and the order of the lines has a meaning.
# ruff: noqa: F403, I001, PLE0604

from caltest.calibrators.base import *
from caltest.calibrators.linear.temperature import *
from caltest.calibrators.linear.vector import *
from caltest.calibrators.linear.matrix import *
from caltest.calibrators.linear.dirichlet import *
from caltest.calibrators.spline.calibrator import *
from caltest.calibrators.gp.calibrator import *
from caltest.calibrators.binary.platt import *
from caltest.calibrators.binary.beta import *
from caltest.calibrators.binary.isotonic import *
from caltest.calibrators.binary.bbq import *
from caltest.calibrators.binary.enir import *
from caltest.calibrators.binary.histogram import *
from caltest.calibrators.binary.venn_abers import *
from caltest.calibrators.one_vs_rest import *
from caltest.calibrators.ensemble import *
from caltest.calibrators.calibrated_classifier import *

from caltest.calibrators.base import Calibrator
from caltest.calibrators.output import REGISTRY

_PUBLIC = {name: value for name, value in globals().items() if callable(value)}

REGISTRY |= {
    calibrator.key: calibrator
    for calibrator in _PUBLIC.values()
    if issubclass(calibrator, Calibrator) and hasattr(calibrator, "key")
}

__all__ = ["REGISTRY", *_PUBLIC]
