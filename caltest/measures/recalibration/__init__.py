"""Recalibration models: intercept, slope, Cox, unreliability, belt."""
