"""Square roots of the biased SKCE: calibration errors in units of probability."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from caltest.kernels import FittedKernel, MatrixKernel, error_bound
from caltest.measures.base import BoundMeasure, Measure
from caltest.measures.kernel_pairs import AllPairs, all_pairs
from caltest.predictions import Predictions

Floats = NDArray[np.float64]
Labels = NDArray[np.unsignedinteger]


class RootPairs(BoundMeasure):
    """The square root of a biased mean over all pairs; rounding below 0 counts as 0."""

    def __init__(self, pairs: AllPairs, parameters: Mapping[str, object]) -> None:
        super().__init__(pairs.predictions)
        self.pairs = pairs
        self.parameters = parameters
        self.pooled, self.scale = pairs.pooled, pairs.scale
        self.notes, self.degenerate = pairs.notes, pairs.degenerate

    @property
    def observed(self) -> Labels:
        return self.pairs.observed

    @property
    def label_probs(self) -> Floats:
        return self.pairs.label_probs

    def redraw(self, rng: np.random.Generator, size: int) -> Labels:
        return self.pairs.redraw(rng, size)

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        return np.sqrt(np.maximum(self.pairs.values(labels, n_jobs), 0.0))

    def comparable(self, values: Floats) -> Floats:
        # A root makes 1e-8 of a rounding error of 1e-16.
        return np.square(values)

    def value(self, n_jobs: int | None = None) -> float:
        return float(np.sqrt(max(self.pairs.value(n_jobs), 0.0)))


class RootSKCE(Measure):
    """A measure whose square is the biased SKCE of some kernel."""

    @property
    @abstractmethod
    def matrix_kernel(self) -> MatrixKernel:
        """The kernel, matrix-valued."""

    @property
    def nulls(self) -> tuple[str, ...]:
        return ("exact", "consistency", "distribution-free")

    def error_bound(self, m: int) -> float:
        """Return B with |h_ij| <= B for all predictions of m classes."""
        return error_bound(self.matrix_kernel, m)

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundMeasure:
        kernel = FittedKernel(self.matrix_kernel, predictions.probs, n_jobs)
        return RootPairs(all_pairs(predictions, kernel, biased=True), self.parameters(kernel))

    def parameters(self, kernel: FittedKernel) -> dict[str, object]:
        """Return the settings that the print shows."""
        return kernel.parameters
