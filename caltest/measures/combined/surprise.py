"""Outcomes that were given small probabilities: a score that grows faster than log loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caltest.measures.base import Labels
from caltest.measures.combined.component import Codes, Component, Context
from caltest.measures.combined.findings import Finding, percent, ratio
from caltest.measures.combined.loops import chances_below, root_moments, root_sums
from caltest.numerics.label_scores import binary_event_sums

Floats = NDArray[np.float64]

LEAST = 1e-12  # smaller probabilities count as this one
LIMITS = np.array([0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6])  # of what is called improbable


class Surprise(Component):
    r"""Sum of :math:`p_y^{-1/2}`, standardised: outcomes that were as good as excluded.

    With probabilities p its mean is :math:`\sum_k \sqrt{p_k}` and its variance at most m, however
    small some of them are; with true probabilities q a class adds :math:`q_k / \sqrt{p_k}`.
    """

    key = "surprise"
    title = "improbable outcomes"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        mean, variance = root_moments(context.probs, LEAST).T
        self.mean = float(context.weight @ mean)
        self.sd = float(np.sqrt(np.square(context.weight) @ variance))

    def _sums(self, labels: Labels) -> Floats:
        """Return the sum of w / sqrt(p_y) for each row of labels."""
        return np.asarray(root_sums(labels, self.context.weight, self.context.probs, LEAST))

    def values(self, labels: Labels) -> Floats:
        return ratio(self._sums(labels) - self.mean, self.sd)

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
        return Finding(text, mean - share, f"mean gap of probabilities below {LIMITS[j]:g}")


class EventSurprise(Surprise):
    """The same with two classes."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        roots = context.weight[:, None] / np.sqrt(np.maximum(context.probs, LEAST))
        self.least = float(roots[:, 0].sum())
        self.step = roots[:, 1] - roots[:, 0]

    def _sums(self, labels: Labels) -> Floats:
        return self.least + binary_event_sums(labels, self.context.probs[:, 1], self.step)
