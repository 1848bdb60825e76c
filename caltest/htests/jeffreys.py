"""Jeffreys test of a rating grade, that of the European Central Bank."""

from caltest.htests.base import NamedTest
from caltest.measures.grades.jeffreys import Jeffreys

TEST = NamedTest("jeffreys", Jeffreys)
