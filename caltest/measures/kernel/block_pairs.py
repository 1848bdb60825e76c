"""Means of h_ij = delta_i' k(p_i, p_j) delta_j over the pairs within consecutive blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from caltest.errors import NotApplicable
from caltest.kernels.fitted import FittedKernel
from caltest.measures.bound import BoundMeasure
from caltest.numerics.class_sums import add_pair_sums, label_sums
from caltest.numerics.loops import map_threads
from caltest.predictions import Predictions
from caltest.types import Floats, Ints, Labels

PAIRS_AT_A_TIME = 1 << 17
MANY_BLOCKS = 30  # for the normal limit of their mean


class BlockPairs(BoundMeasure):
    """The mean of the unbiased estimates over blocks; an incomplete last block is dropped.

    The linear estimator of Widmann et al. (2019), table 1, has blocks of two.
    """

    pooled = True

    def __init__(self, predictions: Predictions, kernel: FittedKernel, *, size: int) -> None:
        super().__init__(predictions)
        self.notes, self.degenerate = kernel.notes, kernel.degenerate
        self.kernel = kernel
        self.size = size
        self.scale = float(sum(np.abs(term.matrix).max() for term in kernel.terms))
        self.n_blocks, self._pairs_in_block = predictions.n // size, size * (size - 1) // 2
        if predictions.n < size:
            raise NotApplicable(
                f"blocks of {size} need at least {size} observations, and there are "
                f"{predictions.n}",
                "take a smaller block_size or estimator='unbiased'",
            )
        if predictions.sample_weight is not None:
            raise NotApplicable(
                "the linear and block estimators take no sample weights",
                "use estimator='unbiased' (test='skce')",
            )

    def block_values(self) -> Floats:
        """Return the unbiased estimate of each block."""
        return np.concatenate(self._over_chunks(lambda h: h.mean(axis=1)))

    def second_moment(self) -> float:
        """Return the mean of h^2 over the pairs within blocks."""
        squares = self._over_chunks(lambda h: float(np.square(h).sum()))
        return float(sum(squares)) / (self.n_blocks * self._pairs_in_block)

    def value(self) -> float:
        return float(self.block_values().mean())

    def values(self, labels: Labels) -> Floats:
        sums = map_threads(partial(self._redrawn_sums, labels), self._chunks())
        return np.asarray(sum(sums)) / (self.n_blocks * self._pairs_in_block)

    def _chunks(self) -> Iterator[tuple[int, int]]:
        """Yield ranges of blocks."""
        at_a_time = max(1, PAIRS_AT_A_TIME // self._pairs_in_block)
        for first in range(0, self.n_blocks, at_a_time):
            yield first, min(first + at_a_time, self.n_blocks)

    def _pairs(self, first: int, last: int) -> tuple[Ints, Ints]:
        left, right = np.triu_indices(self.size, 1)
        offset = self.size * np.arange(first, last)[:, None]
        return (offset + left).ravel(), (offset + right).ravel()

    def _over_chunks(self, function: Callable[[Floats], Any]) -> list[Any]:
        """Return a function of h of the pairs (blocks, pairs) of some blocks after others."""

        def chunk(first: int, last: int) -> Any:
            left, right = self._pairs(first, last)
            rows = slice(first * self.size, last * self.size)
            delta = -self.predictions.probs[rows]
            delta[np.arange(len(delta)), self.predictions.labels[rows]] += 1.0
            total = np.zeros(left.size)
            for term in self.kernel.terms:
                z = term.project(delta)
                products = np.einsum("pk,pk->p", z[left - rows.start], z[right - rows.start])
                total += term.pairs(left, right) * products
            return function(total.reshape(last - first, -1))

        return list(map_threads(chunk, self._chunks()))

    def _redrawn_sums(self, labels: Labels, first: int, last: int) -> Floats:
        """Return the sum of h over the pairs of some blocks, for each row of labels.

        h is written out as in `TiledPairs`: a part for each pair and one for each label.
        """
        left, right = self._pairs(first, last)
        rows = slice(first * self.size, last * self.size)
        probs = self.predictions.probs[rows]
        inside = np.ascontiguousarray(labels[:, rows])
        left, right, offset = left - rows.start, right - rows.start, rows.start
        total, table, constant = np.zeros(len(labels)), np.zeros_like(probs), 0.0
        for term in self.kernel.terms:
            kappa = term.pairs(left + offset, right + offset)
            add_pair_sums(kappa, left, right, inside, term.matrix, total)
            image = probs @ term.matrix
            np.subtract.at(table, left, kappa[:, None] * image[right])
            np.subtract.at(table, right, kappa[:, None] * image[left])
            constant += float(kappa @ np.einsum("pk,pk->p", probs[left], image[right]))
        return np.asarray(total + label_sums(table, inside) + constant)
