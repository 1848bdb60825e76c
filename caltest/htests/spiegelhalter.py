"""Spiegelhalter's test, for any number of classes; two-sided."""

from caltest.htests.base import NamedTest
from caltest.measures.scores.spiegelhalter import SpiegelhalterZ

TEST = NamedTest("spiegelhalter", SpiegelhalterZ)
