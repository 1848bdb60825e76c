"""Normal test of a rating grade, without correlation of defaults."""

from caltest.htests.base import NamedTest
from caltest.measures.grades.normal import Normal

TEST = NamedTest("normal", Normal)
