"""What a component of the combined test is: a statistic of labels, and what it finds in words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.measures.base import Labels, Order
from caltest.measures.combined.features import Features
from caltest.measures.combined.findings import Finding
from caltest.measures.combined.line import Line
from caltest.measures.outcome import Part
from caltest.measures.residual_sums import Reordered, ResidualStatistic, residuals
from caltest.numerics.joint import step_down
from caltest.numerics.labels import Hashes, label_dtype
from caltest.predictions import Predictions
from caltest.predictions.redrawing import Inversion

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

FIRST = 8  # probabilities of a row, the largest first, that order the rows


class Context:
    """What the components of one portfolio share: it depends on the predictions alone.

    Two classes have their rows in ascending order of P(class 1), `order`; all labels that the
    components are given are in that order.
    """

    def __init__(self, predictions: Predictions) -> None:
        self.predictions = predictions
        self.probs, self.m, self.n = predictions.probs, predictions.m, predictions.n
        weight = predictions.sample_weight
        self.weight: Floats = np.ones(self.n) if weight is None else weight
        self.names = [str(name) for name in predictions.classes]
        self.dtype = label_dtype(self.m)
        self.ranked = np.argsort(-self.probs, axis=1, kind="stable")
        self.order: Order | None = None
        if self.m == 2:
            self.order = np.argsort(self.probs[:, 1], kind="stable")
            self.probs, self.weight = self.probs[self.order], self.weight[self.order]
            self.ranked = self.ranked[self.order]

    def rows(self, labels: Codes) -> Labels:
        """Return the labels (n,) as one row of many."""
        return labels[None].astype(self.dtype)

    @cached_property
    def canonical(self) -> Order:
        """The rows in an order that depends on neither their order nor that of the classes."""
        first = np.take_along_axis(self.probs, self.ranked[:, :FIRST], axis=1)
        return np.lexsort((self.weight, *first.T[::-1]))

    @cached_property
    def _reference(self) -> Inversion:
        # Class 0 is the most probable class of a row, class 1 the second, ...
        sorted_probs = np.take_along_axis(self.probs, self.ranked, axis=1)
        return Inversion(sorted_probs[self.canonical])

    def reference_labels(self, keys: Hashes) -> Labels:
        """Redraw labels (B, n) that the scales of the components are estimated from.

        Neither the order of the rows nor that of the classes changes them.
        """
        codes = self._reference.labels(keys)
        out = np.empty(codes.shape, self.dtype)
        ranked = self.ranked[self.canonical].astype(self.dtype)
        out[:, self.canonical] = ranked[np.arange(self.n), codes]
        return out

    @cached_property
    def labels(self) -> Codes:
        """The labels that were observed, in the order of the rows."""
        labels = self.predictions.labels
        return labels if self.order is None else labels[self.order]

    @cached_property
    def residuals(self) -> Floats:
        """The differences of labels and probabilities times the weights, (n, m)."""
        found = residuals(self.predictions)
        return found if self.order is None else found[self.order]

    @cached_property
    def right(self) -> Floats:
        """Whether the predicted class is right, less its probability, times the weights."""
        return np.asarray(self.weight * ((self.labels == self.top) - self.top_prob))

    @cached_property
    def top(self) -> Codes:
        """The predicted class of each row."""
        return np.asarray(self.ranked[:, 0])

    @cached_property
    def top_prob(self) -> Floats:
        """The probability of the predicted class."""
        return np.asarray(np.take_along_axis(self.probs, self.top[:, None], axis=1)[:, 0])

    def weight_of_possible(self, labels: Codes) -> Floats:
        """Return the weights, 0 for outcomes of probability 0, which no temperature changes."""
        return np.asarray(self.weight * (self.probs[np.arange(self.n), labels] > 0.0))

    @cached_property
    def log_probs(self) -> Floats:
        """The logs of the probabilities, those below 1e-12 as of 1e-12."""
        logs = np.maximum(self.probs, 1e-12)
        return np.asarray(np.log(logs, out=logs))

    @cached_property
    def variances(self) -> Floats:
        """The variance of the weighted number of labels of each class, (m,)."""
        squares = np.square(self.weight)
        return np.asarray(
            squares @ self.probs - np.einsum("i,ik,ik->k", squares, *[self.probs] * 2)
        )

    @cached_property
    def line(self) -> Line:
        """The probabilities of class 1 in ascending order."""
        return Line(self.probs[:, 1], self.weight)

    @cached_property
    def confidence_line(self) -> Line:
        """The probabilities of the predicted classes in ascending order."""
        return Line(self.top_prob, self.weight)

    @cached_property
    def features(self) -> Features:
        """The features of the predictions."""
        return Features(self.probs, self.canonical)

    @cached_property
    def steady(self) -> float:
        """A quarter of a row: keeps the variance of classes that hardly occur away from 0."""
        return 0.25 * float(np.mean(np.square(self.weight)))


class Component(ABC):
    """A statistic of the labels, bound to predictions; large values speak against calibration.

    Parameters
    ----------
    context : Context
        What is shared with the others.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    two_sided: ClassVar[bool] = False
    lens: ClassVar[str] = "strong"  # what it looks at, relative to the lens of the test

    def __init__(self, context: Context) -> None:
        self.context = context

    @abstractmethod
    def values(self, labels: Labels) -> Floats:
        """Return the statistic for each row of `labels` (B, n)."""

    @abstractmethod
    def residual_statistic(self) -> ResidualStatistic:
        """Return the statistic of the residuals, in the order of the rows of the context."""

    def reordered(self) -> ResidualStatistic:
        """Return the same for the clusters of the rows of the predictions, with its name."""
        found: ResidualStatistic = self.residual_statistic()
        if self.context.order is not None:
            found = Reordered(found, self.context.order)
        found.key, found.title, found.two_sided = self.key, self.title, self.two_sided
        return found

    @abstractmethod
    def finding(self, labels: Codes) -> Finding:
        """Say what the labels (n,) show."""


def loudest_first(
    components: Sequence[Any], found: Sequence[Finding], scores: Floats, statistics: Floats
) -> tuple[Part, ...]:
    """Return the components as results; column 0 of scores and statistics (K, B + 1) is observed.

    `scores` say how far out each statistic is, -log p.
    """
    pvalues = np.mean(scores >= scores[:, :1] - 1e-12, axis=1)
    adjusted = np.maximum(step_down(scores), pvalues)
    return tuple(
        Part(
            key=components[k].key,
            title=components[k].title,
            lens=components[k].lens,
            finding=found[k].text,
            estimate=found[k].estimate,
            estimate_name=found[k].estimate_name,
            values=statistics[k],
            two_sided=components[k].two_sided,
            in_words=found[k].in_words,
            pvalue=float(pvalues[k]),
            adjusted=float(adjusted[k]),
        )
        for k in np.lexsort((-scores[:, 0], adjusted))
    )
