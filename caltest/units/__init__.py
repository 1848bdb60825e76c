"""Units whose residuals are summed (rows, or cells of equal rows), sums of them, statistics."""

from caltest.units.sums import Norm, PartialSums, ScoreSums, Statistic, Sums, UnitSums
from caltest.units.units import CellUnits, RowUnits, Units

__all__ = [
    "CellUnits",
    "Norm",
    "PartialSums",
    "RowUnits",
    "ScoreSums",
    "Statistic",
    "Sums",
    "UnitSums",
    "Units",
]
