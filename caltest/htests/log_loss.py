"""The log loss against its distribution when labels are redrawn; two-sided."""

from caltest.htests.base import NamedTest
from caltest.measures.scores.log_loss import LogLoss

TEST = NamedTest("log-loss", LogLoss)
