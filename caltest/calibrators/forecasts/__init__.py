"""Calibration maps of predictive distributions: fit(forecasts), transform(forecasts)."""
