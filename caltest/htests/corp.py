"""The CORP test: the gain of isotonic recalibration against that for redrawn labels."""

from caltest.htests.base import NamedTest
from caltest.measures.isotonic.corp import CorpMiscalibration

TEST = NamedTest("corp", CorpMiscalibration)
