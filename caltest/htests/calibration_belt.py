"""The test of the GiViTI calibration belt: exact, or by the law that accounts for its selection."""

from caltest.htests.base import NamedTest
from caltest.measures.recalibration.belt import CalibrationBeltStatistic

TEST = NamedTest("calibration-belt", CalibrationBeltStatistic)
