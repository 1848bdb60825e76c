"""Scores, their decompositions, and tests of them."""
