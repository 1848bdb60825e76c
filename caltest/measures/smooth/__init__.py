"""Smooth calibration errors: kernel smoothing and loess."""
