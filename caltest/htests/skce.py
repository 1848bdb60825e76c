"""The SKCE test; the estimator is an option."""

from caltest.htests.base import NamedTest
from caltest.measures.kernel.skce import SKCE

TEST = NamedTest("skce", SKCE)
