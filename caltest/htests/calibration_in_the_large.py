"""The likelihood ratio of intercept 0 for slope 1; two classes."""

from caltest.htests.base import NamedTest
from caltest.measures.recalibration.cox import Cox

FIXED = {"tested": "intercept", "slopes": "common", "reference": None}
TEST = NamedTest("calibration-in-the-large", Cox, FIXED)
