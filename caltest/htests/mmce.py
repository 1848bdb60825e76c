"""The MMCE test, for lenses with two classes such as the confidence; `width` is an option."""

from caltest.htests.base import NamedTest
from caltest.measures.kernel.mmce import MMCE

TEST = NamedTest("mmce", MMCE)
