"""The MCE test: the largest error of a bin against its exact null law."""

from caltest.htests.base import NamedTest
from caltest.measures.bins.mce import MCE

TEST = NamedTest("mce", MCE)
