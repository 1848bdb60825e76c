"""The SKCE test; the estimator is an option."""

from caltest.htests.base import NamedTest
from caltest.measures.skce import SKCE

TEST = NamedTest("skce", SKCE)
