"""The Brier score against its distribution when labels are redrawn; two-sided."""

from caltest.htests.base import NamedTest
from caltest.measures.scores.brier import BrierScore

TEST = NamedTest("brier", BrierScore)
