"""The CORP test: the gain of isotonic recalibration against that for redrawn labels."""

from caltest.htests.base import NamedTest
from caltest.measures.corp_miscalibration import CorpMiscalibration

TEST = NamedTest("corp", CorpMiscalibration)
