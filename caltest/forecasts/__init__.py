"""Predictive distributions with the outcomes that were observed, from arrays, models and tables."""

from caltest.forecasts.container import Forecasts

__all__ = ["Forecasts"]
