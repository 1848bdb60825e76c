"""Results of tests: frozen values, each number held once.

A result holds what was computed and nothing else. Every printed form comes from
`caltest.render`, so that text, Markdown, HTML and LaTeX cannot disagree, and printing neither
computes nor draws anything.
"""

from caltest.results.base import Parameters, Printable, Result, Summary
from caltest.results.comparison import (
    CalibratorComparison,
    ComparedCalibrator,
    ComparedModel,
    Comparison,
    ModelComparison,
    ScoreDifference,
    TestedPart,
)
from caltest.results.htest import Evidence, HTest, Interval
from caltest.results.table import GroupsTest, HTestTable
from caltest.results.verdict import Verdict
from caltest.results.witness import Region, Witness

__all__ = [
    "CalibratorComparison",
    "ComparedCalibrator",
    "ComparedModel",
    "Comparison",
    "Evidence",
    "GroupsTest",
    "HTest",
    "HTestTable",
    "Interval",
    "ModelComparison",
    "Parameters",
    "Printable",
    "Region",
    "Result",
    "ScoreDifference",
    "Summary",
    "TestedPart",
    "Verdict",
    "Witness",
]
