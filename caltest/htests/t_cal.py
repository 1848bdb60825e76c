"""The adaptive T-Cal test: the exact null of the largest standardised error over all scales."""

from caltest.htests.base import NamedTest
from caltest.measures.bins.t_cal import TCal

TEST = NamedTest("t-cal", TCal)
