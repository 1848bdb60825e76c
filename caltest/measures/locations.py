"""Deviations of observations at test locations, for the calibration mean embedding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caltest import validation
from caltest.kernels import FittedKernel
from caltest.measures.base import BoundMeasure
from caltest.predictions import Predictions

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Part = tuple[slice, Floats, Floats]
Choice = int | tuple[object, object] | None  # a number, (probs, labels), or by n

# The number of locations where none is given: that of the paper, or fewer where n or m is small.
# More of them make the covariance matrix of the deviations nearly singular.
LOCATIONS = 10
LOCATIONS_A_DIMENSION = 3
ROWS_A_LOCATION = 10
SEED = 0
BUDGET = 1 << 25  # kernel values that are kept; beyond it they are computed again: 0.5 GiB


@dataclass(frozen=True)
class Locations:
    """Test locations: predictions (J, m), each with a class (J,), and where they come from."""

    probs: Floats
    labels: Codes
    origin: str


def find_locations(locations: Choice, predictions: Predictions) -> Locations:
    """Read given test locations, or sample them from the predictions."""
    if isinstance(locations, tuple):
        probs, labels = validation.check_points(locations, predictions.classes)
        return Locations(probs, labels, f"{len(probs)} given")
    return sampled_locations(predictions, locations or default_size(predictions))


def default_size(predictions: Predictions) -> int:
    """Return the number of test locations where none is given."""
    n, m = predictions.n, predictions.m
    return min(LOCATIONS, LOCATIONS_A_DIMENSION * (m - 1), max(1, n // ROWS_A_LOCATION))


def sampled_locations(predictions: Predictions, size: int) -> Locations:
    """Take predictions at equally spaced ranks in a random direction, each with a class from it.

    The direction and the classes have a fixed seed. Labels have no part in it, so that the exact
    null stays exact, nor has the order of the rows.
    """
    rng = np.random.default_rng(SEED)
    n, m = predictions.probs.shape
    size = min(size, n)
    place = predictions.probs @ rng.random(m)
    ranks = (np.arange(size) * n + n // 2) // size
    probs = predictions.probs[np.argpartition(place, ranks)[ranks]]
    sums = np.cumsum(probs, axis=1)
    below = sums <= (rng.random(size) * sums[:, -1])[:, np.newaxis]
    return Locations(probs, below.sum(axis=1), f"{size} sampled from the predictions")


class AtLocations(BoundMeasure):
    r"""What observations deviate by at test locations.

    At the location :math:`(t_j, c_j)` that is :math:`z_{ij} = \sum_k (1[y_i = k] - p_{ik}) \,
    k(t_j, p_i)_{c_j k}`.
    """

    def __init__(
        self, predictions: Predictions, kernel: FittedKernel, locations: Locations
    ) -> None:
        super().__init__(predictions)
        self.locations = locations
        self.kernel = kernel
        self.notes, self.degenerate = kernel.notes, kernel.degenerate
        self.parameters = {"test locations": locations.origin, **kernel.parameters}
        gain = np.stack([term.matrix[:, locations.labels] for term in kernel.terms])
        self.gain = np.ascontiguousarray(gain)
        self._kept = list(self._parts()) if self._rows_at_a_time >= predictions.n else None

    @property
    def size(self) -> int:
        """Number of test locations."""
        return len(self.locations.labels)

    def parts(self) -> Iterator[Part]:
        """Yield some rows, their kernel values (terms, rows, J) and their expected z (rows, J)."""
        return self._parts() if self._kept is None else iter(self._kept)

    @property
    def _rows_at_a_time(self) -> int:
        return max(1, BUDGET // (self.size * len(self.kernel.terms)))

    def _parts(self) -> Iterator[Part]:
        step = self._rows_at_a_time
        for first in range(0, self.predictions.n, step):
            rows = slice(first, min(first + step, self.predictions.n))
            kappa = np.stack([t.cross(self.locations.probs, rows) for t in self.kernel.terms])
            probs = self.predictions.probs[rows]
            expected = sum(k * (probs @ gain) for k, gain in zip(kappa, self.gain, strict=True))
            yield rows, kappa, np.asarray(expected)
