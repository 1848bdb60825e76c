"""Where predictions and labels differ: places named by a test that allows for the search."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from caltest.errors import NotApplicable
from caltest.measures.gap import Gap, Where, gap_of, gap_of_cells, share_limits
from caltest.measures.residual_sums import of_cells
from caltest.nulls.base import Draws
from caltest.nulls.cluster import Clusters, flipped_values
from caltest.numerics.cell_counts import LARGE, cell_law, draw_counts
from caltest.numerics.class_sums import placed_sums
from caltest.numerics.ends import even_ends
from caltest.numerics.joint import ROUNDING, standard_deviates
from caltest.numerics.labels import label_dtype, resample_keys, row_hashes
from caltest.numerics.tails import normal_sf
from caltest.predictions import Predictions
from caltest.sources import Cells
from caltest.types import AnyArray, Flags, Floats, Ints, Labels, SmallInts

Named = tuple[Gap, Where, float]

NAMED = 0.05  # largest p-value of a place that is named, where no level was given
STRICT = 0.6  # of the level: intervals of the few that are named miss more often than those of all
MOST_PLACES = 3
PARTS = 20  # of the rows by an event or the confidence: ranges are of one or more of them
FEWEST = 20  # rows of a place
CLASS_PARTS = 10  # of the rows by the probability of a class, of several
RANGES = 600  # of all classes together, about
PAIRS = 100  # of a predicted class and a class
LEAST = 1e-9  # variance of a sum, of that of a row
MOST_SKEW = 4.0  # of a sum of residuals, as it is standardised
LARGEST = 1e8  # probabilities whose classes have ranges
WORK = 1 << 24  # redrawn labels, where the level needs no more
AT_A_TIME = 1 << 22  # redrawn labels


class Values(NamedTuple):
    """Probabilities in ascending order, or cells of them, with rows and variance of events."""

    least: Floats
    mean: Floats
    most: Floats
    rows: Ints
    noise: Floats


Cut = Callable[[Values, int], Floats]  # the ends of at most so many parts


def even(values: Values, most: int) -> Floats:
    """Cut probabilities into parts that have about equal shares of the rows and the variance."""
    rows, noise = int(values.rows.sum()), values.noise
    mass = values.rows / rows + (noise / noise.sum() if noise.any() else 0.0)
    return even_ends(values.least, values.most, mass, min(most, rows // FEWEST))


@dataclass(frozen=True)
class Aspect:
    """An event of rows that are cut into parts by its probability.

    Attributes
    ----------
    where : Where
        The event, and of which rows.
    ends : (E,) array
        Between the parts.
    start : int
        The number of the first of its E + 1 parts.
    part : array
        That of each row or cell; of rows that do not count another number.
    """

    where: Where
    ends: Floats
    start: int
    part: AnyArray

    def inside(self, first: int, stop: int) -> Flags:
        """Return which rows or cells are in the parts from `first` on, before `stop`."""
        return (self.part >= first) & (self.part < stop)

    def between(self, first: int, stop: int) -> Where:
        """Return the place of these parts."""
        first, stop = first - self.start, stop - self.start
        above = float(self.ends[first - 1]) if first else None
        below = float(self.ends[stop - 1]) if stop <= self.ends.size else None
        return replace(self.where, above=above, below=below)


class Search(ABC):
    """Candidates for places: ranges of successive parts of rows, by the probability of an event.

    They depend on the predictions alone. What is summed over a range is a difference of two partial
    sums over the parts.

    Attributes
    ----------
    aspects : list of Aspect
        Events of rows.
    rows, mass, squares, expected : (K,) array
        Of each part the number of rows, their weight, its squares added up, and the expected weight
        of events.
    variance, third : (K,) array
        Variance and third cumulant of the sum of residuals of each part.
    """

    aspects: list[Aspect]
    rows: Floats
    mass: Floats
    squares: Floats
    expected: Floats
    variance: Floats
    third: Floats
    least: float  # variance of a sum: keeps that of what cannot happen away from 0
    depends = False  # whether residuals of different rows may depend on each other

    @abstractmethod
    def sums(self, n_resamples: int, seed: int) -> Floats:
        """Return observed - expected events of each part, then those of resamples, (B + 1, K)."""

    @abstractmethod
    def gap(self, where: Where, inside: Flags) -> Gap:
        """Return the gap of some rows or cells."""

    def places(self, *, n_resamples: int, seed: int, level: float) -> Iterator[Named]:
        r"""Yield the places that are wrong with their p-values, the farthest off first.

        With S the sum of residuals of a range, standardised and freed of its skewness (Wilson and
        Hilferty 1931), the p-value of a range is the share of resamples in which the largest
        :math:`|S|` of all ranges is as large: it allows for the search. A place is named where it
        is at most the level and its interval, which holds for all ranges at once, leaves out 0:
        first the one that is surely farthest off, then others that share no rows with those before.
        Whole classes may.

        References
        ----------
        Westfall, Young (1993), Resampling-based multiple testing, section 2.6 (single-step maxT).
        """
        first, stop, owner = self._ranges()
        if not first.size:
            return
        sums = over(self.sums(n_resamples, seed), first, stop)
        deviates = np.abs(self._deviates(sums, first, stop, owner))
        largest = deviates.max(axis=1)
        limit = float(np.quantile(largest, 1.0 - level, method="higher"))
        confidence = max(1.0 - level, 1.0 - 2.0 * normal_sf(limit))
        taken: list[tuple[Flags, Where]] = []
        pvalues = np.mean(largest[:, None] >= deviates[0] - ROUNDING, axis=0)
        # How far off each range surely is, by the limits of independent rows of equal weight.
        known = np.stack([self.mass, self.squares, self.expected])
        mass, squares, expected = over(known, first, stop)
        predicted, share = expected / mass, np.clip((expected + sums[0]) / mass, 0.0, 1.0)
        low, high = share_limits(share, mass**2 / squares, confidence)
        sure = np.maximum(low - predicted, predicted - high)
        for q in np.argsort(-sure, kind="stable").tolist():
            if pvalues[q] > level:
                continue
            aspect, ends = self.aspects[owner[q]], (int(first[q]), int(stop[q]))
            inside, where = aspect.inside(*ends), aspect.between(*ends)
            # Classes as a whole share all rows.
            others = (one for one, other in taken if not (where.is_class and other.is_class))
            if any((inside & one).any() for one in others):
                continue
            gap = self.gap(where, inside).at(confidence)
            if gap.is_clear:
                taken.append((inside, where))
                yield gap, where, float(pvalues[q])
                if len(taken) == MOST_PLACES:
                    return

    def _ranges(self) -> tuple[Ints, Ints, Ints]:
        """Return first part, the part after the last, and aspect of the candidates."""
        pairs = [np.array(np.triu_indices(one.ends.size + 2, 1)) for one in self.aspects]
        moved = [pair + one.start for pair, one in zip(pairs, self.aspects, strict=True)]
        first, stop = np.concatenate(moved, axis=1)
        owner = np.repeat(np.arange(len(pairs)), [pair.shape[1] for pair in pairs])
        rows, mass = over(np.stack([self.rows, self.mass]), first, stop)
        kept = (rows >= FEWEST) & (mass > ROUNDING * self.mass.sum())
        return first[kept], stop[kept], owner[kept]

    def _deviates(self, sums: Floats, first: Ints, stop: Ints, owner: Ints) -> Floats:
        """Return about standard normal deviates of sums.

        The variance of rows that depend is no less than that of independent ones times the design
        effect of all ranges of as many parts: signs know nothing of the events that did not happen.
        """
        variance, third = over(np.stack([self.variance, self.third]), first, stop)
        if self.depends:
            flipped = np.mean(np.square(sums), axis=0)
            alike = np.unique(owner * sums.size + stop - first, return_inverse=True)[1]
            known = np.maximum(np.bincount(alike, variance), self.least)
            effect = np.maximum(np.bincount(alike, flipped) / known, 1.0)[alike]
            variance, third = np.maximum(flipped, variance * effect), third * effect**2
        variance = np.maximum(variance, self.least)
        skewness = np.clip(third / variance**1.5, -MOST_SKEW, MOST_SKEW)
        sign = np.where(skewness < 0, -1.0, 1.0)
        t = sign * sums / np.sqrt(variance)
        return np.asarray(sign * standard_deviates(t, np.abs(skewness)))


def over(values: Floats, first: Ints, stop: Ints) -> Floats:
    """Return the sums of values (B, K) over ranges of parts, (B, Q)."""
    partial = np.cumsum(np.pad(values, ((0, 0), (1, 0))), axis=1)
    return np.asarray(partial[:, stop] - partial[:, first])


class RowSearch(Search):
    """Candidates among rows: of the event of two classes, else of confidence and classes.

    Without `predicts`, of classes alone.
    """

    def __init__(
        self,
        predictions: Predictions,
        cut: Cut = even,
        pairs: int = PAIRS,
        *,
        predicts: bool = True,
    ) -> None:
        self.predictions, self.cut, self.predicts = predictions, cut, predicts
        self.pairs = pairs if predicts else 0
        self.weight: Floats = predictions.weights
        self.names = [str(name) for name in predictions.classes]
        self.aspects = []
        self.tables = list(self._tables())
        self.count = self._next
        for table in self.tables:
            table[table < 0] = self.count
        p, w = predictions.probs, self.weight[:, None]
        noise = w**2 * p * (1.0 - p)
        self.rows, self.mass = self._total(np.ones_like(w)), self._total(w)
        self.squares, self.expected = self._total(w * w), self._total(w * p)
        self.third = self._total(noise * w * (1.0 - 2.0 * p))
        self.variance, self.depends = self._total(noise), predictions.has_dependence
        self.least = LEAST * float(np.square(w).mean())

    @property
    def _next(self) -> int:
        return self.aspects[-1].start + self.aspects[-1].ends.size + 1 if self.aspects else 0

    def _cut(self, where: Where, p: Floats, most: int) -> SmallInts:
        """Add an aspect, and return the part of each row."""
        values, at = np.unique(p, return_inverse=True)
        noise = np.bincount(at, np.square(self.weight) * p * (1.0 - p)).astype(np.float64)
        ends = self.cut(Values(values, values, values, np.bincount(at), noise), most)
        part = (self._next + np.searchsorted(ends, p)).astype(np.int32)
        self.aspects.append(Aspect(where, ends, self._next, part))
        return part

    def _tables(self) -> Iterator[SmallInts]:
        """Yield tables of the part that counts the label of a row.

        Yields
        ------
        (n, m) array
            -1 for none.
        """
        probs, m = self.predictions.probs, self.predictions.m
        rows, none = np.arange(len(probs)), np.full(probs.shape, -1, np.int32)
        if m == 2:
            none[:, 1] = self._cut(Where(event=self.names[1]), probs[:, 1], PARTS)
            yield none
            return
        top = self.predictions.predicted
        if self.predicts:
            none[rows, top] = self._cut(Where(), probs[rows, top], PARTS)
            yield none
        is_small = probs.size <= LARGEST
        parts = int(np.clip(math.sqrt(2 * RANGES / m), 1, CLASS_PARTS)) if is_small else 1
        each = zip(self.names, probs.T, strict=True)
        yield np.stack([self._cut(Where(event=name), p, parts) for name, p in each], axis=1)
        if not (self.pairs and is_small):
            return
        predicted, row = np.unique(top, return_inverse=True)
        noise = np.zeros((predicted.size, m))
        np.add.at(noise, row, probs * (1.0 - probs))
        pairs = np.argsort(-noise.ravel(), kind="stable")[: self.pairs]
        numbers = np.full(noise.size, -1, np.int32)
        numbers[pairs] = self._next + np.arange(pairs.size)
        table = numbers.reshape(noise.shape)[row]
        for a, k in zip(*np.divmod(pairs, m), strict=True):
            where = Where(event=self.names[k], predicted=self.names[predicted[a]])
            self.aspects.append(Aspect(where, np.empty(0), self._next, table[:, k]))
        yield table

    def _total(self, values: Floats) -> Floats:
        """Return the sums over parts of what labels add, (n, m) or (n, 1)."""
        out = np.zeros(self.count + 1)
        for table in self.tables:
            every = np.broadcast_to(values, table.shape)
            out += np.bincount(table.ravel(), every.ravel(), out.size)
        return out[:-1]

    def sums(self, n_resamples: int, seed: int) -> Floats:
        data, size = self.predictions, self.count + 1
        if self.depends:
            gaps = data.residuals
            every = [of_cells(one, gaps, size, lambda sums: sums[:, :-1]) for one in self.tables]
            values = flipped_values(every, Clusters.of(data), Draws(n_resamples, seed))
            return np.asarray(values.sum(axis=0))

        weight = np.broadcast_to(self.weight[:, None], self.tables[0].shape)

        def events(labels: Labels) -> Floats:
            totals = [placed_sums(labels, one, weight, size) for one in self.tables]
            return np.asarray(np.sum(totals, axis=0)[:, :-1] - self.expected)

        keys, step = resample_keys(seed, n_resamples), max(8, AT_A_TIME // data.n)
        blocks = [keys[start : start + step] for start in range(0, keys.size, step)]
        seen = events(data.labels[None].astype(label_dtype(data.m)))
        return np.concatenate([seen, *(events(data.redrawing.labels(b)) for b in blocks)])

    def gap(self, where: Where, inside: Flags) -> Gap:
        rows = where.rows(self.predictions).of(inside)
        kind = "class" if where.is_class and self.predictions.m > 2 else "region"
        return gap_of(rows, kind, where.words)


class CellSearch(Search):
    """Candidates among cells, of their event."""

    def __init__(self, cells: Cells, cut: Cut = even) -> None:
        self.cells, noise = cells, cells.noise
        ends = cut(Values(cells.least, cells.mean, cells.most, cells.counts, noise), PARTS)
        part = np.searchsorted(ends, cells.mean)
        self.aspects = [Aspect(Where(event=cells.event), ends, 0, part)]
        self.least = LEAST * float(cells.squares.sum()) / cells.rows
        self.starts = np.searchsorted(part, np.arange(ends.size + 1))
        known = np.stack([cells.counts, cells.n, cells.squares, cells.expected])
        self.rows, self.mass, self.squares, self.expected = self._total(known.astype(np.float64))
        skewed = noise * (1.0 - 2.0 * cells.mean) * (cells.squares / cells.n)
        self.variance, self.third = self._total(noise[None])[0], self._total(skewed[None])[0]

    def _total(self, values: Floats) -> Floats:
        return np.asarray(np.add.reduceat(values, self.starts, axis=1))

    def sums(self, n_resamples: int, seed: int) -> Floats:
        cells, keys = self.cells, resample_keys(seed, n_resamples)
        seen = self._total(cells.events[None].astype(np.float64))
        if cells.weights is None and self.variance.min() > LARGE:  # parts as one cell each
            fourth = self._total((cells.noise - 6.0 * np.square(cells.noise) / cells.n)[None])[0]
            own = self.third / self.variance**1.5, fourth / np.square(self.variance)
            law = cell_law(self.rows.astype(np.int64), self.expected, self.variance, cumulants=own)
            some = [draw_counts(law, row_hashes(np.arange(self.rows.size)), keys)]
        else:
            step = max(8, AT_A_TIME // cells.drawn)
            each = (keys[b : b + step] for b in range(0, keys.size, step))
            some = [self._total(cells.redrawn(part)) for part in each]
        return np.concatenate([seen, *some]) - self.expected

    def gap(self, where: Where, inside: Flags) -> Gap:
        return gap_of_cells(self.cells.taken(inside), "region", where.words)


def find_places(
    seen: Predictions | Cells,
    *,
    lens: str,
    group: object = None,
    among: int = 1,
    n_resamples: int,
    seed: int,
    level: float | None,
    predicts: bool = True,
) -> tuple[Gap, ...]:
    """Search predictions as a lens shows them, or cells, for places that are wrong.

    Parameters
    ----------
    seen : Predictions or Cells
        What the test saw.
    lens : str
        The key of the lens.
    group : object, optional
        The group that they are of.
    among : int, default 1
        How many groups or lenses are searched: p-values and intervals allow for all of them.
    n_resamples, seed : int
        Those of the call: its labels are redrawn, of very many rows the first of them.
    level : float, optional
        That of the test, else 0.05. Places are searched at 0.6 of it: at most in so many data sets
        a calibrated place is named or an interval misses.
    predicts : bool, default True
        Whether the most probable class is predicted.

    Returns
    -------
    tuple of Gap
        At most three, the surest first.
    """
    search: Search
    if isinstance(seen, Predictions):
        search, size = RowSearch(seen, predicts=predicts), seen.n
    else:
        search, size = CellSearch(seen), seen.drawn
    own_level = STRICT * (NAMED if level is None else level) / among
    enough = max(math.ceil(10.0 / own_level) - 1, WORK // size)
    n_resamples = min(n_resamples, max(999, math.ceil(1.0 / own_level)), enough)
    named = None if group is None else str(group)
    found = list[Named]()
    with suppress(NotApplicable):  # too many clusters for their sums
        found += search.places(n_resamples=n_resamples, seed=seed, level=own_level)
    asked = [(gap, replace(where, lens=lens, group=named), pvalue) for gap, where, pvalue in found]
    return tuple(
        replace(gap, name=where.words, pvalue=among * p, where=where) for gap, where, p in asked
    )
