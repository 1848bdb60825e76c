"""Smoothed calibration curves: smooth ECE, loess, le Cessie-van Houwelingen."""
