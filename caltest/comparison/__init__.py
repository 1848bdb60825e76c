"""Comparing calibrators, models, and methods over data sets by their ranks."""

from caltest.comparison.best_map import BestMap, best_map
from caltest.comparison.calibrators import compare_calibrators
from caltest.comparison.models import compare_models
from caltest.comparison.out_of_fold import OutOfFold, out_of_fold
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
