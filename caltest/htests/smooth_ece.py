"""The smooth ECE test; the bandwidth is found anew for every redrawn set of labels."""

from caltest.htests.base import NamedTest
from caltest.measures.smooth.smooth_ece import SmoothECE

TEST = NamedTest("smooth-ece", SmoothECE)
