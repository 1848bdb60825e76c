"""Binned calibration errors."""
