"""The bets: one pass over the rows, what each wins, and what it learns from the label."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from caltest.monitoring.numbers import KEPT, bet_on_number
from caltest.numerics.loops import njit
from caltest.types import Codes, Floats

# places in `counts` and `levels`
ROWS, IN_BLOCK, REFIT_AT, IMPOSSIBLE, STRIDE, POINTS = 0, 1, 2, 3, 4, 5
BEST, OFFSET, BET, CURVATURE, REACH, LAST = 0, 1, 2, 3, 4, 5
PRIOR_ROWS = 20.0  # of a calibrated cell, for the isotonic bet
REFIT = 1.05
MOST_INFORMED = 10  # classes, whose information is computed and not estimated
MOST_VARIANCE = 0.1  # of what is learned, where it fades
LEAST_SLOPE, LARGEST_SLOPE, LARGEST_OFFSET = 0.02, 20.0, 20.0
MOST_BET = 0.5
STEP = 2.0 / (2.0 - math.log(3.0))  # of the online Newton step (Cutkosky and Orabona 2018)
BLOCK = 64  # rows after which products become logarithms; they count from the first row
MOST_POINTS = 1024  # of the path that is kept
TINY, HUGE = 1e-150, 1e150
LEAST_LOG = -60.0
NEAR = 3  # of a logarithm to its lowest: a change is there in (1 - e^-3)^2 = 0.9 of cases, or more
LEAST = 5e-324


class Game(NamedTuple):
    """What is bet on, and how; nothing of it changes.

    Attributes
    ----------
    part_of : array
        The part of each bet.
    weights : array
        The share of each bet in the e-process: equal parts, and equal bets within each.
    slopes : array
        Exponents of the probabilities.
    offset_class, offset : arrays
        Of the bets on class frequencies the class, and the change of its log odds.
    features, phases : (FEATURES, m) and (FEATURES,) arrays
        Of the kernel, for several classes: cosines of random projections.
    kernel : (WITNESS_CELLS, WITNESS_CELLS) array
        Of two classes the kernel itself, between cells of the probability.
    log_one : float
        0 where a process is begun at each row, else minus infinity.
    memory : float
        The share of what was learned that is kept from row to row.
    log_thresholds : array
        Logarithms of 1 / level.
    grid : (3, bets) array
        Of forecasts of numbers, which have no other bets on a grid: location, scale and slope.
    """

    part_of: Codes
    weights: Floats
    slopes: Floats = np.zeros(0)
    offset_class: Codes = np.zeros(0, dtype=np.int64)
    offset: Floats = np.zeros(0)
    features: Floats = np.zeros((0, 0))
    phases: Floats = np.zeros(0)
    kernel: Floats = np.zeros((0, 0))
    log_one: float = -math.inf
    memory: float = 1.0
    log_thresholds: Floats = np.zeros(0)
    grid: Floats = np.zeros((3, 0))


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
    lowest, won : (bets or 0,) arrays
        The lowest logarithm of what each bet has made of 1 from the first row on, and what it has
        won since.
    firsts, lasts : (bets or 0, 4) arrays
        The row after which that logarithm first was at most -j, in the place of j modulo 4, and
        last was at most k above its lowest.
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
    lowest: Floats
    won: Floats
    firsts: Codes
    lasts: Codes
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

    Rows of forecasts are those of `numbers.rows_of`, an event of which there are more columns.

    A bet is q(y) / p(y) with q known before y. Products run over blocks of 64 rows, counted from
    the first, so that the answer does not depend on how rows are cut into batches. The logarithm of
    the e-value after each row is written to `trace`, unless that is empty.

    Compiled code here and in what it calls is scalar: an expression of arrays takes as long to
    compile as a hundred lines. Members of tuples are taken once for all rows: numba counts the
    references to each by atomic steps.
    """
    grid, G, n_slopes = game.grid, state.product.size, game.slopes.size
    m = 2 if grid.shape[1] > 0 else P.shape[1]
    slopes, offset_class, weights = game.slopes, game.offset_class, game.weights
    kernel, features, phases, memory = game.kernel, game.features, game.phases, game.memory
    counts, levels, crossed, gaps = state.counts, state.levels, state.crossed, state.gaps
    product, restarted, log_one = state.product, state.restarted, game.log_one
    theta, inverse, cells, shift = state.theta, state.inverse, state.cells, state.shift
    witness, sums, log_wealth = state.witness, state.sums, state.log_wealth
    log_thresholds, parts = game.log_thresholds, game.part_of[-1] + 1
    base, wins, changes, phi = np.empty(G), np.empty(G), np.empty(G), np.empty(phases.size)
    p, logs, q, f = np.empty(m), np.empty(m), np.empty(m), np.empty(m)
    gradient, deviation, direction = np.empty(m + 1), np.empty(m + 1), np.empty(m + 1)
    tops, totals = np.empty(parts), np.empty(parts)
    for j in range(game.offset.size):
        changes[j] = math.exp(game.offset[j]) - 1.0
    _open(log_wealth, weights, log_one, levels, base)
    reach = farthest(witness)
    for i in range(P.shape[0]):
        label = y[i]
        _take(P, i, p, logs)
        counts[ROWS] += 1
        counts[IN_BLOCK] += 1
        _gap(p, label, P[i, 5] if grid.shape[1] > 0 else float(label), gaps)
        if p[label] <= 0.0:
            _impossible(counts, crossed, wins)
        elif grid.shape[1] > 0:
            bet_on_number(P, i, grid, theta, witness, memory, wins)
        else:
            temperatures(p, logs, label, slopes, wins)
            offsets(p, label, offset_class, changes, n_slopes, wins)
            if theta.size > 0:
                won = recalibrate(p, logs, label, theta, q, gradient)
                newton_step(q, logs, theta, inverse, memory, gradient, deviation, direction)
                wins[G - 3] = KEPT + (1.0 - KEPT) * won
            wins[G - 2] = KEPT + (1.0 - KEPT) * isotonic(p, label, cells, shift)
            if m == 2:
                gain, reach = binary_witness(p[1], label, kernel, witness, reach, memory)
            else:
                gain = class_witness(p, label, features, phases, sums, levels, phi, f, memory)
            wins[G - 1] = bet_gain(gain, levels, memory)
        extreme = _multiply(wins, product, restarted, log_one)
        total = _average(base, product, weights, restarted, log_one, levels[OFFSET])
        _look(total, log_thresholds, levels, crossed, counts[ROWS])
        if trace.size > 0:
            levels[LAST] = math.inf if counts[IMPOSSIBLE] >= 0 else math.log(total) + levels[OFFSET]
            trace[i] = levels[LAST]
        if counts[ROWS] >= counts[REFIT_AT]:
            refit(cells, shift, memory, counts)
        if extreme or counts[IN_BLOCK] == BLOCK:
            _end_block(game, state, tops, totals)
            _open(log_wealth, weights, log_one, levels, base)


@njit()
def _end_block(game: Game, state: State, tops: Floats, sums: Floats) -> None:
    """Put what was won into the logarithms, note when bets were lowest, and the path."""
    counts, log_wealth = state.counts, state.log_wealth
    _date(state.product, state.lowest, state.won, state.firsts, state.lasts, counts[ROWS])
    _close(log_wealth, state.product, state.restarted, game.log_one)
    if counts[IN_BLOCK] == BLOCK:
        counts[IN_BLOCK] = 0
        if state.path.shape[0] > 0 and counts[ROWS] % (counts[STRIDE] * BLOCK) == 0:
            _sum_parts(game, log_wealth, tops, sums)
            _note(sums, state.path, counts)


@njit()
def _date(
    product: Floats, lowest: Floats, won: Floats, firsts: Codes, lasts: Codes, row: int
) -> None:
    """Note of each bet when it was lowest, and when it first and last was near that (Page).

    Processes that begin at each row have the same gains, and are of no account here.
    """
    steps = lasts.shape[1]
    for g in range(won.size):
        won[g] += math.log(max(product[g], LEAST))
        if won[g] <= 0.0:
            before = int(-lowest[g])
            lowest[g] += won[g]
            won[g] = 0.0
            reached = int(-lowest[g])
            for j in range(max(before + 1, reached - steps + 1), reached + 1):
                firsts[g, j % steps] = row
        for k in range(steps):
            if won[g] <= k:
                lasts[g, k] = row


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
def _take(P: Floats, i: int, p: Floats, logs: Floats) -> None:
    """Copy a row, and its logarithms."""
    for k in range(p.size):
        p[k] = P[i, k]
        logs[k] = max(math.log(p[k]), LEAST_LOG) if p[k] > 0.0 else LEAST_LOG


@njit()
def _impossible(counts: Codes, crossed: Codes, wins: Floats) -> None:
    """Note the row whose outcome had probability 0: all is crossed there, and no bet wins."""
    if counts[IMPOSSIBLE] < 0:
        counts[IMPOSSIBLE] = counts[ROWS]
    for j in range(crossed.size):
        if crossed[j] == 0:
            crossed[j] = counts[ROWS]
    for g in range(wins.size):
        wins[g] = 1.0


@njit()
def _look(total: float, limits: Floats, levels: Floats, crossed: Codes, row: int) -> None:
    """Look at the average of all bets, whether it is larger than ever, and above a threshold."""
    if total > levels[BEST]:
        levels[BEST] = total
        for j in range(crossed.size):
            if crossed[j] == 0 and total >= math.exp(limits[j] - levels[OFFSET]):
                crossed[j] = row


@njit()
def _average(
    base: Floats, product: Floats, weights: Floats, restarted: Floats, log_one: float, unit: float
) -> float:
    """Return the average of all bets, in units of the largest before the block."""
    total: float = dot(base, product)
    if log_one == 0.0:
        begun = 0.0
        for j in range(weights.size):
            begun += weights[j] * product[j] * restarted[j]
        total += math.exp(-unit) * begun
    return total


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
def _open(log_wealth: Floats, weights: Floats, log_one: float, levels: Floats, out: Floats) -> None:
    """Begin a block: wealth relative to the largest, which becomes the unit."""
    most, best = log_one, levels[BEST]
    for g in range(log_wealth.size):
        most = max(most, log_wealth[g])
    if best > 0.0 and most != levels[OFFSET]:  # the same unit is not rounded again
        levels[BEST] = math.exp(math.log(best) + levels[OFFSET] - most)
    levels[OFFSET] = most
    for g in range(weights.size):
        out[g] = weights[g] * math.exp(log_wealth[g] - most)


@njit()
def _sum_parts(game: Game, log_wealth: Floats, tops: Floats, sums: Floats) -> None:
    """Write the logarithm of the e-value of each part, from those of its largest bet."""
    weights, part_of = game.weights, game.part_of
    for j in range(tops.size):
        tops[j], sums[j] = -math.inf, 0.0
    for g in range(weights.size):
        tops[part_of[g]] = max(tops[part_of[g]], log_wealth[g])
    for g in range(weights.size):
        if log_wealth[g] > -math.inf:
            j = part_of[g]
            sums[j] += weights[g] * tops.size * math.exp(log_wealth[g] - tops[j])
    for j in range(tops.size):
        sums[j] = math.log(sums[j]) + tops[j]


@njit()
def _note(totals: Floats, path: Floats, counts: Codes) -> None:
    """Keep a point of the path; where it is full, every second one stays."""
    if counts[POINTS] == path.shape[0]:
        half = path.shape[0] // 2
        for j in range(half):
            for k in range(path.shape[1]):
                path[j, k] = path[2 * j + 1, k]
        counts[POINTS] = half
        counts[STRIDE] *= 2
        if counts[ROWS] % (counts[STRIDE] * BLOCK) != 0:
            return
    point, most, whole = counts[POINTS], -math.inf, 0.0
    for j in range(totals.size):
        most = max(most, totals[j])
    for j in range(totals.size):
        whole += math.exp(totals[j] - most)
        path[point, 2 + j] = totals[j]
    path[point, 0] = counts[ROWS]
    path[point, 1] = math.log(whole / totals.size) + most
    counts[POINTS] += 1


@njit()
def _gap(p: Floats, label: int, share: float, gaps: Floats) -> None:
    """Sum probability, outcome, variance and squared residuals of the events that are watched.

    The first is that the predicted class is right, then come the classes, of two the second only,
    of which a share may have happened.
    A residual is taken less the mean of those before it (Howard et al. 2021, theorem 4).
    """
    m, top = p.size, largest(p)
    for j in range(gaps.shape[0]):
        k = top if j == 0 else (1 if m == 2 else j - 1)
        chance, happened = p[k], 1.0 if label == k else 0.0
        if m == 2:
            happened = share if k == 1 else 1.0 - share
        rows = gaps[j, 0]
        mean = (gaps[j, 1] - gaps[j, 2]) / rows if rows > 0.0 else 0.0
        mean = min(max(mean, chance - 1.0), chance)
        gaps[j, 0] += 1.0
        gaps[j, 1] += chance
        gaps[j, 2] += happened
        gaps[j, 3] += chance * (1.0 - chance)
        gaps[j, 4] += (chance - happened - mean) ** 2


# ---- the bets ------------------------------------------------------------------------------------


@njit()
def temperatures(p: Floats, logs: Floats, label: int, slopes: Floats, wins: Floats) -> None:
    """Bet on powers of the probabilities."""
    m = p.size
    if m == 2:
        z = logs[1 - label] - logs[label]
        for j in range(slopes.size):
            wins[j] = 1.0 / ((1.0 + math.exp(slopes[j] * z)) * p[label])
        return
    most = logs[0]
    for k in range(1, m):
        most = max(most, logs[k])
    for j in range(slopes.size):
        mass = 0.0
        for k in range(m):
            mass += math.exp(slopes[j] * (logs[k] - most))
        wins[j] = math.exp(slopes[j] * (logs[label] - most)) / (mass * p[label])


@njit()
def offsets(
    p: Floats, label: int, offset_class: Codes, gain_of: Floats, first: int, wins: Floats
) -> None:
    """Bet on the odds of a class, changed by a factor of 1 + gain."""
    if p.size == 2:  # all are on the second class
        won = float(label)
        for j in range(offset_class.size):
            wins[first + j] = (1.0 + won * gain_of[j]) / (1.0 + p[1] * gain_of[j])
        return
    for j in range(offset_class.size):
        k = offset_class[j]
        wins[first + j] = (1.0 + (gain_of[j] if k == label else 0.0)) / (1.0 + p[k] * gain_of[j])


@njit()
def recalibrate(
    p: Floats, logs: Floats, label: int, theta: Floats, q: Floats, gradient: Floats
) -> float:
    """Bet on q = softmax(b log p + a), and write q and the gradient of its log likelihood."""
    m = p.size
    top = -math.inf
    for k in range(m):
        q[k] = theta[0] * logs[k] + theta[1 + k]
        top = max(top, q[k])
    mass = 0.0
    for k in range(m):
        q[k] = math.exp(q[k] - top)
        mass += q[k]
    won: float = q[label] / (mass * p[label])
    gradient[0] = logs[label]
    for k in range(m):
        q[k] /= mass
        gradient[0] -= q[k] * logs[k]
        gradient[1 + k] = (1.0 if k == label else 0.0) - q[k]
    return won


@njit()
def newton_step(
    q: Floats,
    logs: Floats,
    theta: Floats,
    inverse: Floats,
    memory: float,
    gradient: Floats,
    deviation: Floats,
    direction: Floats,
) -> None:
    """Add the information of the row to that of the others, and move by inverse times gradient.

    Of many classes the information is estimated by the outer product of the gradient.
    """
    m, d = q.size, theta.size
    if memory < 1.0:
        most = inverse[0, 0]
        for a in range(1, d):
            most = max(most, inverse[a, a])
        for a in range(d if most < MOST_VARIANCE else 0):
            for b in range(d):
                inverse[a, b] /= memory
    if m > MOST_INFORMED:
        add_outer(inverse, gradient, direction)
    else:
        mean = dot(q, logs)
        for k in range(m):
            root = math.sqrt(q[k])
            deviation[0] = root * (logs[k] - mean)
            for a in range(m):
                deviation[1 + a] = -root * q[a]
            deviation[1 + k] += root
            add_outer(inverse, deviation, direction)
    for a in range(d):
        theta[a] += dot(inverse[a], gradient)
    theta[0] = min(max(theta[0], LEAST_SLOPE), LARGEST_SLOPE)
    for k in range(1, d):
        theta[k] = min(max(theta[k], -LARGEST_OFFSET), LARGEST_OFFSET)


@njit()
def add_outer(inverse: Floats, vector: Floats, direction: Floats) -> None:
    """Turn the inverse of a matrix into that of the matrix plus the outer product of a vector."""
    for a in range(vector.size):
        direction[a] = dot(inverse[a], vector)
    scale = 1.0 / (1.0 + dot(direction, vector))
    for a in range(vector.size):
        for b in range(vector.size):
            inverse[a, b] -= direction[a] * direction[b] * scale


@njit()
def isotonic(p: Floats, label: int, cells: Floats, shift: Floats) -> float:
    """Bet on the log odds of an event, shifted by what their cell has shown.

    The event is the second of two classes, of more that the predicted class is right.
    """
    n_cells, top = shift.size, 1 if p.size == 2 else largest(p)
    chance = p[top]
    if chance >= 1.0 or chance <= 0.0:
        return 1.0
    odds = math.log(chance) - math.log1p(-chance)
    c = min(max(int((odds + 10.0) * n_cells / 20.0), 0), n_cells - 1)
    happened = label == top
    new = 1.0 / (1.0 + math.exp(-odds - shift[c]))
    won: float = new / chance if happened else (1.0 - new) / (1.0 - chance)
    cells[0, c] += 1.0
    cells[1, c] += chance
    cells[2, c] += 1.0 if happened else 0.0
    return won


@njit()
def refit(cells: Floats, shift: Floats, memory: float, counts: Codes) -> None:
    """Fit the shares of the cells again, increasing with the probability, by pooling."""
    n_cells = shift.size
    start = np.empty(n_cells + 1, dtype=np.int64)
    share, mass, blocks = np.empty(n_cells), np.empty(n_cells), 0
    for c in range(n_cells):
        if cells[0, c] <= 0.0:
            continue
        mean = cells[1, c] / cells[0, c]
        weight = cells[0, c] + PRIOR_ROWS
        start[blocks] = c
        mass[blocks] = weight
        share[blocks] = (cells[2, c] + PRIOR_ROWS * mean) / weight
        blocks += 1
        while blocks > 1 and share[blocks - 2] >= share[blocks - 1]:
            both = mass[blocks - 2] + mass[blocks - 1]
            share[blocks - 2] = (
                mass[blocks - 2] * share[blocks - 2] + mass[blocks - 1] * share[blocks - 1]
            ) / both
            mass[blocks - 2] = both
            blocks -= 1
    start[blocks] = n_cells
    for block in range(blocks):
        level = min(max(share[block], 1e-9), 1.0 - 1e-9)
        for c in range(start[block], start[block + 1]):
            if cells[0, c] > 0.0:
                mean = min(max(cells[1, c] / cells[0, c], 1e-9), 1.0 - 1e-9)
                shift[c] = math.log(level / (1.0 - level)) - math.log(mean / (1.0 - mean))
    rows = counts[ROWS]
    after = max(rows + 1, math.ceil(REFIT * rows))
    if memory < 1.0:
        after = min(after, rows + int(0.1 / (1.0 - memory)) + 1)
        kept = math.pow(memory, float(after - rows))
        for k in range(cells.shape[0]):
            for c in range(n_cells):
                cells[k, c] *= kept
    counts[REFIT_AT] = after


@njit(fastmath={"nnan", "nsz"})
def binary_witness(
    chance: float, label: int, kernel: Floats, witness: Floats, reach: float, memory: float
) -> tuple[float, float]:
    """Return the gain of betting on the residuals of similar predictions, within [-1, 1].

    And the largest absolute value of the witness, which is its reach in the next row.
    """
    c = min(int(chance * witness.size), witness.size - 1)
    residual = label - chance
    gain = witness[c] * residual / reach if reach > 0.0 else 0.0
    most = 0.0
    for j in range(witness.size):
        learned = memory * witness[j] + kernel[c, j] * residual
        witness[j] = learned
        most = max(most, abs(learned))
    return gain, most


@njit()
def class_witness(
    p: Floats,
    label: int,
    features: Floats,
    phases: Floats,
    sums: Floats,
    levels: Floats,
    phi: Floats,
    f: Floats,
    memory: float,
) -> float:
    """Return the same for several classes, with a kernel of random features."""
    m, D = p.size, phases.size
    for k in range(m):
        f[k] = 0.0
    for j in range(D):
        angle = phases[j]
        for k in range(m):
            angle += features[j, k] * p[k]
        phi[j] = math.cos(angle)
        for k in range(m):
            f[k] += phi[j] * sums[j, k]
    mean, least, most = 0.0, f[0], f[0]
    for k in range(m):
        mean += p[k] * f[k]
        least, most = min(least, f[k]), max(most, f[k])
    levels[REACH] = max(memory * levels[REACH], most - least)
    gain = (f[label] - mean) / levels[REACH] if levels[REACH] > 0.0 else 0.0
    for j in range(D):
        for k in range(m):
            sums[j, k] = memory * sums[j, k] - phi[j] * p[k]
        sums[j, label] += phi[j]
    return gain


@njit()
def bet_gain(gain: float, levels: Floats, memory: float) -> float:
    """Win with the share of the wealth that is bet, then move it by an online Newton step."""
    won: float = 1.0 + levels[BET] * gain
    slope = gain / won
    levels[CURVATURE] += slope * slope - (1.0 - memory) * (levels[CURVATURE] - 1.0)
    levels[BET] = min(max(levels[BET] + STEP * slope / levels[CURVATURE], 0.0), MOST_BET)
    return won


@njit()
def largest(values: Floats) -> int:
    """Return the place of the largest value, the first of equals."""
    top = 0
    for k in range(1, values.size):
        if values[k] > values[top]:
            top = k
    return top


@njit()
def farthest(values: Floats) -> float:
    """Return the largest absolute value, 0 of none."""
    most = 0.0
    for j in range(values.size):
        most = max(most, abs(values[j]))
    return most


@njit()
def dot(a: Floats, b: Floats) -> float:
    """Sum products, in their order: the sum is the same wherever it is computed."""
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total
