"""The components of classes that are ordered: of class numbers and of all P(Y <= k)."""

from __future__ import annotations

from functools import partial

import numpy as np

from caltest.measures.combined import component
from caltest.measures.combined.component import Component, Finding, Kind, Summing
from caltest.measures.combined.context import Context, variance_edges
from caltest.measures.residual_sums import of_cells
from caltest.numerics.class_sums import placed_sums
from caltest.types import Floats

LEAST_ODDS = 1e-6  # of P(Y <= k) in log odds
CELLS = 32  # of the rows along their mean class number
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


class Events:
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


def level(events: Events) -> Component:
    """Score of the mean class number: predicted classes are too high, or too low."""
    rows, sums = events.rows, events.rows.by_label(events.numbers)

    def finding() -> Finding:
        mean = float(sums.expected) / rows.mass
        gap = float(component.observed_sums(rows, sums)) / rows.mass
        seen = f"is {mean:.3g} on average, {mean + gap:.3g} observed"
        text = f"the class number, 1 to {rows.m}, {seen}"
        return Finding(text, gap, "observed - mean class number")

    return Component(rows, sums, component.over(events.sd), finding, two_sided=True)


def slope(events: Events) -> Component:
    """Score of a factor of the log odds of all P(Y <= k): too sure of the order, or not enough."""
    rows, table = events.rows, np.zeros(events.rows.probs.shape)
    odds = np.clip(events.upto, LEAST_ODDS, 1.0 - LEAST_ODDS)
    odds = (np.log(odds) - np.log1p(-odds)) * rows.weight[:, None]
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


def threshold_slopes(events: Events) -> Component:
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


def curve(events: Events) -> Component:
    """Kuiper's statistic of the class number along its mean, in standard deviations of the sum."""
    rows, table = events.rows, events.numbers
    cells = np.searchsorted(variance_edges(events.place, events.spread, CELLS), events.place)
    places = np.broadcast_to(cells[:, None], table.shape)
    mean = np.einsum("ik,ik->i", rows.probs, table)
    expected = np.bincount(cells, mean, CELLS)
    gaps = table[np.arange(rows.n), rows.labels] - mean
    sums = Summing(
        lambda labels: placed_sums(labels, places, table, CELLS) - expected,
        partial(of_cells, cells, gaps, CELLS),
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
