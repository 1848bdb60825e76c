"""The SKCE test with the block estimator; `block_size` is an option."""

from caltest.htests.base import NamedTest
from caltest.measures.kernel.skce import SKCE

TEST = NamedTest("skce-block", SKCE, {"estimator": "block"})
