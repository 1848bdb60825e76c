"""Bootstrap of the largest partial sums over some places."""

import numba
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Counts = NDArray[np.uint8]
LANES = 8  # independent sums side by side hide the latency of each


def _poisson_table() -> Counts:
    """Tabulate the quantiles of the Poisson law with mean 1 at the middles of 2^16 intervals."""
    cumulative = np.cumsum(np.exp(-1.0) / np.cumprod(np.maximum(np.arange(13.0), 1.0)))
    middles = (np.arange(1 << 16) + 0.5) / (1 << 16)
    return np.searchsorted(cumulative, middles).astype(np.uint8)


_POISSON = _poisson_table()


def draw_poisson(rng: np.random.Generator, size: int, n: int) -> Counts:
    """Draw `size` rows of n Poisson counts of mean 1, to a resolution of 2^-16."""
    return _POISSON[rng.integers(0, 1 << 16, (size, n), dtype=np.uint16)]


@numba.njit(nogil=True, cache=True)
def resampled_extremes(counts: Counts, residuals: Floats, up: Bools, down: Bools) -> Floats:
    """Return max(max_{up} G, max_{down} -G) with G(k) = sum_{i<=k} (c_i - mean c) r_i / n.

    For each row c of `counts` (B, n). Neither set need have a place, but one must.
    """
    size, n = counts.shape
    out = np.empty(size)
    for start in range(0, size, LANES):
        lanes = min(LANES, size - start)
        mean, carried, top = np.zeros(LANES), np.zeros(LANES), np.full(LANES, -np.inf)
        for lane in range(lanes):
            total = np.int64(0)
            for i in range(n):
                total += np.int64(counts[start + lane, i])
            mean[lane] = total / n
        for i in range(n):
            for lane in range(lanes):
                carried[lane] += residuals[i] * (counts[start + lane, i] - mean[lane])
            if up[i]:
                for lane in range(lanes):
                    top[lane] = max(top[lane], carried[lane])
            if down[i]:
                for lane in range(lanes):
                    top[lane] = max(top[lane], -carried[lane])
        out[start : start + lanes] = top[:lanes] / n
    return out
