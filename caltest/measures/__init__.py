"""Calibration errors and scores: `f(probs, labels, *, lens="strong", ...) -> float`.

A new measure, with the tests that are named after it, is a file in the folder of its family and a
line here. Lists, tables and pages follow the order of the lines.
"""

# A file says in its __all__ what is public, and the order of the lines has a meaning.
# ruff: noqa: F403, I001, PLE0604

from caltest.measures.base import *
from caltest.measures.outcome import *
from caltest.measures.combined.combined import *
from caltest.measures.kernel.skce import *
from caltest.measures.kernel.cme import *
from caltest.measures.bins.ece import *
from caltest.measures.bins.debiased_ece import *
from caltest.measures.bins.t_cal import *
from caltest.measures.bins.reliability_bins import *
from caltest.measures.cumulative.cumulative import *
from caltest.measures.cumulative.cramer_von_mises import *
from caltest.measures.smooth.smooth_ece import *
from caltest.measures.smooth.kde_ece import *
from caltest.measures.scores.scores import *
from caltest.measures.scores.spiegelhalter import *
from caltest.measures.scores.decomposition import *
from caltest.measures.scores.auc import *
from caltest.measures.scores.net_benefit import *
from caltest.measures.scores.confidence import *
from caltest.measures.recalibration.cox import *
from caltest.measures.recalibration.expected_observed_ratio import *
from caltest.measures.grades.hosmer_lemeshow import *
from caltest.measures.scores.spiegelhalter import (
    LeCessieVanHouwelingen,  # noqa: F401 - listed after them
    le_cessie_van_houwelingen,  # noqa: F401
)
from caltest.measures.smooth.ici import *
from caltest.measures.smooth.smooth_curve import *
from caltest.measures.grades.grade import *
from caltest.measures.recalibration.belt import *
from caltest.measures.isotonic.corp import *
from caltest.measures.isotonic.confidence_band import *
from caltest.measures.forecasts import *
from caltest.measures.kernel.forecasts import *
from caltest.measures.splits import *
from caltest.measures.own import *

from caltest.measures.base import REGISTRY, Measure

_PUBLIC = {name: value for name, value in globals().items() if callable(value)}

REGISTRY |= {
    measure.key: measure
    for measure in _PUBLIC.values()
    if isinstance(measure, type) and issubclass(measure, Measure) and measure is not Measure
}

_CLASSES = set(REGISTRY.values())  # asked for by key or by their function
__all__ = ["REGISTRY", *(name for name, value in _PUBLIC.items() if value not in _CLASSES)]
