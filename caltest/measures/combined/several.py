"""The components for more than two classes, of rows or of sums over chunks."""

from __future__ import annotations

import numpy as np

from caltest.measures.combined.component import (
    NO_GAP,
    NO_TEMPERATURE,
    STEADY,
    Component,
    Finding,
    Kind,
    Source,
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
from caltest.measures.combined.one_event import fine, line, tenths, waves

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
    """Sum over classes of the squared scores of a level and a slope of the log probability."""
    sums, sd = source.slopes()

    def finding() -> Finding:
        scores = ratio(observed_sums(source, sums), sd)[len(source.names) :]
        k = int(np.argmax(np.abs(scores)))
        name = source.names[k]
        text = f"farthest is class {name}, z = {scores[k]:.3g}; below 0 where it is too extreme"
        return Finding(text, float(scores[k]), f"z of {name}", in_words=False)

    return Component(source, sums, lambda sums: np.square(ratio(sums, sd)).sum(axis=1), finding)


def top_temperatures(source: Source) -> Component:
    """Sum over predicted classes of the squared scores of the temperature of their rows."""
    sums, variance, predicted = source.top_temperatures()
    precision = ratio(np.ones(variance.size), variance + STEADY * variance.sum() / source.n)

    def finding() -> Finding:
        scores = observed_sums(source, sums)
        j = int(np.argmax(np.square(scores) * precision))
        if variance[j] <= 0.0:
            return NO_TEMPERATURE
        found = 1.0 / min(max(1.0 + float(scores[j] / variance[j]), 0.05), 20.0)
        word = source.too_extreme[found <= 1]
        where = f"where {source.names[predicted[j]]} is predicted"
        text = f"farthest are rows {where}: {word}, a temperature of about {found:.3g}"
        return Finding(text, found, "temperature there", in_words=False)

    return Component(source, sums, lambda sums: np.square(sums) @ precision, finding)


def class_curves(source: Source) -> Component:
    """Largest standardised partial sum of a class, over all classes: KS of the farthest class."""
    curves = source.curves()

    def finding() -> Finding:
        k = int(np.argmax(observed_sums(source, curves)))
        gaps = np.append(0.0, np.cumsum(curves.gaps_of(k)))
        low, high = sorted((int(np.argmin(gaps)), int(np.argmax(gaps))))
        mass, ends = curves.range_of(k, low, high)
        if mass <= 0.0:
            return NO_GAP
        mean, gap = float(curves.expected[k, low:high].sum()) / mass, gaps[high] - gaps[low]
        where, name = f"P({source.names[k]}) {ends}", source.names[k]
        return farthest(where, mean, mean + gap / mass, f"mean gap of {name}")

    return Component(source, curves, lambda sums: sums.max(axis=1), finding)


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
    Kind("temperature", "temperature", temperature, weight=2.0),
    Kind("class-frequencies", "class frequencies", class_frequencies),
    Kind("class-slopes", "class-wise levels and slopes", class_slopes),
    Kind("class-curves", "class-wise KS, maximum", class_curves),
    Kind("confusions", "confusions", confusions),
    Kind("top-temperatures", "temperatures of predicted classes", top_temperatures),
    Kind("confidence-line", "confidence, level and slope", line, "confidence", weight=2.0),
    Kind("confidence-tenths", "confidence, tenths of the rows", tenths, "confidence"),
    Kind("confidence-waves", "confidence, waves", waves, "confidence"),
    Kind("confidence-fine", "confidence, very narrow kernel over ranks", fine, "confidence"),
    Kind("ranks", "ranks of the label", ranks),
    Kind("surprise", "improbable outcomes", surprise),
    Kind("skce", "SKCE", kernel_error),
)
