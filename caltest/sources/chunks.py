"""Rows of several classes, chunk by chunk where they lie: only sums over rows leave a worker.

The rows are read twice. The first time they are surveyed: which are wrong, which are equal, and a
sample. The second time their labels are redrawn, and sums of these are taken. What is drawn for a
row depends on its probabilities and, among equal rows, on its number, so that neither the order of
the rows nor the chunks, the workers or the engine matter.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, Protocol, Self

import numpy as np

from caltest.numerics.labels import (
    FIRST,
    SECOND,
    content_hashes,
    cumulative_limits,
    draw_labels,
    label_dtype,
    numbered,
    occurrences,
    rescale_rows,
)
from caltest.numerics.loops import blocks, map_threads
from caltest.types import Floats, Hashes, Ints, Labels

Unit = tuple[int, int]  # the number of a part, and of a partition of it

ROWS = 1 << 15  # of a chunk, at most
NUMBERS = 1 << 19  # of its probabilities
MERGED = 64  # chunks that are held before they are added up
KEYS = 64  # resamples whose labels are held at a time
SAMPLE = 2000  # different predictions
KNOWN = 1 << 25  # rows up to which those that are equal are found
MOST = 1 << 31  # rows whose sums fit into 64 bits
SHARE = 1 << 30  # sums of confidences are whole numbers of these
ROUNDING = 4 * np.finfo(np.float64).eps  # per class: a sum that is 1, as where rows are read
ALL_BITS = (1 << 64) - 1


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows that are right, and how many are wrong.

    Attributes
    ----------
    probs : (c, m) array
    labels : (c,) array
        Codes of the labels.
    wrong : dict
        Numbers of rows by the number of what is wrong with them.
    """

    probs: Floats
    labels: Ints
    wrong: Mapping[int, int]

    @classmethod
    def of(cls, probs: Floats, labels: Ints) -> Iterator[Self]:
        """Yield rows in memory, some at a time."""
        m = probs.shape[1]
        for some in blocks(labels.size, min(ROWS, NUMBERS // m)):
            own = probs[some].copy()
            rescale_rows(own, ROUNDING * m)
            yield cls(own, labels[some], {})

    @classmethod
    def split(cls, columns: Mapping[str, Any], m: int) -> Iterator[Self]:
        """Yield the rows of columns p0, p1, ..., code and status, some at a time."""
        status = np.asarray(columns["status"]).astype(np.int64)
        for some in blocks(status.size, min(ROWS, NUMBERS // m)):
            fine = status[some] == 0
            probs = np.empty((int(np.count_nonzero(fine)), m))
            for k in range(m):
                probs[:, k] = np.asarray(columns[f"p{k}"])[some][fine]
            rescale_rows(probs, ROUNDING * m)
            labels = np.asarray(columns["code"])[some][fine].astype(np.int64)
            kinds, counts = np.unique(status[some][~fine], return_counts=True)
            yield cls(probs, labels, dict(zip(kinds.tolist(), counts.tolist(), strict=True)))


# ---- the first time -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sample:
    """Different predictions, those with the smallest hashes, and the labels of all their rows.

    Attributes
    ----------
    hashes : (k,) array
        In ascending order.
    probs : (k, m) array
    counts : (k, m) array
        How often each class is the label.
    """

    hashes: Hashes
    probs: Floats
    counts: Ints

    @classmethod
    def of(cls, hashes: Hashes, probs: Floats, labels: Ints) -> Self:
        """Take those of some rows."""
        m = probs.shape[1]
        different, first, code = np.unique(hashes, return_index=True, return_inverse=True)
        some = code < SAMPLE
        count = min(SAMPLE, different.size)
        counts = np.bincount(code[some] * m + labels[some], minlength=count * m)
        return cls(different[:count], probs[first[:count]], counts.reshape(count, m))

    def __add__(self, other: Sample) -> Sample:
        hashes = np.concatenate([self.hashes, other.hashes])
        different, first, code = np.unique(hashes, return_index=True, return_inverse=True)
        counts = np.zeros((different.size, self.counts.shape[1]), np.int64)
        np.add.at(counts, code, np.concatenate([self.counts, other.counts]))
        probs = np.concatenate([self.probs, other.probs])[first[:SAMPLE]]
        return Sample(different[:SAMPLE], probs, counts[:SAMPLE])


@dataclass(frozen=True, eq=False)
class Survey:
    """What is known of the rows when they have been read once.

    Attributes
    ----------
    units : dict
        The number of rows of each unit, and a sum of their hashes.
    wrong : dict
        Numbers of rows by the number of what is wrong with them.
    hashes : dict or None
        The hashes of the rows of each unit, sorted; None where rows are too many.
    sample : Sample
    confidence : (4,) array
        Sums of the largest probability, of its square, of whether its class is the label, and of
        the probability where it is, in units of 2^-30.
    """

    units: Mapping[Unit, tuple[int, int]]
    wrong: Mapping[int, int]
    hashes: Mapping[Unit, Hashes] | None
    sample: Sample
    confidence: Ints

    @classmethod
    def of(cls, m: int, unit: Unit, chunks: Iterable[Chunk]) -> Survey:
        """Survey the rows of a unit."""
        nothing = Sample(np.empty(0, np.uint64), np.empty((0, m)), np.empty((0, m), np.int64))
        total = cls({unit: (0, 0)}, {}, {unit: np.empty(0, np.uint64)}, nothing, np.zeros(4, int))
        waiting: list[Survey] = []
        for chunk in chunks:
            known, hashes = total.sample.hashes, content_hashes(chunk.probs)
            top = np.argmax(chunk.probs, axis=1)
            largest, right = chunk.probs[np.arange(hashes.size), top], top == chunk.labels
            confidence = np.rint(largest * SHARE).astype(np.int64)
            squares = np.rint(np.square(largest) * SHARE).astype(np.int64)
            sums = [confidence.sum(), squares.sum(), SHARE * right.sum(), confidence[right].sum()]
            low = hashes <= known[-1] if known.size == SAMPLE else np.ones(hashes.size, bool)
            sample = Sample.of(hashes[low], chunk.probs[low], chunk.labels[low])
            units = {unit: (hashes.size, int(hashes.sum(dtype=np.uint64)))}
            own = np.array(sums, np.int64)
            waiting.append(cls(units, chunk.wrong, {unit: hashes}, sample, own))
            if len(waiting) == MERGED or total.sample.hashes.size < SAMPLE:
                total, waiting = total.plus(waiting), []
        return total.plus(waiting)

    @property
    def n(self) -> int:
        """The number of rows that are right."""
        return sum(n for n, _ in self.units.values())

    def plus(self, others: list[Survey]) -> Survey:
        """Add others up."""
        every = [self, *others]
        units: dict[Unit, tuple[int, int]] = {}
        wrong, parts = Counter[int](), defaultdict[Unit, list[Hashes]](list)
        for one in every:
            for unit, (n, total) in one.units.items():
                before = units.get(unit, (0, 0))
                units[unit] = before[0] + n, (before[1] + total) & ALL_BITS
            wrong.update(one.wrong)
            for unit, hashes in (one.hashes or {}).items():
                parts[unit].append(hashes)
        few = sum(n for n, _ in units.values()) <= KNOWN
        known = few and all(one.hashes is not None for one in every)
        joined = {unit: np.concatenate(some) for unit, some in parts.items()} if known else None
        sample = reduce(add, [one.sample for one in every])
        return Survey(units, wrong, joined, sample, reduce(add, [one.confidence for one in every]))

    def __add__(self, other: Survey) -> Survey:
        return self.plus([other])

    def numbering(self) -> dict[Unit, Numbers]:
        """Return how the equal rows of each unit are numbered, those of earlier units before."""
        if self.hashes is None:
            return {unit: Numbers(unit, None, np.empty(0, np.int64)) for unit in self.units}
        every = np.sort(np.concatenate(list(self.hashes.values())))
        tied = np.unique(every[1:][every[1:] == every[:-1]])
        seen: Ints = np.zeros(tied.size, np.int64)
        out = {}
        for unit, hashes in sorted(self.hashes.items()):
            ordered = np.sort(hashes)
            first, after = np.searchsorted(ordered, tied), np.searchsorted(ordered, tied, "right")
            count = (after - first).astype(np.int64)
            own = count > 0
            out[unit] = Numbers(unit, tied[own], seen[own])
            seen = seen + count
        return out


@dataclass(eq=False)
class Numbers:
    """Numbers the rows of a unit: a row by its contents, equal rows one after the other.

    Attributes
    ----------
    unit : tuple of int
    tied : (T,) array or None
        Hashes of rows that have equals, sorted; where None, too many rows are there to know, and
        rows are told apart by the chunk in which they lie.
    seen : (T,) array
        How many of each have been numbered.
    """

    unit: Unit
    tied: Hashes | None
    seen: Ints
    chunks: int = 0

    def of(self, hashes: Hashes) -> Hashes:
        """Return what the rows of the next chunk contribute to their uniform numbers."""
        if self.tied is None:
            self.chunks += 1  # which tells its rows from those of others
            at = (self.unit[0] << 40) + (self.unit[1] << 20) + self.chunks
            salt = np.uint64(((at * FIRST & ALL_BITS) ^ (at >> 7)) * SECOND & ALL_BITS)
            return numbered(hashes ^ salt, occurrences(hashes))
        if not self.tied.size:
            return hashes
        place = np.minimum(np.searchsorted(self.tied, hashes), self.tied.size - 1)
        some = self.tied[place] == hashes
        number = np.zeros(hashes.size, np.int64)
        number[some] = occurrences(hashes[some]) + self.seen[place[some]]
        self.seen = self.seen + np.bincount(place[some], minlength=self.tied.size)
        return numbered(hashes, number)


# ---- the second time ----------------------------------------------------------------------------


class Totals(Protocol):
    """Sums over rows for the observed labels, number 0, and for those of the resamples."""

    def block(self, probs: Floats) -> Any:
        """Return what is needed of some rows, and add what does not depend on labels."""

    def add(self, block: Any, labels: Labels, some: slice) -> None:
        """Add the labels (b, c) of the rows to the sums of `some` of the resamples."""

    def __add__(self, other: Any) -> Any:
        """Add those of other rows."""


@dataclass(frozen=True, eq=False)
class Redrawn:
    """Sums of redrawn labels, and of which rows.

    Attributes
    ----------
    totals : list of Totals
    units : dict
        As in the survey.
    """

    totals: list[Any]
    units: Mapping[Unit, tuple[int, int]]

    def __add__(self, other: Redrawn) -> Redrawn:
        totals = [a + b for a, b in zip(self.totals, other.totals, strict=True)]
        return Redrawn(totals, {**self.units, **other.units})


@dataclass(frozen=True, eq=False)
class Redraw:
    """Redraws the labels of the rows of units, here or on a worker.

    Attributes
    ----------
    make : callable
        Returns sums over no rows.
    keys : (B,) array
        Of the resamples.
    numbering : Mapping
        How the rows of each unit are numbered.
    """

    make: Callable[[], list[Totals]]
    keys: Hashes
    numbering: Mapping[Unit, Numbers]

    def __call__(self, unit: Unit, chunks: Iterable[Chunk]) -> Redrawn:
        """Return the sums over the rows of a unit."""
        # A copy: a worker may be asked again, or have rows that the survey did not see.
        none = Numbers(unit, np.empty(0, np.uint64), np.empty(0, np.int64))
        made, numbers = self.make(), replace(self.numbering.get(unit, none))
        n = total = 0
        for chunk in chunks:
            hashes = content_hashes(chunk.probs)
            n, total = n + hashes.size, (total + int(hashes.sum(dtype=np.uint64))) & ALL_BITS
            self._add(made, chunk, numbers.of(hashes))
        return Redrawn(made, {unit: (n, total)})

    def _add(self, made: list[Totals], chunk: Chunk, rows: Hashes) -> None:
        order = np.argsort(np.argmax(chunk.probs, axis=1), kind="stable")  # sums take less time
        probs, observed, rows = chunk.probs[order], chunk.labels[order], rows[order]
        blocks = [totals.block(probs) for totals in made]
        limits = cumulative_limits(probs)

        def labelled(labels: Labels, first: int) -> None:
            for totals, block in zip(made, blocks, strict=True):
                totals.add(block, labels, slice(first, first + len(labels)))

        def resampled(first: int) -> None:
            labelled(draw_labels(limits, rows, self.keys[first : first + KEYS]), 1 + first)

        labelled(observed[None].astype(label_dtype(probs.shape[1])), 0)
        for _ in map_threads(resampled, [(first,) for first in range(0, self.keys.size, KEYS)]):
            pass
