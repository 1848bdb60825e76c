"""All label vectors that a few predictions allow, in place of random ones."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.measures.base import BoundMeasure
from caltest.nulls.resampling import AT_A_TIME, NOT_A_NUMBER, tie_tolerance
from caltest.numerics.labels import label_dtype
from caltest.numerics.tails import positive

Floats = NDArray[np.float64]
Labels = NDArray[np.unsignedinteger]


@dataclass(frozen=True)
class Enumeration:
    """The exact null distribution of a statistic: its values and their probabilities.

    Attributes
    ----------
    statistic : float
        That of the labels that were observed.
    observed : float
        The same as it is compared: ties are ties up to rounding.
    values, weights : (K,) array
        The statistic of each label vector as it is compared, and the probability of that vector.
    scale : float
        Size of the terms of the statistic: ties are measured by it.
    alternative : str
        Which values speak against H0, "greater" or "two-sided".
    """

    statistic: float
    observed: float
    values: Floats
    weights: Floats
    scale: float
    alternative: str

    def pvalues(self, statistics: Floats) -> Floats:
        """Return P(T* >= T) for each T; two-sided, twice the smaller of both tails."""
        order = np.argsort(self.values)
        values, weights = self.values[order], self.weights[order]
        tolerance = tie_tolerance(statistics, self.scale)
        first = np.searchsorted(values, statistics - tolerance, side="left")
        upper = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
        upper = np.where(first == 0, 1.0, upper[first] / upper[0])
        if self.alternative == "greater":
            return np.asarray(np.minimum(1.0, upper))
        last = np.searchsorted(values, statistics + tolerance, side="right")
        lower = np.append(0.0, np.cumsum(weights))
        lower = np.where(last == values.size, 1.0, lower[last] / lower[-1])
        return np.asarray(np.minimum(1.0, 2.0 * np.minimum(upper, lower)))

    @property
    def pvalue(self) -> float:
        """The p-value of the observed statistic, at least the probability of its labels."""
        return positive(float(self.pvalues(np.array([self.observed]))[0]))

    def drawn_pvalues(self, seed: int, size: int) -> Floats:
        """Return the p-values of the observed and of `size` statistics that are drawn."""
        rng = np.random.default_rng(seed)
        drawn = rng.choice(self.values, size, p=self.weights / self.weights.sum())
        return np.append(self.pvalue, self.pvalues(drawn))


def enumerate_labels(
    bound: BoundMeasure, alternative: str, at_most: int, n_jobs: int | None
) -> Enumeration | None:
    """Evaluate a bound measure for every label vector, or return None where they are too many.

    Parameters
    ----------
    bound : BoundMeasure
        The measure, bound to the predictions.
    alternative : str
        That of the measure.
    at_most : int
        The largest number of label vectors that is enumerated.
    n_jobs : int, optional
        Threads.
    """
    if bound.predictions.probs.size > AT_A_TIME:
        return None  # not worth a copy in the order of the measure
    cls = type(bound)
    if cls.observed is not BoundMeasure.observed and cls.label_probs is BoundMeasure.label_probs:
        return None  # rows in an order of its own that it does not tell
    probs = bound.label_probs
    if not probs[np.arange(len(probs)), bound.observed].all():
        return None  # impossible labels have the smallest p-value that B resamples can give
    counts = np.count_nonzero(probs, axis=1)
    if np.log2(counts).sum() > math.log2(at_most) + 1e-9:
        return None
    chunks = [(bound.values(rows, n_jobs), weights) for rows, weights in _vectors(probs, counts)]
    chunks.append((bound.values(bound.observed[np.newaxis], n_jobs), np.zeros(1)))
    values, weights = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
    if np.isnan(values).any():
        raise NotApplicable(*NOT_A_NUMBER)
    compared = bound.comparable(values)
    return Enumeration(
        float(values[-1]),
        float(compared[-1]),
        compared[:-1],
        weights[:-1],
        bound.scale,
        alternative,
    )


def _vectors(probs: Floats, counts: NDArray[np.intp]) -> Iterator[tuple[Labels, Floats]]:
    """Yield label vectors (rows, n) of positive probability, and their probabilities."""
    n, m = probs.shape
    free = np.flatnonzero(counts > 1)
    shape = tuple(counts[free].tolist())
    total = math.prod(shape)
    certain = np.argmax(probs > 0, axis=1).astype(label_dtype(m))
    step = max(8, AT_A_TIME // n)
    for first in range(0, total, step):
        numbers = np.arange(first, min(first + step, total))
        labels = np.tile(certain, (numbers.size, 1))
        weights = np.ones(numbers.size)
        digits = np.unravel_index(numbers, shape) if shape else ()
        for row, digit in zip(free, digits, strict=True):
            possible = np.flatnonzero(probs[row])
            labels[:, row] = possible[digit]
            weights *= probs[row, possible[digit]]
        yield labels, weights
