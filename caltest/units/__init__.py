"""Units whose residuals are summed (rows, or cells of equal rows), sums of them, statistics."""

from caltest.units.sums import (
    FunctionOfUnits,
    Norm,
    PartialSums,
    ScoreSums,
    Statistic,
    Sums,
    UnitSums,
)
from caltest.units.units import CellUnits, Observed, RowUnits, SortedRowUnits, Units, row_weights

__all__ = [
    "CellUnits",
    "FunctionOfUnits",
    "Norm",
    "Observed",
    "PartialSums",
    "RowUnits",
    "ScoreSums",
    "SortedRowUnits",
    "Statistic",
    "Sums",
    "UnitSums",
    "Units",
    "row_weights",
]
