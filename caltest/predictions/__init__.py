"""Predicted probabilities with their labels, from arrays, models, tables and files."""

from caltest.predictions.container import Predictions, event_column
from caltest.predictions.model_data import ModelData, as_measured
from caltest.predictions.options import Measured, MeasuredOptions, check_names, parted
from caltest.predictions.redrawing import Redrawing
from caltest.predictions.rows import Rows

__all__ = [
    "Measured",
    "MeasuredOptions",
    "ModelData",
    "Predictions",
    "Redrawing",
    "Rows",
    "as_measured",
    "check_names",
    "event_column",
    "parted",
]
