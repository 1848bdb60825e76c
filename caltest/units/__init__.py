"""Units whose residuals are summed (rows, or cells of equal rows), sums of them, statistics."""

from caltest.units.statistic import Norm, Statistic
from caltest.units.sums import PartialSums, ScoreSums, Sums, UnitSums
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
