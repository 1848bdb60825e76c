"""The components of several classes as functions of sums over very many rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from caltest.checks.options import GIB, check_memory
from caltest.kernels import Exponential
from caltest.kernels.features import Features, FeatureTotals
from caltest.measures.bound import BoundChunks, in_words
from caltest.measures.combined import component, context, tails
from caltest.measures.combined.component import (
    LEAST,
    STEADY,
    Component,
    Observed,
    Source,
    Summing,
)
from caltest.measures.combined.loops import (
    ROOT,
    UNIT,
    WHOLE,
    LabelRows,
    LabelSums,
    RowSums,
    add_label_tables,
    label_rows,
)
from caltest.measures.combined.one_event import EventCells, HitRows, ObservedHits
from caltest.measures.outcome import Part
from caltest.numerics.ends import range_words
from caltest.sources import Cells
from caltest.sources.chunks import Survey
from caltest.types import Floats, Hashes, Ints, Labels

LINE = 512  # cells of the confidence
NEAR = 1e-3  # of the end of a cell, as it is written
MOST = 16 * GIB  # of the counts of pairs, in a call for very many rows
NOTE = f"by chunks, the components of the confidence at the means of up to {LINE} cells of it"


class PortfolioTotals:
    """Sums over rows that the components are functions of, in whole numbers.

    Parameters
    ----------
    grid : Grid
        Of the predictions.
    m : int
        The number of classes.
    size : int
        Resamples, and the observed labels as number 0.
    """

    def __init__(self, features: Features, line: Floats, curves: Floats, m: int, size: int) -> None:
        counted = f"counting {size} times the pairs of {m} classes"
        check_memory(size * m * max(m, context.CELLS), counted, most=MOST)
        self.kernel = FeatureTotals(features, m, size)
        self.line, self.curves = line, curves
        self.m, ranks, steps = m, min(context.RANKS, m), (line.size + 1,)
        by_class, by_pair, by_cell = (m,), (m, m), (m, context.CELLS)
        of_labels = [steps, (), by_class, by_pair, steps, by_cell, (ranks,)]
        self.moved, self.predicted = (
            LabelSums(*(np.zeros((b, *shape), np.int64) for shape in of_labels)) for b in (size, 1)
        )
        of_rows = [steps] * 4 + [by_pair] * 2 + [by_class] * 3
        of_rows += [(1,), (ranks,), (ranks, ranks), by_cell, by_cell]
        self.rows = RowSums(*(np.zeros(shape, np.int64) for shape in of_rows))

    def block(self, probs: Floats) -> tuple[Any, LabelRows]:
        least, kernel = np.maximum(probs, LEAST), self.kernel.block(probs)
        known = probs, kernel[1], np.log(least), 1.0 / np.sqrt(least), self.line, self.curves
        return kernel, label_rows(*known, self.rows, self.predicted)

    def add(self, block: tuple[Any, LabelRows], labels: Labels, some: slice) -> None:
        features, rows = block
        self.kernel.add(features, labels, some)
        add_label_tables(labels, rows, LabelSums(*(sums[some] for sums in self.moved)))

    def __add__(self, other: PortfolioTotals) -> PortfolioTotals:
        self.kernel += other.kernel
        for own, others in (
            (self.moved, other.moved),
            (self.predicted, other.predicted),
            (self.rows, other.rows),
        ):
            for sums, more in zip(own, others, strict=True):
                np.add(sums, more, out=sums)
        return self

    @cached_property
    def by_label(self) -> LabelSums:
        """The sums for the labels, once those of all rows are there: they take their place."""
        pairs = zip(self.moved, self.predicted, strict=True)
        return LabelSums(*(np.add(some, more, out=some) for some, more in pairs))

    def keep_observed(self) -> None:
        """Leave out the sums for all labels but those that were observed."""
        self.by_label = LabelSums(*(sums[:1].copy() for sums in self.by_label))
        del self.moved
        self.kernel.keep_observed()

    @cached_property
    def expected(self) -> Any:
        """The sums of `rows` as numbers; those that count rows are divided, too."""
        return RowSums._make(sums / WHOLE for sums in self.rows)


def taken(sums: Any, expected: Floats | float = 0.0) -> Summing:
    """Return sums that were taken chunk by chunk, of the observed labels and of every resample."""
    own = np.asarray(sums - expected)
    return Summing(lambda _: own, expected=expected)


class HitCells(EventCells):
    """Cells of the confidence; the event is that the predicted class is right."""

    too_extreme = HitRows.too_extreme

    def __init__(self, totals: PortfolioTotals) -> None:
        some = totals.rows.rows > 0
        n, hits = totals.rows.rows[some], totals.by_label.hits[:, some]
        expected, variance = totals.expected.confidence[some], totals.expected.variance[some]
        place, mean = np.arange(n.size), expected / n
        super().__init__(Cells(place, {}, n, hits[0], expected, variance, mean, mean))
        self.name, self.hits = "the confidence", hits

    def read(self, labels: Observed) -> Observed:
        return super().read(self.hits if labels is None else labels)


class ChunkSums:
    """Sums over the rows of all chunks as what components are functions of.

    Parameters
    ----------
    totals : PortfolioTotals
        Of all rows.
    bound : CombinedChunks
        What is known beside them.
    """

    too_extreme = ("too sure", "not sure enough")
    order = observed = None
    steady = STEADY

    def __init__(self, totals: PortfolioTotals, bound: CombinedChunks) -> None:
        self.totals, self.names, self.mass, self.n = totals, bound.names, bound.n, bound.n
        self.rows = bound.rows
        self.of, self.scores = totals.expected, totals.by_label.temperatures / UNIT
        self.hits = HitCells(totals)
        self.confusions_of = totals.by_label.confusions
        self.variances = self.of.variances.sum(axis=0)

    def source(self, lens: str) -> Source:
        """Return the sums, or the cells of the confidence."""
        return self.hits if lens == "confidence" else self

    def read(self, labels: Any) -> Observed:
        return labels

    def temperature(self) -> tuple[Summing, float]:
        """Return the score of the temperature, and its standard deviation."""
        return taken(self.scores.sum(axis=1)), float(np.sqrt(self.of.spread.sum()))

    @cached_property
    def place(self) -> Floats:
        """The middles of the cells of the confidence, as shares of the rows."""
        return component.middles(self.totals.rows.rows)

    def temperatures(self) -> tuple[Summing, Floats, Floats]:
        """Return that score by cells of the confidence, its variances, and their middles."""
        return taken(self.scores), self.of.spread, self.place

    def correcting_temperature(self, low: float = 0.0, high: float = 1.0) -> tuple[float, str]:
        """Return that of the rows, or the first step of Newton's method, and how to call it."""
        if self.rows is not None:
            return self.rows.correcting_temperature(low, high)  # type: ignore[no-any-return]
        some = (self.place >= low) & (self.place < high)
        score, spread = self.scores[0, some].sum(), self.of.spread[some].sum()
        beta = 1.0 + float(component.ratio(score, spread))
        return float(1.0 / np.clip(beta, *component.TEMPERATURES)), "a temperature of about"

    def frequencies(self) -> Summing:
        """Return the numbers of labels of each class."""
        return taken(self.confusions_of.sum(axis=1), self.of.probs.sum(axis=0))

    def slopes(self) -> tuple[Summing, Floats]:
        """Return the scores of level and slope on the log of each class, and their errors."""
        mass = np.maximum(self.variances, 1e-12)
        centre = self.of.log_variances / mass
        spread = np.maximum(self.of.log_squares - centre * self.of.log_variances, 0.0)
        excess = self.totals.by_label.logs / UNIT - self.of.logs
        sd = np.sqrt(spread * (1.0 + STEADY / mass))
        levels = self.frequencies().of(None)
        standard = np.append(np.sqrt(self.variances + self.steady), sd)
        return taken(np.hstack([levels, excess - centre * levels])), standard

    def curves(self) -> tuple[Summing, component.GapsOf, component.RangeOf]:
        """Return the largest partial sum of each class, (B, m), over cells of its probability."""
        edges, counts, expected = self.totals.curves, self.totals.rows.counts, self.of.curves
        gaps = self.totals.by_label.curves - expected
        largest = np.abs(np.cumsum(gaps, axis=2)).max(axis=2)
        largest = largest / np.sqrt(self.variances + self.steady)
        sums = Summing(lambda _: largest, expected=expected)

        def range_of(k: int, low: int, high: int) -> tuple[float, str]:
            ends = np.append(0.0, np.append(edges[k], 1.0))[[low, high]]
            (first, last), (near, far) = ends, NEAR * np.minimum(ends, 1.0 - ends)
            before = first - near if low else None
            after = last + far if high < context.CELLS else None
            words = range_words(before, first + near, last - far, after)
            return float(counts[k, low:high].sum()), words

        return sums, lambda k: gaps[0, k], range_of

    def confusions(self) -> tuple[Summing, Floats, Ints, Callable[[], Floats]]:
        """Return the sums over pairs of the predicted class and the class."""
        expected, predicted = self.of.probs, np.arange(self.totals.m)
        precision = context.pair_precision(self.of.variances, predicted, STEADY)
        gaps = self.confusions_of - expected
        sums = np.einsum("bak,bak,ak->b", gaps, gaps, precision)
        found = Summing(lambda _: sums, expected=expected)
        return found, precision, predicted, lambda: self.confusions_of[0]

    def ranks(self) -> tuple[Summing, Floats, Floats]:
        """Return how often the label is of each rank, what is expected, and its covariance."""
        chance = self.of.chance
        covariance = np.diag(chance) - self.of.pairs
        return taken(self.totals.by_label.places, chance), chance, covariance

    def roots(self) -> tuple[Summing, float]:
        """Return the sum of 1 / sqrt(p) of what happens, less its mean, and the mean."""
        mean = float(self.of.root[0])
        return taken(self.totals.by_label.roots / ROOT, mean), mean

    def below(self, limits: Floats) -> tuple[Floats, Floats, Floats] | None:
        """Return that of the rows in memory; others are not counted."""
        return None if self.rows is None else self.rows.below(limits)

    def kernel(self) -> tuple[Summing, float, float]:
        """Return the sums over pairs of rows, their unit, and the number of pairs."""
        whole, own = self.totals.kernel.pair_sums()
        return taken(whole - own), self.mass, float(self.mass) * max(self.mass - 1, 1)


class CombinedChunks(BoundChunks):
    """The portfolio of several classes that sums over rows are enough for.

    Parameters
    ----------
    survey : Survey
        What is known of the rows.
    names : sequence of str
        Of the classes.
    rows : Context, optional
        Where they are in memory: how far the statistic is from theirs is stated.
    """

    scale = tails.SCALE

    def __init__(self, survey: Survey, names: Sequence[str], rows: Source = None) -> None:
        probs = survey.sample.probs
        features, m = Features.of(Exponential(), probs), probs.shape[1]
        top, v = probs.max(axis=1), probs * (1.0 - probs)
        curves = np.stack([context.variance_edges(probs[:, k], v[:, k]) for k in range(m)])
        line = np.unique(context.variance_edges(top, np.ones(top.size), LINE))
        self.n, self.names, self.rows = survey.n, names, rows
        self.make = partial(PortfolioTotals, features, line, curves, m)
        self.notes = (NOTE,)
        self.parameters = tails.parameters_of(component.SEVERAL)
        self.parameters |= {"features": features.root.shape[1]}

    def references(self, n_resamples: int) -> Hashes:
        return tails.reference_keys(0 if tails.parts_of(1 + n_resamples) else tails.REFERENCES)

    def values(self, totals: Any, n_resamples: int) -> tuple[Floats, tuple[Part, ...]]:
        portfolio = self._portfolio(totals)
        every = np.stack([one.values(one.source.read(None)) for one in portfolio])
        totals.keep_observed()  # what follows needs memory
        portfolio = self._portfolio(totals)
        seen, references = np.split(every, [1 + n_resamples], axis=1)
        scales, scores = tails.scored(portfolio, seen, references)
        values = component.combine(portfolio, scores)
        if self.rows is not None:
            of_rows = component.combine(portfolio, tails.scores_of(scales, self._of_rows(seen)))
            error = in_words(float(abs(values[0] - of_rows[0])))
            self.parameters = {**self.parameters, "error by cells": error}
        return values, component.most_extreme_first(portfolio, scores, seen)

    def _portfolio(self, totals: PortfolioTotals) -> list[Component]:
        sums = ChunkSums(totals, self)
        return [kind.of(sums.source) for kind in component.SEVERAL]

    def _of_rows(self, seen: Floats) -> Floats:
        """Return the observed statistics (K, 1) without cells of the confidence."""
        hits = self.rows.hits_of(ObservedHits)
        return np.stack(
            [
                kind.of(hits.source).values(hits.observed) if kind.lens == "confidence" else own[:1]
                for kind, own in zip(component.SEVERAL, seen, strict=True)
            ]
        )
