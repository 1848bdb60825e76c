"""The classwise ECE test: exact null; with 10,000 resamples p-cw-ECE of Kull et al. (2019)."""

from caltest.htests.base import NamedTest
from caltest.measures.bins.classwise_ece import ClasswiseECE

TEST = NamedTest("classwise-ece", ClasswiseECE)
