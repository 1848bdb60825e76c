"""Labels redrawn from predictions: y* ~ Cat(p), by inversion of the cumulative probabilities.

Each resample has a key, and each row of the data a number. The uniform number of a row in a
resample is a hash of the two, the output of the SplitMix64 generator (Steele, Lea, Flood 2014, Fast
splittable pseudorandom number generators): it needs no other row and no other resample, so that
whatever looks at the labels, in whatever order and in however many threads, sees the same ones.
"""

import sys
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.loops import blocks, njit
from caltest.types import Events, Floats, Hashes, Ints, Labels

BITS = 62  # of a uniform number
SPARE = 10  # of these that a float cannot hold
ALWAYS = 1 << BITS  # above every uniform number
GAMMA = 0x9E3779B97F4A7C15
FIRST, SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB

CHUNK = 1 << 15  # uniform numbers that NumPy computes at a time
COMPILED_FROM = 1 << 16  # rows; loading numba takes longer than fewer
AS_LONG = 16  # limits that NumPy takes as long for as for all else of a row
AT_A_TIME = 2048  # rows whose limits stay in the cache of the processor
COUNTED = 128  # the same, of several classes
AT_ONCE = 3  # limits of classes


def label_dtype(m: int) -> type[np.unsignedinteger]:
    """Return the smallest unsigned type that holds the codes 0..m-1."""
    return np.uint8 if m <= 1 << 8 else np.uint16 if m <= 1 << 16 else np.uint32


def resample_keys(seed: int | tuple[int, ...], n_resamples: int) -> Hashes:
    """Return a key for each resample; those of more resamples begin with those of fewer."""
    return np.random.SeedSequence(seed).generate_state(n_resamples, np.uint64).astype(np.uint64)


def row_hashes(numbers: NDArray[np.integer]) -> Hashes:
    """Return what the number of a row contributes to its uniform numbers."""
    return (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(GAMMA)


def cumulative_limits(probs: Floats) -> Ints:
    """Return where each class but the last ends, (n, m - 1): running sums in units of 2^-62.

    Class k takes the uniform numbers from the limit before it up to its own, so that a class of
    probability zero is never drawn, whatever the rounding of the sum: the limit of the last
    possible class is ALWAYS. The limits of a class lie side by side.
    """
    sums = np.cumsum(probs[:, :-1], axis=1)
    np.ceil(np.minimum(sums, 1.0, out=sums) * float(ALWAYS), out=sums)
    limits: Ints = sums.astype(np.int64)
    rows = np.flatnonzero(probs[:, -1] == 0)
    places = np.arange(limits.shape[1])
    last = limits.shape[1] - np.argmax(probs[rows, ::-1] > 0, axis=1)
    limits[rows] = np.where(places >= last[:, None], ALWAYS, limits[rows])
    return np.asfortranarray(limits)


def draw_uniforms(rows: Hashes, keys: Hashes) -> Floats:
    """Return the uniform numbers (B, n), above 0 and below 1, to 52 bits."""
    out = np.empty((keys.size, rows.size))
    if compiles(rows.size):
        _uniforms(rows, keys, out)
        return out
    for some, number in _in_parts(rows, keys):
        out[:, some] = number >> SPARE
    out += 0.5
    out *= 2.0 ** (SPARE - BITS)
    return out


def draw_labels(limits: Ints, rows: Hashes, keys: Hashes) -> Labels:
    """Draw labels (B, n), one row for each key, from the `cumulative_limits` (n, m - 1)."""
    n, m = limits.shape[0], limits.shape[1] + 1
    out = np.zeros((keys.size, n), dtype=label_dtype(m))
    columns = np.ascontiguousarray(limits.T)
    if compiles(max(n, limits.size // AS_LONG)):
        _count(columns, rows, keys, out)
        return out
    for some, number in _in_parts(rows, keys):
        for column in columns[:, some]:
            out[:, some] += number >= column
    return out


def draw_events(low: Ints, width: Ints, rows: Hashes, keys: Hashes) -> Events:
    """Draw events (B, n): those of uniform numbers from `low` (n,) on, up to `width` further."""
    out = np.empty((keys.size, low.size), dtype=np.uint8)
    # A number below the limit has a negative distance, which is a large unsigned number.
    start_at, up_to = low.view(np.uint64), width.view(np.uint64)
    if compiles(low.size):
        _within(start_at, up_to, rows, keys, out)
        return out
    for some, number in _in_parts(rows, keys):
        out[:, some] = number.view(np.uint64) - start_at[some] < up_to[some]
    return out


def relabelled(table: Labels, labels: Labels) -> Labels:
    """Return what a table (n, m) has for the labels, (B, n)."""
    if compiles(len(table)):
        return _looked_up(table, labels)
    return table[np.arange(len(table)), labels]


def flipped_signs(numbers: NDArray[np.integer], keys: Hashes) -> Floats:
    """Draw signs (B, n) of +1 and -1 for units with these numbers, (n,)."""
    limits = np.zeros(numbers.size, np.int64), np.full(numbers.size, ALWAYS // 2)
    return np.where(draw_events(*limits, row_hashes(numbers), keys), -1.0, 1.0)


def compiles(n: int) -> bool:
    """Tell whether a compiled loop is worth its loading; the labels are the same without."""
    return n >= COMPILED_FROM or "numba" in sys.modules


def _in_parts(rows: Hashes, keys: Hashes) -> Iterator[tuple[slice, Ints]]:
    """Yield some rows at a time, and their uniform numbers (B, rows) as integers of 62 bits."""
    for some in blocks(rows.size, max(1, CHUNK // keys.size)):
        z = keys[:, None] + rows[some]
        shifted = z >> np.uint64(30)
        z ^= shifted
        z *= np.uint64(FIRST)
        np.right_shift(z, np.uint64(27), out=shifted)
        z ^= shifted
        z *= np.uint64(SECOND)
        np.right_shift(z, np.uint64(31), out=shifted)
        z ^= shifted
        z >>= np.uint64(64 - BITS)
        yield some, z.view(np.int64)


@njit(inline="always")
def hashed(z: np.uint64) -> np.uint64:
    """Return the uniform number, of 62 bits, of the sum of a key and what a row contributes."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(FIRST)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(SECOND)
    return (z ^ (z >> np.uint64(31))) >> np.uint64(64 - BITS)


@njit()
def _uniforms(rows: Hashes, keys: Hashes, out: Floats) -> None:
    for b in range(keys.size):
        for i in range(rows.size):
            number = hashed(keys[b] + rows[i]) >> np.uint64(SPARE)
            out[b, i] = (np.float64(number) + 0.5) * 2.0 ** (SPARE - BITS)


@njit()
def _looked_up(table: Labels, labels: Labels) -> Labels:
    size, n = labels.shape
    out = np.empty((size, n), table.dtype)
    for start in range(0, n, AT_A_TIME):
        for b in range(size):
            for i in range(start, min(start + AT_A_TIME, n)):
                out[b, i] = table[i, labels[b, i]]
    return out


@njit()
def _within(low: Hashes, width: Hashes, rows: Hashes, keys: Hashes, out: Labels) -> None:
    n = low.size
    for start in range(0, n, AT_A_TIME):
        end = min(start + AT_A_TIME, n)
        # Of slices the compiler knows that no index is negative: eight numbers at a time.
        some, first, size = rows[start:end], low[start:end], width[start:end]
        for b in range(keys.size):
            key, event = keys[b], out[b, start:end]
            for i in range(end - start):
                event[i] = np.uint8(hashed(key + some[i]) - first[i] < size[i])


@njit()
def events_by_row(low: Hashes, width: Hashes, rows: Hashes, keys: Hashes) -> Events:
    """Draw the events of `draw_events`, those of a row side by side, (n, B)."""
    out = np.empty((low.size, keys.size), np.uint8)
    for i in range(rows.size):
        row, first, size, event = rows[i], low[i], width[i], out[i]
        for b in range(keys.size):
            event[b] = np.uint8(hashed(keys[b] + row) - first < size)
    return out


@njit(fastmath={"contract", "nsz", "reassoc"})  # lets sums run in several chains
def event_sums(low: Hashes, width: Hashes, rows: Hashes, keys: Hashes, slope: Floats) -> Floats:
    """Return the sums (B,) of `slope` over the events of `draw_events`, which are not kept."""
    out = np.zeros(keys.size)
    for start in range(0, low.size, AT_A_TIME):
        end = min(start + AT_A_TIME, low.size)
        some, first, size, own = rows[start:end], low[start:end], width[start:end], slope[start:end]
        for b in range(keys.size):
            key, total = keys[b], 0.0
            for i in range(end - start):
                event = np.uint8(hashed(key + some[i]) - first[i] < size[i])
                total += own[i] * np.float64(event)
            out[b] += total
    return out


@njit()
def _count(columns: Ints, rows: Hashes, keys: Hashes, out: Labels) -> None:
    n, first = rows.size, columns.shape[0] % AT_ONCE
    uniform, count = np.empty(COUNTED, np.int64), np.empty(COUNTED, np.int64)
    for start in range(0, n, COUNTED):
        end = min(start + COUNTED, n)
        size, some = end - start, rows[start:end]
        for b in range(keys.size):
            key, label = keys[b], out[b, start:end]
            for i in range(size):
                uniform[i] = np.int64(hashed(key + some[i]))
                count[i] = 0
            # One row of `columns` at a time is known to the compiler to have no gaps.
            for k in range(first):
                low = columns[k, start:end]
                for i in range(size):
                    count[i] += np.int64(low[i] <= uniform[i])
            for k in range(first, columns.shape[0], AT_ONCE):
                low, mid = columns[k, start:end], columns[k + 1, start:end]
                high = columns[k + 2, start:end]
                for i in range(size):
                    x = uniform[i]
                    count[i] += (
                        np.int64(low[i] <= x) + np.int64(mid[i] <= x) + np.int64(high[i] <= x)
                    )
            for i in range(size):
                label[i] = count[i]


# ---- rows that are known by what they hold ------------------------------------------------------
# A row that is read in another order, another part or by another process has the same hash, so that
# what is drawn for it is the same. Equal rows are told apart by their number among these.


def content_hashes(probs: Floats) -> Hashes:
    """Return a number of 64 bits for each row of `probs` (n, m), which are no negative zeros."""
    bits = np.ascontiguousarray(probs).view(np.uint64)
    hashes = np.zeros(len(bits), np.uint64)
    for start in range(0, len(bits), AT_A_TIME):
        z = hashes[start : start + AT_A_TIME]
        for column in bits[start : start + AT_A_TIME].T:
            z += np.uint64(GAMMA)
            z ^= column
            for shift, factor in ((30, FIRST), (27, SECOND), (31, 1)):
                z ^= z >> np.uint64(shift)
                z *= np.uint64(factor)
    return hashes


def occurrences(hashes: Hashes) -> Ints:
    """Return for each hash how many equal ones come before it."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    is_first = np.append(True, ordered[1:] != ordered[:-1])
    starts = np.flatnonzero(is_first)
    out = np.empty(hashes.size, np.int64)
    out[order] = np.arange(hashes.size) - np.repeat(starts, np.diff(np.append(starts, hashes.size)))
    return out


def numbered(hashes: Hashes, number: Ints) -> Hashes:
    """Return what rows contribute to their uniform numbers: the first of equal rows its hash."""
    return hashes + number.astype(np.uint64) * np.uint64(GAMMA)


@njit()
def rescale_rows(probs: Floats, slack: float) -> None:
    """Divide each row by its sum where that is further from 1 than `slack`, and lose signs of 0.

    Row by row, so that a row is the same among whatever others.
    """
    for i in range(probs.shape[0]):
        total = 0.0
        for k in range(probs.shape[1]):
            probs[i, k] += 0.0
            total += probs[i, k]
        if abs(total - 1.0) > slack:
            for k in range(probs.shape[1]):
                probs[i, k] /= total
