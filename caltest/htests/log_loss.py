"""The log loss judged by its law when labels are redrawn; two-sided."""

from caltest.htests.base import NamedTest
from caltest.measures.scores.log_loss import LogLoss

TEST = NamedTest("log-loss", LogLoss)
