"""Cox's test: the likelihood ratio of intercept 0 and slope 1; for several classes too."""

from caltest.htests.base import NamedTest
from caltest.measures.recalibration.cox import Cox

TEST = NamedTest("cox", Cox, {"tested": "both"})
