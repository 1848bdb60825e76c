"""Watching a model: e-processes, whose error rates hold at all times."""

from caltest.monitoring.e_process import Monitor
from caltest.monitoring.evalues import adjust_evalues, combine_evalues, comparison_evalues
from caltest.monitoring.plan import DriftDelay, MonitoringPlan, monitor

__all__ = [
    "DriftDelay",
    "Monitor",
    "MonitoringPlan",
    "adjust_evalues",
    "combine_evalues",
    "comparison_evalues",
    "monitor",
]
