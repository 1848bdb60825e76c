"""Sums of columns over cells of the uniform numbers of very many rows."""

import math
from dataclasses import dataclass

import numpy as np

from caltest.numerics.labels import BITS, SPARE, hashed
from caltest.numerics.loops import njit
from caltest.types import Floats, Hashes

VERY_MANY = 1 << 17  # rows whose redrawn numbers are not kept
OCTAVES = 48  # of a tail below 1/32
TAIL = 32 * OCTAVES  # cells
_NEAR = 2.0 ** -np.arange(OCTAVES + 4, 4, -1)[:, None] * (0.5 + (np.arange(32) + 0.5) / 64)
_MIDDLE = (np.arange(32, 992) + 0.5) / 1024
CELLS = np.concatenate([_NEAR.ravel(), _MIDDLE, 1.0 - _NEAR.ravel()[::-1]])  # their middles


@dataclass(frozen=True)
class PitCells:
    """Cells of uniform numbers, and the columns of the rows that are summed in them.

    Attributes
    ----------
    columns : (n, Q) array
        What each row adds.
    steps : int
        The number of cells of equal width, a power of 2. Of 0, cells have the width 1/1024, and
        near 0 and 1 at most 1/32 of the distance from there.
    """

    columns: Floats
    steps: int = 0

    def of(self, uniform: Floats) -> Floats:
        """Return the sums (B, cells, Q) of numbers (B, n)."""
        out = np.zeros((len(uniform), self.steps or CELLS.size, self.columns.shape[1]))
        _add(np.ascontiguousarray(uniform), np.ascontiguousarray(self.columns), self.steps, out)
        return out

    def redrawn(self, rows: Hashes, keys: Hashes) -> Floats:
        """Return those of the first column (B, cells) of numbers that are not kept.

        They are those that the keys (B,) give the rows (n,).
        """
        out = np.zeros((keys.size, self.steps or CELLS.size))
        column = np.ascontiguousarray(self.columns[:, 0])
        _add_drawn(rows, keys, column, self.steps.bit_length() - 1, out)
        return out


@njit(inline="always")
def _tail_cell(v: float) -> int:
    part, exponent = math.frexp(min(v, 1.0 - v))
    k = (OCTAVES + 4 + exponent) * 32 + int((part - 0.5) * 64)
    return 2 * TAIL + 959 - k if v > 0.5 else k


@njit()
def _add(uniform: Floats, columns: Floats, steps: int, out: Floats) -> None:
    n, width = columns.shape
    for b in range(len(uniform)):
        for i in range(n):
            v = uniform[b, i]
            if steps:
                k = min(int(v * steps), steps - 1)
            else:
                k = int(v * 1024)
                k = k + TAIL - 32 if 32 <= k < 992 else _tail_cell(v)
            for q in range(width):
                out[b, k, q] += columns[i, q]


@njit()
def _add_drawn(rows: Hashes, keys: Hashes, column: Floats, bits: int, out: Floats) -> None:
    # The first bits of a number are its cell: no float is made of it but in a tail.
    for b in range(keys.size):
        for i in range(rows.size):
            number = hashed(keys[b] + rows[i])
            k = np.int64(number >> np.uint64(BITS - (bits if bits > 0 else 10)))
            if bits <= 0 and 32 <= k < 992:
                k += TAIL - 32
            elif bits <= 0:
                v = ((number >> np.uint64(SPARE)) + 0.5) * 2.0 ** (SPARE - BITS)
                k = np.int64(_tail_cell(v))
            out[b, k] += column[i]
