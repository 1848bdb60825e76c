"""The honest confidence band of Dimitriadis et al. (2023), inverted into a p-value.

Its law in closed form is the default, so that p <= 0.05 says that the diagonal leaves the band of
level 95 %. The exact null has more power.
"""

from caltest.htests.base import NamedTest
from caltest.measures.isotonic.confidence_band import ConfidenceBandStatistic

TEST = NamedTest("confidence-band", ConfidenceBandStatistic)
