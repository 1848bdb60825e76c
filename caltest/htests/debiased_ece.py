"""The test of the debiased squared ECE; exact null."""

from caltest.htests.base import NamedTest
from caltest.measures.bins.debiased_ece import DebiasedECE

TEST = NamedTest("debiased-ece", DebiasedECE)
