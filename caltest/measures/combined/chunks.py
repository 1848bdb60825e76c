"""The components for several classes as functions of sums over very many rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caltest.kernels import Exponential
from caltest.kernels.features import Features
from caltest.measures.chunks import BoundChunks, FeatureTotals
from caltest.measures.combined.component import loudest_first
from caltest.measures.combined.findings import (
    NO_TEMPERATURE,
    Finding,
    farthest,
    percent,
    points,
    ratio,
)
from caltest.measures.combined.line import log_odds
from caltest.measures.combined.loops import add_label_tables
from caltest.measures.combined.several import LEAST_LOG, ORDINALS, RANKS
from caltest.measures.combined.surprise import LEAST
from caltest.measures.combined.tails import log_mean_exp, scales_of
from caltest.measures.outcome import Part
from caltest.numerics.labels import Hashes, Labels
from caltest.scale.chunks import Survey
from caltest.validation.options import GIB, check_memory

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

UNIT = 1 << 20  # of what a label adds
WHOLE = 1 << 22  # of what a row adds, whatever its label
ROOT = 1 << 12  # of p^(-1/2), which is at most 10^6
FAR = 16.0  # log odds of a confidence, at most
MOST = 16 * GIB  # of the counts of pairs, in a call for very many rows
STEADY = 0.25  # of a row: keeps the variance of classes that hardly occur away from 0
ABSENT = ("class-curves", "confidence-kuiper", "confidence-kernel", "confidence-narrow")
NOTE = f"by chunks, without the components that need sorted rows: {', '.join(ABSENT)}"


class Block(NamedTuple):
    """What some rows add, by their label."""

    features: Any
    tables: Ints  # (c, m, 5): temperature, p^(-1/2), log odds of the confidence, square, log p
    top: NDArray[np.int64]  # (c,)
    ranks: NDArray[np.uint8]  # (c, m)


class PortfolioTotals:
    """Sums over rows that the components are functions of, in whole numbers.

    Parameters
    ----------
    features : Features
        Of the kernel.
    m : int
        The number of classes.
    size : int
        Resamples, and the observed labels as number 0.
    """

    def __init__(self, features: Features, m: int, size: int) -> None:
        counted = f"counting {size} times the pairs of {m} classes"
        check_memory(size * m * m, counted, most=MOST)
        self.kernel = FeatureTotals(features, m, size)
        self.m, self.ranks = m, min(RANKS, m)
        self.tables = np.zeros((size, 4), np.int64)
        self.logs = np.zeros((size, m), np.int64)
        self.confusions = np.zeros((size, m, m), np.int64)
        self.places = np.zeros((size, self.ranks), np.int64)
        self.whole: dict[str, Ints] = {}

    def block(self, probs: Floats) -> Block:
        m, at = self.m, np.arange(len(probs))
        ranked = np.argsort(-probs, axis=1, kind="stable")
        ranks = np.full(probs.shape, self.ranks - 1, np.uint8)
        first = ranked[:, : self.ranks - 1]
        np.put_along_axis(ranks, first, np.arange(self.ranks - 1, dtype=np.uint8)[None], axis=1)
        top = ranked[:, 0]
        confidence = probs[at, top]
        logs = np.log(np.maximum(probs, LEAST))
        centred = logs - np.einsum("ik,ik->i", probs, logs)[:, None]
        roots = 1.0 / np.sqrt(np.maximum(probs, LEAST))
        odds = np.clip(log_odds(confidence), -FAR, FAR)
        v, slopes = probs * (1.0 - probs), np.maximum(logs, LEAST_LOG)
        tables = np.zeros((*probs.shape, 5))
        tables[:, :, 0], tables[:, :, 1] = centred * UNIT, roots * ROOT
        tables[at, top, 2], tables[at, top, 3] = odds * UNIT, np.square(odds) * UNIT
        tables[:, :, 4] = slopes * UNIT
        chance = np.zeros((len(probs), self.ranks))
        chance[:, :-1] = np.take_along_axis(probs, first, axis=1)
        chance[:, -1] = np.maximum(1.0 - chance.sum(axis=1), 0.0)
        spread = np.einsum("ik,ik,ik->i", probs, centred, centred)
        powers = np.stack([odds**j for j in range(5)], axis=1)
        own = confidence * (1.0 - confidence)
        self._count("p", probs)
        self._count("v", v)
        self._count("p log", probs * slopes)
        self._count("v log", v * slopes)
        self._count("v log^2", v * np.square(slopes))
        self._count("spread", spread)
        self._count("root", np.einsum("ik,ik->i", probs, roots))
        self._count("right", confidence[:, None] * powers[:, :3])
        self._count("moments", own[:, None] * powers)
        self._count("chance", chance)
        self._count("pairs", (chance[:, :, None] * chance[:, None, :]).reshape(len(probs), -1))
        for name, values in (("p top", probs), ("v top", v)):
            fixed, sums = np.rint(values * WHOLE).astype(np.int64), np.zeros((m, m), np.int64)
            np.add.at(sums, top, fixed)
            self._plus(name, sums)
        return Block(
            self.kernel.block(probs),
            np.rint(tables).astype(np.int64),
            top.astype(np.int64),
            ranks,
        )

    def _count(self, name: str, values: Floats) -> None:
        self._plus(name, np.rint(values * WHOLE).astype(np.int64).sum(axis=0))

    def _plus(self, name: str, sums: Any) -> None:
        self.whole[name] = self.whole.get(name, np.int64(0)) + sums

    def add(self, block: Block, labels: Labels, some: slice) -> None:
        self.kernel.add(block.features, labels, some)
        add_label_tables(
            labels,
            block.tables,
            block.top,
            block.ranks,
            self.tables[some],
            self.logs[some],
            self.confusions[some],
            self.places[some],
        )

    def __add__(self, other: PortfolioTotals) -> PortfolioTotals:
        self.kernel += other.kernel
        self.tables += other.tables
        self.logs += other.logs
        self.confusions += other.confusions
        self.places += other.places
        for name, sums in other.whole.items():
            self._plus(name, sums)
        return self

    def expected(self, name: str) -> Floats:
        """Return a sum that does not depend on the labels."""
        return np.asarray(self.whole[name] / WHOLE)


@dataclass(frozen=True, eq=False)
class MakePortfolio:
    """Makes sums over no rows, on a worker."""

    features: Features
    m: int

    def __call__(self, size: int) -> PortfolioTotals:
        """Return sums for that many vectors of labels."""
        return PortfolioTotals(self.features, self.m, size)


class ChunkComponent(ABC):
    """A component of sums; see the class of the same key in `several`.

    Parameters
    ----------
    totals : PortfolioTotals
        Of all rows.
    names : sequence of str
        Of the classes.
    n : int
        Rows.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    two_sided: ClassVar[bool] = False
    lens: ClassVar[str] = "strong"  # relative to the lens of the test

    def __init__(self, totals: PortfolioTotals, names: Sequence[str], n: int) -> None:
        self.totals, self.names, self.n = totals, names, n

    @abstractmethod
    def values(self) -> Floats:
        """Return the statistic for each vector of labels, (B,)."""

    @abstractmethod
    def finding(self) -> Finding:
        """Return what the observed labels show."""


class Temperature(ChunkComponent):
    """Score of the temperature."""

    key, title = "temperature", "temperature"
    two_sided: ClassVar[bool] = True

    def values(self) -> Floats:
        return ratio(self.totals.tables[:, 0] / UNIT, np.sqrt(self.totals.expected("spread")))

    def finding(self) -> Finding:
        spread = float(self.totals.expected("spread"))
        if spread <= 0:
            return NO_TEMPERATURE
        # The first step of Newton's method from 1.
        beta = 1.0 + float(self.totals.tables[0, 0]) / UNIT / spread
        temperature = 1.0 / min(max(beta, 0.05), 20.0)
        word = "too sure" if temperature > 1 else "not sure enough"
        text = f"{word}: a temperature of about {temperature:.3g} mends it"
        return Finding(text, temperature, "temperature")


class ClassFrequencies(ChunkComponent):
    """Sum over classes of the squared standardised differences of frequencies."""

    key, title = "class-frequencies", "class frequencies"

    @property
    def _gaps(self) -> Floats:
        return np.asarray(self.totals.confusions.sum(axis=1) - self.totals.expected("p"))

    @property
    def _precision(self) -> Floats:
        return np.asarray(1.0 / (self.totals.expected("v") + STEADY))

    def values(self) -> Floats:
        return np.asarray(np.square(self._gaps) @ self._precision)

    def finding(self) -> Finding:
        gap = self._gaps[0]
        k = int(np.argmax(np.square(gap) * self._precision))
        mean = float(self.totals.expected("p")[k]) / self.n
        share = mean + float(gap[k]) / self.n
        name = self.names[k]
        return farthest(f"class {name}", mean, share, f"mean gap of {name}")


class ClassSlopes(ChunkComponent):
    """Sum over classes of the squared scores of a slope of the log probability."""

    key, title = "class-slopes", "class-wise slopes"

    @property
    def _scores(self) -> Floats:
        of = self.totals.expected
        mass = np.maximum(of("v"), 1e-12)
        centre = of("v log") / mass
        spread = np.maximum(of("v log^2") - centre * of("v log"), 0.0)
        counts = self.totals.confusions.sum(axis=1)
        excess = self.totals.logs / UNIT - of("p log") - centre * (counts - of("p"))
        return ratio(excess, np.sqrt(spread * (1.0 + STEADY / mass)))

    def values(self) -> Floats:
        return np.asarray(np.square(self._scores).sum(axis=1))

    def finding(self) -> Finding:
        scores = self._scores[0]
        k = int(np.argmax(np.abs(scores)))
        name = self.names[k]
        text = f"farthest is class {name}, z = {scores[k]:.3g}; below 0 where it is too extreme"
        return Finding(text, float(scores[k]), f"z of {name}", in_words=False)


class Confusions(ChunkComponent):
    """Sum over pairs (predicted class, class) of the squared standardised differences."""

    key, title = "confusions", "confusions"

    @property
    def _precision(self) -> Floats:
        return np.asarray(1.0 / (self.totals.expected("v top") + 2.0 * STEADY))

    def values(self) -> Floats:
        gaps = self.totals.confusions - self.totals.expected("p top")
        return np.asarray(np.einsum("bak,bak,ak->b", gaps, gaps, self._precision))

    def finding(self) -> Finding:
        expected = self.totals.expected("p top")
        gap = self.totals.confusions[0] - expected
        size = np.square(gap) * self._precision
        size[expected.sum(axis=1) <= 0.0] = -1.0  # no row is there
        a, k = divmod(int(np.argmax(size)), gap.shape[1])
        mass = max(float(expected[a].sum()), 1e-300)
        share, mean = float(self.totals.confusions[0, a, k]) / mass, float(expected[a, k]) / mass
        where = f"P({self.names[k]}) where {self.names[a]} is predicted"
        return farthest(where, mean, share, "mean gap of the pair")


class Confidence(ChunkComponent):
    """Scores of level, slope and curvature of the confidence, as in the calibration belt."""

    key, title = "confidence", "confidence, level and slope and curve"
    lens = "confidence"

    def values(self) -> Floats:
        right = np.einsum("baa->b", self.totals.confusions)
        sums = np.column_stack([right, self.totals.tables[:, 2:] / UNIT])
        moments = self.totals.expected("moments")
        covariance = moments[np.add.outer(np.arange(3), np.arange(3))]
        unit = 1.0 / np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        excess = (sums - self.totals.expected("right")) * unit
        inverse = np.linalg.pinv(covariance * np.outer(unit, unit), rcond=1e-9, hermitian=True)
        return np.asarray(np.einsum("bj,jk,bk->b", excess, inverse, excess))

    def finding(self) -> Finding:
        confidence = float(self.totals.expected("right")[0]) / self.n
        accuracy = float(np.trace(self.totals.confusions[0])) / self.n
        gap = accuracy - confidence
        word = "too high" if gap < 0 else "too low"
        text = (
            f"confidence {percent(confidence)}, accuracy {percent(accuracy)}: {points(gap)} {word}"
        )
        return Finding(text, gap, "accuracy - mean confidence")


class Ranks(ChunkComponent):
    """Chi^2 of how often the label is the most probable class, the second, ..."""

    key, title = "ranks", "ranks of the label"

    @property
    def _covariance(self) -> Floats:
        chance = self.totals.expected("chance")
        pairs = self.totals.expected("pairs").reshape(chance.size, -1)
        return np.asarray(np.diag(chance) - pairs)

    @property
    def _gaps(self) -> Floats:
        return np.asarray(self.totals.places - self.totals.expected("chance"))

    def values(self) -> Floats:
        precision = np.linalg.pinv(self._covariance, rcond=1e-9, hermitian=True)
        return np.asarray(np.einsum("bk,kl,bl->b", self._gaps, precision, self._gaps))

    def finding(self) -> Finding:
        gaps, chance = self._gaps[0], self.totals.expected("chance")
        sd = np.sqrt(np.maximum(np.diag(self._covariance), 0.0))
        r = int(np.argmax(np.abs(ratio(gaps, sd))))
        mean, share = float(chance[r]) / self.n, float(self.totals.places[0, r]) / self.n
        last = r == chance.size - 1
        name = f"a class after the {ORDINALS[r - 1]}" if last else f"the {ORDINALS[r]}"
        text = f"{name} most probable has {percent(mean)} on average, {percent(share)} observed"
        return Finding(text, share - mean, f"mean gap at rank {r + 1}")


class Surprise(ChunkComponent):
    """Log of the mean of 1 / sqrt(p) of what happened."""

    key, title = "surprise", "improbable outcomes"

    def values(self) -> Floats:
        sums = self.totals.tables[:, 1] / ROOT
        return np.log(ratio(sums, self.totals.expected("root")))

    def finding(self) -> Finding:
        value = float(self.values()[0])
        return Finding(f"{self.title} = {value:.4g}", value, self.title, in_words=False)


class KernelError(ChunkComponent):
    """The SKCE with the median bandwidth, by features."""

    key, title = "skce", "SKCE"

    def values(self) -> Floats:
        whole, own = self.totals.kernel.pair_sums()
        return np.asarray((whole - own) / self.n)

    def finding(self) -> Finding:
        value = float(self.values()[0]) / max(self.n - 1, 1)
        return Finding(f"{self.title} = {value:.4g}", value, self.title, in_words=False)


CHUNKS: tuple[type[ChunkComponent], ...] = (
    Temperature,
    ClassFrequencies,
    ClassSlopes,
    Confusions,
    Confidence,
    Ranks,
    Surprise,
    KernelError,
)


class CombinedChunks(BoundChunks):
    """The portfolio of several classes that sums over rows are enough for.

    Parameters
    ----------
    survey : Survey
        What is known of the rows.
    names : sequence of str
        Of the classes.
    references : (R,) array
        Keys of the resamples that the scales of the components are estimated from.
    scale : float
        Size of the terms of the statistic.
    """

    def __init__(
        self, survey: Survey, names: Sequence[str], references: Hashes, scale: float
    ) -> None:
        probs = survey.sample.probs
        features = Features.of(Exponential(), probs)
        self.n, self.names, self.references, self.scale = survey.n, names, references, scale
        self.make = MakePortfolio(features, probs.shape[1])
        self.notes = (NOTE,)
        self.parameters = {
            "components": len(CHUNKS),
            "combined by": "log mean of 1 / p over the components",
            "features": len(features.landmarks),
        }

    def values(self, totals: Any, n_resamples: int) -> tuple[Floats, tuple[Part, ...]]:
        portfolio = [kind(totals, self.names, self.n) for kind in CHUNKS]
        every = np.stack([component.values() for component in portfolio])
        reference, seen = every[:, -self.references.size :], every[:, : 1 + n_resamples]
        scales = scales_of(portfolio, reference)
        scores = np.stack([one.scores(some) for one, some in zip(scales, seen, strict=True)])
        found = [component.finding() for component in portfolio]
        return log_mean_exp(scores), loudest_first(portfolio, found, scores, seen)
