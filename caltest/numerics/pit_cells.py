"""Cells of the uniform numbers of very many rows: sums in them, and their numbers redrawn."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from caltest.numerics.cell_counts import normal_quantile
from caltest.numerics.labels import BITS, GAMMA, SPARE, hashed
from caltest.numerics.loops import frozen, njit
from caltest.types import Floats, Hashes, Ints

VERY_MANY = 1 << 17  # rows whose redrawn numbers are not kept
BY_BITS = 1024  # rows of which each is drawn
LOWEST = 53  # 2^-53 is the least number that is told from 0, and the distance kept from 1
# Of gaps (B, K) at ends of cells, with their widths and variances (K,).
DISTANCES: dict[str, Callable[..., Floats]] = {
    "ks": lambda gaps, *_: np.abs(gaps).max(axis=1),
    "kuiper": lambda gaps, *_: gaps.max(axis=1, initial=0.0) - gaps.min(axis=1, initial=0.0),
    "cramer-von-mises": lambda gaps, widths, _: np.square(gaps) @ widths,
    "anderson-darling": lambda gaps, widths, variance: np.square(gaps) @ (widths / variance),
}


@dataclass(frozen=True)
class PitCells:
    """Cells of (0, 1), narrower towards both ends.

    Attributes
    ----------
    bits : int
        Cells have the width 2^-bits,
    parts : int
        and near 0 and 1 at most this part of the distance from there, a power of 2.
    """

    bits: int
    parts: int

    @cached_property
    def _tail(self) -> Floats:
        """The lower ends of the cells near 0."""
        octaves = np.exp2(np.arange(-LOWEST, int(np.log2(self.parts)) - self.bits))
        within = np.tile(1.0 + np.arange(self.parts) / self.parts, octaves.size)
        return np.asarray(np.repeat(octaves, self.parts) * within)

    @cached_property
    def _inner(self) -> Floats:
        """The ends of the others."""
        return np.asarray(np.arange(self.parts, 2**self.bits - self.parts + 1) / 2**self.bits)

    @cached_property
    def widths(self) -> Floats:
        """The widths of the cells: the probabilities of uniform numbers to be in them."""
        narrow = np.diff(self._tail, append=self._inner[0])
        return np.concatenate([narrow, np.diff(self._inner), narrow[::-1]])

    @cached_property
    def ends(self) -> Floats:
        """Where all cells but the last one end."""
        return np.concatenate([self._tail[1:], self._inner, 1.0 - self._tail[:0:-1]])

    @cached_property
    def middles(self) -> Floats:
        """Their middles."""
        size = self.widths.size // 2
        half = np.append(self._tail, self._inner)[:size] + self.widths[:size] / 2
        return np.append(half, 1.0 - half[::-1])

    def of(self, uniform: Floats) -> Ints:
        """Return the numbers of the cells that numbers (n,) are in, in (2^-53, 1 - 2^-53)."""
        return _cells(frozen(uniform), self.bits, self.parts, self._tail.size)

    def sums(self, uniform: Floats, columns: Floats) -> Floats:
        """Return the sums (B, cells, Q) of columns (n, Q) over rows with numbers (B, n)."""
        out = np.empty((len(uniform), self.widths.size, columns.shape[1]))
        for one, numbers in zip(out, uniform, strict=True):
            cells = self.of(numbers)
            for q, column in enumerate(columns.T):
                one[:, q] = np.bincount(cells, column, self.widths.size)
        return out

    def redrawn_sums(self, rows: Hashes, keys: Hashes, column: Floats) -> Floats:
        """Return those (B, cells) of one column (n,) and the numbers that keys give the rows."""
        out = np.zeros((keys.size, self.widths.size))
        _add_drawn(rows, keys, frozen(column), (self.bits, self.parts, self._tail.size), out)
        return out

    def redrawn(self, sizes: Ints, keys: Hashes) -> Ints:
        """Return how many of `sizes` (G,) numbers are in each cell, (B, G, cells), for each key."""
        out = np.zeros((keys.size, sizes.size, self.widths.size), np.int64)
        _halve(sizes, keys, self.bits, self.parts, out)
        return out


@njit(inline="always")
def _cell(v: float, bits: int, parts: int, tail: int) -> int:
    k = int(v * (1 << bits))
    if parts <= k < (1 << bits) - parts:
        return k - parts + tail
    part, exponent = math.frexp(min(v, 1.0 - v))
    k = (LOWEST - 1 + exponent) * parts + int((part - 0.5) * 2 * parts)
    return 2 * tail + (1 << bits) - 2 * parts - 1 - k if v > 0.5 else k


@njit()
def _half(n: int, word: np.uint64) -> tuple[int, np.uint64]:
    """Draw from the binomial distribution of n with probability 1/2 by words after this one.

    As many bits, or, where they are many, a normal number that is corrected for kurtosis and the
    variance that rounding adds: less than 10^-7 off in total variation.
    """
    if n > BY_BITS:
        word += np.uint64(GAMMA)
        variance = n / 4.0 - 1.0 / 12.0
        z = normal_quantile((hashed(word) + 0.5) / float(1 << BITS))
        z -= n / (192.0 * variance * variance) * (z * z - 3.0) * z
        return min(max(math.floor(0.5 * (n + 1.0) + math.sqrt(variance) * z), 0), n), word
    ones = np.uint64(0)
    while n > 0:
        word += np.uint64(GAMMA)
        x = hashed(word) >> np.uint64(max(BITS - n, 0))
        n -= BITS
        x -= (x >> np.uint64(1)) & np.uint64(0x5555555555555555)
        x = (x & np.uint64(0x3333333333333333)) + (
            (x >> np.uint64(2)) & np.uint64(0x3333333333333333)
        )
        x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
        ones += (x * np.uint64(0x0101010101010101)) >> np.uint64(56)
    return int(ones), word


@njit()
def _halve(sizes: Ints, keys: Hashes, bits: int, parts: int, out: Ints) -> None:
    half = out.shape[2] // 2
    for b in range(keys.size):
        word = keys[b]
        for g in range(sizes.size):
            low, word = _half(sizes[g], word)
            word = _fill(low, word, bits, parts, out[b, g, :half])
            word = _fill(sizes[g] - low, word, bits, parts, out[b, g, : half - 1 : -1])


@njit()
def _fill(rest: int, word: np.uint64, bits: int, parts: int, cells: Ints) -> np.uint64:
    """Spread numbers over the cells of (0, 1/2); return the word after the last that was used."""
    stop, octave = cells.size, 2
    while rest > 0 and stop > 0:  # (0, 2^-k) is halved, and its upper half to cells of equal width
        step = max(parts, (1 << bits) >> octave)
        start, octave = stop - step, octave + 1
        cells[start], word = _half(rest, word)
        rest -= cells[start]
        while step > 1:
            step //= 2
            for k in range(start, stop, 2 * step):
                if cells[k] > 0:
                    cells[k + step], word = _half(cells[k], word)
                    cells[k] -= cells[k + step]
        stop = start
    cells[0] += rest
    return word


@njit()
def _cells(uniform: Floats, bits: int, parts: int, tail: int) -> Ints:
    out = np.empty(uniform.size, np.int64)
    for i in range(uniform.size):
        out[i] = _cell(uniform[i], bits, parts, tail)
    return out


@njit()
def _add_drawn(
    rows: Hashes, keys: Hashes, column: Floats, layout: tuple[int, int, int], out: Floats
) -> None:
    # The first bits of a number are its cell: no float is made of it but in a tail.
    bits, parts, tail = layout
    for b in range(keys.size):
        for i in range(rows.size):
            number = hashed(keys[b] + rows[i])
            k = np.int64(number >> np.uint64(BITS - bits))
            if parts <= k < (1 << bits) - parts:
                k += tail - parts
            else:
                v = ((number >> np.uint64(SPARE)) + 0.5) * 2.0 ** (SPARE - BITS)
                k = np.int64(_cell(v, bits, parts, tail))
            out[b, k] += column[i]
