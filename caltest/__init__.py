"""Statistical tests of calibration.

A classifier predicts 70 %: is it right 70 % of the time? `test_calibration(model, data)` answers
with a p-value that is valid at the sample size at hand.
"""

import importlib
from typing import TYPE_CHECKING

from caltest._version import __version__
from caltest.errors import DegenerateDataWarning, InvalidInput, NotApplicable, SuspectInputWarning

if TYPE_CHECKING:
    from caltest import calibrators, classifiers, htests, kernels, lenses, measures, nulls, plots
    from caltest import datasets as datasets
    from caltest import integrations as integrations
    from caltest import metrics as metrics
    from caltest import survival as survival
    from caltest import testing as testing
    from caltest.active import ActiveLearner
    from caltest.comparison import compare_calibrators, compare_models
    from caltest.forecasts import Forecasts
    from caltest.htests import test_calibration, test_master_scale
    from caltest.monitoring import Monitor, combine_evalues, monitor
    from caltest.planning import plan_monitoring, power, sample_size, sample_size_for_precision
    from caltest.predictions import Predictions
    from caltest.reporting import report
    from caltest.results import GroupsTest, HTest, HTestTable
    from caltest.segments import Segment, SegmentsTest, test_segments
    from caltest.survival import SurvivalPredictions
    from caltest.verdicts import verdict

__all__ = [
    "ActiveLearner",
    "DegenerateDataWarning",
    "Forecasts",
    "GroupsTest",
    "HTest",
    "HTestTable",
    "InvalidInput",
    "Monitor",
    "NotApplicable",
    "Predictions",
    "Segment",
    "SegmentsTest",
    "SurvivalPredictions",
    "SuspectInputWarning",
    "__version__",
    "calibrators",
    "classifiers",
    "combine_evalues",
    "compare_calibrators",
    "compare_models",
    "datasets",
    "htests",
    "integrations",
    "kernels",
    "lenses",
    "measures",
    "metrics",
    "monitor",
    "nulls",
    "plan_monitoring",
    "plots",
    "power",
    "report",
    "sample_size",
    "sample_size_for_precision",
    "survival",
    "test_calibration",
    "test_master_scale",
    "test_segments",
    "testing",
    "verdict",
]

# Loaded at first use: numba and SciPy would triple the time of `import caltest`.
_HOMES = {
    "active": ["ActiveLearner"],
    "comparison": ["compare_calibrators", "compare_models"],
    "forecasts": ["Forecasts"],
    "htests": ["test_calibration", "test_master_scale"],
    "monitoring": ["Monitor", "combine_evalues", "monitor"],
    "planning": ["plan_monitoring", "power", "sample_size", "sample_size_for_precision"],
    "predictions": ["Predictions"],
    "reporting": ["report"],
    "results": ["GroupsTest", "HTest", "HTestTable"],
    "segments": ["Segment", "SegmentsTest", "test_segments"],
    "survival": ["SurvivalPredictions"],
    "verdicts": ["verdict"],
}
_NAMES = {name: f"caltest.{home}" for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'caltest' has no attribute {name!r}")
    module = importlib.import_module(_NAMES.get(name, f"caltest.{name}"))
    # Kept, so that it is looked up once.
    value = globals()[name] = getattr(module, name) if name in _NAMES else module
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
