"""The test of le Cessie and van Houwelingen (1991), unsmoothed, as rms of R has it; two-sided."""

from caltest.htests.base import NamedTest
from caltest.measures.smooth.le_cessie_van_houwelingen import LeCessieVanHouwelingen

TEST = NamedTest("le-cessie-van-houwelingen", LeCessieVanHouwelingen)
