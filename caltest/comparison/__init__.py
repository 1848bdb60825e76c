"""Comparing calibrators, models, and methods over data sets by their ranks."""

from caltest.comparison.calibrators import compare_calibrators
from caltest.comparison.models import compare_models
from caltest.comparison.ranking import Ranking, rank_methods

__all__ = ["Ranking", "compare_calibrators", "compare_models", "rank_methods"]
