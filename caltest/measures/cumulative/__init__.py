"""Cumulative calibration errors: Kolmogorov-Smirnov and Kuiper."""
