"""Planning a validation: power, and the number of rows that a test or an interval needs."""

from caltest.planning.curve import power, sample_size
from caltest.planning.monitoring import plan_monitoring
from caltest.planning.precision import PrecisionRow, PrecisionSize, sample_size_for_precision
from caltest.planning.results import Power, PowerRow, SampleSize

__all__ = [
    "Power",
    "PowerRow",
    "PrecisionRow",
    "PrecisionSize",
    "SampleSize",
    "plan_monitoring",
    "power",
    "sample_size",
    "sample_size_for_precision",
]
