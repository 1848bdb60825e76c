"""Measures of rows that are read by chunks: functions of sums over very many rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from caltest.kernels.features import Features
from caltest.measures.bound import Bound
from caltest.measures.outcome import Part
from caltest.numerics import class_sums
from caltest.numerics.labels import label_dtype
from caltest.predictions import Predictions
from caltest.sources.chunks import Totals
from caltest.types import Floats, Hashes, Ints, Labels, SmallInts


class BoundChunks(Bound):
    """A measure bound to a survey of very many rows: what remains are sums over these.

    Attributes
    ----------
    make : callable
        ``make(size)`` returns sums over no rows, for that many vectors of labels; it can be
        pickled.
    references : (R,) array
        Keys of resamples that the measure takes for itself, beside those of the test.
    """

    make: Callable[[int], Totals]
    references: Hashes = np.empty(0, np.uint64)
    redrawn_text = Predictions.redrawn_text

    @abstractmethod
    def values(self, totals: Any, n_resamples: int) -> tuple[Floats, tuple[Part, ...]]:
        """Return the measure for the observed labels and the resamples, and what it combines.

        `totals` are for the observed labels, for B resamples, and for the references.
        """

    def error(self) -> dict[str, object]:
        """Say how far the statistic is from that of all pairs of rows, for print."""
        return {}

    def described(self) -> dict[str, Any]:
        return super().described() | {"parameters": {**self.parameters, **self.error()}}


class FeatureTotals:
    r"""Sums over rows of features times labels, and of the pairs of a row with itself.

    With the features :math:`\phi_i`, of squared length :math:`q_i`, they are
    :math:`\sum_i \phi_i (e_{y_i} - e_{t_i})'`, :math:`\sum_i \phi_i (p_i - e_{t_i})'`, where
    :math:`t_i` is the predicted class, and the parts of :math:`\sum_i q_i |e_{y_i} - p_i|^2`, in
    whole numbers.

    Parameters
    ----------
    features : Features
        Of the kernel.
    m : int
        The number of classes.
    size : int
        Resamples, and the observed labels as number 0.
    """

    def __init__(self, features: Features, m: int, size: int) -> None:
        self.features = features
        width = len(features.landmarks)
        self.by_label = np.zeros((size, m, width), np.int64)
        self.expected = np.zeros((m, width), np.int64)
        self.own = np.zeros(size, np.int64)
        self.constant = 0

    def block(self, probs: Floats) -> tuple[SmallInts, Labels, Ints]:
        fixed = self.features.fixed(probs)
        top = np.argmax(probs, axis=1).astype(label_dtype(probs.shape[1]))
        class_sums.add_expected(fixed, probs, top, self.expected)
        share = class_sums.SHARE * class_sums.squared_lengths(fixed, self.features.root)
        squares = 1.0 + np.einsum("ik,ik->i", probs, probs)
        self.constant += int(np.rint(share * squares).astype(np.int64).sum())
        return fixed, top, np.rint(2.0 * share[:, None] * probs).astype(np.int64)

    def add(self, block: tuple[SmallInts, Labels, Ints], labels: Labels, some: slice) -> None:
        fixed, top, own = block
        class_sums.add_labels(fixed, top, labels, self.by_label[some])
        self.own[some] += class_sums.label_sums(own, labels)

    def __add__(self, other: FeatureTotals) -> FeatureTotals:
        self.by_label += other.by_label
        self.expected += other.expected
        self.own += other.own
        self.constant += other.constant
        return self

    def pair_sums(self) -> tuple[Floats, Floats]:
        """Return the sums of h over all pairs, i = j included, and over the pairs i = i, (B,)."""
        whole = np.empty(len(self.own))
        for b, sums in enumerate(self.by_label):
            excess = (sums * (class_sums.FINE // class_sums.UNIT) - self.expected) / class_sums.FINE
            whole[b] = np.square(excess @ self.features.root).sum()
        return whole, (self.constant - self.own) / class_sums.SHARE
