"""Test of a rating grade with correlated defaults, one-factor model."""

from caltest.htests.base import NamedTest
from caltest.measures.grades.vasicek import Vasicek

TEST = NamedTest("vasicek", Vasicek)
