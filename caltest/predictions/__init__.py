"""Predicted probabilities with their labels, from arrays, models, tables and files."""

from caltest.predictions.container import Predictions, event_column
from caltest.predictions.model_data import ModelData, as_measured

__all__ = ["ModelData", "Predictions", "as_measured", "event_column"]
