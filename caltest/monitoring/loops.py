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
    """
    counts, log_wealth, product = state.counts, state.log_wealth, state.product
    base, totals = np.empty(product.size), np.empty(state.low.size)
    _open(log_wealth, game.weights, game.log_one, state.levels, base)
    done = int(np.int64(0))  # the constant 0 is another type: `_play` would be compiled twice
    while done < P.shape[0]:
        played, extreme = _play(P, y, done, game, state, base, trace)
        done += played
        if extreme or counts[IN_BLOCK] == BLOCK:
            if game.log_one == 0.0:
                _grown(game, state)
            _close(log_wealth, product, state.restarted, game.log_one)
            _open(log_wealth, game.weights, game.log_one, state.levels, base)
        if counts[IN_BLOCK] == BLOCK:
            counts[IN_BLOCK] = 0
            _lowest(game, state, totals)
            if counts[ROWS] % (counts[STRIDE] * BLOCK) == 0:
                _note(totals, state.path, counts)


@njit()
def _play(
    P: Floats, y: Codes, first: int, game: Game, state: State, base: Floats, trace: Floats
) -> tuple[int, bool]:
    """Play rows to the end of the block, or until a product is extreme.

    Return how many, and whether one is. Members of tuples and views are taken once for all of them:
    numba counts the references to each by atomic steps.
    """
    m, G, n_slopes = P.shape[1], base.size, game.slopes.size
    slopes, offset_class, weights = game.slopes, game.offset_class, game.weights
    kernel, features, phases, memory = game.kernel, game.features, game.phases, game.memory
    counts, levels, crossed, gaps = state.counts, state.levels, state.crossed, state.gaps
    product, restarted, log_one = state.product, state.restarted, game.log_one
    theta, inverse, cells, shift = state.theta, state.inverse, state.cells, state.shift
    witness, sums, log_thresholds = state.witness, state.sums, game.log_thresholds
    wins, changes, phi = np.empty(G), np.exp(game.offset) - 1.0, np.empty(phases.size)
    p, logs, q, f = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    gradient, deviation = np.empty(theta.size), np.empty(theta.size)
    direction, offset_wins = np.empty(theta.size), wins[n_slopes:]
    reach, extreme, played = largest(witness), False, 0
    while not extreme and counts[IN_BLOCK] < BLOCK and first + played < P.shape[0]:
        label = y[first + played]
        _take(P, first + played, p, logs)
        counts[ROWS] += 1
        counts[IN_BLOCK] += 1
        _gap(p, label, gaps)
        if p[label] <= 0.0:
            _impossible(counts, crossed)
            wins[:] = 1.0
        else:
            temperatures(p, logs, label, slopes, wins)
            offsets(p, label, offset_class, changes, offset_wins)
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
        _look(total, log_thresholds, levels, crossed, counts, trace, first + played)
        if counts[ROWS] >= counts[REFIT_AT]:
            refit(cells, shift, memory, counts)
        played += 1
    return played, extreme


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


@njit(fastmath={"reassoc", "nsz"})
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
    most = max(log_wealth.max(), log_one)
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
def _grown(game: Game, state: State) -> None:
    """Add what each part has won in the block, and note where that sum was lowest.

    Where a process is begun at each row, the sum of all grows from there on, and does not fall
    below its newest: what those that were there have won since tells where they were lowest.
    """
    tops = np.full(state.low.size, -math.inf)
    for g in range(game.weights.size):
        j = game.part_of[g]
        tops[j] = max(tops[j], state.log_wealth[g])
    before, after = np.zeros(tops.size), np.zeros(tops.size)
    for g in range(game.weights.size):
        j = game.part_of[g]
        if tops[j] > -math.inf:
            share = game.weights[g] * math.exp(state.log_wealth[g] - tops[j])
            before[j] += share
            after[j] += share * state.product[g]
    for j in range(tops.size):
        if before[j] > 0.0:
            state.low[j] += math.log(after[j] / before[j]) if after[j] > 0.0 else -math.inf
            if state.low[j] <= 0.0:
                state.low[j], state.low_row[j] = 0.0, state.counts[ROWS]


@njit()
def _lowest(game: Game, state: State, totals: Floats) -> None:
    """Take the logarithm of the e-value of each part, and note where it was lowest."""
    tops = np.full(totals.size, -math.inf)
    for g in range(game.weights.size):
        j = game.part_of[g]
        tops[j] = max(tops[j], state.log_wealth[g])
    totals[:] = 0.0
    for g in range(game.weights.size):
        if state.log_wealth[g] > -math.inf:
            j = game.part_of[g]
            totals[j] += game.weights[g] * totals.size * math.exp(state.log_wealth[g] - tops[j])
    for j in range(totals.size):
        totals[j] = math.log(totals[j]) + tops[j]
        if game.log_one != 0.0 and totals[j] <= state.low[j]:
            state.low[j] = totals[j]
            state.low_row[j] = state.counts[ROWS]


@njit()
def _note(totals: Floats, path: Floats, counts: Codes) -> None:
    """Keep a point of the path; where it is full, every second one stays."""
    if path.shape[0] == 0:
        return
    if counts[POINTS] == path.shape[0]:
        half = path.shape[0] // 2
        for j in range(half):
            path[j] = path[2 * j + 1]
        counts[POINTS] = half
        counts[STRIDE] *= 2
        if counts[ROWS] % (counts[STRIDE] * BLOCK) != 0:
            return
    row = path[counts[POINTS]]
    most, whole = totals.max(), 0.0
    for j in range(totals.size):
        whole += math.exp(totals[j] - most)
        row[2 + j] = totals[j]
    row[0] = counts[ROWS]
    row[1] = math.log(whole / totals.size) + most
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
