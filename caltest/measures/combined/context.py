"""Rows of a portfolio: their order, how labels are redrawn, and the sums of several classes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest.checks.arrays import read_only
from caltest.kernels import Exponential
from caltest.kernels.features import Features
from caltest.kernels.fitted import l1_distances
from caltest.measures import residual_sums
from caltest.measures.combined import component, loops
from caltest.measures.combined.component import Component, Finding, Function, Kind, Summing
from caltest.measures.combined.one_event import HitRows, OneEvent
from caltest.measures.combined.tails import REFERENCES
from caltest.measures.residual_sums import ResidualStatistic
from caltest.numerics.class_sums import label_sums, placed_sums
from caltest.numerics.ends import range_words
from caltest.numerics.labels import label_dtype
from caltest.numerics.logistic import clipped_log_odds
from caltest.numerics.loops import frozen
from caltest.numerics.softmax import LogRows
from caltest.predictions import Predictions
from caltest.predictions.redrawing import Inversion
from caltest.types import Codes, Floats, Hashes, Ints, Labels, Order

FIRST = 8  # probabilities of a row, the largest first, that order the rows
ROUNDING = 1e-24  # of the variance of a log probability
CELLS = 32  # steps of the partial sums of a class
STEPS = 64  # of the confidence
RANKS = 4  # the last of them takes all classes beyond
LANDMARKS = 64  # predictions whose kernel functions are the features
PAIRS = 300  # rows between which the median distance is taken
LEAST_WIDTH = 1e-3  # of a bandwidth: predictions that are nearly equal are treated as such
LEAST_EIGENVALUE = 1e-9  # of the kernel between landmarks, relative to the largest


class Context:
    """The rows that the components of one portfolio share.

    Two classes have their rows in ascending order of P(class 1), `order`; all labels that the
    components are given are in that order.
    """

    too_extreme = ("too sure", "not sure enough")
    observed_rows: Any = None  # the observed labels by rows, where sums are over cells
    references = REFERENCES

    def __init__(self, predictions: Predictions) -> None:
        self.predictions, self.n, self.m = predictions, predictions.n, predictions.m
        self.names = [str(name) for name in predictions.classes]
        self.kinds = component.BINARY if self.m == 2 else component.SEVERAL
        self.dtype = label_dtype(self.m)
        self.probs, self.labels = predictions.probs, predictions.labels
        self.weight: Floats = predictions.weights
        self.order: Order | None = None
        if self.m == 2:
            self.order = np.argsort(self.probs[:, 1], kind="stable")
            self.probs, self.labels = self.probs[self.order], self.labels[self.order]
            self.weight = self.weight[self.order]
        self.mass = float(self.weight.sum())
        self.steady = component.STEADY * float(np.mean(np.square(self.weight)))

    @cached_property
    def ranked(self) -> Labels:
        """The classes of each row, the most probable first."""
        return np.argsort(-self.probs, axis=1, kind="stable").astype(self.dtype)

    def source(self, lens: str) -> component.Source:
        """Return the rows of the classes, or of one event."""
        if lens == "confidence":
            return self.hits
        return self.event if self.m == 2 else self

    @cached_property
    def event(self) -> OneEvent:
        """The rows of two classes, whose event is the second."""
        p, q = np.ascontiguousarray(self.probs[:, 1]), np.ascontiguousarray(self.probs[:, 0])
        order = np.asarray(self.order)
        return OneEvent(f"P({self.names[1]})", p, q, self.weight, self.labels == 1, order)

    @cached_property
    def hits(self) -> OneEvent:
        """The rows in ascending order of the confidence."""
        return self.hits_of(HitRows)

    def hits_of(self, kind: type[HitRows]) -> HitRows:
        """Return these, which are large once they are used."""
        return kind(self.top.astype(self.dtype), self.confidence, self.weight, self.labels)

    @property
    def observed(self) -> Labels:
        return self.labels[None].astype(self.dtype)

    def read(self, labels: Labels) -> Labels:
        return labels

    numbers = read

    @cached_property
    def canonical(self) -> Order:
        """The rows in an order that depends on neither their order nor that of the classes."""
        first = np.take_along_axis(self.probs, self.ranked[:, :FIRST], axis=1)
        return np.lexsort((self.weight, *first.T[::-1]))

    def reference(self) -> Callable[[Hashes], Labels]:
        """Return a function that redraws the labels (B, n) that scales are estimated from.

        Neither the order of the rows nor that of the classes changes them.
        """
        # Class 0 is the most probable class of a row, class 1 the second, ...
        sorted_probs = np.take_along_axis(self.probs, self.ranked, axis=1)
        drawn = Inversion(sorted_probs.take(self.canonical, axis=0)).taken(
            np.argsort(self.canonical)
        )
        return drawn.relabelled(self.ranked, self.m).labels

    @cached_property
    def top(self) -> Codes:
        """The predicted class of each row."""
        predicted = self.predictions.predicted
        return predicted if self.order is None else predicted[self.order]

    @property
    def confidence(self) -> Floats:
        """The probability of that class, (n,)."""
        return np.take_along_axis(self.probs, self.top[:, None], axis=1)[:, 0]

    @cached_property
    def gaps(self) -> Floats:
        """The differences of labels and probabilities, (n, m)."""
        out = -self.probs
        out[np.arange(self.n), self.labels] += 1.0
        return out

    @cached_property
    def residuals(self) -> Floats:
        """The same times the weights."""
        has_weights = self.predictions.is_weighted
        return self.gaps * self.weight[:, None] if has_weights else self.gaps

    @cached_property
    def variances(self) -> Floats:
        """The variance of the weight of the labels of each class, (m,)."""
        squares, p = np.square(self.weight), self.probs
        return np.asarray(squares @ p - np.einsum("i,ik,ik->k", squares, p, p))

    @property
    def log_probs(self) -> Floats:
        """The logs of the probabilities, those below 1e-12 as of that."""
        logs = np.maximum(self.probs, component.LEAST)
        return np.asarray(np.log(logs, out=logs))

    @cached_property
    def centred_logs(self) -> Floats:
        """The logs of the probabilities less their means in a row, times the weights."""
        table = self.log_probs
        table -= np.einsum("ik,ik->i", self.probs, table)[:, None]
        table *= self.weight[:, None]
        return table

    def temperature(self) -> tuple[Summing, float]:
        """Return the score of the temperature, and its standard deviation."""
        return self.by_label(self.centred_logs), float(np.sqrt(self.spread.sum()))

    @cached_property
    def spread(self) -> Floats:
        """The variance of what a row adds to it; 0 where rows are all but certain."""
        own = np.einsum("ik,ik,ik->i", self.probs, self.centred_logs, self.centred_logs)
        is_certain = own.sum() <= ROUNDING * float(self.weight @ self.weight)
        return np.zeros(self.n) if is_certain else np.asarray(own)

    @cached_property
    def steps(self) -> tuple[Ints, Floats]:
        """The cell of the confidence of each row, and the middles of cells as shares of rows."""
        edges = np.unique(variance_edges(self.confidence, np.ones(self.n), STEPS))
        cell = np.searchsorted(edges, self.confidence)
        return cell, component.middles(np.bincount(cell, minlength=edges.size + 1))

    def temperatures(self) -> tuple[Summing, Floats, Floats]:
        """Return that score by cells of the confidence, its variances, and their middles."""
        (cell, place), table = self.steps, self.centred_logs
        places = np.broadcast_to(cell[:, None], table.shape)

        def signed(function: Function) -> ResidualStatistic:
            own = table[np.arange(self.n), self.labels]
            return residual_sums.of_cells(cell, own, place.size, function)

        sums = Summing(lambda labels: placed_sums(labels, places, table, place.size), signed)
        return sums, np.asarray(np.bincount(cell, self.spread, place.size), np.float64), place

    def correcting_temperature(self, low: float = 0.0, high: float = 1.0) -> tuple[float, str]:
        """Return the temperature that corrects the probabilities, and how to call it.

        Of the rows in cells of the confidence with middles from low to high.
        """
        cell, place = self.steps
        # No temperature changes outcomes of probability 0.
        counts = (self.weight > 0.0) & (self.probs[np.arange(self.n), self.labels] > 0.0)
        some = np.flatnonzero(((place >= low) & (place < high))[cell] & counts)
        logs = LogRows(self.probs, some, component.LEAST)
        found = component.correcting_temperature(logs, self.labels[some], self.weight[some])
        return found, "temperature"

    def by_label(self, table: Floats) -> Summing:
        """Return the sum over rows of what a table (n, m) has for the label, less its mean."""
        expected = float(np.einsum("ik,ik->", self.probs, table))

        def signed(_: Function) -> ResidualStatistic:
            own = table[np.arange(self.n), self.labels]
            return residual_sums.robust_z(own - np.einsum("ik,ik->i", self.probs, table))

        return Summing(lambda labels: label_sums(table, labels) - expected, signed, expected)

    def by_class(self, *tables: Floats) -> Summing:
        """Return the same sums over the rows of each label apart, (m,) of each table."""
        expected = np.concatenate([np.einsum("ik,ik->k", self.probs, one) for one in tables])
        places = np.broadcast_to(np.arange(self.m), self.probs.shape)

        def of(labels: Labels) -> Floats:
            sums = [placed_sums(labels, places, one, self.m) for one in tables]
            return np.asarray(np.hstack(sums) - expected)

        def signed(function: Function) -> ResidualStatistic:
            return residual_sums.of_terms(np.hstack([self.gaps * one for one in tables]), function)

        return Summing(of, signed, expected)

    def by_cell(
        self, cells: NDArray[np.integer], size: int, function: Callable[[Floats], Floats]
    ) -> ResidualStatistic:
        """Return a function of the residuals in cells that are numbered for each row and class."""
        return residual_sums.of_cells(cells, self.residuals, size, function)

    def frequencies(self) -> Summing:
        """Return the weights of the labels of each class."""
        return self.by_class(self.class_weight)

    @property
    def class_weight(self) -> Floats:
        """The weights of the rows, for each class."""
        return np.broadcast_to(self.weight[:, None], self.probs.shape)

    def slopes(self) -> tuple[Summing, Floats]:
        """Return the scores of level and slope on the log of each class, and their errors."""
        table, sd = self.log_probs, np.empty(self.m)
        for k in range(self.m):
            p, logs = self.probs[:, k], np.maximum(table[:, k], loops.LEAST_LOG)
            v = np.square(self.weight) * p * (1 - p)
            mass = max(float(v.sum()), 1e-12)
            logs -= float(v @ logs) / mass
            sd[k] = np.sqrt(float(v @ np.square(logs)) * (1.0 + self.steady / mass))
            table[:, k] = self.weight * logs
        levels = np.sqrt(self.variances + self.steady)
        return self.by_class(self.class_weight, table), np.append(levels, sd)

    def ranks(self) -> tuple[Summing, Floats, Floats]:
        """Return how often the label is of each rank, what is expected, and its covariance."""
        table, chance = loops.ranks_of(frozen(self.probs), min(RANKS, self.m))
        expected, squares = self.weight @ chance, np.square(self.weight)
        covariance = np.diag(squares @ chance) - (chance * squares[:, None]).T @ chance

        def of(labels: Labels) -> Floats:
            sums = placed_sums(labels, table, self.class_weight, expected.size)
            return np.asarray(sums - expected)

        sums = Summing(of, partial(self.by_cell, table, expected.size))
        return sums, expected, covariance

    def roots(self) -> tuple[Summing, float]:
        """Return the sum of 1 / sqrt(p) of what happens, less its mean, and the mean."""
        table = np.maximum(self.probs, component.LEAST)
        np.divide(self.weight[:, None], np.sqrt(table, out=table), out=table)
        found = self.by_label(table)
        return found, float(found.expected)

    def below(self, limits: Floats) -> tuple[Floats, Floats, Floats]:
        """Return the weight of outcomes less probable than limits: expected, observed, variance."""
        own, squares, found = self.probs[np.arange(self.n), self.labels], np.square(self.weight), []
        for limit in limits:
            chance = self.probs.sum(axis=1, where=self.probs < limit)
            variance = squares @ (chance * (1.0 - chance))
            found.append((self.weight @ chance, self.weight @ (own < limit), variance))
        expected, observed, variances = np.array(found).T
        return expected, observed, variances

    def curves(self) -> tuple[Summing, component.GapsOf, component.RangeOf]:
        """Return the largest partial sum of each class, (m,), over cells of its probability."""
        cells, expected = np.empty(self.probs.shape, np.uint8), np.empty((self.m, CELLS))
        for k in range(self.m):
            p = self.probs[:, k]
            # Ties stay together.
            edges = variance_edges(p, np.square(self.weight) * p * (1 - p))
            cells[:, k] = np.searchsorted(edges, p)
            expected[k] = np.bincount(cells[:, k], self.weight * p, CELLS)
        scale = np.sqrt(self.variances + self.steady)

        def of(observed: Labels) -> Floats:
            out = np.empty((len(observed), self.m))
            loops.cell_extremes(observed, frozen(self.weight), cells, expected, scale, out)
            return out

        def signed(function: Function) -> ResidualStatistic:
            def largest(sums: Floats) -> Floats:
                carried = np.cumsum(sums.reshape(len(sums), -1, CELLS), axis=2)
                return function(np.abs(carried).max(axis=2) / scale)

            return self.by_cell(cells + CELLS * np.arange(self.m), expected.size, largest)

        def gaps_of(k: int) -> Floats:
            own = self.labels == k
            observed = np.bincount(cells[own, k], self.weight[own], CELLS)
            return np.asarray(observed - expected[k])

        def range_of(k: int, low: int, high: int) -> tuple[float, str]:
            p, inside = self.probs[:, k], (cells[:, k] >= low) & (cells[:, k] < high)
            if not inside.any():
                return 0.0, ""
            first, last = p[inside].min(), p[inside].max()
            before, after = p[p < first].max(initial=-1.0), p[p > last].min(initial=2.0)
            around = None if before < 0 else before, first, last, None if after > 1 else after
            return float(self.weight[inside].sum()), range_words(*around)

        return Summing(of, signed, expected), gaps_of, range_of

    def confusions(self) -> tuple[Summing, Floats, Ints, Callable[[], Floats]]:
        """Return sums over pairs of a predicted class and a class of squares, times a precision.

        Also the precision (P, m), the P predicted classes (all m^2 pairs would be 3 GB at
        m = 20,000), and a function that returns the observed weights of the pairs.
        """
        predicted, top = np.unique(self.top, return_inverse=True)
        expected, variance = np.empty((2, predicted.size, self.m))
        for a in range(predicted.size):
            own = top == a
            p, w = self.probs[own], self.weight[own]
            expected[a] = w @ p
            variance[a] = np.square(w) @ (p * (1 - p))
        precision = pair_precision(variance, predicted, self.steady)

        def signed(_: Function) -> ResidualStatistic:
            cells = top[:, None] * self.m + np.arange(self.m)
            lengths = precision.ravel()
            return self.by_cell(cells, expected.size, lambda sums: np.square(sums) @ lengths)

        def seen() -> Floats:
            pairs = np.bincount(top * self.m + self.labels, self.weight, expected.size)
            return np.asarray(pairs.reshape(expected.shape), np.float64)

        def of(labels: Labels) -> Floats:
            return loops.confusion_sums(labels, top, frozen(self.weight), expected, precision)

        return Summing(of, signed, expected), precision, predicted, seen

    @cached_property
    def features(self) -> Floats:
        """The features of the predictions, whose products stand for a kernel."""
        some = np.random.default_rng(0).permutation(self.n)[: max(PAIRS, LANDMARKS)]
        spread = self.probs[self.canonical[some]]
        near = read_only(spread[:PAIRS])
        apart = 0.5 * l1_distances(near, near)[np.triu_indices(len(near), 1)]
        bandwidth = max(float(np.median(apart)) if apart.size else 0.0, LEAST_WIDTH)
        landmarks = np.unique(spread[:LANDMARKS], axis=0)
        fitted = Features.at(Exponential(bandwidth), bandwidth, landmarks, LEAST_EIGENVALUE)
        return fitted.image(self.probs)

    def kernel(self) -> tuple[Summing, float, float]:
        """Return the sums over pairs of rows, their unit, and the number of pairs."""
        features = self.features * self.weight[:, None]
        expected = np.ascontiguousarray(self.probs.T @ features)
        squares = np.einsum("ik,ik->i", self.probs, self.probs)
        own = np.einsum("ij,ij->i", features, features)
        diagonal = own[:, None] * (1.0 + squares[:, None] - 2.0 * self.probs)

        def of(labels: Labels) -> Floats:
            excess = loops.feature_sums(labels, features, self.m) - expected
            norms = np.einsum("bkj,bkj->b", excess, excess)
            return np.asarray(norms - label_sums(diagonal, labels))

        pairs = self.mass**2 - float(np.square(self.weight).sum())
        sums = Summing(of, lambda _: residual_sums.product_length(self.features, self.residuals))
        return sums, pairs, pairs


def pair_precision(variance: Floats, predicted: Ints, steady: float) -> Floats:
    """Return what the squared differences of pairs (predicted class, class) are multiplied by.

    Beside that of a pair stands the mean variance of all, so that very many rare ones do not drown
    the others. Hits are no confusions: components of the confidence have them.
    """
    share = max(np.count_nonzero(variance.sum(axis=1)), 1) * variance.shape[1]
    out = 1.0 / (variance + max(float(variance.sum()) / share, steady))
    out[np.arange(predicted.size), predicted] = 0.0
    return np.asarray(out)


def variance_edges(p: Floats, variance: Floats, count: int = CELLS) -> Floats:
    """Cut p into cells of about equal variance; return the largest values of all but the last."""
    order = np.argsort(p)
    carried = np.cumsum(variance[order])
    limits = carried[-1] * np.arange(1, count) / count
    return np.asarray(p[order][np.minimum(np.searchsorted(carried, limits), p.size - 1)])


# ---- components of classes that are ordered: of class numbers and of all P(Y <= k) ---------------

LEAST_ODDS = 1e-6  # of P(Y <= k) in log odds
# Of several classes, what stays: the others look at the predicted class, whatever its neighbours.
KEPT = (
    "temperature",
    "class-frequencies",
    "class-slopes",
    "class-curves",
    "confusions",
    "surprise",
    "skce",
)


class OrderedEvents:
    """What the components share: P(Y <= k), and the class numbers 1 to m.

    Attributes
    ----------
    rows : Context
        The rows.
    numbers : (n, m) array
        The weighted class number of each label.
    upto : (n, m - 1) array
        P(Y <= k).
    place : (n,) array
        The mean class number of each row, centred.
    spread : (n,) array
        The variance of the weighted class number.
    sd : float
        The standard deviation of the sum of these numbers.
    """

    def __init__(self, rows: Context) -> None:
        self.rows, k = rows, np.arange(1.0, rows.m + 1)
        self.numbers = rows.weight[:, None] * k
        self.upto = np.minimum(np.cumsum(rows.probs[:, :-1], axis=1), 1.0)
        mean = rows.probs @ k
        self.place = mean - float(rows.weight @ mean) / rows.mass
        apart = np.square(k - mean[:, None])
        self.spread = np.square(rows.weight) * np.einsum("ik,ik->i", rows.probs, apart)
        self.sd = float(np.sqrt(self.spread.sum()))


def level(events: OrderedEvents) -> Component:
    """Score of the mean class number: predicted classes are too high, or too low."""
    rows, sums = events.rows, events.rows.by_label(events.numbers)

    def finding() -> Finding:
        mean = float(sums.expected) / rows.mass
        gap = float(component.observed_sums(rows, sums)) / rows.mass
        seen = f"is {mean:.3g} on average, {mean + gap:.3g} observed"
        text = f"the class number, 1 to {rows.m}, {seen}"
        return Finding(text, gap, "observed - mean class number")

    return Component(rows, sums, component.over(events.sd), finding, two_sided=True)


def slope(events: OrderedEvents) -> Component:
    """Score of a factor of the log odds of all P(Y <= k): too sure of the order, or not enough."""
    rows, table = events.rows, np.zeros(events.rows.probs.shape)
    odds = clipped_log_odds(events.upto, LEAST_ODDS) * rows.weight[:, None]
    table[:, :-1] = np.cumsum(odds[:, ::-1], axis=1)[:, ::-1]
    table -= np.einsum("ik,ik->i", rows.probs, table)[:, None]
    sums = rows.by_label(table)
    sd = float(np.sqrt(np.einsum("ik,ik,ik->", rows.probs, table, table)))

    def finding() -> Finding:
        z = float(component.ratio(component.observed_sums(rows, sums), sd))
        how = "too extreme" if z < 0 else "not extreme enough"
        text = f"the log odds of P(Y <= k) are {how} (z = {z:.3g})"
        return Finding(text, z, "z of the slope", in_words=False)

    return Component(rows, sums, component.over(sd), finding, two_sided=True)


def threshold_slopes(events: OrderedEvents) -> Component:
    """Squared scores of a slope of each P(Y <= k) along the mean class number, added up."""
    rows, place = events.rows, events.place
    v = np.square(rows.weight)[:, None] * (events.upto * (1.0 - events.upto))
    sums = rows.by_class(rows.class_weight, rows.class_weight * place[:, None])
    mass, first, second = v.sum(axis=0), place @ v, np.square(place) @ v
    centre = component.ratio(first, mass)
    rest = second - centre * first + rows.steady * float(np.mean(np.square(place)))

    def scores(found: Floats) -> Floats:
        upto = np.cumsum(found.reshape(-1, 2, rows.m), axis=2)[..., :-1]
        return component.ratio(upto[:, 1] - centre * upto[:, 0], np.sqrt(rest))

    def finding() -> Finding:
        found = scores(component.observed_sums(rows, sums))[0]
        k = int(np.argmax(np.abs(found)))
        z, name = float(found[k]), f"P(at most {rows.names[k]})"
        how = "less" if z > 0 else "more"
        text = f"farthest is {name}, which falls {how} steeply along the classes (z = {z:.3g})"
        return Finding(text, z, f"z of the slope of {name}", in_words=False)

    return Component(rows, sums, lambda found: np.square(scores(found)).sum(axis=1), finding)


def curve(events: OrderedEvents) -> Component:
    """Kuiper's statistic of the class number along its mean, in standard deviations of the sum."""
    rows, table = events.rows, events.numbers
    cells = np.searchsorted(variance_edges(events.place, events.spread, CELLS), events.place)
    places = np.broadcast_to(cells[:, None], table.shape)
    mean = np.einsum("ik,ik->i", rows.probs, table)
    expected = np.bincount(cells, mean, CELLS)
    gaps = table[np.arange(rows.n), rows.labels] - mean
    sums = Summing(
        lambda labels: placed_sums(labels, places, table, CELLS) - expected,
        partial(residual_sums.of_cells, cells, gaps, CELLS),
    )

    def value(found: Floats) -> Floats:
        carried = np.cumsum(np.pad(found, ((0, 0), (1, 0))), axis=1)
        return component.ratio(np.ptp(carried, axis=1), events.sd)

    def finding() -> Finding:
        found = value(component.observed_sums(rows, sums)[None])
        return component.plain("Kuiper's statistic of the class number", float(found[0]))

    return Component(rows, sums, value, finding)


ORDERED = (
    Kind("order-level", "mean class number", level, "cumulative", weight=2.0),
    Kind("order-slope", "slope of the log odds of P(Y <= k)", slope, "cumulative", weight=2.0),
    Kind("threshold-slopes", "slopes of all P(Y <= k)", threshold_slopes, "cumulative"),
    Kind("order-curve", "class number along its mean, Kuiper", curve, "cumulative", weight=2.0),
)
