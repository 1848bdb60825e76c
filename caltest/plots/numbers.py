"""The numbers beside a reliability diagram: intercept, slope, ICI and E90."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from caltest.errors import DegenerateDataWarning, NotApplicable
from caltest.intervals import choose
from caltest.measures.recalibration.cox import CalibrationIntercept, CalibrationSlope
from caltest.measures.smooth.ici import E90, ICI
from caltest.render import rows_of_slope

if TYPE_CHECKING:
    from caltest.measures import Measure
    from caltest.measures.outcome import Ends
    from caltest.predictions import Predictions
    from caltest.scale import Cells

COEFFICIENTS = {"intercept": CalibrationIntercept(), "slope": CalibrationSlope()}
RESAMPLES, SEED = 199, 1
MOST_ROWS = 2000  # with which a loess is resampled, as a picture should not take long


def number_lines(predictions: Predictions, level: float) -> list[str]:
    """Return a line with an interval for each number that the data have."""
    lines = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        for name, measure in COEFFICIENTS.items():
            lines += _line(name, measure, predictions, level, percent=False)
        for error in (ICI(), E90()):
            lines += _line(error.symbol, error, predictions, level, percent=True)
    return lines


def cell_number_lines(cells: Cells, level: float) -> list[str]:
    """Return a line with an interval for each number that the cells have."""
    lines = []
    for name, measure in COEFFICIENTS.items():
        with suppress(NotApplicable):
            lines.append(_in_words(name, measure.cell_interval(cells, level=level)))
    return lines


def _line(
    name: str, measure: Measure, predictions: Predictions, level: float, *, percent: bool
) -> list[str]:
    """Return a number with its interval, in percentage points or as it is."""
    try:
        if percent and predictions.n > MOST_ROWS:
            value = float(measure.evaluate(predictions, None, "strong", None))
            return [f"{name} {100 * value:.1f} points"]
        method = choose(measure, "cluster" if predictions.has_dependence else None)
        options: dict[str, Any] = {
            "level": level,
            "n_resamples": RESAMPLES,
            "seed": SEED,
            "n_jobs": None,
        }
        ends = method.compute(measure, predictions, **options)
    except NotApplicable:
        return []
    if percent:
        low, high = 100 * ends.low, 100 * ends.high
        return [f"{name} {100 * ends.estimate:.1f} points ({low:.1f} to {high:.1f})"]
    return [_in_words(name, ends)]


def _in_words(name: str, ends: Ends) -> str:
    return f"{name} {ends.estimate:.2f} ({ends.low:.2f} to {ends.high:.2f}){rows_of_slope(ends)}"
