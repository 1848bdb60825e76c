"""The components of classes that are ordered: of class numbers and of all P(Y <= k)."""

from __future__ import annotations

from functools import partial

import numpy as np

from caltest.measures.combined import component
from caltest.measures.combined.component import Component, Finding, Kind, Summing
from caltest.measures.combined.context import Context, variance_edges
from caltest.measures.residual_sums import CellSums
from caltest.numerics.class_sums import placed_sums
from caltest.types import Floats, Ints

LEAST_ODDS = 1e-6  # of P(Y <= k) in log odds
TENTHS, CELLS = 10, 32  # of the rows along their mean class number


class Events:
    """What the components share: class numbers and P(Y <= k), with their variances.

    Attributes
    ----------
    upto : (n, m - 1) array
        P(Y <= k).
    place : (n,) array
        The mean class number of each row, centred.
    variance : (n, m - 1) array
        Of the weight of each event Y <= k.
    spread : (n,) array
        The variance of the weighted class number.
    """

    def __init__(self, rows: Context) -> None:
        self.rows, numbers = rows, np.arange(rows.m)
        self.upto = np.minimum(np.cumsum(rows.probs[:, :-1], axis=1), 1.0)
        mean = rows.probs @ numbers
        self.place = mean - float(rows.weight @ mean) / rows.mass
        squares = np.square(rows.weight)
        self.variance = squares[:, None] * (self.upto * (1.0 - self.upto))
        self.spread = squares * np.maximum(rows.probs @ np.square(numbers) - np.square(mean), 0.0)

    def by_event(self, table: Floats) -> Summing:
        """Return the sum over rows and events Y <= k of the residuals times a table (n, m - 1)."""
        own = np.zeros(self.rows.probs.shape)
        own[:, :-1] = np.cumsum((table * self.rows.weight[:, None])[:, ::-1], axis=1)[:, ::-1]
        return self.rows.by_label(own)

    def numbers_by(self, cell: Ints, size: int) -> Summing:
        """Return the residuals of the weighted class number in cells of rows, (B, size)."""
        rows = self.rows
        table = rows.weight[:, None] * np.arange(float(rows.m))
        places = np.broadcast_to(cell[:, None], table.shape)
        mean = np.einsum("ik,ik->i", rows.probs, table)
        expected = np.bincount(cell, mean, size)
        gaps = table[np.arange(rows.n), rows.labels] - mean
        return Summing(
            lambda labels: placed_sums(labels, places, table, size) - expected,
            partial(CellSums, cell, gaps, size),
        )


def level(events: Events) -> Component:
    """Score of the mean class number: classes too high, or too low."""
    rows, sd = events.rows, float(np.sqrt(events.spread.sum()))
    sums = rows.by_label(rows.weight[:, None] * np.arange(float(rows.m)))

    def finding() -> Finding:
        mean = float(sums.expected) / rows.mass + 1.0
        gap = float(component.observed_sums(rows, sums)) / rows.mass
        text = (
            f"the class number, 1 to {rows.m}, is {mean:.3g} on average, {mean + gap:.3g} observed"
        )
        return Finding(text, gap, "observed - mean class number")

    return Component(rows, sums, component.over(sd), finding, two_sided=True)


def slope(events: Events) -> Component:
    """Score of a factor of the log odds of all P(Y <= k): too sure of the order, or not enough."""
    rows = events.rows
    odds = np.clip(events.upto, LEAST_ODDS, 1.0 - LEAST_ODDS)
    odds = np.log(odds) - np.log1p(-odds)
    sums = events.by_event(odds)
    table = np.zeros(rows.probs.shape)
    table[:, :-1] = np.cumsum((odds * rows.weight[:, None])[:, ::-1], axis=1)[:, ::-1]
    table -= np.einsum("ik,ik->i", rows.probs, table)[:, None]
    sd = float(np.sqrt(np.einsum("ik,ik,ik->", rows.probs, table, table)))

    def finding() -> Finding:
        z = float(component.ratio(component.observed_sums(rows, sums), sd))
        how = "too" if z < 0 else "not"
        text = f"log odds of P(Y <= k) {how} extreme{'' if z < 0 else ' enough'} (z = {z:.3g})"
        return Finding(text, z, "z of the slope", in_words=False)

    return Component(rows, sums, component.over(sd), finding, two_sided=True)


def thresholds(events: Events) -> Component:
    """Squared standardised gaps of all P(Y <= k), added up."""
    rows = events.rows
    sums, precision = rows.frequencies(), 1.0 / (events.variance.sum(axis=0) + rows.steady)

    def gaps(found: Floats) -> Floats:
        return np.asarray(np.cumsum(found[..., :-1], axis=-1))

    def finding() -> Finding:
        found = gaps(component.observed_sums(rows, sums)) / rows.mass
        k = int(np.argmax(np.square(found) * precision))
        mean = float(rows.weight @ events.upto[:, k]) / rows.mass
        where, name = f"P(at most {rows.names[k]})", f"mean gap of at most {rows.names[k]}"
        return component.farthest(where, mean, mean + float(found[k]), name)

    return Component(rows, sums, lambda found: np.square(gaps(found)) @ precision, finding)


def threshold_slopes(events: Events) -> Component:
    """Squared scores of a slope of each P(Y <= k) along the mean class number, added up."""
    rows, place, v = events.rows, events.place, events.variance
    sums = rows.by_class(rows.class_weight, rows.class_weight * place[:, None])
    mass, first, second = v.sum(axis=0), place @ v, np.square(place) @ v
    centre = component.ratio(first, mass)
    rest = second - centre * first + rows.steady * float(np.mean(np.square(place)))

    def scores(found: Floats) -> Floats:
        both = np.cumsum(found.reshape(*found.shape[:-1], 2, rows.m), axis=-1)[..., :-1]
        return component.ratio(both[..., 1, :] - centre * both[..., 0, :], np.sqrt(rest))

    def finding() -> Finding:
        found = scores(component.observed_sums(rows, sums))
        k = int(np.argmax(np.abs(found)))
        z, name = float(found[k]), f"P(at most {rows.names[k]})"
        how = "less" if z > 0 else "more"
        text = f"farthest is {name}, which falls {how} steeply with the class (z = {z:.3g})"
        return Finding(text, z, f"z of the slope of {name}", in_words=False)

    return Component(rows, sums, lambda found: np.square(scores(found)).sum(axis=1), finding)


def curve(events: Events) -> Component:
    """Kuiper's statistic of the class number along its mean, in standard deviations."""
    edges = variance_edges(events.place, events.spread, CELLS)
    sums = events.numbers_by(np.searchsorted(edges, events.place), CELLS)
    sd = float(np.sqrt(events.spread.sum()))

    def value(found: Floats) -> Floats:
        carried = np.cumsum(np.pad(found, ((0, 0), (1, 0))), axis=1)
        return component.ratio(np.ptp(carried, axis=1), sd)

    def finding() -> Finding:
        found = value(component.observed_sums(events.rows, sums)[None])
        return component.plain("Kuiper's statistic of the class number", float(found[0]))

    return Component(events.rows, sums, value, finding)


def tenths(events: Events) -> Component:
    """Squared standardised gaps of P(Y <= k) in tenths of the rows along the class number."""
    rows, m = events.rows, events.rows.m
    rank = np.argsort(np.argsort(events.place, kind="stable"), kind="stable")
    cell = (rank * TENTHS) // rows.n
    places = cell[:, None] * m + np.arange(m)
    expected = np.bincount(places.ravel(), (rows.weight[:, None] * rows.probs).ravel(), TENTHS * m)
    v = np.zeros((TENTHS, m - 1))
    np.add.at(v, cell, events.variance)
    precision = 1.0 / (v + rows.steady).ravel()

    def value(found: Floats) -> Floats:
        carried = np.cumsum(found.reshape(len(found), TENTHS, m), axis=2)[..., :-1]
        return np.square(carried.reshape(len(found), -1)) @ precision

    sums = Summing(
        lambda labels: placed_sums(labels, places, rows.class_weight, TENTHS * m) - expected,
        partial(rows.by_cell, places, TENTHS * m),
    )

    def finding() -> Finding:
        found = value(component.observed_sums(rows, sums)[None])
        return component.plain("chi^2 of P(Y <= k) by tenths", float(found[0]))

    return Component(rows, sums, value, finding)


ORDERED = (
    Kind("order-level", "mean class number", level, "cumulative"),
    Kind("order-slope", "slope of the log odds of P(Y <= k)", slope, "cumulative"),
    Kind("thresholds", "levels of P(Y <= k)", thresholds, "cumulative"),
    Kind("threshold-slopes", "slopes of P(Y <= k)", threshold_slopes, "cumulative"),
    Kind("order-curve", "class number along its mean, Kuiper", curve, "cumulative"),
    Kind("order-tenths", "P(Y <= k) by tenths of the rows", tenths, "cumulative"),
)
