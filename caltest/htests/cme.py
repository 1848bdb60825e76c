"""The CME test of Widmann et al. (2021): T^2 at test locations, exact or by its chi^2 limit.

The exact null is the default: the chi^2 limit rejects calibrated models too often unless n is much
larger than the number of test locations.
"""

from caltest.htests.base import NamedTest
from caltest.measures.kernel.cme import CME

TEST = NamedTest("cme", CME)
