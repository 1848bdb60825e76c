"""Intervals from cells of very many rows: what the methods for rows become there."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from caltest.errors import NotApplicable
from caltest.intervals.base import FEWEST_ROWS, widest_tail
from caltest.measures import Measure
from caltest.measures.cells import NO_WEIGHTS, BoundCells, CellGaps
from caltest.measures.outcome import Ends
from caltest.nulls.base import AT_A_TIME, batch_seeds
from caltest.nulls.cells import redrawn_values
from caltest.numerics.loops import map_threads
from caltest.sources import Cells
from caltest.types import Floats

MANY = 1000.0  # rows that carry the variance of a mean, from which on none is missed
LARGE = 1000.0  # rows of a kind from which on their resampled number is drawn as a normal one
LEAST_STANDARD_ERROR = 0.1  # of the standard error, for resamples


@dataclass(frozen=True)
class Found:
    """Ends, and whether resamples were drawn for them."""

    ends: Ends
    resamples: bool


@dataclass(frozen=True)
class Resampling:
    """Cells whose rows are drawn with replacement, in batches that do not depend on `n_jobs`."""

    cells: Cells
    n_resamples: int
    seed: int
    n_jobs: int | None

    def values(self, evaluate: Callable[[Floats, Floats], Floats]) -> Floats:
        """Return `evaluate(events, others)` of resampled numbers of rows, (B, C) each.

        A bootstrap of n rows draws multinomial numbers; these are independent Poisson ones, whose
        sum varies, which a ratio to that sum does not see.
        """
        events = self.cells.events.astype(np.float64)
        others = self.cells.n - events
        step = max(1, AT_A_TIME // len(self.cells))

        def batch(child: np.random.SeedSequence, size: int) -> list[Floats]:
            rng = np.random.default_rng(child)
            sizes = [min(step, size - first) for first in range(0, size, step)]
            return [evaluate(_poisson(rng, events, k), _poisson(rng, others, k)) for k in sizes]

        seeds = batch_seeds(self.seed, self.n_resamples)
        return np.concatenate(
            [part for found in map_threads(batch, seeds, self.n_jobs) for part in found]
        )


def _poisson(rng: np.random.Generator, mean: Floats, size: int) -> Floats:
    """Draw Poisson numbers (size, C); where they are large, normal ones."""
    few = mean <= LARGE
    out = np.zeros((size, mean.size))
    out[:, few] = rng.poisson(mean[few], (size, int(few.sum())))
    if not few.all():
        many = mean[~few]
        out[:, ~few] = many + np.sqrt(many) * rng.standard_normal((size, many.size))
    return out


def cell_interval(
    measure: Measure,
    bound: BoundCells,
    *,
    level: float,
    method: str | None,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Found:
    """Bound a measure of cells by the method that is the default for rows.

    Raises
    ------
    NotApplicable
        If the method, or any for the measure, needs the rows.
    """
    cells = bound.cells
    if cells.weights is not None:
        raise NotApplicable(*NO_WEIGHTS)
    if cells.rows < FEWEST_ROWS:
        raise NotApplicable(
            f"an interval needs at least {FEWEST_ROWS} rows, and there are {cells.rows}",
            "collect more, or report the p-value alone",
        )
    default = measure.intervals[0]
    if method not in {None, default}:
        raise NotApplicable(
            f"method {method!r} needs the rows", f"use method={default!r}, or engine='rows'"
        )
    own = measure.cell_interval(cells, level=level)
    if own is not None:
        return Found(own, resamples=False)
    resampling = Resampling(cells, n_resamples, seed, n_jobs)
    gaps, scores = bound.gaps(), bound.score_table()
    if gaps is not None:
        return Found(_convex(measure, bound, gaps, resampling, level), resamples=True)
    if scores is not None:
        return _of_mean(measure, scores, resampling, level)
    raise NotApplicable(
        f"the interval of {measure.description} needs the rows", "use engine='rows'"
    )


def _convex(
    measure: Measure, bound: BoundCells, gaps: CellGaps, resampling: Resampling, level: float
) -> Ends:
    """Bound a norm of gaps; see `caltest.intervals.convex`."""
    cells, a = bound.cells, (1.0 - level) / 2.0
    happened = cells.events.astype(np.float64)
    observed = gaps.vector(happened[None], cells.n - happened[None])
    estimate = float(gaps.norm(observed)[0])

    def evaluate(events: Floats, others: Floats) -> Floats:
        drawn = gaps.vector(events, others)
        return np.stack([gaps.norm(drawn), gaps.norm(drawn - observed)], axis=1)

    values, deviations = resampling.values(evaluate).T
    if not deviations.any():
        raise NotApplicable(
            "the interval needs gaps that vary between rows, and these do not",
            "report the p-value alone",
        )
    noise = redrawn_values(
        bound,
        n_resamples=resampling.n_resamples,
        seed=resampling.seed,
        n_jobs=resampling.n_jobs,
    ) ** (1.0 / gaps.power)
    noises = np.quantile(deviations, 1.0 - a), np.quantile(noise, 1.0 - a)
    low = max(estimate - float(max(noises)), 0.0)
    high = estimate + widest_tail(values, a)
    low, high, estimate = (end**gaps.power for end in (low, high, estimate))
    high = estimate + math.hypot(high - estimate, bound.unseen_reach(a))
    if gaps.scores is not None and _effective_number(cells, gaps.scores) < MANY:
        high = max(high, _unseen_limit(gaps.scores, resampling, 1.0, a))
    notes = measure.interval_notes("convex", cells.rows)
    return Ends(low, high, estimate, "bootstrap of a norm of gaps, of cells", notes)


def _of_mean(measure: Measure, scores: Floats, resampling: Resampling, level: float) -> Found:
    """Bound a mean of scores; see `caltest.intervals.studentized` and `unseen_events`.

    Where many rows carry the variance, the quantiles of Student's t are those of its expansion in
    the skewness of the scores (Hall 1988, section 3), which the bootstrap takes them from.
    """
    cells, a = resampling.cells, (1.0 - level) / 2.0
    counts = _counts(cells)
    used = np.where(counts > 0, scores, 0.0)
    if not np.isfinite(used).all():
        raise NotApplicable(
            f"the {measure.symbol} is infinite for these rows",
            "clip the probabilities, as the log loss does with eps=",
        )
    n = float(cells.rows)
    mean = float((counts * used).sum()) / n
    residual = used - mean
    variance = float((counts * residual**2).sum())
    error = math.sqrt(variance / (n - 1.0) / n)
    if error <= 1e-14 * max(1.0, abs(mean)):
        raise NotApplicable(f"the {measure.symbol} is the same for all rows", "report it alone")
    notes = measure.interval_notes("studentized", cells.rows)
    if _effective_number(cells, used) >= MANY:
        skew = float((counts * residual**3).sum()) / variance**1.5
        z = float(scipy.special.ndtri(1.0 - a))
        shift = skew * (2.0 * z * z + 1.0) / 6.0
        low, high = mean - (z - shift) * error, mean + (z + shift) * error
        text = "quantiles of Student's t by the skewness of the scores, of cells"
        return Found(Ends(max(low, 0.0), high, mean, text, notes), resamples=False)

    def evaluate(events: Floats, others: Floats) -> Floats:
        mass = np.maximum((events + others).sum(axis=1), 1.0)
        shift = (others @ residual[0] + events @ residual[1]) / mass
        squares = others @ residual[0] ** 2 + events @ residual[1] ** 2
        left = np.maximum(squares - mass * shift**2, 0.0)
        return np.asarray(shift / np.maximum(np.sqrt(left) / mass, LEAST_STANDARD_ERROR * error))

    high_t, low_t = np.quantile(resampling.values(evaluate), [1.0 - a, a]).tolist()
    limits = [_unseen_limit(scores, resampling, side, a) for side in (-1.0, 1.0)]
    low = max(min(mean - high_t * error, limits[0]), 0.0)
    high = max(mean - low_t * error, limits[1])
    text = "bootstrap of Student's t, or with a row not yet seen, of cells"
    return Found(Ends(low, high, mean, text, notes), resamples=True)


def _counts(cells: Cells) -> Floats:
    """Return the rows (2, C) without and with the event."""
    return np.stack([cells.n - cells.events, cells.events]).astype(np.float64)


def _effective_number(cells: Cells, scores: Floats) -> float:
    """Return (sum d^2)^2 / sum d^4 of the deviations: how many rows carry the variance."""
    counts = _counts(cells)
    squares = np.square(scores - (counts * scores).sum() / cells.rows)
    fourth = float((counts * squares**2).sum())
    return float((counts * squares).sum()) ** 2 / fourth if fourth > 0 else 0.0


def _unseen_limit(scores: Floats, resampling: Resampling, side: float, a: float) -> float:
    """Return the limit of a mean with a row that has not been seen; see `unseen_events`.

    The weights of the rows of a cell with equal labels are exponential, and their sum is a gamma
    number.
    """
    cells = resampling.cells
    counts, probs = _counts(cells), np.stack([1.0 - cells.mean, cells.mean])
    label = np.where(probs > 0, side * scores, -np.inf).argmax(axis=0)
    every = np.arange(len(cells))
    chance = cells.n * probs[label, every]
    kept = (chance > 0) & (probs < 1.0).all(axis=0) & (np.ptp(scores, axis=0) > 0)
    extreme = scores[label, every][kept]
    some = counts > 0
    sizes, own = counts[some], scores[some]
    share = chance[kept] / chance[kept].sum() if kept.any() else chance[kept]

    def batch(child: np.random.SeedSequence, size: int) -> Floats:
        rng = np.random.default_rng(child)
        found, step = [], max(1, AT_A_TIME // sizes.size)
        for first in range(0, size, step):
            g = rng.standard_gamma(sizes, (min(step, size - first), sizes.size))
            mass = rng.standard_exponential(len(g)) if extreme.size else np.zeros(len(g))
            other = rng.choice(extreme, len(g), p=share) if extreme.size else mass
            found.append((g @ own + mass * other) / (g.sum(axis=1) + mass))
        return np.concatenate(found)

    seeds = batch_seeds(resampling.seed, resampling.n_resamples)
    drawn = np.concatenate(list(map_threads(batch, seeds, resampling.n_jobs)))
    return side * float(np.quantile(side * drawn, 1.0 - a))
