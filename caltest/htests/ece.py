"""The ECE test: exact null; lens="confidence" and 10,000 resamples give p-conf-ECE."""

from caltest.htests.base import NamedTest
from caltest.measures.bins.ece import ECE

TEST = NamedTest("ece", ECE)
