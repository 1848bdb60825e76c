"""Sums of rows whose signs are flipped at random, for all columns with the same signs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.parallel import map_threads

Floats = NDArray[np.float64]

BATCH = 64  # draws a seed; changing it changes every seeded p-value
ROWS = 1 << 14  # rows at a time, 8 MiB of signs


def flipped_sums(values: Floats, *, n_resamples: int, seed: int, n_jobs: int | None) -> Floats:
    """Return the sums over rows of s_i v_ij with independent signs s_i = +1 or -1.

    Parameters
    ----------
    values : (n, k) array
        Finite values.
    n_resamples : int
        Number of draws, B.
    seed : int
        The draws come in batches with a seed of their own: they do not depend on `n_jobs`.
    n_jobs : int or None
        Threads, as in joblib.

    Returns
    -------
    (B, k) array
        The columns of a draw have the same signs, so that their differences are the sums of
        differences.
    """
    sizes = [min(BATCH, n_resamples - done) for done in range(0, n_resamples, BATCH)]
    children = np.random.SeedSequence(seed).spawn(len(sizes))
    tasks = [(values, child, size) for child, size in zip(children, sizes, strict=True)]
    return np.concatenate(list(map_threads(_batch, tasks, n_jobs)))


def _batch(values: Floats, child: np.random.SeedSequence, size: int) -> Floats:
    rng = np.random.default_rng(child)
    total = np.zeros((size, values.shape[1]))
    for start in range(0, len(values), ROWS):
        rows = values[start : start + ROWS]
        bits = np.unpackbits(rng.integers(0, 256, (size, -(-len(rows) // 8)), np.uint8), axis=1)
        signs = np.where(bits[:, : len(rows)], 1.0, -1.0)
        total += signs @ rows
    return total
