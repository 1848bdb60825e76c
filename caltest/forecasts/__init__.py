"""Predictive distributions with the outcomes that were observed, from arrays, models and tables."""

from caltest.forecasts.container import Forecasts
from caltest.forecasts.laws import Law

__all__ = ["Forecasts", "Law"]
