"""Predicted probabilities with their labels, from arrays, models, tables and files."""

from caltest.predictions.container import Predictions, event_column
from caltest.predictions.model_data import ModelData, as_measured
from caltest.predictions.options import Measured, MeasuredOptions

__all__ = ["Measured", "MeasuredOptions", "ModelData", "Predictions", "as_measured", "event_column"]
