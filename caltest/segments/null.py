"""The exact null of all segments together: scores for observed and redrawn labels, step-down."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, groupby

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable
from caltest.lenses import Lens
from caltest.numerics.joint import stepped_down
from caltest.numerics.labels import resample_keys
from caltest.numerics.loops import map_threads, thread_count
from caltest.predictions import Predictions
from caltest.predictions.redrawing import Inversion, Redrawing
from caltest.segments import loops
from caltest.segments.cells import SegmentBlock
from caltest.types import AnyArray, Events, Floats, Hashes, Ints, Singles, SmallInts

EventsOf = Callable[[int, int], Events]

STATISTICS = ("mean", "cumulative")

MOMENTS = 8  # of the rows of a segment
LANES = 128  # resamples side by side
MANY_LANES = 4  # times as many, where partial sums are not followed
FEW_LANES = 32  # where segments are many: whole vectors of the processor
SUMS = 1 << 24  # of segments and resamples that a thread holds at a time
SCORES = 1 << 25  # of segments and resamples that are kept for the step-down
AFFORDABLE = 1 << 36  # rows times resamples, over all segments, of cumulative differences
SHARING = 40  # vectors of labels that are drawn to share the level between depths
TIES = 1e-5  # scores have single precision


@dataclass(frozen=True, kw_only=True)
class SegmentSettings:
    """How segments are made and tested: the arguments of `test_segments` that are not data."""

    seed: int
    depth: int | None = None
    bins: int = 10
    min_size: int = 20
    lens: str | Lens | None = None
    statistic: str | Sequence[str] = STATISTICS
    keep: int = 100
    n_resamples: int = 999
    level: float | None = None
    progress: Callable[[int, int], None] | None = None

    def __post_init__(self) -> None:
        for name, least in (("bins", 2), ("min_size", 2), ("keep", 1)):
            checks.check_integer(getattr(self, name), name, minimum=least)
        checks.check_optional_integer(self.depth, "depth")
        checks.check_fixed_resamples(self.n_resamples, "segments")
        checks.check_not_empty(self.statistics, "statistic")
        for statistic in self.statistics:
            checks.check_choice(statistic, STATISTICS, "statistic")
        if self.level is not None:
            checks.check_level(self.level)

    @property
    def statistics(self) -> list[str]:
        """The statistics as a list."""
        return checks.check_strings(self.statistic, "statistic")


@dataclass(frozen=True)
class OrderedRows:
    """The rows in the order of their predictions.

    Attributes
    ----------
    order : (n,) array
        Their places in the data.
    event : (n,) array
        The predicted probability of the event.
    happens : (n,) array
        Whether it happens.
    weight : (n,) array or None
        Weights.
    redrawing : Redrawing
        How the event is redrawn.
    """

    order: Ints
    event: Floats
    happens: Events
    weight: Floats | None
    redrawing: Redrawing

    @classmethod
    def of(cls, seen: Predictions) -> OrderedRows:
        """Sort predictions of two classes by the probability of the second."""
        order = np.argsort(seen.probs[:, 1], kind="stable")
        redrawing = seen.redrawing.taken(order)
        if isinstance(redrawing, Inversion):
            redrawing = redrawing.events(np.ones(order.size, dtype=np.int64), 2)
        happens, weight = seen.labels[order].astype(np.uint8), seen.sample_weight
        weights = None if weight is None else weight[order]
        return cls(order, seen.probs[order, 1], happens, weights, redrawing)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.event)

    @cached_property
    def weights(self) -> Floats:
        """The weight of each row, 1 where there are none."""
        return np.ones(self.n) if self.weight is None else self.weight

    def moments(self, first: int, stop: int) -> Floats:
        """Return what is summed over a segment of some rows, (rows, 8): see `Family`."""
        w, p = self.weights[first:stop], self.event[first:stop]
        variance = w * w * p * (1.0 - p)
        skewed = w * (1.0 - 2.0 * p) * variance
        residual = w * (self.happens[first:stop] - p)
        columns = np.ones(p.size), w, w * p, variance, skewed, w * w, w * residual, residual**2
        return np.column_stack(columns)

    @cached_property
    def columns(self) -> tuple[Singles, Singles, SmallInts]:
        """Weights and weighted predictions in single precision, and numbers of equal ones."""
        steps = np.cumsum(np.diff(self.event, prepend=np.nan) != 0).astype(np.int32)
        weighted = self.weights * self.event
        return self.weights.astype(np.float32), weighted.astype(np.float32), steps

    def observed(self, first: int, stop: int) -> Events:
        """The observed events of some rows, as of a single resample."""
        return self.happens[first:stop, np.newaxis]

    def redrawn(self, keys: Hashes) -> EventsOf:
        """Return a function that draws the events of some rows, (rows, resamples)."""

        def draw(first: int, stop: int) -> Events:
            part = self.redrawing.taken(np.arange(first, stop))
            return part.labels_by_row(keys).astype(np.uint8, copy=False)

        return draw


@dataclass(frozen=True)
class Family:
    """The segments of a chunk as they are scored, and moments under the null hypothesis.

    Attributes
    ----------
    chunk : Chunk
        The segments.
    n, mass, squares : (S,) array
        Number of rows, sum of weights and of their squares.
    expected, deviation, skewness : (S,) array
        Mean, standard deviation and skewness of the sum of w y.
    crossed, spread : (S,) array
        Sums of w^2 r and w^2 r^2 over the observed residuals r = y - p.
    mean, cumulative : bool
        Which differences are scored.
    share : float
        What is taken off the scores, so that each depth has its share of the level.
    """

    chunk: SegmentBlock
    n: Floats
    mass: Floats
    squares: Floats
    expected: Floats
    deviation: Floats
    skewness: Floats
    crossed: Floats
    spread: Floats
    mean: bool = False
    cumulative: bool = False
    share: float = 0.0

    @classmethod
    def of(cls, chunk: SegmentBlock, rows: OrderedRows) -> Family:
        """Sum over the rows of each segment."""
        sums = np.zeros((chunk.cells, MOMENTS))
        for first, stop in chunk.blocks():
            loops.add_rows(*chunk.pairs(first, stop), rows.moments(first, stop), sums)
        n, mass, expected, variance, third, squares, *observed = chunk.combine(sums).T
        deviation = np.sqrt(variance)
        with np.errstate(divide="ignore", invalid="ignore"):
            skewness = np.where(variance > 0, third / (variance * deviation), 0.0)
        return cls(chunk, n, mass, squares, expected, deviation, skewness, *observed)


def score(
    family: Family, rows: OrderedRows, events_of: EventsOf, lanes: int, tick: Callable[[], None]
) -> tuple[Singles, AnyArray, Singles]:
    """Return scores (S, L) for the labels of some resamples, and the sums that they are made of.

    A score is -log p of a standardised difference, p being that of a normal distribution after a
    correction for skewness, less the share of its depth. The sums are those of w y, (S, L), and the
    largest of w y - w p and of w p - w y over an interval of predictions, (2, S, L), which are
    empty where partial sums are not followed.
    """
    chunk, weight = family.chunk, rows.weight
    total = np.zeros((chunk.cells, lanes), np.int32 if weight is None else np.float64)
    walk = np.zeros((4, chunk.cells, lanes) if family.cumulative else (4, 0, 0), np.float32)
    last = np.zeros(chunk.cells, dtype=np.int32)
    found = np.zeros((chunk.cells, -(-lanes // 8)), np.uint64)
    held = np.zeros(chunk.cells, np.uint8)
    for first, stop in chunk.blocks():
        block, pairs, events = slice(first, stop), chunk.pairs(first, stop), events_of(first, stop)
        if weight is None:
            whole = np.pad(events, ((0, 0), (0, -lanes % 8))) if lanes % 8 else events
            loops.add_events(*pairs, whole.view(np.uint64), found, held, total)
        else:
            loops.add_weighted(*pairs, events, weight[block], total)
        if family.cumulative:
            w, wp, steps = rows.columns
            loops.add_in_order(*pairs, events, w[block], wp[block], steps[block], last, walk)
        tick()
    if weight is None:
        total += found.view(np.uint8)[:, :lanes]
    total = chunk.combine(total)
    scores = np.full((chunk.size, lanes), -np.inf, dtype=np.float32)
    standard = (family.deviation, family.skewness, family.share, scores)
    if family.mean:
        loops.score_sums(total, np.ascontiguousarray(family.expected), *standard)
    np.maximum(walk[2:], walk[:2], out=walk[2:])  # the last steps end
    if family.cumulative:
        loops.raise_by_intervals(walk[2:], *standard)
    return scores, total, walk[2:]


@dataclass(frozen=True)
class Joint:
    """The answer for all segments together.

    Attributes
    ----------
    families : tuple of Family
        The segments.
    sums : tuple of (array, array)
        Of each family those that `score` returns, for the observed labels.
    scores, adjusted : (S,) array
        For the observed labels; those of segments that are left out are -inf and NaN.
    largest : (B,) array
        The largest score over all segments for each resample.
    """

    families: tuple[Family, ...]
    sums: tuple[tuple[AnyArray, Singles], ...]
    scores: Floats
    adjusted: Floats
    largest: Floats


def families_of(
    chunks: Sequence[SegmentBlock], rows: OrderedRows, settings: SegmentSettings
) -> tuple[Family, ...]:
    """Return what is scored of each chunk: cumulative differences up to the depth that pays."""
    total, families, statistics = 0.0, list[Family](), settings.statistics
    only = "mean" not in statistics
    for depth, some in groupby(chunks, key=lambda chunk: chunk.depth):
        found = [Family.of(chunk, rows) for chunk in some]
        sizes = (float(one.n.sum()) for one in found if one.chunk.in_order)
        total += sum(sizes) * settings.n_resamples
        pays = "cumulative" in statistics and (only or depth == 0 or total <= AFFORDABLE)
        for one in found:
            families.append(replace(one, mean=not only, cumulative=pays and one.chunk.in_order))
    return tuple(families)


def test_jointly(
    chunks: Sequence[SegmentBlock], rows: OrderedRows, settings: SegmentSettings
) -> Joint:
    """Compare segments with redrawn labels, each with the largest over those no more extreme."""
    n_resamples = settings.n_resamples
    families = families_of(chunks, rows, settings)
    keys = resample_keys(settings.seed, n_resamples + SHARING)
    used, apart = keys[:n_resamples], keys[n_resamples:]
    blocks = [len(family.chunk.blocks()) for family in families]
    passes = (task for some in (apart, used) for task in _tasks(families, some.size))
    tick = ticker(settings.progress, sum(blocks) + sum(blocks[number] for number, _, _ in passes))
    families = _shared(families, _redrawn(families, rows, apart, tick))
    observed = [score(family, rows, rows.observed, 1, tick) for family in families]
    scores = np.concatenate([own[:, 0] for own, *_ in observed]).astype(np.float64)
    # those with the largest scores, without what is left out
    within = min(max(SCORES // (n_resamples + 1), 1), np.count_nonzero(scores > -np.inf))
    kept = np.argsort(-scores, kind="stable")[:within]
    starts = np.cumsum([0, *(family.chunk.size for family in families)])
    if not kept.size:
        reason = "every probability is 0 or 1 and every outcome the one with 1"
        raise NotApplicable(reason, "none is needed: no segment can be nearer to its predictions")
    table = np.empty((kept.size + 1, n_resamples), dtype=np.float32)
    rest = table[-1]
    rest[:] = -np.inf
    place = np.full(scores.size, -1)
    place[kept] = np.arange(kept.size)

    for number, some, values in _redrawn(families, rows, used, tick):
        at = place[starts[number] : starts[number + 1]]
        table[at[at >= 0], some] = values[at >= 0]
        np.maximum(rest[some], values[at < 0].max(axis=0, initial=-np.inf), out=rest[some])
    adjusted = _adjusted(scores, kept, table)
    return Joint(families, tuple(own[1:] for own in observed), scores, adjusted, table.max(axis=0))


def _tasks(families: Sequence[Family], n_resamples: int) -> list[tuple[int, int, int]]:
    """List what is scored at a time: the number of a family, and from which resample to which.

    The result does not depend on how many resamples a task has.
    """
    each = math.ceil(n_resamples / thread_count())
    tasks = []
    for number, family in enumerate(families):
        fits = max(FEW_LANES, SUMS // max(family.chunk.size, family.chunk.cells))
        most = LANES if family.cumulative else MANY_LANES * LANES
        lanes = int(max(1, min(most, fits, each)))
        starts = range(0, n_resamples, lanes)
        tasks += [(number, first, min(first + lanes, n_resamples)) for first in starts]
    return tasks


def _redrawn(
    families: Sequence[Family], rows: OrderedRows, keys: Hashes, tick: Callable[[], None]
) -> Iterator[tuple[int, slice, Singles]]:
    """Yield scores for redrawn labels, with the number of the family and the resamples."""

    def scored(number: int, first: int, stop: int) -> tuple[int, slice, Singles]:
        draw = rows.redrawn(keys[first:stop])
        scores = score(families[number], rows, draw, stop - first, tick)[0]
        return number, slice(first, stop), scores

    yield from map_threads(scored, _tasks(families, keys.size))


def _shared(
    families: Sequence[Family], redrawn: Iterable[tuple[int, slice, Singles]]
) -> tuple[Family, ...]:
    """Share the level between the depths, by the largest scores of labels drawn for this alone.

    A share is the log of how many independent segments would have so large scores, by depth + 1:
    -log of the smallest of S independent p-values has the mean log S + 0.577.
    """
    depths = [family.chunk.depth for family in families]
    largest = {depth: np.full(SHARING, -np.inf) for depth in depths}
    for number, some, values in redrawn:
        so_far = largest[depths[number]][some]
        np.maximum(so_far, values.max(axis=0, initial=-np.inf), out=so_far)
    shares = {}
    for depth, scores in largest.items():
        finite = scores[np.isfinite(scores)]
        number_of = float(finite.mean()) - np.euler_gamma if finite.size else 0.0
        shares[depth] = number_of - math.log(1 + depth)
    return tuple(replace(family, share=shares[family.chunk.depth]) for family in families)


def _adjusted(scores: Floats, kept: Ints, table: Singles) -> Floats:
    """Return the adjusted p-values: step-down among `kept`, then all others in one step.

    The last row of the table is the largest score of the others.
    The others are compared with the largest score over all of them, so their p-values are upper
    bounds of those of the step-down.
    """
    others = np.ones(scores.size, dtype=bool)
    others[kept] = False
    others &= scores > -np.inf
    # less what may be rounding, so that ties count as extreme
    size = np.where(np.isfinite(scores), np.abs(scores), 0.0)
    floor = scores - TIES * np.maximum(size, 1.0)
    last, rest = floor[others].max(initial=-np.inf), table[-1]
    stepped = stepped_down(np.append(floor[kept], last), table)
    adjusted = np.full(scores.size, np.nan)
    adjusted[kept] = stepped[:-1]
    if others.any():
        beyond = rest.size - np.searchsorted(np.sort(rest), floor[others], side="left")
        adjusted[others] = np.maximum(stepped[-1], (1 + beyond) / (1 + rest.size))
    return adjusted


def ticker(progress: Callable[[int, int], None] | None, total: int) -> Callable[[], None]:
    """Return a function that counts blocks that are done, in any thread, and tells the caller."""
    done, lock = count(1), threading.Lock()

    def tick() -> None:
        if progress is not None:
            with lock:
                progress(next(done), total)

    return tick
