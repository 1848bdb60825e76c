"""One pass over the rows: what each bet wins, and what it learns from the label."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from caltest.monitoring.bet_loops import (
    BEST,
    IMPOSSIBLE,
    IN_BLOCK,
    LAST,
    OFFSET,
    POINTS,
    REFIT_AT,
    ROWS,
    STRIDE,
    bet_gain,
    binary_witness,
    class_witness,
    dot,
    isotonic,
    largest,
    newton_step,
    offsets,
    recalibrate,
    refit,
    temperatures,
)
from caltest.numerics.loops import njit
from caltest.types import Codes, Floats

BLOCK = 64  # rows after which products become logarithms; they count from the first row
MOST_POINTS = 1024  # of the path that is kept
TINY, HUGE = 1e-150, 1e150
LEAST_LOG = -60.0
KEPT = 0.001  # of the wealth is not bet by what is learned: none of it is ever lost altogether


class Game(NamedTuple):
    """What is bet on, and how; nothing of it changes.

    Attributes
    ----------
    slopes, offset_class, offset, features, phases, kernel, part_of, weights : arrays
        The bets; see `caltest.monitoring.stream.Bets`.
    log_one : float
        0 where a process is begun at each row, else minus infinity.
    memory : float
        The share of what was learned that is kept from row to row.
    log_thresholds : array
        Logarithms of 1 / level.
    """

    slopes: Floats
    offset_class: Codes
    offset: Floats
    features: Floats
    phases: Floats
    kernel: Floats
    part_of: Codes
    weights: Floats
    log_one: float
    memory: float
    log_thresholds: Floats


class State(NamedTuple):
    """The arrays of a stream, which change in place.

    Attributes
    ----------
    counts, levels : (6,) and (6,) arrays
        Numbers by the names of their places.
    crossed : array
        The row after which each threshold was first reached, or 0.
    log_wealth, product, restarted : (bets,) arrays
        At the start of the block, since then, and processes begun since then, by what they began.
    low, low_row : (parts,) arrays
        The lowest logarithm of the e-value of each part, and after which row; where a process is
        begun at each row, what the part has won since that row.
    path : (1024 or 0, 2 + parts) array
        Rows, logarithm of the e-value, and of each part.
    theta, inverse, cells, shift, witness, sums : arrays
        What was learned.
    gaps : (events, 5) array
        See `_gap`.
    """

    counts: Codes
    levels: Floats
    crossed: Codes
    log_wealth: Floats
    product: Floats
    restarted: Floats
    low: Floats
    low_row: Codes
    path: Floats
    theta: Floats
    inverse: Floats
    cells: Floats
    shift: Floats
    witness: Floats
    sums: Floats
    gaps: Floats


@njit()
def advance(P: Floats, y: Codes, game: Game, state: State, trace: Floats) -> None:
    """Advance one stream by rows (P, y); the arrays of the state change in place.

    A bet is q(y) / p(y) with q known before y. Products run over blocks of 64 rows, counted from
    the first, so that the answer does not depend on how rows are cut into batches. The logarithm of
    the e-value after each row is written to `trace`, unless that is empty.

    Compiled code here and in what it calls is scalar: an expression of arrays takes as long to
    compile as a hundred lines. Members of tuples are taken once for all rows: numba counts the
    references to each by atomic steps.
    """
    m, G, n_slopes = P.shape[1], state.product.size, game.slopes.size
    slopes, offset_class, weights = game.slopes, game.offset_class, game.weights
    kernel, features, phases, memory = game.kernel, game.features, game.phases, game.memory
    counts, levels, crossed, gaps = state.counts, state.levels, state.crossed, state.gaps
    product, restarted, log_one = state.product, state.restarted, game.log_one
    theta, inverse, cells, shift = state.theta, state.inverse, state.cells, state.shift
    witness, sums, log_thresholds = state.witness, state.sums, game.log_thresholds
    log_wealth, parts = state.log_wealth, state.low.size
    base, wins, changes, phi = np.empty(G), np.empty(G), np.empty(G), np.empty(phases.size)
    p, logs, q, f = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    gradient, deviation, direction = np.empty(m + 1), np.empty(m + 1), np.empty(m + 1)
    tops, before, after = np.empty(parts), np.empty(parts), np.empty(parts)
    for j in range(game.offset.size):
        changes[j] = math.exp(game.offset[j]) - 1.0
    _open(log_wealth, weights, log_one, levels, base)
    reach = largest(witness)
    for i in range(P.shape[0]):
        label = y[i]
        _take(P, i, p, logs)
        counts[ROWS] += 1
        counts[IN_BLOCK] += 1
        _gap(p, label, gaps)
        if p[label] <= 0.0:
            _impossible(counts, crossed)
            for g in range(G):
                wins[g] = 1.0
        else:
            temperatures(p, logs, label, slopes, wins)
            offsets(p, label, offset_class, changes, n_slopes, wins)
            if theta.size > 0:
                won = recalibrate(p, logs, label, theta, q, gradient)
                newton_step(q, logs, theta, inverse, memory, gradient, deviation, direction)
                wins[G - 3] = KEPT + (1.0 - KEPT) * won
            wins[G - 2] = KEPT + (1.0 - KEPT) * isotonic(p, label, cells, shift)
            if m == 2:
                gain, reach = binary_witness(p[1], label, kernel, witness, reach)
            else:
                gain = class_witness(p, label, features, phases, sums, levels, phi, f)
            wins[G - 1] = bet_gain(gain, levels)
        extreme = _multiply(wins, product, restarted, log_one)
        total = dot(base, product)
        if log_one == 0.0:
            total += math.exp(-levels[OFFSET]) * _dot_of_three(weights, product, restarted)
        _look(total, log_thresholds, levels, crossed, counts, trace, i)
        if counts[ROWS] >= counts[REFIT_AT]:
            refit(cells, shift, memory, counts)
        if extreme or counts[IN_BLOCK] == BLOCK:
            _end_block(game, state, tops, before, after)
            _open(log_wealth, weights, log_one, levels, base)


@njit()
def _end_block(game: Game, state: State, tops: Floats, before: Floats, after: Floats) -> None:
    """Put what was won into the logarithms, and note where parts were lowest, and the path."""
    counts, low, low_row, log_one = state.counts, state.low, state.low_row, game.log_one
    own = (game.part_of, state.log_wealth, state.product, tops, before, after)
    if log_one == 0.0:
        # Where a process is begun at each row, the sum of all grows from there on, and does not
        # fall below its newest: what those that were there have won since tells where they were
        # lowest.
        _sum_parts(game.weights, 1.0, *own)
        for j in range(low.size):
            if before[j] > 0.0:
                low[j] += math.log(after[j] / before[j]) if after[j] > 0.0 else -math.inf
                if low[j] <= 0.0:
                    low[j], low_row[j] = 0.0, counts[ROWS]
    _close(state.log_wealth, state.product, state.restarted, log_one)
    if counts[IN_BLOCK] == BLOCK:
        counts[IN_BLOCK] = 0
        _sum_parts(game.weights, float(low.size), *own)
        for j in range(low.size):
            after[j] = math.log(after[j]) + tops[j]
            if log_one != 0.0 and after[j] <= low[j]:
                low[j], low_row[j] = after[j], counts[ROWS]
        if counts[ROWS] % (counts[STRIDE] * BLOCK) == 0:
            _note(after, state.path, counts)


@njit()
def _take(P: Floats, i: int, p: Floats, logs: Floats) -> None:
    """Copy a row, and its logarithms."""
    for k in range(p.size):
        p[k] = P[i, k]
        logs[k] = max(math.log(p[k]), LEAST_LOG) if p[k] > 0.0 else LEAST_LOG


@njit()
def _impossible(counts: Codes, crossed: Codes) -> None:
    """Note the row whose outcome had probability 0: every threshold is crossed there."""
    if counts[IMPOSSIBLE] < 0:
        counts[IMPOSSIBLE] = counts[ROWS]
    for j in range(crossed.size):
        if crossed[j] == 0:
            crossed[j] = counts[ROWS]


@njit(fastmath={"nnan", "nsz"})
def _multiply(wins: Floats, product: Floats, restarted: Floats, log_one: float) -> bool:
    """Multiply, and begin another process first; tell whether a product is extreme."""
    if log_one == 0.0:
        for g in range(wins.size):
            restarted[g] += 1.0 / product[g]
    least, most = math.inf, 0.0
    for g in range(wins.size):
        grown = product[g] * min(wins[g], HUGE)
        product[g] = grown
        least, most = min(least, grown), max(most, grown)
    return least < TINY or most > HUGE


@njit()
def _dot_of_three(a: Floats, b: Floats, c: Floats) -> float:
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j] * c[j]
    return total


@njit()
def _look(
    total: float,
    log_thresholds: Floats,
    levels: Floats,
    crossed: Codes,
    counts: Codes,
    trace: Floats,
    i: int,
) -> None:
    """Look at the average of all bets, whether it is larger than ever, and above a threshold.

    Its logarithm is written where there is a place for it.
    """
    if total > levels[BEST]:
        levels[BEST] = total
        for j in range(crossed.size):
            reached = total >= math.exp(log_thresholds[j] - levels[OFFSET])
            if crossed[j] == 0 and reached:
                crossed[j] = counts[ROWS]
    if trace.size > 0:
        sure = counts[IMPOSSIBLE] >= 0
        levels[LAST] = math.inf if sure else math.log(total) + levels[OFFSET]
        trace[i] = levels[LAST]


@njit()
def _open(
    log_wealth: Floats, weights: Floats, log_one: float, levels: Floats, base: Floats
) -> None:
    """Begin a block: wealth relative to the largest, which becomes the unit."""
    most = log_one
    for g in range(log_wealth.size):
        most = max(most, log_wealth[g])
    best = levels[BEST]
    if best > 0.0 and most != levels[OFFSET]:  # the same unit is not rounded again
        levels[BEST] = math.exp(math.log(best) + levels[OFFSET] - most)
    levels[OFFSET] = most
    for g in range(weights.size):
        base[g] = weights[g] * math.exp(log_wealth[g] - most)


@njit()
def _close(log_wealth: Floats, product: Floats, restarted: Floats, log_one: float) -> None:
    """End a block: products, and processes begun in it, join the logarithms."""
    for g in range(log_wealth.size):
        if log_one == 0.0:
            begun = math.log(restarted[g])
            most = max(begun, log_wealth[g])
            log_wealth[g] = most + math.log(math.exp(begun - most) + math.exp(log_wealth[g] - most))
            restarted[g] = 0.0
        log_wealth[g] += math.log(product[g])
        product[g] = 1.0


@njit()
def _sum_parts(
    weights: Floats,
    scale: float,
    part_of: Codes,
    log_wealth: Floats,
    product: Floats,
    tops: Floats,
    before: Floats,
    after: Floats,
) -> None:
    """Sum the wealth of each part before and after the block, relative to the largest of a bet."""
    for j in range(tops.size):
        tops[j], before[j], after[j] = -math.inf, 0.0, 0.0
    for g in range(weights.size):
        tops[part_of[g]] = max(tops[part_of[g]], log_wealth[g])
    for g in range(weights.size):
        if log_wealth[g] > -math.inf:
            j = part_of[g]
            share = weights[g] * scale * math.exp(log_wealth[g] - tops[j])
            before[j] += share
            after[j] += share * product[g]


@njit()
def _note(totals: Floats, path: Floats, counts: Codes) -> None:
    """Keep a point of the path; where it is full, every second one stays."""
    if path.shape[0] == 0:
        return
    if counts[POINTS] == path.shape[0]:
        half = path.shape[0] // 2
        for j in range(half):
            for k in range(path.shape[1]):
                path[j, k] = path[2 * j + 1, k]
        counts[POINTS] = half
        counts[STRIDE] *= 2
        if counts[ROWS] % (counts[STRIDE] * BLOCK) != 0:
            return
    point, most, whole = counts[POINTS], totals[0], 0.0
    for j in range(1, totals.size):
        most = max(most, totals[j])
    for j in range(totals.size):
        whole += math.exp(totals[j] - most)
        path[point, 2 + j] = totals[j]
    path[point, 0] = counts[ROWS]
    path[point, 1] = math.log(whole / totals.size) + most
    counts[POINTS] += 1


@njit()
def _gap(p: Floats, label: int, gaps: Floats) -> None:
    """Sum probability, outcome, variance and squared residuals of the events that are watched.

    The first is that the predicted class is right, then come the classes, of two the second only.
    A residual is taken less the mean of those before it (Howard et al. 2021, theorem 4).
    """
    m = p.size
    top = 0
    for k in range(1, m):
        if p[k] > p[top]:
            top = k
    for j in range(gaps.shape[0]):
        k = top if j == 0 else (1 if m == 2 else j - 1)
        chance, happened = p[k], 1.0 if label == k else 0.0
        rows = gaps[j, 0]
        mean = (gaps[j, 1] - gaps[j, 2]) / rows if rows > 0.0 else 0.0
        mean = min(max(mean, chance - 1.0), chance)
        gaps[j, 0] += 1.0
        gaps[j, 1] += chance
        gaps[j, 2] += happened
        gaps[j, 3] += chance * (1.0 - chance)
        gaps[j, 4] += (chance - happened - mean) ** 2
