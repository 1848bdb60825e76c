"""Calibration errors in bins."""
