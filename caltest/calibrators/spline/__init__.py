"""Spline calibration, Gupta et al. 2021."""
