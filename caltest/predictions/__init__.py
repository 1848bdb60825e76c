"""Predicted probabilities with their labels, from arrays, models, tables and files."""

from caltest.predictions.container import Predictions
from caltest.predictions.dispatch import as_measured, as_predictions

__all__ = ["Predictions", "as_measured", "as_predictions"]
