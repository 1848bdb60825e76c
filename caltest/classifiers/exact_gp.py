"""Exact Gaussian-process regression of K targets that share a kernel, each row with its noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dpotri

from caltest.classifiers.collapsed_bound import Evidence
from caltest.classifiers.rbf import no_gradient, rbf
from caltest.numerics.parallel import map_threads

Floats = NDArray[np.float64]


Target = Callable[[int], tuple[Floats, Floats]]


@dataclass(frozen=True)
class ExactPosterior:
    """The K posteriors.

    Attributes
    ----------
    roots : (K, n, n) or (1, n, n) array
        Lower triangle of the root of k(X, X) + D_k; one where the noise of all is the same.
    weights : (n, K) array
        (k(X, X) + D_k)^-1 y_k.
    """

    roots: Floats
    weights: Floats


def exact_posterior(
    X: Floats,
    K: int,
    target: Target,
    variance: float,
    scales: Floats,
    *,
    same_noise: bool = False,
    n_jobs: int | None = None,
) -> tuple[float, ExactPosterior]:
    """Return the log marginal likelihood, summed over classes, and the posteriors.

    Parameters
    ----------
    X : (n, d) array
        Inputs.
    K : int
        Number of classes.
    target : callable
        target(k) gives the targets y_k and the noise diag(D_k) of class k, each (n,).
    variance : float
        Of the kernel.
    scales : (d,) or (1,) array
        Length scales.
    same_noise : bool
        Whether D_k is the same for all classes.
    n_jobs : int, optional
        Threads.
    """
    kernel = rbf(X, X, variance, scales)
    np.fill_diagonal(kernel, variance)
    noises = [target(k)[1] for k in range(1 if same_noise else K)]
    roots = list(map_threads(_root, [(kernel, noise) for noise in noises], n_jobs))
    weights, value = np.empty((len(X), K)), 0.0
    for k in range(K):
        root = roots[k % len(roots)]
        half = solve_triangular(root, target(k)[0], lower=True, check_finite=False)
        weights[:, k] = solve_triangular(root, half, lower=True, trans="T", check_finite=False)
        value -= 0.5 * (half @ half + len(X) * np.log(2 * np.pi)) + np.log(np.diag(root)).sum()
    return float(value), ExactPosterior(np.array(roots), weights)


def evidence_and_gradient(
    X: Floats,
    K: int,
    target: Target,
    variance: float,
    scales: Floats,
    *,
    same_noise: bool = False,
    n_jobs: int | None = None,
) -> Evidence:
    """Return the log marginal likelihood and its gradient; see `exact_posterior`.

    That by Z is the one by X as the second argument alone, and of no use.
    """
    value, found = exact_posterior(
        X, K, target, variance, scales, same_noise=same_noise, n_jobs=n_jobs
    )
    shared = len(found.roots) == 1
    tasks = [
        (root, found.weights if shared else found.weights[:, [k]], target(k)[1])
        for k, root in enumerate(found.roots)
    ]
    by_kernel, log_noise = np.zeros((len(X), len(X))), 0.0
    for part, by_noise in map_threads(_by_covariance, tasks, n_jobs):
        by_kernel += part
        log_noise += by_noise
    gradient = no_gradient(*X.shape)
    gradient.add(by_kernel * rbf(X, X, variance, scales), X, X, scales)
    return Evidence(value, gradient, log_noise)


def _root(kernel: Floats, noise: Floats) -> Floats:
    root: Floats = cholesky(kernel + np.diag(noise), lower=True, check_finite=False)
    return root


def _by_covariance(root: Floats, weights: Floats, noise: Floats) -> tuple[Floats, float]:
    """Return the derivatives by k(X, X) + D and by a factor of D, of the classes that share it."""
    inverse = dpotri(root, lower=1)[0]
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    G = 0.5 * (weights @ weights.T - weights.shape[1] * inverse)
    return G, float(np.diag(G) @ noise)
