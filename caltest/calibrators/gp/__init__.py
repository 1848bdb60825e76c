"""Gaussian-process calibration, Wenger et al. 2020."""
