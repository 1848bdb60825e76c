"""Mondrian forests, which Wenger et al. (2020) classify with, grown at once or again."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Tree = tuple[Ints, Floats, Floats, Ints, Floats, Floats, Floats]
ZERO, EPS = np.float32(0), np.finfo(float).eps


class MondrianForest:
    """Trees whose cuts depend on the ranges of the features alone.

    A node of the rows in a box with side lengths e splits after an exponential time of rate sum e,
    along feature d with probability proportional to e_d, at a uniform place. Nodes of one class
    are leaves. A row that lies outside of the box of a node on its way leaves the tree there with
    the probability that the time to the node's split has for it, and gets the node's frequencies.

    Parameters
    ----------
    seed : int
        Seed of the cuts.
    trees : int, default 10
        Number of trees, as scikit-garden's default.

    References
    ----------
    Lakshminarayanan, Roy, Teh (2014), Mondrian forests: efficient online random forests, NeurIPS,
    algorithms 1, 2 and 8, with the frequencies of a node in place of smoothed ones, as in
    scikit-garden.
    """

    def __init__(self, seed: int, trees: int = 10) -> None:
        self.seed, self.trees = seed, trees

    def fit(self, X: Floats, y: Ints, classes: Ints | None = None) -> MondrianForest:
        """Grow the trees to rows X (n, d) of classes y (n,)."""
        self.classes_ = np.unique(y) if classes is None else classes
        codes = np.searchsorted(self.classes_, y)
        X, rng = np.ascontiguousarray(X, np.float32), np.random.default_rng(self.seed)
        draws = [rng.random((2 * len(y), 3)) for _ in range(self.trees)]
        self.grown = [_grow(X, codes, self.classes_.size, drawn) for drawn in draws]
        return self

    def predict_proba(self, X: Floats) -> Floats:
        """Mean over the trees of the probabilities of the classes, (n, m)."""
        X = np.ascontiguousarray(X, np.float32)
        found: Floats = np.mean([_predict(X, *tree) for tree in self.grown], axis=0)
        return found


@njit(nogil=True, cache=True)
def _grow(X: Floats, codes: Ints, m: int, uniforms: Floats) -> Tree:
    """Feature, cut, time, children, box and frequencies of each node, the root first."""
    n, d = X.shape
    size, made = 2 * n, 1
    feature, child = np.full(size, -1), np.zeros((size, 2), np.int64)
    cut, time, share = np.empty(size), np.full(size, np.inf), np.zeros((size, m))
    low, high = np.empty((size, d), X.dtype), np.empty((size, d), X.dtype)
    rows, waiting = np.arange(n), [(0, 0, n, 0.0)]
    while waiting:
        node, start, stop, since = waiting.pop()
        for i in rows[start:stop]:
            share[node, codes[i]] += 1 / (stop - start)
        if share[node].max() > 1 - 0.5 / n:
            continue
        low[node], high[node] = X[rows[start]], X[rows[start]]
        for i in rows[start + 1 : stop]:
            for j in range(d):
                low[node, j], high[node, j] = (
                    min(low[node, j], X[i, j]),
                    max(high[node, j], X[i, j]),
                )
        sides = np.cumsum((high[node] - low[node]).astype(np.float64))
        if sides[-1] <= 0:
            continue
        first, second, third = uniforms[node]
        along = min(np.searchsorted(sides, second * sides[-1], side="right"), d - 1)
        at = low[node, along] + third * (high[node, along] - low[node, along])
        left = X[rows[start:stop], along] <= at
        if left.all():  # a cut that rounds to the end of the range
            continue
        own = rows[start:stop].copy()
        middle = start + left.sum()
        rows[start:middle], rows[middle:stop] = own[left], own[~left]
        feature[node], cut[node], time[node] = along, at, since - np.log1p(-first) / sides[-1]
        child[node] = made, made + 1
        waiting.append((made, start, middle, time[node]))
        waiting.append((made + 1, middle, stop, time[node]))
        made += 2
    return (
        feature[:made],
        cut[:made],
        time[:made],
        child[:made],
        low[:made],
        high[:made],
        share[:made],
    )


@njit(nogil=True, cache=True, fastmath=True)
def _outside(x: Floats, low: Floats, high: Floats) -> float:
    """Distance of a row from a box, summed over the features."""
    found = ZERO
    for j in range(x.size):
        above, below = x[j] - high[j], low[j] - x[j]
        far = max(below, above)
        found += max(ZERO, far)
    return found


@njit(nogil=True, cache=True, fastmath=True)
def _predict(
    X: Floats,
    feature: Ints,
    cut: Floats,
    time: Floats,
    child: Ints,
    low: Floats,
    high: Floats,
    share: Floats,
) -> Floats:
    probs = np.zeros((X.shape[0], share.shape[1]))
    for i in range(X.shape[0]):
        node, stays, since = 0, 1.0, 0.0
        while stays > EPS:
            leaves = 1.0
            if feature[node] >= 0:
                leaves = -np.expm1((since - time[node]) * _outside(X[i], low[node], high[node]))
            for k in range(share.shape[1]):
                probs[i, k] += stays * leaves * share[node, k]
            stays *= 1 - leaves
            since = time[node]
            node = child[node, int(X[i, feature[node]] > cut[node])]
    return probs
