"""The components for more than two classes, of rows or of sums over chunks."""

from __future__ import annotations

import numpy as np

from caltest.measures.combined.component import (
    NO_GAP,
    Component,
    Finding,
    Kind,
    Source,
    confidence,
    farthest,
    inverse,
    observed_sums,
    over,
    percent,
    plain,
    ratio,
    squared_length,
    surprise,
    temperature,
)
from caltest.measures.combined.one_event import NARROW, kuiper, line_kernel
from caltest.numerics.ends import range_words
from caltest.types import Flags, Floats

ORDINALS = ("first", "second", "third", "fourth", "fifth")


def class_frequencies(source: Source) -> Component:
    """Sum over classes of the squared standardised differences of frequencies."""
    sums, precision = source.frequencies(), 1.0 / (source.variances + source.steady)

    def finding() -> Finding:
        gap = observed_sums(source, sums)
        k = int(np.argmax(np.square(gap) * precision))
        mean, name = float(sums.expected[k]) / source.mass, source.names[k]
        share = mean + float(gap[k]) / source.mass
        return farthest(f"class {name}", mean, share, f"mean gap of {name}")

    return Component(source, sums, lambda sums: np.square(sums) @ precision, finding)


def class_slopes(source: Source) -> Component:
    """Sum over classes of the squared scores of a slope of the log probability."""
    sums, sd = source.slopes()

    def finding() -> Finding:
        scores = ratio(observed_sums(source, sums), sd)
        k = int(np.argmax(np.abs(scores)))
        name = source.names[k]
        text = f"farthest is class {name}, z = {scores[k]:.3g}; below 0 where it is too extreme"
        return Finding(text, float(scores[k]), f"z of {name}", in_words=False)

    return Component(source, sums, lambda sums: np.square(ratio(sums, sd)).sum(axis=1), finding)


def class_curves(source: Source) -> Component:
    """Largest standardised partial sum of a class, over all classes: KS of the most extreme class."""
    curves = source.curves()

    def finding() -> Finding:
        k = int(np.argmax(observed_sums(source, curves)))
        gaps = np.append(0.0, np.cumsum(curves.gaps_of(k)))
        low, high = sorted((int(np.argmin(gaps)), int(np.argmax(gaps))))
        inside = (curves.cells[:, k] >= low) & (curves.cells[:, k] < high)
        if not inside.any():
            return NO_GAP
        mass = max(float(source.weight[inside].sum()), 1e-300)
        mean, gap = float(curves.expected[k, low:high].sum()) / mass, gaps[high] - gaps[low]
        name, ends = source.names[k], _ends_of(source.probs[:, k], inside)
        return farthest(f"P({name}) {ends}", mean, mean + gap / mass, f"mean gap of {name}")

    return Component(source, curves, lambda sums: sums.max(axis=1), finding)


def _ends_of(p: Floats, inside: Flags) -> str:
    """Write the range of the values inside, which others are on both sides of."""
    first, last = p[inside].min(), p[inside].max()
    before = p[p < first].max(initial=-1.0)
    after = p[p > last].min(initial=2.0)
    return range_words(None if before < 0 else before, first, last, None if after > 1 else after)


def confusions(source: Source) -> Component:
    """Sum over pairs (predicted class, class) of the squared standardised differences."""
    pairs = source.confusions()

    def finding() -> Finding:
        expected, observed = pairs.expected, pairs.seen
        size = np.square(observed - expected) * pairs.precision
        size[expected.sum(axis=1) <= 0.0] = -1.0  # the rows there weigh nothing
        a, k = np.unravel_index(np.argmax(size), size.shape)
        mass = max(float(expected[a].sum()), 1e-300)
        share, mean = float(observed[a, k]) / mass, float(expected[a, k]) / mass
        where = f"P({source.names[k]}) where {source.names[pairs.predicted[a]]} is predicted"
        return farthest(where, mean, share, "mean gap of the pair")

    return Component(source, pairs, lambda sums: sums, finding)


def ranks(source: Source) -> Component:
    """Chi^2 of how often the label is the most probable class, the second, ..., with covariance."""
    sums, expected, covariance = source.ranks()

    def finding() -> Finding:
        gaps, sd = observed_sums(source, sums), np.sqrt(np.maximum(np.diag(covariance), 0.0))
        r = int(np.argmax(np.abs(ratio(gaps, sd))))
        mean, share = expected[r] / source.mass, (expected[r] + gaps[r]) / source.mass
        last = r == expected.size - 1
        name = f"a class after the {ORDINALS[r - 1]}" if last else f"the {ORDINALS[r]}"
        text = f"{name} most probable has {percent(mean)} on average, {percent(share)} observed"
        return Finding(text, float(share - mean), f"mean gap at rank {r + 1}")

    return Component(source, sums, squared_length(inverse(covariance)), finding)


def kernel_error(source: Source) -> Component:
    """The SKCE with the median bandwidth, by features."""
    sums, unit, pairs = source.kernel()

    def finding() -> Finding:
        return plain("SKCE", float(ratio(observed_sums(source, sums), pairs)))

    return Component(source, sums, over(unit), finding)


SEVERAL = (
    Kind("temperature", "temperature", temperature),
    Kind("class-frequencies", "class frequencies", class_frequencies),
    Kind("class-slopes", "class-wise slopes", class_slopes),
    Kind("class-curves", "class-wise KS, maximum", class_curves),
    Kind("confusions", "confusions", confusions),
    Kind("confidence", "confidence, level and slope and curve", confidence, "confidence"),
    Kind("confidence-kuiper", "confidence, Kuiper", kuiper, "confidence"),
    Kind("confidence-kernel", "confidence, kernel over log odds", line_kernel, "confidence"),
    Kind("confidence-narrow", "confidence, narrow kernel over ranks", NARROW, "confidence"),
    Kind("ranks", "ranks of the label", ranks),
    Kind("surprise", "improbable outcomes", surprise),
    Kind("skce", "SKCE", kernel_error),
)
