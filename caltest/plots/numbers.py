"""The numbers beside a reliability diagram: intercept, slope, ICI and E90."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from caltest.errors import DegenerateDataWarning, NotApplicable
from caltest.measures.recalibration.calibration_intercept import CalibrationIntercept
from caltest.measures.recalibration.calibration_slope import CalibrationSlope
from caltest.measures.smooth.ici import E90, ICI

if TYPE_CHECKING:
    from caltest.predictions import Predictions


def number_lines(predictions: Predictions, level: float) -> list[str]:
    """Return a line for each number that the data have, the first two with intervals."""
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        for name, measure in (("intercept", CalibrationIntercept()), ("slope", CalibrationSlope())):
            try:
                value = float(measure.evaluate(predictions, None, "strong", None))
                ends = measure.own_interval(predictions, level=level)
            except NotApplicable:
                continue
            lines.append(f"{name} {value:.2f} ({ends.low:.2f} to {ends.high:.2f})")
        for error in (ICI(), E90()):
            try:
                value = float(error.evaluate(predictions, None, "strong", None))
            except NotApplicable:
                continue
            lines.append(f"{error.symbol} {100 * value:.1f} points")
    return lines
