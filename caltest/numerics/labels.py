"""Labels redrawn from predictions: y* ~ Cat(p), by inversion of the cumulative probabilities."""

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.loops import njit

Floats = NDArray[np.float64]
Labels = NDArray[np.unsignedinteger]

# Uniform numbers drawn at a time; the stream does not depend on it.
CHUNK = 1 << 16
LINEAR_UP_TO = 16  # with more classes a uniform number is looked up by bisection


def label_dtype(m: int) -> type[np.unsignedinteger]:
    """Return the smallest unsigned type that holds the codes 0..m-1."""
    return np.uint8 if m <= 1 << 8 else np.uint16 if m <= 1 << 16 else np.uint32


def cumulative_probs(probs: Floats) -> Floats:
    """Return the running sums of each row, infinite from the last possible class on.

    So a class of probability zero is never drawn, whatever the rounding of the sum.
    """
    table = np.cumsum(probs, axis=1)
    m = probs.shape[1]
    last = m - 1 - np.argmax(probs[:, ::-1] > 0, axis=1)
    table[np.arange(m) >= last[:, None]] = np.inf
    return table


def draw_labels(cumulative: Floats, rng: np.random.Generator, size: int) -> Labels:
    """Draw `size` rows of n labels, one row a resample."""
    n, m = cumulative.shape
    out = np.zeros((size, n), dtype=label_dtype(m))
    # The last class is left out: it is what remains.
    columns = np.ascontiguousarray(cumulative[:, :-1].T) if m <= LINEAR_UP_TO else None
    for rows in _row_chunks(size, n):
        uniforms = rng.random((len(out[rows]), n))
        if columns is None:
            _invert(cumulative, uniforms, out[rows])
        else:
            for column in columns:
                out[rows] += column <= uniforms
    return out


def event_table(event: Floats) -> Floats:
    """Return the probabilities (n, 2) of both labels, where `event` (n,) holds P(Y = 1)."""
    return np.column_stack([1.0 - event, event])


def draw_events(event: Floats, rng: np.random.Generator, size: int) -> NDArray[np.uint8]:
    """Draw `size` rows of n binary labels, where `event` (n,) holds P(Y = 1)."""
    n = event.size
    out = np.empty((size, n), dtype=np.bool_)
    for rows in _row_chunks(size, n):
        np.less(rng.random((len(out[rows]), n)), event, out=out[rows])
    return out.view(np.uint8)


def _row_chunks(size: int, n: int) -> list[slice]:
    rows = max(1, CHUNK // max(n, 1))
    return [slice(start, min(start + rows, size)) for start in range(0, size, rows)]


@njit()
def _invert(cumulative: Floats, uniforms: Floats, out: Labels) -> None:
    n, m = cumulative.shape
    for b in range(uniforms.shape[0]):
        for i in range(n):
            low, high = 0, m - 1
            while low < high:
                middle = (low + high) // 2
                if cumulative[i, middle] <= uniforms[b, i]:
                    low = middle + 1
                else:
                    high = middle
            out[b, i] = low
