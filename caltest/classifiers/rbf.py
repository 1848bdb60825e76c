"""The RBF kernel, sums of its derivatives, and inducing points."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from caltest.types import Floats, Order


class RBFParameters(NamedTuple):
    """Variance, and length scales, (d,) or (1,), as `rbf` takes them."""

    variance: float
    scales: Floats


def rbf(X: Floats, Z: Floats, variance: float, scales: Floats) -> Floats:
    """Return k(x, z) = variance exp(-1/2 sum_d (x_d - z_d)^2 / scales_d^2).

    Parameters
    ----------
    X : (n, d) array
        Inputs.
    Z : (M, d) array
        Inputs.
    variance : float
        Positive.
    scales : (d,) or (1,) array
        Length scales, positive.

    Returns
    -------
    (n, M) array
        The kernel matrix.
    """
    # About a centre: squares of what lies far from 0 would leave rounding errors.
    centre = Z.mean(axis=0)
    A, B = (X - centre) / scales, (Z - centre) / scales
    K: Floats = A @ B.T
    K *= 2
    K -= np.einsum("id,id->i", A, A)[:, None]
    K -= np.einsum("id,id->i", B, B)
    np.minimum(K, 0, out=K)  # rounding may make a distance of 0 negative
    K *= 0.5
    np.exp(K, out=K)
    K *= variance
    return K


def kernel_gradient(W: Floats, X: Floats, Z: Floats, scales: Floats) -> Floats:
    """Return the derivatives of a function of k(X, Z) by the logarithms of the parameters.

    Those of parts of X add up.

    Parameters
    ----------
    W : (n, M) array
        (df/dK) * K, elementwise.
    X : (n, d) array
        Inputs.
    Z : (M, d) array
        Inputs.
    scales : (d,) or (1,) array
        Length scales, positive.

    Returns
    -------
    (1 + d,) array
        By the log variance, and the log length scale of each dimension; a kernel with one length
        scale takes their sum.
    """
    centre = Z.mean(axis=0)
    X, Z = X - centre, Z - centre
    rows, columns = W.sum(axis=1), W.sum(axis=0)
    squares = rows @ X**2 - 2 * np.einsum("jd,jd->d", W.T @ X, Z) + columns @ Z**2
    return np.append(rows.sum(), squares / scales**2)


ROWS = 20_000  # k-means looks at no more rows


STEPS = 10  # of k-means; more move the centres little


def inducing_points(X: Floats, size: int, placement: str, rng: np.random.RandomState) -> Floats:
    """Return `size` inducing points, or all distinct rows where there are no more.

    Parameters
    ----------
    X : (n, d) array
        Features.
    size : int
        The option n_inducing.
    placement : str
        "k-means" or "random".
    rng : RandomState
        Source of the seeds.
    """
    if size >= len(X):
        return np.unique(X, axis=0)
    order = rng.permutation(len(X))
    if placement == "random":
        return distinct(X, order, size)
    seen = X[order[:ROWS]]
    if len(distinct(seen, np.arange(len(seen)), size)) < size or size >= len(seen):
        return distinct(X, order, size)
    return _centres(seen, size, rng)


def _centres(X: Floats, size: int, rng: np.random.RandomState) -> Floats:
    """Return the centres of k-means, fewer where rows are equal but for rounding."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    means = KMeans(size, random_state=rng, n_init=1, max_iter=STEPS)
    # Its threads wait for each other on a busy machine.
    with warnings.catch_warnings(), threadpool_limits(limits=1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        means.fit(X)
    return np.unique(means.cluster_centers_.astype(np.float64), axis=0)


def distinct(X: Floats, order: Order, size: int) -> Floats:
    """Return the first `size` distinct rows of X in this order, or fewer."""
    # Mostly the first few rows will do, and sorting all of many takes seconds.
    for rows in (order[: 4 * size], order):
        first = np.sort(np.unique(X[rows], axis=0, return_index=True)[1])
        if len(first) >= size:
            break
    return X[rows[first[:size]]]
