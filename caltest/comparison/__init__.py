"""Comparing methods: over data sets by their ranks."""

from caltest.comparison.ranking import Ranking, rank_methods

__all__ = ["Ranking", "rank_methods"]
