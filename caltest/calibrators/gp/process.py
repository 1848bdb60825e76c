"""The latent Gaussian process on the line: its kernel, interpolation, and posterior."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from caltest.numerics.loops import njit
from caltest.numerics.variational import unpack_root, whiten
from caltest.types import Floats, Ints

DAMPED = 8.6  # exp(-8.6^2 / 2) is half the precision of a double


@dataclass(frozen=True)
class UnitKernel:
    """What tells the kernels of variance 1 apart; distances are in length scales.

    Attributes
    ----------
    order : int
        2 nu of a Matern kernel, or 0 for their limit, the squared exponential.
    reach : float
        A distance from which on two places say nothing about each other.
    highest : float
        A frequency beyond which a path has next to no variance.
    per_scale : int
        Nodes per length scale of a grid; a kernel with a kink at 0 needs more.
    """

    order: int
    reach: float
    highest: float
    per_scale: int


RBF = UnitKernel(0, DAMPED, DAMPED, 12)
MATERN32, MATERN52 = UnitKernel(3, 12.0, 100.0, 64), UnitKernel(5, 10.0, 30.0, 24)
KERNELS = {"rbf": RBF, "matern32": MATERN32, "matern52": MATERN52}


def correlation(square: Any, order: int) -> tuple[Any, Any]:
    """Return a kernel of variance 1 by the squared distance d^2, and -1 / d of its slope by d."""
    if order == 0:
        value = np.exp(-0.5 * square)
        return value, value
    a = np.sqrt(order * square)
    tail = np.exp(-a)
    if order == 3:
        return (1 + a) * tail, 3 * tail
    return (1 + a + a * a / 3) * tail, 5 / 3 * (1 + a) * tail


pair_correlation = njit()(correlation)


def kernel_line_back(
    by_kernel: Floats, x: Floats, y: Floats, variance: float, scale: float, kernel: UnitKernel = RBF
) -> tuple[float, float, Floats]:
    """Return the derivatives by log variance, by log scale and by x, from that by the matrix."""
    difference = (x[:, None] - y) / scale
    value, slope = correlation(difference**2, kernel.order)
    weighted = by_kernel * (variance * slope)
    by_scale = float(np.sum(weighted * difference**2))
    by_x = -np.sum(weighted * difference, axis=1) / scale
    return float(np.sum(by_kernel * (variance * value))), by_scale, by_x


@njit()
def pair_products(
    z: Floats, sigma: Floats, variance: float, scale: float, order: int
) -> tuple[Floats, Floats]:
    """Multiply each row of sigma by the kernel matrix of the same row of z, pair by pair.

    Parameters
    ----------
    z : (n, K) array
        Places.
    sigma : (n, K) array
        Coefficients.
    variance, scale, order : float, float, int
        Of the kernel.

    Returns
    -------
    (n, K) array
        B sigma.
    (n,) array
        The derivative of sigma' B sigma by log scale.
    """
    n, K = z.shape
    product, by_scale = variance * sigma, np.zeros(n)
    for i in range(n):
        for j in range(K):
            for k in range(j):
                square = ((z[i, j] - z[i, k]) / scale) ** 2
                value, slope = pair_correlation(square, order)
                b = variance * value
                product[i, j] += b * sigma[i, k]
                product[i, k] += b * sigma[i, j]
                by_scale[i] += 2 * (variance * slope) * square * sigma[i, j] * sigma[i, k]
    return product, by_scale


def fourier(extent: float, kernel: UnitKernel = RBF) -> tuple[Floats, Floats]:
    r"""Return frequencies and weights such that k(d) = sum_j w_j cos(omega_j d), k(0) = 1.

    The spectral density of the kernel by the trapezoidal rule, whose error falls faster than any
    power: it is that of repeating the kernel with a period beyond `extent`. For |d| <= extent it is
    exact to 1e-15 for the squared exponential; of a Matern kernel, whose density is that of
    Student's t with 2 nu degrees of freedom, the frequencies beyond the highest have 2e-6.
    """
    step = 2 * math.pi / (extent + kernel.reach)
    omega = step * np.arange(int(kernel.highest / step) + 2).astype(np.float64)
    if kernel.order == 0:
        total, density = math.sqrt(2 * math.pi), np.exp(-0.5 * omega**2)
    else:
        half = (kernel.order + 1) / 2
        total = math.sqrt(kernel.order * math.pi) * math.gamma(half - 0.5) / math.gamma(half)
        density = (1 + omega**2 / kernel.order) ** -half
    weight = 2 * step / total * density
    weight[0] /= 2
    return omega, weight


def fourier_features(x: Floats, variance: float, scale: float) -> tuple[Floats, Floats]:
    r"""Return a low-rank factor of the squared exponential on the line, and its slope.

    The second derivative of exp(-d^2 / 2) is d^2 exp(-d^2 / 2) less itself: so the derivative of
    the kernel by log scale has the same features, each times 1 - omega^2.

    Parameters
    ----------
    x : (G,) array
        Places, ascending.
    variance, scale : float
        Of the kernel.

    Returns
    -------
    (G, F) array
        F, such that F F' is the kernel matrix.
    (F,) array
        s, such that F diag(s) F' is its derivative by log scale.
    """
    omega, weight = fourier(float(x[-1] - x[0]) / scale)
    angle = (x - x[0])[:, None] * (omega / scale)
    size = np.sqrt(variance * weight)
    sines = size[1:] * np.sin(angle[:, 1:])  # that of frequency 0 is 0
    slope = 1 - omega**2
    return np.hstack([size * np.cos(angle), sines]), np.concatenate([slope, slope[1:]])


ORDER = 10  # nodes around each point
HALF = ORDER // 2
# 1 / prod_{j != i} (i - j), the constant part of Lagrange's polynomials
_FACTORIALS = np.cumprod(np.concatenate([[1.0], np.arange(1.0, ORDER)]))
SCALES = (-1.0) ** np.arange(ORDER - 1, -1, -1) / (_FACTORIALS * _FACTORIALS[::-1])


def grid(low: float, high: float, scale: float, kernel: UnitKernel = RBF) -> Floats:
    """Return the nodes for points from `low` to `high`; they reach beyond both ends."""
    step = scale / kernel.per_scale
    size = int((high - low) / step) + ORDER + 1
    return low + step * np.arange(1 - HALF, size + 1 - HALF).astype(np.float64)


@njit()
def stencils(points: Floats, nodes: Floats) -> tuple[Ints, Floats]:
    """Return the first node of each point, (P,), and the weights of its nodes, (P, ORDER)."""
    P = points.size
    first, weights = np.empty(P, np.int64), np.empty((P, ORDER))
    start, per_step = nodes[0], 1 / (nodes[1] - nodes[0])
    below = np.empty(ORDER)
    for i in range(P):
        place = (points[i] - start) * per_step
        base = min(max(int(place) - HALF + 1, 0), nodes.size - ORDER)
        t = place - base
        product = 1.0
        for j in range(ORDER):
            below[j] = product
            product *= t - j
        product = 1.0
        for j in range(ORDER - 1, -1, -1):
            weights[i, j] = below[j] * product * SCALES[j]
            product *= t - j
        first[i] = base
    return first, weights


@njit(fastmath={"contract", "nsz", "reassoc"})
def gather(first: Ints, weights: Floats, tables: Floats) -> Floats:
    """Return the values at K points per row, (n, K), of a function per row, (n, G)."""
    n = tables.shape[0]
    K = first.size // n
    out = np.empty((n, K))
    for i in range(n):
        for k in range(K):
            p = i * K + k
            value = 0.0
            for j in range(ORDER):
                value += weights[p, j] * tables[i, first[p] + j]
            out[i, k] = value
    return out


@njit(fastmath={"contract", "nsz", "reassoc"})
def scatter(first: Ints, weights: Floats, values: Floats, size: int) -> Floats:
    """Return the transposed map of `gather`: values (n, K) to one grid per row, (n, G)."""
    n, K = values.shape
    out = np.zeros((n, size))
    for i in range(n):
        for k in range(K):
            p = i * K + k
            for j in range(ORDER):
                out[i, first[p] + j] += weights[p, j] * values[i, k]
    return out


@njit(fastmath={"contract", "nsz", "reassoc"})
def gather_draws(first: Ints, weights: Floats, draws: Floats, out: Floats) -> None:
    """Add to `out`, (P, S), the values at the points of S functions known on the grid, (G, S)."""
    for i in range(first.size):
        for j in range(ORDER):
            w, row = weights[i, j], first[i] + j
            for s in range(draws.shape[1]):
                out[i, s] += w * draws[row, s]


@njit(fastmath={"contract", "nsz", "reassoc"})
def scatter_draws(first: Ints, weights: Floats, values: Floats, size: int) -> Floats:
    """Return the transposed map of `gather_draws`: values (P, S) to the grid, (G, S)."""
    out = np.zeros((size, values.shape[1]))
    for i in range(first.size):
        for j in range(ORDER):
            w, row = weights[i, j], first[i] + j
            for s in range(values.shape[1]):
                out[row, s] += w * values[i, s]
    return out


# ---- The sparse variational process on the line: its law, projection and random paths -----------


@dataclass(frozen=True)
class LatentPosterior:
    """The latent function under q: inducing variables u ~ N(L m, L C C' L').

    Attributes
    ----------
    m : (M,) array
    C : (M, M) array
        Lower triangle.
    Z : (M,) array
        Inducing inputs.
    variance, scale, noise : float
        k(z, z') = variance correlation((z - z')^2 / scale^2) + noise 1[same].
    kernel : Kernel
        Which correlation.
    """

    m: Floats
    C: Floats
    Z: Floats
    variance: float
    scale: float
    noise: float
    kernel: UnitKernel = RBF

    def prior(self, x: Floats, y: Floats) -> Floats:
        """Return the prior covariances without the noise for all pairs, (n, M)."""
        square = ((x[:, None] - y) / self.scale) ** 2
        return np.asarray(self.variance * correlation(square, self.kernel.order)[0])


def pack(q: LatentPosterior, root: Floats) -> Floats:
    """Return all parameters as one vector, m and C in units of `root`.

    Where root root' is near the covariance of q, all directions of m and C are alike, and an
    optimiser needs few steps. The diagonal of C and the kernel's parameters are logarithms.
    """
    m, C = whiten(root, q.m), whiten(root, q.C)
    at = np.diag_indices(q.m.size)
    C[at] = np.log(C[at])
    kernel = np.log([q.variance, q.scale, q.noise])
    return np.concatenate([m, C[np.tril_indices(q.m.size)], q.Z, kernel])


def unpack(values: Floats, root: Floats, which: UnitKernel = RBF) -> LatentPosterior:
    """Return what `pack` packed, of a process with that kernel."""
    M = len(root)
    m, C, Z, kernel = np.split(values, [M, -M - 3, -3])
    variance, scale, noise = (float(value) for value in np.exp(kernel))
    return LatentPosterior(root @ m, root @ unpack_root(C, M), Z, variance, scale, noise, which)


@dataclass(frozen=True)
class Projection:
    """The inducing variables seen from some places x.

    Attributes
    ----------
    x : (G,) array
    L : (M, M) array
        The root of k(Z, Z) with the noise.
    A : (M, G) array
        L^-1 k(Z, x).
    """

    x: Floats
    L: Floats
    A: Floats


def project(q: LatentPosterior, x: Floats) -> Projection:
    """Return the projection of the inducing variables onto x."""
    inner = q.prior(q.Z, q.Z) + q.noise * np.eye(q.Z.size)
    L: Floats = cholesky(inner, lower=True, check_finite=False)
    return Projection(x, L, whiten(L, q.prior(q.Z, x)))


@dataclass(frozen=True)
class Paths:
    """Standard normal numbers that make S paths.

    Attributes
    ----------
    prior : (2, J, S) array
        For J frequencies.
    eta, noise : (M, S) arrays
        For the inducing variables and their noise.
    classes : (K, S) array
        For the noise of the latent variables of a row, the same for all rows.
    extent : float
        The largest distance of two places, in length scales.
    """

    prior: Floats
    eta: Floats
    noise: Floats
    classes: Floats
    extent: float


def random_paths(
    K: int, M: int, S: int, ratio: float, rng: np.random.Generator, kernel: UnitKernel = RBF
) -> Paths:
    """Draw the numbers for scores whose range is at most `ratio` length scales."""
    extent = ratio + 2 * ORDER / kernel.per_scale
    J = fourier(extent, kernel)[0].size
    normal = rng.standard_normal
    return Paths(normal((2, J, S)), normal((M, S)), normal((M, S)), normal((K, S)), extent)


def fourier_draws(x: Floats, q: LatentPosterior, paths: Paths) -> tuple[Floats, Floats]:
    """Draw S functions from the prior and return their values and derivatives at x, (n, S)."""
    omega, weight = fourier(paths.extent, q.kernel)
    size = np.sqrt(q.variance * weight)
    angle = x[:, None] * (omega / q.scale)
    cosine, sine = np.cos(angle), np.sin(angle)
    a, b = (size[:, None] * part for part in paths.prior[:, : omega.size])
    rate = (omega / q.scale)[:, None]
    return cosine @ a + sine @ b, cosine @ (rate * b) - sine @ (rate * a)


# The derivatives of a number by A, m, C, L, Z, and by (log variance, log scale, noise), from those
# by the values of paths, (G, S).
PathsBack = Callable[[Floats], tuple[Floats, ...]]


def paths_on(
    paths: Paths, q: LatentPosterior, at: Projection, origin: float
) -> tuple[Floats, PathsBack]:
    """Return the paths at the places of a projection, (G, S), without the prior mean.

    And the function that carries derivatives by them back. The phases are 0 at `origin`.
    """
    x, Z = (at.x - origin)[:, None], (q.Z - origin)[:, None]
    prior, slope = fourier_draws(at.x - origin, q, paths)
    prior_at_inputs, slope_at_inputs = fourier_draws(q.Z - origin, q, paths)
    X = whiten(at.L, prior_at_inputs + np.sqrt(q.noise) * paths.noise)
    T = q.m[:, None] + q.C @ paths.eta - X

    def back(by_values: Floats) -> tuple[Floats, ...]:
        by_T = at.A @ by_values
        by_U: Floats = -solve_triangular(at.L, by_T, lower=True, trans="T", check_finite=False)
        # A path of the prior is sqrt(variance) times a function of x / scale.
        log_variance = 0.5 * (np.sum(by_values * prior) + np.sum(by_U * prior_at_inputs))
        log_scale = -np.sum(by_values * x * slope) - np.sum(by_U * Z * slope_at_inputs)
        noise = 0.5 * np.sum(by_U * paths.noise) / np.sqrt(q.noise)
        by_C, by_L = np.tril(by_T @ paths.eta.T), -np.tril(by_U @ X.T)
        by_Z = np.sum(by_U * slope_at_inputs, axis=1)
        by_kernel = np.array([log_variance, log_scale, noise])
        return T @ by_values.T, by_T.sum(axis=1), by_C, by_L, by_Z, by_kernel

    return prior + at.A.T @ T, back
