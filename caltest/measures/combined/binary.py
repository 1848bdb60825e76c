"""The components for two classes, and for every lens that leaves two."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.measures.base import Labels
from caltest.measures.combined.component import Codes, Component, Context
from caltest.measures.combined.findings import (
    NO_TEMPERATURE,
    Finding,
    mending_temperature,
    percent,
    points,
    ratio,
)
from caltest.measures.combined.line import belt_functions, log_odds
from caltest.measures.combined.loops import event_scores
from caltest.measures.combined.surprise import EventSurprise
from caltest.measures.residual_sums import ResidualStatistic, RobustZ, Sums
from caltest.numerics.label_scores import binary_event_sums

Floats = NDArray[np.float64]


class BinaryComponent(Component):
    """A component of labels in ascending order of the probability, in which the rows are."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.line = context.line
        self.event = context.names[1]

    @property
    def gaps(self) -> Floats:
        """The residuals of the event times the weights."""
        return np.ascontiguousarray(self.context.residuals[:, 1])


class Level(BinaryComponent):
    """Score of the intercept: calibration in the large."""

    key = "level"
    title = "level"
    two_sided: ClassVar[bool] = True

    def values(self, labels: Labels) -> Floats:
        context = self.context
        sums = binary_event_sums(labels, context.probs[:, 1], context.weight)
        return ratio(sums - context.weight @ context.probs[:, 1], np.sqrt(self.line.total))

    def residual_statistic(self) -> ResidualStatistic:
        return RobustZ(self.gaps)

    def finding(self, labels: Codes) -> Finding:
        weight = self.context.weight
        mean = float(weight @ self.context.probs[:, 1]) / float(weight.sum())
        rate = float(weight @ labels) / float(weight.sum())
        word = "too high" if mean > rate else "too low"
        text = (
            f"P({self.event}) {percent(mean)} on average, {percent(rate)} observed: "
            f"{points(mean - rate)} {word}"
        )
        return Finding(text, rate - mean, "event rate - mean prediction")


class Slope(BinaryComponent):
    """Score of a factor of the log odds: probabilities that are too extreme, or too timid."""

    key = "temperature"
    title = "temperature"
    two_sided: ClassVar[bool] = True

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        p, weight = context.probs[:, 1], context.weight
        self.x = log_odds(p)
        self.weighted = weight * self.x
        self.shift = float(self.weighted @ p)
        self.sd = float(np.sqrt(np.square(self.weighted) @ (p * (1 - p))))

    def values(self, labels: Labels) -> Floats:
        sums = binary_event_sums(labels, self.context.probs[:, 1], self.weighted)
        return ratio(sums - self.shift, self.sd)

    def residual_statistic(self) -> ResidualStatistic:
        return RobustZ(self.x * self.gaps)

    def finding(self, labels: Codes) -> Finding:
        if self.sd == 0:
            return NO_TEMPERATURE
        logs = np.column_stack([np.zeros_like(self.x), self.x])  # of p, but for a constant a row
        temperature = mending_temperature(logs, labels, self.context.weight_of_possible(labels))
        word = "too extreme" if temperature > 1 else "not extreme enough"
        text = f"log odds {word}: temperature {temperature:.3g} mends it"
        return Finding(text, temperature, "temperature")


class Belt(BinaryComponent):
    """Scores of level, slope and curvature on the log odds, as in the calibration belt."""

    key = "belt"
    title = "level, slope and curve"

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.functions, self.shift = belt_functions(context.probs[:, 1], context.weight)
        self.code = np.ones(context.n, dtype=context.dtype)

    def values(self, labels: Labels) -> Floats:
        return np.asarray(event_scores(labels, self.code, self.functions, self.shift))

    def residual_statistic(self) -> ResidualStatistic:
        gaps = self.context.labels - self.context.probs[:, 1]
        return Sums(self.functions.T * gaps[:, None], lambda sums: np.square(sums).sum(axis=1))

    def finding(self, labels: Codes) -> Finding:
        scores = self.functions @ labels - self.shift
        names = ("the level", "the slope", "the curvature")
        j = int(np.argmax(np.abs(scores)))
        text = f"{names[j]} is off most (z = {scores[j]:.3g})"
        name = names[j].removeprefix("the ")
        return Finding(text, float(scores[j]), f"z of {name}", in_words=False)


class PartialSums(BinaryComponent):
    """Kuiper's statistic, in standard deviations of the whole sum."""

    key = "kuiper"
    title = "Kuiper"

    def values(self, labels: Labels) -> Floats:
        return self.line.kuiper(labels)

    def residual_statistic(self) -> ResidualStatistic:
        return self.line.kuiper_statistic(self.gaps)

    def finding(self, labels: Codes) -> Finding:
        return self.line.finding(labels.astype(float), f"P({self.event})")


class LineKernel(BinaryComponent):
    """A kernel statistic on a line: the SKCE over log odds or ranks."""

    place: ClassVar[str] = "log odds"
    bandwidths: ClassVar[float] = 1.0
    weighted: ClassVar[bool] = False

    def values(self, labels: Labels) -> Floats:
        return self.line.pair_sums(labels, self.place, self.bandwidths, weighted=self.weighted)

    def residual_statistic(self) -> ResidualStatistic:
        return self.line.pair_statistic(
            self.gaps, self.place, self.bandwidths, weighted=self.weighted
        )

    def finding(self, labels: Codes) -> Finding:
        return self.line.finding(labels.astype(float), f"P({self.event})")


class OddsKernel(LineKernel):
    """The SKCE over log odds, median bandwidth."""

    key = "skce"
    title = "SKCE over log odds"


class WeightedOddsKernel(LineKernel):
    """The same with each row divided by the standard deviation of its label."""

    key = "skce-weighted"
    title = "SKCE over log odds and standard deviations"
    weighted: ClassVar[bool] = True


class RankKernel(LineKernel):
    """Over ranks, with a quarter of the median bandwidth."""

    key = "skce-narrow"
    title = "SKCE over ranks, narrow"
    place: ClassVar[str] = "ranks"
    bandwidths: ClassVar[float] = 0.25
    weighted: ClassVar[bool] = True


BINARY: tuple[type[Component], ...] = (
    Level,
    Slope,
    Belt,
    PartialSums,
    EventSurprise,
    OddsKernel,
    WeightedOddsKernel,
    RankKernel,
)
