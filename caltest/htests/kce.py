"""The KCE test: the square root of the biased SKCE."""

from caltest.htests.base import NamedTest
from caltest.measures.kernel.kce import KCE

TEST = NamedTest("kce", KCE)
