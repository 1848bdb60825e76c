"""The test of the unreliability index of R's `val.prob`, which is that of `cox`."""

from caltest.htests.base import NamedTest
from caltest.measures.recalibration.unreliability import Unreliability

TEST = NamedTest("unreliability", Unreliability)
