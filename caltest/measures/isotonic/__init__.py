"""Isotonic regression: CORP and the confidence band."""
