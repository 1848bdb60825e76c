r"""Paths of a sparse variational process on the line, as functions of its parameters.

A path of the prior, a sum of cosines and sines, is corrected to agree with a draw of the inducing
variables (Matheron's rule; Wilson et al. 2020, equation 13):

.. math:: f = f_0 + A' (m + C \eta - L^{-1} (f_0(Z) + \sqrt{s} \epsilon)).

With the normal numbers fixed it is a smooth function of every parameter, and over them it has the
mean and the covariance of q, but for the noise at the places themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from caltest.calibrators.gp.kernel import fourier, fourier_draws
from caltest.calibrators.gp.latent import LatentPosterior, Projection
from caltest.calibrators.gp.line_grid import ORDER, PER_SCALE
from caltest.numerics.variational import whiten

Floats = NDArray[np.float64]


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
