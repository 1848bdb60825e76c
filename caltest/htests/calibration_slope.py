"""The likelihood ratio of slope 1 with the intercept free; two classes."""

from caltest.htests.base import NamedTest
from caltest.measures.recalibration.cox import Cox

FIXED = {"tested": "slope", "slopes": "common", "reference": None}
TEST = NamedTest("calibration-slope", Cox, FIXED)
