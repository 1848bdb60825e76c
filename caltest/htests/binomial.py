"""Binomial test of a rating grade, for more defaults than predicted."""

from caltest.htests.base import NamedTest
from caltest.measures.grades.binomial import Binomial

TEST = NamedTest("binomial", Binomial)
