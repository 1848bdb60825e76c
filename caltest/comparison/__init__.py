"""Comparing calibrators, models, and methods over data sets by their ranks."""

from caltest.comparison.calibrators import compare_calibrators
from caltest.comparison.models import compare_models
from caltest.comparison.out_of_fold import BestMap, OutOfFold, best_map, out_of_fold
from caltest.comparison.ranking import Ranking, rank_methods

__all__ = [
    "BestMap",
    "OutOfFold",
    "Ranking",
    "best_map",
    "compare_calibrators",
    "compare_models",
    "out_of_fold",
    "rank_methods",
]
