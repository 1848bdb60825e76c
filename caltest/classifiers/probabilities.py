"""Scores into probabilities: sigmoids, and the softmax of normal variables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtri
from scipy.stats import qmc

from caltest.numerics.logistic import fit_logistic
from caltest.numerics.loops import map_threads, njit
from caltest.types import Flags, Floats, Ints


@dataclass(frozen=True)
class Sigmoids:
    """One sigmoid for each class or, of two classes, for the second.

    Attributes
    ----------
    slopes, intercepts : (K,) or (1,) array
        Of P(class) = expit(slope score + intercept), before rows are divided by their sums.
    """

    slopes: Floats
    intercepts: Floats

    def __call__(self, scores: Floats) -> Floats:
        """Return probabilities, (..., K), of scores, (..., K)."""
        if len(self.slopes) == 1:
            event = expit(self.slopes[0] * scores[..., 1] + self.intercepts[0])
            return np.stack([1 - event, event], axis=-1)
        return normalised(expit(self.slopes * scores + self.intercepts))


def fit_sigmoids(scores: Floats, codes: Ints) -> Sigmoids:
    """Fit them to scores, (n, K), of rows that the classifier was not fitted on."""
    K = scores.shape[1]
    classes = [1] if K == 2 else list(range(K))
    fits = [fit_sigmoid(scores[:, k], codes == k) for k in classes]
    slopes, intercepts = np.array(fits).T
    return Sigmoids(slopes, intercepts)


def fit_sigmoid(scores: Floats, event: Flags) -> tuple[float, float]:
    """Return slope and intercept of P(event) = expit(slope score + intercept).

    The targets are (N+ + 1) / (N+ + 2) and 1 / (N- + 2), so that the fit is finite where the
    scores separate the labels (Platt 1999, section 2.2). The slope of constant scores is 0.

    Parameters
    ----------
    scores : (n,) array
        Any real numbers.
    event : (n,) array of bool
        Labels.
    """
    n, positive = len(event), event.sum()
    targets = np.where(event, (positive + 1) / (positive + 2), 1 / (n - positive + 2))
    centre, spread = scores.mean(), scores.std()
    z = (scores - centre) / spread if spread > 0 else np.zeros(n)
    design = np.stack([z, np.ones(n)])
    beta, _ = fit_logistic(design, targets, np.full(n, 1 / n), np.zeros(2))
    slope = float(beta[0] / spread) if spread > 0 else 0.0
    return slope, float(beta[1] - slope * centre)


def normalised(shares: Floats) -> Floats:
    """Divide by the sums over the last axis; where all are 0, the classes are equally probable."""
    total = shares.sum(axis=-1, keepdims=True)
    out: Floats = np.full_like(shares, 1 / shares.shape[-1])
    np.divide(shares, total, out=out, where=total > 0)
    return out


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
