"""Kernel calibration errors: SKCE, KCE, MMCE, and errors at test locations."""
