"""Outcomes that were given small probabilities: a score that grows faster than log loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caltest.measures.base import Labels
from caltest.measures.combined.component import Codes, Component, Context
from caltest.measures.combined.findings import Finding, percent, ratio
from caltest.measures.combined.loops import chances_below, expected_root_sum, root_sums
from caltest.measures.residual_sums import ResidualStatistic, RobustZ
from caltest.numerics.label_scores import binary_residual_sums

Floats = NDArray[np.float64]

LEAST = 1e-12  # smaller probabilities count as this one
LIMITS = np.array([0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6])  # of what is called improbable


class Surprise(Component):
    r"""Log of the mean of :math:`p_y^{-1/2}`: outcomes that were as good as excluded.

    :math:`p_y^{-1/2}` has the mean :math:`\sum_k \sqrt{p_k}` and a variance below m, however small
    some of the p are; with true probabilities q a class adds :math:`q_k / \sqrt{p_k}` to its mean.
    The log changes no p-value of its own: with it, the tail is that of a shifted gamma.
    """

    key = "surprise"
    title = "improbable outcomes"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.mean = expected_root_sum(context.probs, context.weight, LEAST)

    def values(self, labels: Labels) -> Floats:
        context = self.context
        return np.log(ratio(root_sums(labels, context.weight, context.probs, LEAST), self.mean))

    def residual_statistic(self) -> ResidualStatistic:
        context = self.context
        roots = np.sqrt(np.maximum(context.probs, LEAST))
        own = 1.0 / roots[np.arange(context.n), context.labels]
        return RobustZ(context.weight * (own - (context.probs / roots).sum(axis=1)))

    def finding(self, labels: Codes) -> Finding:
        context, weight = self.context, self.context.weight
        chances = chances_below(context.probs, LIMITS)
        happened = context.probs[np.arange(context.n), labels][:, None] < LIMITS
        sd = np.sqrt(np.square(weight) @ (chances * (1.0 - chances)) + context.steady)
        j = int(np.argmax(np.abs(weight @ (happened - chances)) / sd))
        total = float(weight.sum())
        mean, share = float(weight @ chances[:, j]) / total, float(weight @ happened[:, j]) / total
        text = (
            f"outcomes with probabilities below {percent(LIMITS[j])} have {percent(mean)} on "
            f"average together, {percent(share)} observed"
        )
        return Finding(text, share - mean, f"mean gap of probabilities below {LIMITS[j]:g}")


class EventSurprise(Surprise):
    """The same with two classes."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roots = context.weight[:, None] / np.sqrt(np.maximum(context.probs, LEAST))
        self.steps = roots[:, 1] - roots[:, 0]

    def values(self, labels: Labels) -> Floats:
        excess = binary_residual_sums(labels, self.context.probs[:, 1], self.steps)
        return np.log1p(ratio(excess, self.mean))
