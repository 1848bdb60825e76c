"""Isotonic regression: CORP, and the confidence band for the calibration curve."""
