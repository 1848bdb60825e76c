"""Where the inducing points lie."""

from __future__ import annotations

import warnings

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

Floats = NDArray[np.float64]

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


def distinct(X: Floats, order: NDArray[np.intp], size: int) -> Floats:
    """Return the first `size` distinct rows of X in this order, or fewer."""
    # Mostly the first few rows will do, and sorting all of many takes seconds.
    for rows in (order[: 4 * size], order):
        first = np.sort(np.unique(X[rows], axis=0, return_index=True)[1])
        if len(first) >= size:
            break
    return X[rows[first[:size]]]
