"""A latent function on the line under a sparse variational posterior, and its parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky

from caltest.calibrators.gp.kernel import rbf_line
from caltest.numerics.variational import unpack_root, unpack_root_back, whiten

Floats = NDArray[np.float64]


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
