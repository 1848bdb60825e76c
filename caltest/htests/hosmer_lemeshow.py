"""The Hosmer-Lemeshow test: exact, or by its chi^2 limit with the df of external or internal data.

For several classes it is that of Fagerland, Hosmer and Bofin (2008).
"""

from caltest.htests.base import NamedTest
from caltest.measures.grades.hosmer_lemeshow import HosmerLemeshow

TEST = NamedTest("hosmer-lemeshow", HosmerLemeshow)
