"""Named tests of calibration and the function that runs them."""

from caltest.htests.master_scale import test_master_scale
from caltest.htests.run import REGISTRY, NamedTest, test_calibration

__all__ = ["REGISTRY", "NamedTest", "test_calibration", "test_master_scale"]
