"""The softmax of independent normal variables: mean and quantiles over samples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import qmc

from caltest.numerics.loops import map_threads, njit

Floats = NDArray[np.float64]

CHUNK = 256  # rows at a time
HELD = 2**20  # samples of latent values that are held at a time


def normal_samples(S: int, K: int, rng: np.random.Generator) -> Floats:
    """Return S points of K standard normal variables, (S, K), evenly spread (scrambled Sobol).

    The same points serve all rows, so that predictions are smooth and do not depend on what else
    is predicted.
    """
    power = int(np.ceil(np.log2(S)))
    uniform = qmc.Sobol(K, seed=rng).random_base2(power)[:S]
    samples: Floats = ndtri(np.clip(uniform, 2.0**-40, 1 - 2.0**-40))
    return samples


def softmax_means(mean: Floats, deviation: Floats, samples: Floats, n_jobs: int | None) -> Floats:
    """Return the mean of the softmax of N(mean, deviation^2), row by row, (n, K)."""
    out = np.empty_like(mean)
    blocks = [slice(start, start + CHUNK) for start in range(0, len(mean), CHUNK)]
    tasks = [(mean[rows], deviation[rows], samples, out[rows]) for rows in blocks]
    for _ in map_threads(_means, tasks, n_jobs):
        pass
    return out


@njit()
def _means(mean: Floats, deviation: Floats, samples: Floats, out: Floats) -> None:
    (n, K), S = mean.shape, samples.shape[0]
    f = np.empty(K)
    for i in range(n):
        out[i] = 0.0
        for s in range(S):
            top = -np.inf
            for k in range(K):
                f[k] = mean[i, k] + deviation[i, k] * samples[s, k]
                top = max(top, f[k])
            total = 0.0
            for k in range(K):
                f[k] = np.exp(f[k] - top)
                total += f[k]
            for k in range(K):
                out[i, k] += f[k] / total
        out[i] /= S


def softmax(f: Floats) -> Floats:
    """Return the softmax over the last axis."""
    f = np.exp(f - f.max(axis=-1, keepdims=True))
    f /= f.sum(axis=-1, keepdims=True)
    return f


def quantiles(
    function: Callable[[Floats], Floats],
    mean: Floats,
    deviation: Floats,
    samples: Floats,
    levels: Floats,
    n_jobs: int | None,
) -> Floats:
    """Return quantiles of function(f), f ~ N(mean, deviation^2), row by row, (n, K, levels)."""
    out = np.empty((*mean.shape, len(levels)))
    size = max(1, HELD // samples.size)

    def part(rows: slice) -> None:
        f = mean[rows, None] + deviation[rows, None] * samples
        out[rows] = np.moveaxis(np.quantile(function(f), levels, axis=1), 0, -1)

    tasks = [(slice(start, start + size),) for start in range(0, len(mean), size)]
    for _ in map_threads(part, tasks, n_jobs):
        pass
    return out
