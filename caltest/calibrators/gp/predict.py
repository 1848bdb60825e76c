r"""What a fitted GP calibration predicts: the latent function, and probabilities from it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from scipy.linalg import matmul_toeplitz, solve_triangular
from scipy.optimize import isotonic_regression
from scipy.special import expit

from caltest.calibrators.gp import process
from caltest.calibrators.gp.elbo import mean_shares, subtract_largest
from caltest.numerics.loops import map_threads
from caltest.numerics.variational import marginals
from caltest.types import Floats

POINTS = 2**16  # places at a time
PRODUCTS = 2**22  # entries of the kernel by the grid at a time
VALUES_PER_THREAD = 2**19  # latent values at a time, of each thread
NODES = 64  # of the Gauss-Hermite rule
KNOTS = 1024
TILT = 1e-6  # slope over that of the prior mean that a projection keeps, so that ranks stay


def latent_mean(q: process.LatentPosterior, z: Floats) -> Floats:
    """Return the mean of f without the prior mean at z, (P,)."""
    at = process.project(q, q.Z)
    weights = solve_triangular(at.L, q.m, lower=True, trans="T", check_finite=False)
    mean = np.empty(z.size)
    for start in range(0, z.size, POINTS):
        part = slice(start, start + POINTS)
        mean[part] = process.rbf_line(z[part], q.Z, q.variance, q.scale) @ weights
    return mean


def centred_variance(q: process.LatentPosterior, z: Floats, x: Floats, share: Floats) -> Floats:
    """Return the variance of f(z) - sum_g share_g f(x_g) with the noise at z, (P,).

    x is an even grid. Takes O(P (G + M^2)).
    """
    far = process.project(q, x)
    beside = far.A @ share
    beside -= q.C @ (q.C.T @ beside)
    column = process.rbf_line(x, x[:1], q.variance, q.scale)[:, 0]  # the grid is even
    level = share @ matmul_toeplitz(column, share) - (far.A @ share) @ beside
    variance = np.empty(z.size)
    size = max(1, PRODUCTS // x.size)
    for start in range(0, z.size, size):
        part = slice(start, start + size)
        A = process.project(q, z[part]).A
        shared = process.rbf_line(z[part], x, q.variance, q.scale) @ share - A.T @ beside
        variance[part] = marginals(A, q.variance, q.m, q.C)[1] - 2 * shared + level
    return np.maximum(variance, 0.0) + q.noise


def span(
    q: process.LatentPosterior, low: float, high: float, domain: list[float]
) -> tuple[float, float]:
    """Return the range beyond which the data say nothing: f is there as at its ends."""
    reach = process.DAMPED * q.scale
    return max(low - reach, domain[0]), min(high + reach, domain[1])


class Predictor:
    """The process on a grid, for predictions by interpolation.

    Parameters
    ----------
    q : LatentPosterior
        The process.
    within : (low, high)
        From `span`.
    full : bool
        Whether classes covary, as in the bound.
    normal : Generator
        Draws.
    K, S : int
        Classes and draws.
    """

    def __init__(
        self,
        q: process.LatentPosterior,
        within: tuple[float, float],
        *,
        full: bool,
        normal: np.random.Generator,
        K: int,
        S: int,
    ) -> None:
        self.q, self.within, self.full = q, within, full
        self.at = process.project(q, process.grid(*within, q.scale))
        self.variance = marginals(self.at.A, q.variance, q.m, q.C)[1]
        self.paths = self._paths(normal, S) if full else None
        self.classes = _with_mirror(normal.standard_normal((K, (S + 1) // 2)), S)

    def _paths(self, normal: np.random.Generator, S: int) -> Floats:
        """Draw S functions around the mean, on the grid, (G, S)."""
        low, high = self.within
        ratio = (high - low) / self.q.scale
        half = process.random_paths(1, self.q.m.size, (S + 1) // 2, ratio, normal)
        centred = replace(self.q, m=np.zeros_like(self.q.m))
        return _with_mirror(process.paths_on(half, centred, self.at, low).values, S)

    def probabilities(self, z: Floats, mean: Floats, n_jobs: int | None) -> Floats:
        """Return the mean softmax over draws, (n, K), where f has the mean `mean` at z."""
        n, K = z.shape
        out = np.empty((n, K))
        size = max(1, VALUES_PER_THREAD // (K * self.classes.shape[1]))
        parts = [slice(start, start + size) for start in range(0, n, size)]
        tasks = [(z[part], mean[part], out[part]) for part in parts]
        for _ in map_threads(self._block, tasks, n_jobs):
            pass
        return out

    def _block(self, z: Floats, mean: Floats, out: Floats) -> None:
        (n, K), S = z.shape, self.classes.shape[1]
        stencil = process.stencils(np.clip(z, *self.within).ravel(), self.at.x)
        if self.paths is not None:
            draws = mean[:, :, None] + math.sqrt(self.q.noise) * self.classes
            process.gather_draws(*stencil, self.paths, draws.reshape(n * K, S))
        else:
            variance = process.gather(*stencil, self.variance).reshape(n, K)
            deviation = np.sqrt(np.maximum(variance, 0) + self.q.noise)
            draws = mean[:, :, None] + deviation[:, :, None] * self.classes
        subtract_largest(draws)
        np.exp(draws, out=draws)
        mean_shares(draws, out)


def _with_mirror(half: Floats, S: int) -> Floats:
    """Return S draws of which one half mirrors the other: their mean is 0."""
    return np.concatenate([half, -half], axis=1)[:, :S]


def gauss_hermite(q: process.LatentPosterior, z: Floats, mean: Floats, *, full: bool) -> Floats:
    """Return the mean probability of the second of two classes, (n,), by quadrature.

    f_1 - f_0 is normal, so that it is the mean of a logistic function of one normal variable.
    """
    x, weight = np.polynomial.hermite.hermgauss(NODES)
    x, weight = math.sqrt(2) * x, weight / math.sqrt(math.pi)
    out = np.empty(len(z))
    for start in range(0, len(z), POINTS):
        part = slice(start, start + POINTS)
        ends = [process.project(q, np.ascontiguousarray(z[part, k])).A for k in (0, 1)]
        variance = sum(marginals(A, q.variance, q.m, q.C)[1] + q.noise for A in ends)
        if full:
            spreads = [q.C.T @ A for A in ends]
            distance = (z[part, 1] - z[part, 0]) / q.scale
            shared = q.variance * np.exp(-0.5 * distance**2)
            shared += np.sum(spreads[0] * spreads[1] - ends[0] * ends[1], axis=0)
            variance = variance - 2 * shared
        deviation = np.sqrt(np.maximum(variance, 0.0))
        centre = mean[part, 1] - mean[part, 0]
        out[part] = expit(centre[:, None] + deviation[:, None] * x) @ weight
    return out


def knots(low: float, high: float, *, logarithmic: bool) -> Floats:
    """Return places of the prior mean from `low` to `high`, ascending: even, and even as exp."""
    t = np.linspace(low, high, KNOTS + 1)
    if not logarithmic:
        return t
    z = np.linspace(math.exp(low), math.exp(high), KNOTS + 1)[1:-1]
    return np.union1d(t, np.log(z))


def largest_fall(values: Floats) -> tuple[float, int, int]:
    """Return by how much values fall at most, from which index and to which."""
    peak = np.maximum.accumulate(values)
    last = int(np.argmax(peak - values))
    return float(peak[last] - values[last]), int(np.argmax(values[: last + 1])), last


def projected(t: Floats, values: Floats, places: Floats, weight: Floats) -> Floats:
    """Return the nearest increasing values at the knots t, nearest where the scores are.

    Parameters
    ----------
    t, values : (T,) array
        The latent mean by the prior mean.
    places : (P,) array
        The prior mean of the scores.
    weight : (P,) array
        Weights of the scores.
    """
    at = np.clip(np.searchsorted(t, places), 0, t.size - 1)
    mass = np.bincount(at, weight, t.size)
    mass = mass / mass.sum() + 1e-3 / t.size
    increasing: Floats = isotonic_regression(values - TILT * t, weights=mass).x + TILT * t
    return increasing


def interpolated(t: Floats, heights: Floats, places: Floats) -> Floats:
    """Return the line through the knots; beyond them it is as steep as the prior mean."""
    inside = np.clip(places, t[0], t[-1])
    return np.interp(inside, t, heights) + (places - inside)
