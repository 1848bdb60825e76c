"""What a calibration map takes: probabilities or logits that were checked."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.special import expit, log_softmax, logsumexp, softmax

from caltest.checks import check_finite
from caltest.errors import invalid, shown
from caltest.numerics.softmax import bounded
from caltest.types import AnyArray, Floats

# Probabilities of 0 have no logarithm; as in dirichletcal, none counts as smaller than this.
SMALLEST_PROBABILITY = float(np.finfo(np.float64).eps)
LOG_SMALLEST_PROBABILITY = float(np.log(SMALLEST_PROBABILITY))
LARGEST_CLIP = 0.1


@dataclass(eq=False)
class Inputs:
    """Probabilities or logits, (n, m), and what the maps compute from them when they need it.

    Probabilities are clipped, by default at 2.2e-16, before a logarithm is taken. Logits are not:
    only the probability 0, a logit of -inf, counts as that, and rows beyond 1e100 are brought
    within it, so that no difference or square overflows.

    Parameters
    ----------
    values : (n, m) array
        Checked by `check_probs` or `check_logits`.
    from_logits : bool
        Which of the two.
    smallest : float
        The clip.
    """

    values: Floats
    from_logits: bool = field(kw_only=True)
    smallest: float = field(default=SMALLEST_PROBABILITY, kw_only=True)

    @property
    def n(self) -> int:
        """Number of predictions."""
        return len(self.values)

    @property
    def m(self) -> int:
        """Number of classes."""
        return int(self.values.shape[1])

    @cached_property
    def probs(self) -> Floats:
        """The probabilities, (n, m)."""
        if not self.from_logits:
            return self.values
        return np.asarray(softmax(self._bounded, axis=1))

    @cached_property
    def _bounded(self) -> Floats:
        """The logits as they were given, but within 1e100 of 0, (n, m)."""
        return bounded(self.values)

    @cached_property
    def logits(self) -> Floats:
        """The logits, all finite, (n, m): as they were given, or the logarithms of the probs."""
        if not self.from_logits:
            return np.log(np.maximum(self.values, self.smallest))
        finite = np.isfinite(self.values)
        if finite.all():
            return self._bounded
        floor = logsumexp(self._bounded, axis=1, keepdims=True) + np.log(self.smallest)
        return np.where(finite, self._bounded, floor)

    @cached_property
    def log_probs(self) -> Floats:
        """The logarithms of the probabilities, all finite, (n, m)."""
        if not self.from_logits:
            return self.logits
        return np.asarray(log_softmax(self.logits, axis=1))

    @cached_property
    def event(self) -> Floats:
        """The probability of class 1 of two, (n,)."""
        if self.from_logits:
            return np.asarray(expit(self._bounded[:, 1] - self._bounded[:, 0]))
        return np.ascontiguousarray(self.values[:, 1])

    @cached_property
    def log_odds(self) -> Floats:
        """The log odds of class 1 of two, all finite, (n,)."""
        return self.logits[:, 1] - self.logits[:, 0]

    def clipped(self, smallest: float) -> Inputs:
        """Return the inputs with another clip of probabilities, in (0, 0.1]."""
        if check_finite(smallest, "clip") == self.smallest:
            return self
        if not 0 < smallest <= LARGEST_CLIP:
            rule = f"clip must lie in (0, {LARGEST_CLIP}]"
            raise invalid(rule, shown(smallest), "pass a small probability, such as 1e-300")
        return replace(self, smallest=smallest)

    def rows(self, rows: AnyArray) -> Inputs:
        """Take some of the rows, given by indices or a mask."""
        return replace(self, values=self.values[rows])

    def against_rest(self, k: int) -> Inputs:
        """Return class k against all others: two classes, k the second of them."""
        event = self.probs[:, k]
        if not self.from_logits:
            return Inputs(np.column_stack([1 - event, event]), from_logits=False)
        # log P(rest) is log1p(-p) unless p is near 1, and then the sum over the rest is exact.
        log_rest = np.log1p(-np.minimum(event, 0.5))
        near = event > 0.5
        others = np.delete(np.arange(self.m), k)
        log_rest[near] = logsumexp(self.log_probs[near][:, others], axis=1)
        return Inputs(np.column_stack([log_rest, self.log_probs[:, k]]), from_logits=True)
