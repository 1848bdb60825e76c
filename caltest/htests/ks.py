"""The Kolmogorov-Smirnov test: exact, or with the limit law of sup |B|."""

from caltest.htests.base import NamedTest
from caltest.measures.cumulative.ks import KSError

TEST = NamedTest("ks", KSError)
