"""The test of the integrated calibration index: the mean loess error with its exact null."""

from caltest.htests.base import NamedTest
from caltest.measures.smooth.ici import ICI

TEST = NamedTest("ici", ICI)
