"""The components for more than two classes, of rows or of sums over chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest.measures.combined.component import (
    NO_GAP,
    Component,
    Confidence,
    Finding,
    Kind,
    Quadratic,
    Surprise,
    Temperature,
    farthest,
    inverse,
    percent,
    plain,
    ratio,
)
from caltest.measures.combined.one_event import NARROW, Kuiper, LineKernel
from caltest.numerics.ends import range_words

Floats = NDArray[np.float64]

ORDINALS = ("first", "second", "third", "fourth", "fifth")


class ClassFrequencies(Component):
    """Sum over classes of the squared standardised differences of frequencies."""

    def __init__(self, source: Any) -> None:
        super().__init__(source)
        self.sums = self.totals = source.frequencies()
        self.precision = 1.0 / (source.variances + source.steady)

    def value(self, sums: Floats) -> Floats:
        return np.asarray(np.square(sums) @ self.precision)

    def finding(self) -> Finding:
        gap, mass = self.observed_sums, self.source.mass
        k = int(np.argmax(np.square(gap) * self.precision))
        mean = float(self.totals.expected[k]) / mass
        name = self.source.names[k]
        return farthest(f"class {name}", mean, mean + float(gap[k]) / mass, f"mean gap of {name}")


class ClassSlopes(Component):
    """Sum over classes of the squared scores of a slope of the log probability."""

    def __init__(self, source: Any) -> None:
        super().__init__(source)
        self.sums, self.sd = source.slopes()

    def value(self, sums: Floats) -> Floats:
        return np.asarray(np.square(ratio(sums, self.sd)).sum(axis=1))

    def finding(self) -> Finding:
        scores = ratio(self.observed_sums, self.sd)
        k = int(np.argmax(np.abs(scores)))
        name = self.source.names[k]
        text = f"farthest is class {name}, z = {scores[k]:.3g}; below 0 where it is too extreme"
        return Finding(text, float(scores[k]), f"z of {name}", in_words=False)


class ClassCurves(Component):
    """Largest standardised partial sum of a class, over all classes: KS of the loudest class."""

    def __init__(self, source: Any) -> None:
        super().__init__(source)
        self.sums = self.curves = source.curves()

    def value(self, sums: Floats) -> Floats:
        return np.asarray(sums.max(axis=1))

    def finding(self) -> Finding:
        k, curves, rows = int(np.argmax(self.observed_sums)), self.curves, self.source
        gaps = np.append(0.0, np.cumsum(curves.gaps_of(k)))
        low, high = sorted((int(np.argmin(gaps)), int(np.argmax(gaps))))
        inside = (curves.cells[:, k] >= low) & (curves.cells[:, k] < high)
        if not inside.any():
            return NO_GAP
        mass = max(float(rows.weight[inside].sum()), 1e-300)
        mean, gap = float(curves.expected[k, low:high].sum()) / mass, gaps[high] - gaps[low]
        ends = _ends_of(rows.probs[:, k], inside)
        name = rows.names[k]
        return farthest(f"P({name}) {ends}", mean, mean + gap / mass, f"mean gap of {name}")


def _ends_of(p: Floats, inside: NDArray[np.bool_]) -> str:
    """Write the range of the values inside, which others are on both sides of."""
    first, last = p[inside].min(), p[inside].max()
    before = p[p < first].max(initial=-1.0)
    after = p[p > last].min(initial=2.0)
    return range_words(None if before < 0 else before, first, last, None if after > 1 else after)


class Confusions(Component):
    """Sum over pairs (predicted class, class) of the squared standardised differences."""

    def __init__(self, source: Any) -> None:
        super().__init__(source)
        self.sums = self.pairs = source.confusions()

    def value(self, sums: Floats) -> Floats:
        return sums

    def finding(self) -> Finding:
        expected, observed, names = self.pairs.expected, self.pairs.seen, self.source.names
        size = np.square(observed - expected) * self.pairs.precision
        size[expected.sum(axis=1) <= 0.0] = -1.0  # the rows there weigh nothing
        a, k = np.unravel_index(np.argmax(size), size.shape)
        mass = max(float(expected[a].sum()), 1e-300)
        share, mean = float(observed[a, k]) / mass, float(expected[a, k]) / mass
        where = f"P({names[k]}) where {names[self.pairs.predicted[a]]} is predicted"
        return farthest(where, mean, share, "mean gap of the pair")


class Ranks(Quadratic):
    """Chi^2 of how often the label is the most probable class, the second, ..., with covariance."""

    def __init__(self, source: Any) -> None:
        sums, self.expected, covariance = source.ranks()
        super().__init__(source, sums, inverse(covariance))
        self.sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))

    def finding(self) -> Finding:
        gaps, mass = self.observed_sums, self.source.mass
        r = int(np.argmax(np.abs(ratio(gaps, self.sd))))
        mean, share = self.expected[r] / mass, (self.expected[r] + gaps[r]) / mass
        last = r == self.expected.size - 1
        name = f"a class after the {ORDINALS[r - 1]}" if last else f"the {ORDINALS[r]}"
        text = f"{name} most probable has {percent(mean)} on average, {percent(share)} observed"
        return Finding(text, float(share - mean), f"mean gap at rank {r + 1}")


class KernelError(Component):
    """The SKCE with the median bandwidth, by features."""

    def __init__(self, source: Any) -> None:
        super().__init__(source)
        self.sums, self.unit, self.pairs = source.kernel()

    def value(self, sums: Floats) -> Floats:
        return ratio(sums, self.unit)

    def finding(self) -> Finding:
        return plain(self.title, float(ratio(self.observed_sums, self.pairs)))


SEVERAL = (
    Kind("temperature", "temperature", Temperature),
    Kind("class-frequencies", "class frequencies", ClassFrequencies),
    Kind("class-slopes", "class-wise slopes", ClassSlopes),
    Kind("class-curves", "class-wise KS, maximum", ClassCurves),
    Kind("confusions", "confusions", Confusions),
    Kind("confidence", "confidence, level and slope and curve", Confidence, "confidence"),
    Kind("confidence-kuiper", "confidence, Kuiper", Kuiper, "confidence"),
    Kind("confidence-kernel", "confidence, kernel over log odds", LineKernel, "confidence"),
    Kind("confidence-narrow", "confidence, narrow kernel over ranks", NARROW, "confidence"),
    Kind("ranks", "ranks of the label", Ranks),
    Kind("surprise", "improbable outcomes", Surprise),
    Kind("skce", "SKCE", KernelError),
)
