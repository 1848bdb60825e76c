"""The test of Pigeon and Heyse (1999): exact, or by its chi^2 limit."""

from caltest.htests.base import NamedTest
from caltest.measures.grades.pigeon_heyse import PigeonHeyse

TEST = NamedTest("pigeon-heyse", PigeonHeyse)
