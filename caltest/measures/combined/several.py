"""The components for more than two classes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.measures.base import Labels
from caltest.measures.combined.component import Codes, Component, Context
from caltest.measures.combined.findings import (
    NO_GAP,
    NO_TEMPERATURE,
    Finding,
    farthest,
    mending_temperature,
    percent,
    points,
    ratio,
)
from caltest.measures.combined.line import belt_functions
from caltest.measures.combined.loops import (
    cell_extremes,
    class_score_totals,
    class_totals,
    confusion_sums,
    event_scores,
    feature_norms,
    rank_totals,
)
from caltest.measures.combined.surprise import Surprise
from caltest.measures.residual_sums import (
    CellSums,
    Products,
    ResidualStatistic,
    RobustZ,
    Sums,
)
from caltest.numerics.class_sums import label_sums
from caltest.numerics.ends import range_words

Floats = NDArray[np.float64]

ROUNDING = 1e-24  # of the variance of a log probability
CELLS = 32  # steps of the partial sums of a class
LEAST_LOG = -12.0  # of the scores of a class: a probability of 6e-6
RANKS = 5  # the last of them takes all classes beyond
ORDINALS = ("first", "second", "third", "fourth", "fifth")


class Temperature(Component):
    """Score of the temperature: all probabilities too extreme, or all too timid."""

    key = "temperature"
    title = "temperature"
    two_sided: ClassVar[bool] = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        logs, weight = context.log_probs, context.weight
        mean = np.einsum("ik,ik->i", context.probs, logs)
        self.table = (logs - mean[:, None]) * weight[:, None]
        variance = float(np.einsum("ik,ik,ik->", context.probs, self.table, self.table))
        self.sd = np.sqrt(variance) if variance > ROUNDING * float(weight @ weight) else 0.0

    def values(self, labels: Labels) -> Floats:
        return ratio(label_sums(self.table, labels), self.sd)

    def residual_statistic(self) -> ResidualStatistic:
        return RobustZ(self.table[np.arange(self.context.n), self.context.labels])

    def finding(self, labels: Codes) -> Finding:
        if self.sd == 0:
            return NO_TEMPERATURE
        weight = self.context.weight_of_possible(labels)
        temperature = mending_temperature(self.context.log_probs, labels, weight)
        word = "too sure" if temperature > 1 else "not sure enough"
        return Finding(
            f"{word}: temperature {temperature:.3g} mends it", temperature, "temperature"
        )


class ClassFrequencies(Component):
    """Sum over classes of the squared standardised differences of frequencies."""

    key = "class-frequencies"
    title = "class frequencies"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.expected = context.weight @ context.probs
        self.precision = 1.0 / (context.variances + context.steady)

    def values(self, labels: Labels) -> Floats:
        totals = class_totals(labels, self.context.weight, self.context.m)
        return np.asarray(np.square(totals - self.expected) @ self.precision)

    def residual_statistic(self) -> ResidualStatistic:
        return Sums(self.context.residuals, lambda sums: np.square(sums) @ self.precision)

    def finding(self, labels: Codes) -> Finding:
        context = self.context
        gap = np.bincount(labels, context.weight, context.m) - self.expected
        k = int(np.argmax(np.square(gap) * self.precision))
        total = float(context.weight.sum())
        mean, share = self.expected[k] / total, (self.expected[k] + gap[k]) / total
        name = context.names[k]
        return farthest(f"class {name}", mean, share, f"mean gap of {name}")


class ClassSlopes(Component):
    """Sum over classes of the squared scores of a slope of the log probability."""

    key = "class-slopes"
    title = "class-wise slopes"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.centre, self.shift, self.sd = np.empty((3, context.m))
        for k in range(context.m):
            p, logs = context.probs[:, k], np.maximum(context.log_probs[:, k], LEAST_LOG)
            v = np.square(context.weight) * p * (1 - p)
            mass = max(float(v.sum()), 1e-12)
            self.centre[k] = float(v @ logs) / mass
            logs = logs - self.centre[k]
            self.shift[k] = float(context.weight @ (p * logs))
            spread = float(v @ np.square(logs))
            self.sd[k] = np.sqrt(spread * (1.0 + context.steady / mass))

    def _scores(self, labels: Labels) -> Floats:
        context = self.context
        totals = class_score_totals(
            labels, context.weight, context.log_probs, LEAST_LOG, self.centre
        )
        return ratio(totals - self.shift, self.sd)

    def values(self, labels: Labels) -> Floats:
        return np.asarray(np.square(self._scores(labels)).sum(axis=1))

    def residual_statistic(self) -> ResidualStatistic:
        return Sums(
            self.context.residuals * (np.maximum(self.context.log_probs, LEAST_LOG) - self.centre),
            lambda sums: np.square(ratio(sums, self.sd)).sum(axis=1),
        )

    def finding(self, labels: Codes) -> Finding:
        scores = self._scores(self.context.rows(labels))[0]
        k = int(np.argmax(np.abs(scores)))
        name = self.context.names[k]
        text = f"farthest is class {name}, z = {scores[k]:.3g}; below 0 where it is too extreme"
        return Finding(text, float(scores[k]), f"z of {name}", in_words=False)


class ClassCurves(Component):
    """Largest standardised partial sum of a class, over all classes: KS of the loudest class."""

    key = "class-curves"
    title = "class-wise KS, maximum"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        n, m, weight = context.n, context.m, context.weight
        self.cells = np.empty((n, m), np.uint8)
        self.expected = np.empty((m, CELLS))
        for k in range(m):
            p = context.probs[:, k]
            self.cells[:, k] = equal_variance_cells(p, np.square(weight) * p * (1 - p))
            self.expected[k] = np.bincount(self.cells[:, k], weight * p, CELLS)
        self.scale = np.sqrt(context.variances + context.steady)

    def _largest_of_sums(self, sums: Floats) -> Floats:
        carried = np.cumsum(sums.reshape(len(sums), -1, CELLS), axis=2)
        return np.asarray((np.abs(carried).max(axis=2) / self.scale).max(axis=1))

    def _largest(self, labels: Labels) -> Floats:
        out = np.empty((len(labels), self.context.m))
        cell_extremes(labels, self.context.weight, self.cells, self.expected, self.scale, out)
        return out

    def values(self, labels: Labels) -> Floats:
        return np.asarray(self._largest(labels).max(axis=1))

    def residual_statistic(self) -> ResidualStatistic:
        return CellSums(
            self.cells + CELLS * np.arange(self.context.m),
            self.context.residuals,
            CELLS * self.context.m,
            self._largest_of_sums,
        )

    def finding(self, labels: Codes) -> Finding:
        context = self.context
        k = int(np.argmax(self._largest(self.context.rows(labels))[0]))
        observed = np.bincount(self.cells[labels == k, k], context.weight[labels == k], CELLS)
        gaps = np.append(0.0, np.cumsum(observed - self.expected[k]))
        low, high = sorted((int(np.argmin(gaps)), int(np.argmax(gaps))))
        inside = (self.cells[:, k] >= low) & (self.cells[:, k] < high)
        if not inside.any():
            return NO_GAP
        mass = max(float(context.weight[inside].sum()), 1e-300)
        mean, gap = float(self.expected[k, low:high].sum()) / mass, gaps[high] - gaps[low]
        ends = _ends_of(context.probs[:, k], inside)
        name = context.names[k]
        return farthest(f"P({name}) {ends}", mean, mean + gap / mass, f"mean gap of {name}")


def _ends_of(p: Floats, inside: NDArray[np.bool_]) -> str:
    """Write the range of the values inside, which others are on both sides of."""
    first, last = p[inside].min(), p[inside].max()
    before = p[p < first].max(initial=-1.0)
    after = p[p > last].min(initial=2.0)
    return range_words(None if before < 0 else before, first, last, None if after > 1 else after)


def equal_variance_cells(p: Floats, variance: Floats) -> NDArray[np.uint8]:
    """Cut the values of p into at most CELLS cells of about equal variance; ties stay together."""
    order = np.argsort(p)
    carried = np.cumsum(variance[order])
    limits = carried[-1] * np.arange(1, CELLS) / CELLS
    edges = p[order][np.minimum(np.searchsorted(carried, limits), p.size - 1)]
    return np.searchsorted(edges, p, side="left").astype(np.uint8)


class Confusions(Component):
    """Sum over pairs (predicted class, class) of the squared standardised differences."""

    key = "confusions"
    title = "confusions"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        weight, probs = context.weight, context.probs
        # All m^2 pairs would be 3 GB at m = 20,000: only those of classes that some row predicts.
        self.predicted, self.top = np.unique(context.top, return_inverse=True)
        self.expected, variance = np.empty((2, self.predicted.size, context.m))
        for a in range(self.predicted.size):
            rows = self.top == a
            p, w = probs[rows], weight[rows]
            self.expected[a] = w @ p
            variance[a] = np.square(w) @ (p * (1 - p))
        self.precision = 1.0 / (variance + 2.0 * context.steady)

    def values(self, labels: Labels) -> Floats:
        context = self.context
        return np.asarray(
            confusion_sums(labels, self.top, context.weight, self.expected, self.precision)
        )

    def residual_statistic(self) -> ResidualStatistic:
        return CellSums(
            self.top[:, None] * self.context.m + np.arange(self.context.m),
            self.context.residuals,
            self.expected.size,
            lambda sums: np.square(sums) @ self.precision.ravel(),
        )

    def finding(self, labels: Codes) -> Finding:
        context, shape = self.context, self.expected.shape
        pairs = self.top * context.m + labels
        observed = np.bincount(pairs, context.weight, self.expected.size).reshape(shape)
        size = np.square(observed - self.expected) * self.precision
        size[self.expected.sum(axis=1) <= 0.0] = -1.0  # the rows there weigh nothing
        a, k = np.unravel_index(np.argmax(size), shape)
        mass = max(float(self.expected[a].sum()), 1e-300)
        share, mean = observed[a, k] / mass, self.expected[a, k] / mass
        where = f"P({context.names[k]}) where {context.names[self.predicted[a]]} is predicted"
        return farthest(where, mean, share, "mean gap of the pair")


class Confidence(Component):
    """Scores of level, slope and curvature of the confidence, as in the calibration belt."""

    key = "confidence"
    title = "confidence, level and slope and curve"
    lens = "confidence"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.functions, self.shift = belt_functions(context.top_prob, context.weight)
        self.code = context.top.astype(context.dtype)

    def values(self, labels: Labels) -> Floats:
        return np.asarray(event_scores(labels, self.code, self.functions, self.shift))

    def residual_statistic(self) -> ResidualStatistic:
        gaps = (self.context.labels == self.context.top) - self.context.top_prob
        return Sums(self.functions.T * gaps[:, None], lambda sums: np.square(sums).sum(axis=1))

    def finding(self, labels: Codes) -> Finding:
        context = self.context
        total = float(context.weight.sum())
        confidence = float(context.weight @ context.top_prob) / total
        accuracy = float(context.weight @ (labels == context.top)) / total
        gap = accuracy - confidence
        word = "too high" if gap < 0 else "too low"
        text = (
            f"confidence {percent(confidence)}, accuracy {percent(accuracy)}: {points(gap)} {word}"
        )
        return Finding(text, gap, "accuracy - mean confidence")


class OnConfidence(Component):
    """A component of whether the predicted class is right, in ascending order of the confidence."""

    lens = "confidence"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.line = context.confidence_line
        self.top = context.top[self.line.order].astype(context.dtype)

    def right(self, labels: Labels) -> Labels:
        """Return whether the predicted class is right (B, n), in that order."""
        return np.asarray(np.take(labels, self.line.order, axis=1) == self.top, dtype=np.uint8)

    def finding(self, labels: Codes) -> Finding:
        return self.line.finding((labels == self.context.top).astype(float), "the confidence")


class ConfidenceSums(OnConfidence):
    """Kuiper's statistic of the confidence, in standard deviations of the whole sum."""

    key = "confidence-kuiper"
    title = "confidence, Kuiper"

    def values(self, labels: Labels) -> Floats:
        return self.line.kuiper(self.right(labels))

    def residual_statistic(self) -> ResidualStatistic:
        return self.line.kuiper_statistic(self.context.right)


class ConfidenceKernel(OnConfidence):
    """Kernel statistic of the confidence over log odds, rows weighted by their variance."""

    key = "confidence-kernel"
    title = "confidence, kernel over log odds"
    place: ClassVar[str] = "log odds"
    bandwidths: ClassVar[float] = 1.0

    def values(self, labels: Labels) -> Floats:
        return self.line.pair_sums(self.right(labels), self.place, self.bandwidths, weighted=True)

    def residual_statistic(self) -> ResidualStatistic:
        return self.line.pair_statistic(
            self.context.right, self.place, self.bandwidths, weighted=True
        )


class NarrowConfidenceKernel(ConfidenceKernel):
    """The same over ranks, with a quarter of the median bandwidth."""

    key = "confidence-narrow"
    title = "confidence, narrow kernel over ranks"
    place: ClassVar[str] = "ranks"
    bandwidths: ClassVar[float] = 0.25


class Ranks(Component):
    """Chi^2 of how often the label is the most probable class, the second, ..., with covariance."""

    key = "ranks"
    title = "ranks of the label"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        probs, weight = context.probs, context.weight
        count = min(RANKS, context.m)
        first = context.ranked[:, : count - 1]
        self.table = np.full(probs.shape, count - 1, np.uint8)
        np.put_along_axis(self.table, first, np.arange(count - 1, dtype=np.uint8)[None], axis=1)
        chance = np.take_along_axis(probs, first, axis=1)
        chance = np.column_stack([chance, np.maximum(1.0 - chance.sum(axis=1), 0.0)])
        self.expected = weight @ chance
        squares = np.square(weight)
        covariance = np.diag(squares @ chance) - (chance * squares[:, None]).T @ chance
        self.precision = np.linalg.pinv(covariance, rcond=1e-9, hermitian=True)
        self.sd = np.sqrt(np.maximum(np.diag(covariance), 0.0))

    def _gaps(self, labels: Labels) -> Floats:
        totals = rank_totals(labels, self.table, self.context.weight, self.expected.size)
        return np.asarray(totals - self.expected)

    def values(self, labels: Labels) -> Floats:
        gaps = self._gaps(labels)
        return np.asarray(np.einsum("bk,kl,bl->b", gaps, self.precision, gaps))

    def residual_statistic(self) -> ResidualStatistic:
        return CellSums(
            self.table,
            self.context.residuals,
            self.expected.size,
            lambda sums: np.einsum("bk,kl,bl->b", sums, self.precision, sums),
        )

    def finding(self, labels: Codes) -> Finding:
        gaps, total = self._gaps(self.context.rows(labels))[0], float(self.context.weight.sum())
        r = int(np.argmax(np.abs(ratio(gaps, self.sd))))
        mean, share = self.expected[r] / total, (self.expected[r] + gaps[r]) / total
        last = r == self.expected.size - 1
        name = f"a class after the {ORDINALS[r - 1]}" if last else f"the {ORDINALS[r]}"
        text = f"{name} most probable has {percent(mean)} on average, {percent(share)} observed"
        return Finding(text, float(share - mean), f"mean gap at rank {r + 1}")


class KernelError(Component):
    """The SKCE with the median bandwidth, by features."""

    key = "skce"
    title = "SKCE"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        weight, probs = context.weight, context.probs
        squares = np.einsum("ik,ik->i", probs, probs)
        self.features = context.features.values * weight[:, None]
        self.expected = np.ascontiguousarray(probs.T @ self.features)
        own = np.einsum("ij,ij->i", self.features, self.features)
        self.diagonal = own[:, None] * (1.0 + squares[:, None] - 2.0 * probs)
        self.pairs = float(weight.sum() ** 2 - np.square(weight).sum())

    def values(self, labels: Labels) -> Floats:
        norms = feature_norms(labels, self.features, self.expected)
        return ratio(norms - label_sums(self.diagonal, labels), self.pairs)

    def residual_statistic(self) -> ResidualStatistic:
        return Products(self.context.features.values, self.context.residuals)

    def finding(self, labels: Codes) -> Finding:
        value = float(self.values(self.context.rows(labels))[0])
        return Finding(f"{self.title} = {value:.4g}", value, self.title, in_words=False)


SEVERAL: tuple[type[Component], ...] = (
    Temperature,
    ClassFrequencies,
    ClassSlopes,
    ClassCurves,
    Confusions,
    Confidence,
    ConfidenceSums,
    ConfidenceKernel,
    NarrowConfidenceKernel,
    Ranks,
    Surprise,
    KernelError,
)
