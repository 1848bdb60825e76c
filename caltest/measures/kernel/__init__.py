"""Kernel calibration errors: SKCE, KCE, MMCE, and those at test locations."""
