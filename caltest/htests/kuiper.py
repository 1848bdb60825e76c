"""The Kuiper test: exact, or with the limit law of the range of Brownian motion."""

from caltest.htests.base import NamedTest
from caltest.measures.cumulative.kuiper import KuiperError

TEST = NamedTest("kuiper", KuiperError)
