"""Loops over the rows of segments: sums for many resamples side by side, and their scores."""

from __future__ import annotations

import math

import numpy as np

from caltest.numerics.loops import njit
from caltest.types import AnyArray, Events, Floats, Hashes, Ints, Labels, Singles, SmallInts

FULL = 255  # rows whose events a byte holds
SERIES_BELOW = 1e-3  # where the deviance would be a difference of nearly equal numbers


@njit()
def _join(codes: Labels, columns: SmallInts, sizes: SmallInts, first: int, out: SmallInts) -> None:
    """Number the combinations of the values of rows from `first` on, column by column."""
    out[:] = 0
    for j in range(columns.size):
        size, own = sizes[j], codes[columns[j], first : first + out.size]
        for i in range(out.size):
            out[i] = out[i] * size + np.int32(own[i])


@njit()
def count_combinations(codes: Labels, columns: SmallInts, sizes: SmallInts, counts: Ints) -> None:
    """Count the rows of each combination of the values of some columns.

    `codes` is (D, n), the values of D columns; those of `columns` are the digits, with the bases
    `sizes`, of the number of a combination.
    """
    numbers = np.empty(codes.shape[1], np.int32)
    _join(codes, columns, sizes, 0, numbers)
    for i in range(numbers.size):
        counts[numbers[i]] += 1


@njit()
def list_pairs(
    codes: Labels,
    tables: SmallInts,
    sizes: SmallInts,
    starts: Ints,
    place: SmallInts,
    first: int,
    stop: int,
    rows: SmallInts,
    cells: SmallInts,
) -> int:
    """List the rows from `first` to `stop` beside the cells that hold them, table by table.

    `tables` (T, d) has the columns of each table and `sizes` (T, d) their numbers of values; the
    cell with number k of table t is `place[starts[t] + k]`, or negative where it is none. Rows are
    counted from `first`. Returns how many pairs there are; what is behind them is written, too.
    """
    numbers, count = np.empty(stop - first, np.int32), 0
    for t in range(tables.shape[0]):
        _join(codes, tables[t], sizes[t], first, numbers)
        for i in range(numbers.size):
            cell = place[starts[t] + numbers[i]]
            rows[count] = i
            cells[count] = cell
            count += cell >= 0
    return count


@njit()
def add_rows(rows: SmallInts, cells: SmallInts, values: Floats, sums: Floats) -> None:
    """Add the rows of `values` (n, k) to those of their cells, (S, k)."""
    for at in range(rows.size):
        i, cell = rows[at], cells[at]
        for j in range(values.shape[1]):
            sums[cell, j] += values[i, j]


@njit()
def add_events(
    rows: SmallInts, cells: SmallInts, events: Hashes, found: Hashes, held: Events, total: SmallInts
) -> None:
    """Add the events (n, L / 8) of L resamples to those of each cell, `found` and `total` (S, L).

    Eight resamples are a number, a byte for each: sums of up to 255 rows wait in `found`, and
    `held` (S,) says how many rows they are of.
    """
    for at in range(rows.size):
        i, cell = rows[at], cells[at]
        if held[cell] == FULL:
            held[cell] = 0
            move_events(found[cell], total[cell])
        held[cell] += np.uint8(1)
        for eight in range(events.shape[1]):
            found[cell, eight] += events[i, eight]


@njit()
def move_events(found: Hashes, counts: SmallInts) -> None:
    """Move the sums that wait to `counts` (L,)."""
    for lane in range(counts.size):
        counts[lane] += (found[lane // 8] >> np.uint64(8 * (lane % 8))) & np.uint64(FULL)
    found[:] = 0


@njit()
def add_weighted(
    rows: SmallInts, cells: SmallInts, events: Events, weight: Floats, sums: Floats
) -> None:
    """Add the weights (n,) of the events (n, L) in each cell, (S, L)."""
    for at in range(rows.size):
        i, cell = rows[at], cells[at]
        for lane in range(events.shape[1]):
            sums[cell, lane] += weight[i] * events[i, lane]


@njit()
def add_in_order(
    rows: SmallInts,
    cells: SmallInts,
    events: Events,
    weight: Singles,
    expected: Singles,
    step: SmallInts,
    last: SmallInts,
    walk: Singles,
) -> None:
    """Follow the sums of w y - w p over all intervals of rows, in their order, in each cell.

    Rows with the same `step` are one step. `last` (S,) is the step at which each cell stands;
    `walk` (4, S, L) has the largest and the negative of the smallest sum over intervals that end
    there, the empty one among them until the step ends, and those over all intervals so far.
    """
    for at in range(rows.size):
        i, cell = rows[at], cells[at]
        ends = step[i] != last[cell]
        last[cell] = step[i]
        for side in range(2):  # of one sign after the other: no more than a vector loop can follow
            sign = np.float32(1 - 2 * side)
            w, wp = sign * weight[i], sign * expected[i]
            if ends:
                end_step(cell, walk, side)
            for lane in range(events.shape[1]):
                walk[side, cell, lane] += w * np.float32(events[i, lane]) - wp


@njit()
def end_step(cell: int, walk: Singles, side: int) -> None:
    """Take the intervals that end here among the largest, and let new ones begin."""
    zero = np.float32(0.0)
    for lane in range(walk.shape[2]):
        # `max` asks for NaN, which keeps it from being one instruction for many.
        so_far, most = walk[side, cell, lane], walk[2 + side, cell, lane]
        walk[2 + side, cell, lane] = so_far if so_far > most else most  # noqa: FURB136
        walk[side, cell, lane] = so_far if so_far > zero else zero  # noqa: FURB136


@njit()
def residual(z: float, skewness: float) -> float:
    r"""Return the signed root of the deviance of a standardised sum with this skewness.

    The deviance is that of a shifted and scaled Poisson distribution with the same mean, variance
    and skewness, :math:`2 [(1 + g z) \log(1 + g z) - g z] / g^2`: z itself where nothing is skewed,
    and the deviance residual of a Poisson count where events are rare.
    """
    x = skewness * z
    if abs(x) < SERIES_BELOW:
        return z * (1.0 - x / 6.0)
    if x <= -1.0:  # beyond the smallest value of that distribution
        return z * math.sqrt(2.0)
    deviance = 2.0 * ((1.0 + x) * math.log1p(x) - x)
    return math.copysign(math.sqrt(deviance) / abs(skewness), z)


@njit()
def surprise(r: float) -> float:
    """Return about -log P(|Z| > r) of a standard normal Z, increasing in r from 0 on."""
    return 0.5 * r * r + math.log1p(r * math.sqrt(0.5 * math.pi))


@njit()
def score_sums(
    sums: AnyArray,
    expected: Floats,
    deviation: Floats,
    skewness: Floats,
    share: float,
    scores: Singles,
) -> None:
    """Write -log of the p-values of the sums (S, L) in `scores`, each less `share`.

    Sums without weights are whole numbers, of which few are different: each is scored once.
    """
    known = np.empty(sums.shape[1], np.float32)
    for s in range(sums.shape[0]):
        least, most, whole = sums[s, 0], sums[s, 0], True
        for lane in range(sums.shape[1]):
            least, most = min(least, sums[s, lane]), max(most, sums[s, lane])
            whole &= sums[s, lane] == np.int64(sums[s, lane])
        some = whole and most - least < sums.shape[1]
        for k in range(np.int64(most - least) + 1 if some else sums.shape[1]):
            difference = (least + k if some else sums[s, k]) - expected[s]
            if deviation[s] > 0.0:
                r = residual(difference / deviation[s], skewness[s])
                known[k] = surprise(abs(r)) - share
            else:  # all is certain: any other sum is impossible
                known[k] = np.inf if abs(difference) > 1e-6 else -np.inf
        for lane in range(sums.shape[1]):
            scores[s, lane] = known[np.int64(sums[s, lane] - least) if some else lane]


@njit()
def raise_by_intervals(
    walk: Singles, deviation: Floats, skewness: Floats, share: float, scores: Singles
) -> None:
    """Raise `scores` to those of the largest sum over an interval, of either sign, (2, S, L).

    It is the range of the partial sums, and that of Brownian motion on [0, 1] exceeds r with a
    probability of about 4 P(|Z| > r).
    """
    up, down = walk[0], walk[1]
    for s in range(up.shape[0]):
        if deviation[s] <= 0.0:
            continue
        for lane in range(up.shape[1]):
            r = residual(up[s, lane] / deviation[s], skewness[s])
            r = max(r, -residual(-down[s, lane] / deviation[s], skewness[s]))
            scores[s, lane] = max(scores[s, lane], surprise(r) - math.log(4.0) - share)
