"""Scores and their decompositions."""
