"""The Brier score judged by its law when labels are redrawn; two-sided."""

from caltest.htests.base import NamedTest
from caltest.measures.scores.brier import BrierScore

TEST = NamedTest("brier", BrierScore)
