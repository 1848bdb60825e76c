"""The SKCE test with the linear estimator: O(n), and a normal limit."""

from caltest.htests.base import NamedTest
from caltest.measures.kernel.skce import SKCE

TEST = NamedTest("skce-linear", SKCE, {"estimator": "linear", "block_size": 2})
