"""Measures of forecasts: uniformity of the probability integral transform, and scores."""
