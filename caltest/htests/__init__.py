"""Named tests of calibration and the function that runs them."""

from caltest.htests.master_scale import test_master_scale
from caltest.htests.run import DEFAULT, INSTEAD, REGISTRY, NamedTest, test_calibration

__all__ = ["DEFAULT", "INSTEAD", "REGISTRY", "NamedTest", "test_calibration", "test_master_scale"]
