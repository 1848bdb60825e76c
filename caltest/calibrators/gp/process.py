"""The sparse variational process on the line: its law, projection and random paths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from caltest.calibrators.gp.line import ORDER, PER_SCALE, fourier, fourier_draws, rbf_line
from caltest.numerics.variational import unpack_root, unpack_root_back, whiten
from caltest.types import Floats


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
        k(z, z') = variance exp(-(z - z')^2 / (2 scale^2)) + noise 1[same].
    """

    m: Floats
    C: Floats
    Z: Floats
    variance: float
    scale: float
    noise: float


@dataclass(frozen=True)
class Gradient:
    """Derivatives by m, C, Z and (log variance, log scale, log noise)."""

    m: Floats
    C: Floats
    Z: Floats
    kernel: Floats


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


def unpack(values: Floats, root: Floats) -> LatentPosterior:
    """Return what `pack` packed."""
    M = len(root)
    m, C, Z, kernel = np.split(values, [M, -M - 3, -3])
    variance, scale, noise = (float(value) for value in np.exp(kernel))
    return LatentPosterior(root @ m, root @ unpack_root(C, M), Z, variance, scale, noise)


def pack_gradient(q: LatentPosterior, gradient: Gradient, root: Floats) -> Floats:
    """Return the derivatives by the vector of `pack`."""
    by_C = unpack_root_back(whiten(root, q.C), root.T @ gradient.C)
    return np.concatenate([root.T @ gradient.m, by_C, gradient.Z, gradient.kernel])


@dataclass(frozen=True)
class Projection:
    """The inducing variables seen from some places x.

    Attributes
    ----------
    x : (G,) array
    inner : (M, M) array
        k(Z, Z) without the noise.
    L : (M, M) array
        The root of k(Z, Z) with it.
    B : (M, G) array
        k(Z, x).
    A : (M, G) array
        L^-1 B.
    """

    x: Floats
    inner: Floats
    L: Floats
    B: Floats
    A: Floats


def project(q: LatentPosterior, x: Floats) -> Projection:
    """Return the projection of the inducing variables onto x."""
    inner = rbf_line(q.Z, q.Z, q.variance, q.scale)
    L: Floats = cholesky(inner + q.noise * np.eye(q.Z.size), lower=True, check_finite=False)
    B = rbf_line(q.Z, x, q.variance, q.scale)
    return Projection(x, inner, L, B, whiten(L, B))


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


def random_paths(K: int, M: int, S: int, ratio: float, rng: np.random.Generator) -> Paths:
    """Draw the numbers for scores whose range is at most `ratio` length scales."""
    extent = ratio + 2 * ORDER / PER_SCALE
    J = fourier(extent)[0].size
    normal = rng.standard_normal
    return Paths(normal((2, J, S)), normal((M, S)), normal((M, S)), normal((K, S)), extent)


@dataclass(frozen=True)
class PathsOn:
    """Paths at some places, and what their derivatives need.

    Attributes
    ----------
    values : (G, S) array
        f without the prior mean.
    T : (M, S) array
        m + C eta - X.
    X : (M, S) array
        L^-1 (f0(Z) + sqrt(s) epsilon).
    prior, slope : (G, S) arrays
        f0 and its derivative at the places.
    prior_at_inputs, slope_at_inputs : (M, S) arrays
        The same at Z.
    origin : float
        Where the phases are 0.
    numbers : Paths
    """

    values: Floats
    T: Floats
    X: Floats
    prior: Floats
    slope: Floats
    prior_at_inputs: Floats
    slope_at_inputs: Floats
    origin: float
    numbers: Paths


def paths_on(paths: Paths, q: LatentPosterior, at: Projection, origin: float) -> PathsOn:
    """Return the paths at the places of a projection."""
    kernel = (q.variance, q.scale, paths.extent, paths.prior)
    prior, slope = fourier_draws(at.x - origin, *kernel)
    prior_at_inputs, slope_at_inputs = fourier_draws(q.Z - origin, *kernel)
    X = whiten(at.L, prior_at_inputs + np.sqrt(q.noise) * paths.noise)
    T = q.m[:, None] + q.C @ paths.eta - X
    return PathsOn(
        prior + at.A.T @ T, T, X, prior, slope, prior_at_inputs, slope_at_inputs, origin, paths
    )


@dataclass(frozen=True)
class PathsBack:
    """Derivatives by A, m, C, L, Z, and by (log variance, log scale, noise)."""

    A: Floats
    m: Floats
    C: Floats
    L: Floats
    Z: Floats
    kernel: Floats


def paths_back(drawn: PathsOn, q: LatentPosterior, at: Projection, by_values: Floats) -> PathsBack:
    """Return the derivatives of a number by the parameters, from those by the values, (G, S)."""
    by_T = at.A @ by_values
    by_U: Floats = -solve_triangular(at.L, by_T, lower=True, trans="T", check_finite=False)
    # A path of the prior is sqrt(variance) times a function of x / scale.
    log_variance = 0.5 * (np.sum(by_values * drawn.prior) + np.sum(by_U * drawn.prior_at_inputs))
    x, Z = (at.x - drawn.origin)[:, None], (q.Z - drawn.origin)[:, None]
    log_scale = -np.sum(by_values * x * drawn.slope) - np.sum(by_U * Z * drawn.slope_at_inputs)
    noise = 0.5 * np.sum(by_U * drawn.numbers.noise) / np.sqrt(q.noise)
    return PathsBack(
        A=drawn.T @ by_values.T,
        m=by_T.sum(axis=1),
        C=np.tril(by_T @ drawn.numbers.eta.T),
        L=-np.tril(by_U @ drawn.X.T),
        Z=np.sum(by_U * drawn.slope_at_inputs, axis=1),
        kernel=np.array([log_variance, log_scale, noise]),
    )
