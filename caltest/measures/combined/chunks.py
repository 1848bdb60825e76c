"""The components of several classes as functions of sums over very many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from caltest.checks.options import GIB, check_memory
from caltest.errors import NotApplicable
from caltest.kernels import Exponential
from caltest.kernels.features import Features
from caltest.measures.chunks import BoundChunks, FeatureTotals
from caltest.measures.combined.component import (
    LEAST,
    STEADY,
    Function,
    Observed,
    Source,
    inverse,
    most_extreme_first,
)
from caltest.measures.combined.context import LEAST_LOG, RANKS, ranks_of
from caltest.measures.combined.loops import add_label_tables
from caltest.measures.combined.one_event import log_odds
from caltest.measures.combined.several import SEVERAL
from caltest.measures.combined.tails import parameters_of, scales_of, scores_of
from caltest.measures.outcome import Part
from caltest.measures.residual_sums import ResidualStatistic
from caltest.numerics.joint import log_mean_exp
from caltest.sources.chunks import Survey
from caltest.types import Events, Floats, Hashes, Ints, Labels

UNIT = 1 << 20  # of what a label adds
WHOLE = 1 << 22  # of what a row adds, whatever its label
ROOT = 1 << 12  # of p^(-1/2), which is at most 10^6
FAR = 16.0  # log odds of a confidence, at most
MOST = 16 * GIB  # of the counts of pairs, in a call for very many rows
ABSENT = ("class-curves", "confidence-kuiper", "confidence-kernel", "confidence-narrow")
NOTE = f"by chunks, without the components that need sorted rows: {', '.join(ABSENT)}"
CHUNKS = tuple(kind for kind in SEVERAL if kind.key not in ABSENT)


class Block(NamedTuple):
    """What some rows add, by their label."""

    features: Any
    tables: Ints  # (c, m, 5): temperature, p^(-1/2), log odds of the confidence, square, log p
    top: Ints  # (c,)
    ranks: Events  # (c, m)


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
        widths = {"tables": (4,), "logs": (m,), "confusions": (m, m), "places": (self.ranks,)}
        self.by_label = {key: np.zeros((size, *s), np.int64) for key, s in widths.items()}
        self.whole: dict[str, Ints] = {}

    def block(self, probs: Floats) -> Block:
        m, at = self.m, np.arange(len(probs))
        ranked = np.argsort(-probs, axis=1, kind="stable")
        ranks, chance = ranks_of(probs, ranked, self.ranks)
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
            sums = np.zeros((m, m), np.int64)
            np.add.at(sums, top, np.rint(values * WHOLE).astype(np.int64))
            self._plus(name, sums)
        fixed = np.rint(tables).astype(np.int64)
        return Block(self.kernel.block(probs), fixed, top.astype(np.int64), ranks)

    def _count(self, name: str, values: Floats) -> None:
        self._plus(name, np.rint(values * WHOLE).astype(np.int64).sum(axis=0))

    def _plus(self, name: str, sums: Any) -> None:
        self.whole[name] = self.whole.get(name, np.int64(0)) + sums

    def add(self, block: Block, labels: Labels, some: slice) -> None:
        self.kernel.add(block.features, labels, some)
        sums = [sums[some] for sums in self.by_label.values()]
        add_label_tables(labels, block.tables, block.top, block.ranks, *sums)

    def __add__(self, other: PortfolioTotals) -> PortfolioTotals:
        self.kernel += other.kernel
        for key in self.by_label:
            self.by_label[key] += other.by_label[key]
        for name, whole in other.whole.items():
            self._plus(name, whole)
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


class Taken:
    """Sums that were taken chunk by chunk, for the observed labels and for every resample."""

    def __init__(self, sums: Any, expected: Floats | float = 0.0) -> None:
        self.expected, self.sums = expected, np.asarray(sums - expected)

    def of(self, observed: Observed) -> Floats:
        return self.sums

    def signed(self, function: Function) -> ResidualStatistic:
        raise NotApplicable("sums over chunks have no signs of clusters", "use engine='rows'")


class TakenPairs(Taken):
    """The squared standardised differences of pairs (predicted class, class), added up."""

    def __init__(self, totals: PortfolioTotals) -> None:
        expected = totals.expected("p top")
        self.precision = 1.0 / (totals.expected("v top") + 2.0 * STEADY)
        self.predicted = np.arange(totals.m)
        self.seen = totals.by_label["confusions"][0]
        gaps = totals.by_label["confusions"] - expected
        super().__init__(np.einsum("bak,bak,ak->b", gaps, gaps, self.precision))
        self.expected = expected


class ChunkSums:
    """Sums over the rows of all chunks as what components are functions of.

    Parameters
    ----------
    totals : PortfolioTotals
        Of all rows.
    names : sequence of str
        Of the classes.
    n : int
        Rows.
    """

    too_extreme = ("too sure", "not sure enough")
    order = observed = None
    steady = STEADY

    def __init__(self, totals: PortfolioTotals, names: Sequence[str], n: int) -> None:
        self.totals, self.names, self.mass = totals, names, n
        self.of, self.tables = totals.expected, totals.by_label["tables"]
        self.confusions_of = totals.by_label["confusions"]
        self.variances = self.of("v")

    def source(self, lens: str) -> Source:
        """Return the sums, whatever they are of."""
        return self

    def read(self, labels: Any) -> Observed:
        return labels

    @property
    def rates(self) -> tuple[float, float]:
        """The mean confidence and the accuracy."""
        right = float(np.trace(self.confusions_of[0]))
        return float(self.of("right")[0]) / self.mass, right / self.mass

    def temperature(self) -> tuple[Taken, float]:
        """Return the score of the temperature, and its standard deviation."""
        return Taken(self.tables[:, 0] / UNIT), float(np.sqrt(self.of("spread")))

    def mending_temperature(self) -> tuple[float, str]:
        """Return the first step of Newton's method from 1, and how to call it."""
        beta = 1.0 + float(self.tables[0, 0]) / UNIT / float(self.of("spread"))
        return 1.0 / min(max(beta, 0.05), 20.0), "a temperature of about"

    def frequencies(self) -> Taken:
        """Return the numbers of labels of each class."""
        return Taken(self.confusions_of.sum(axis=1), self.of("p"))

    def slopes(self) -> tuple[Taken, Floats]:
        """Return the scores of a slope of the log probability of each class, and their errors."""
        mass = np.maximum(self.variances, 1e-12)
        centre = self.of("v log") / mass
        spread = np.maximum(self.of("v log^2") - centre * self.of("v log"), 0.0)
        excess = self.totals.by_label["logs"] / UNIT - self.of("p log")
        sd = np.sqrt(spread * (1.0 + STEADY / mass))
        return Taken(excess - centre * self.frequencies().sums), sd

    def confusions(self) -> TakenPairs:
        """Return the sums over pairs of the predicted class and the class."""
        return TakenPairs(self.totals)

    def scores(self) -> tuple[Taken, Floats]:
        """Return those of level, slope and curvature of the confidence, and their precision."""
        right = np.einsum("baa->b", self.confusions_of)
        sums = np.column_stack([right, self.tables[:, 2:] / UNIT])
        covariance = self.of("moments")[np.add.outer(np.arange(3), np.arange(3))]
        unit = 1.0 / np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        excess = (sums - self.of("right")) * unit
        return Taken(excess), inverse(covariance * np.outer(unit, unit))

    def ranks(self) -> tuple[Taken, Floats, Floats]:
        """Return how often the label is of each rank, what is expected, and its covariance."""
        chance = self.of("chance")
        covariance = np.diag(chance) - self.of("pairs").reshape(chance.size, -1)
        return Taken(self.totals.by_label["places"], chance), chance, covariance

    def roots(self) -> tuple[Taken, float]:
        """Return the sum of 1 / sqrt(p) of what happens, less its mean, and the mean."""
        mean = float(self.of("root"))
        return Taken(self.tables[:, 1] / ROOT, mean), mean

    def below(self, limits: Floats) -> None:
        """Return None: outcomes less probable than limits are not counted."""

    def kernel(self) -> tuple[Taken, float, float]:
        """Return the sums over pairs of rows, their unit, and the number of pairs."""
        whole, own = self.totals.kernel.pair_sums()
        return Taken(whole - own), self.mass, float(self.mass) * max(self.mass - 1, 1)


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
        self.parameters = {**parameters_of(CHUNKS), "features": len(features.landmarks)}

    def values(self, totals: Any, n_resamples: int) -> tuple[Floats, tuple[Part, ...]]:
        sums = ChunkSums(totals, self.names, self.n)
        portfolio = [kind.of(sums.source) for kind in CHUNKS]
        every = np.stack([component.values(None) for component in portfolio])
        reference, seen = every[:, -self.references.size :], every[:, : 1 + n_resamples]
        scores = scores_of(scales_of(portfolio, reference), seen)
        return log_mean_exp(scores), most_extreme_first(portfolio, scores, seen)
