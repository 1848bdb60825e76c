"""Features of a kernel on the simplex: what is quadratic in the rows becomes linear."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caltest.measures.combined.loops import total_variation
from caltest.numerics.loops import one_blas_thread

Floats = NDArray[np.float64]

LANDMARKS = 64  # predictions whose kernel functions are the features
PAIRS = 300  # rows between which the median distance is taken
AT_A_TIME = 1 << 22  # numbers in a temporary array
LEAST_WIDTH = 1e-3  # of a bandwidth: predictions that are nearly equal are treated as such


class Features:
    """The exponential kernel of the total variation distance, by features of the predictions.

    With the kernel K between n predictions and up to `LANDMARKS` of them, the features are
    K_nL K_LL^(-1/2): their products are the kernel where all predictions are landmarks, and its
    best approximation by the landmarks elsewhere (Williams and Seeger 2001, Using the Nystroem
    method to speed up kernel machines).
    """

    def __init__(self, probs: Floats, canonical: NDArray[np.intp]) -> None:
        n = len(probs)
        some = np.random.default_rng(0).permutation(n)[: max(PAIRS, LANDMARKS)]
        spread = probs[canonical[some]]
        near = spread[:PAIRS]
        apart = total_variation(near, near)[np.triu_indices(len(near), 1)]
        self.bandwidth = max(float(np.median(apart)) if apart.size else 0.0, LEAST_WIDTH)
        landmarks = np.unique(spread[:LANDMARKS], axis=0)
        self.are_exact = n <= LANDMARKS
        gram = np.exp(-total_variation(landmarks, landmarks) / self.bandwidth)
        step = max(1, AT_A_TIME // len(landmarks))
        with one_blas_thread():
            values, vectors = np.linalg.eigh(gram)
            kept = values > 1e-9 * values[-1]
            root = vectors[:, kept] / np.sqrt(values[kept])
            parts = [
                np.exp(-total_variation(probs[i : i + step].copy(), landmarks) / self.bandwidth)
                @ root
                for i in range(0, n, step)
            ]
        self.values = np.concatenate(parts)
