"""Deviations of observations at test locations, for the calibration mean embedding."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from caltest.checks.arrays import check_labels, check_probs
from caltest.checks.options import check_integer
from caltest.errors import invalid
from caltest.kernels import FittedKernel
from caltest.measures.bound import BoundMeasure
from caltest.numerics.loops import njit
from caltest.predictions import Predictions
from caltest.types import AnyArray, Codes, Floats, Ints, Labels

Part = tuple[slice, Floats, Floats]
Choice = int | tuple[object, object] | None  # a number, (probs, labels), or by n
# The number of locations where none is given: that of the paper, or fewer where n or m is small.
# More of them make the covariance matrix of the deviations nearly singular.
LOCATIONS = 10
LOCATIONS_A_DIMENSION = 3
ROWS_A_LOCATION = 10
SEED = 0
BUDGET = 1 << 25  # kernel values that are kept; beyond it they are computed again: 0.5 GiB
ROWS = 256  # observations at a time, so that their kernel values stay in the L1 cache
LANES = 8  # resamples side by side
FULL_RANK = 1e-11  # eigenvalues of a correlation matrix below this are rounding
FULL_SHARE = 1e-10  # 1 - share below this counts as this


@dataclass(frozen=True)
class Locations:
    """Test locations: predictions (J, m), each with a class (J,), and where they come from."""

    probs: Floats
    labels: Codes
    origin: str


def find_locations(
    locations: Choice, probs: Floats, classes: AnyArray, counts: Ints | None = None
) -> Locations:
    """Read given test locations, or sample them from predictions (n, m), with a class from each.

    They are at equally spaced ranks in a random direction. The direction and the classes have a
    fixed seed. Labels have no part in it, so that the exact null stays exact, nor has the order of
    the rows. Predictions of cells have `counts` of rows.
    """
    if isinstance(locations, tuple):
        points, labels = check_points(locations, classes)
        return Locations(points, labels, f"{len(points)} given")
    rng = np.random.default_rng(SEED)
    m, n = len(classes), len(probs) if counts is None else int(counts.sum())
    default = min(LOCATIONS, LOCATIONS_A_DIMENSION * (m - 1), max(1, n // ROWS_A_LOCATION))
    size = min(locations or default, n)
    place = probs @ rng.random(m)
    ranks = (np.arange(size) * n + n // 2) // size
    if counts is None:
        at = np.argpartition(place, ranks)[ranks]
    else:
        order = np.argsort(place, kind="stable")
        at = order[np.searchsorted(np.cumsum(counts[order]), ranks, side="right")]
    sums = np.cumsum(probs[at], axis=1)
    below = sums <= (rng.random(size) * sums[:, -1])[:, np.newaxis]
    return Locations(probs[at], below.sum(axis=1), f"{size} sampled from the predictions")


class AtLocations(BoundMeasure):
    r"""What observations deviate by at test locations.

    At the location :math:`(t_j, c_j)` that is :math:`z_{ij} = \sum_k (1[y_i = k] - p_{ik}) \,
    k(t_j, p_i)_{c_j k}`.
    """

    def __init__(
        self, predictions: Predictions, kernel: FittedKernel, locations: Locations
    ) -> None:
        super().__init__(predictions)
        self.locations, self.size = locations, len(locations.labels)
        self.kernel = kernel
        self.notes, self.degenerate = kernel.notes, kernel.degenerate
        self.parameters = {"test locations": locations.origin, **kernel.parameters}
        gain = np.stack([term.matrix[:, locations.labels] for term in kernel.terms])
        self.gain = np.ascontiguousarray(gain)
        self._step = max(1, BUDGET // gain[:, 0].size)
        self._kept: list[Part] = []
        if self._step >= predictions.n:
            self._kept = list(self.parts())

    def parts(self) -> Iterator[Part]:
        """Yield some rows, their kernel values (terms, rows, J) and their expected z (rows, J)."""
        if self._kept:
            yield from self._kept
            return
        n = self.predictions.n
        for first in range(0, n, self._step):
            rows = slice(first, min(first + self._step, n))
            kappa = np.stack([t.cross(self.locations.probs, rows) for t in self.kernel.terms])
            probs = self.predictions.probs[rows]
            expected = sum(k * (probs @ gain) for k, gain in zip(kappa, self.gain, strict=True))
            yield rows, kappa, np.asarray(expected)

    def deviations(self) -> Floats:
        """Return what each row deviates by at the test locations, (n, J)."""
        out = np.empty((self.predictions.n, self.size))
        for rows, kappa, expected in self.parts():
            gains = self.gain[:, self.predictions.labels[rows]]
            out[rows] = (kappa * gains).sum(axis=0) - expected
        return out


@njit()
def add_location_sums(kappa: Floats, gain: Floats, labels: Labels, out: Floats) -> None:
    """Add sum_i sum_t kappa[t, i, j] gain[t, y_i, j] to `out` (B, J) for each row of labels."""
    size, n = labels.shape
    for first in range(0, n, ROWS):
        last = min(first + ROWS, n)
        for b in range(size):
            for i in range(first, last):
                y = labels[b, i]
                for t in range(kappa.shape[0]):
                    for j in range(kappa.shape[2]):
                        out[b, j] += kappa[t, i, j] * gain[t, y, j]


@njit()
def add_location_moments(
    kappa: Floats, gain: Floats, shift: Floats, labels: Labels, sums: Floats, products: Floats
) -> None:
    """Add z_i and z_i z_i' to `sums` (B, J) and `products` (B, J, J) for each row of labels.

    Here z_ij = sum_t kappa[t, i, j] gain[t, y_i, j] - shift[i, j].
    """
    count = shift.shape[1]
    first, second = np.empty((count, LANES)), np.empty((count, count, LANES))
    for start in range(0, labels.shape[0], LANES):
        some = labels[start : start + LANES]
        _lane_moments(kappa, gain, shift, some, first, second)
        for j in range(count):
            for lane in range(some.shape[0]):
                sums[start + lane, j] += first[j, lane]
                for k in range(count):
                    products[start + lane, j, k] += second[max(j, k), min(j, k), lane]


@njit()
def _lane_moments(
    kappa: Floats, gain: Floats, shift: Floats, labels: Labels, first: Floats, second: Floats
) -> None:
    """Write the moments of up to LANES resamples, of the second ones those with k <= j."""
    lanes, n = labels.shape
    count = shift.shape[1]
    first[:], second[:] = 0.0, 0.0
    z = np.zeros((count, LANES))
    for i in range(n):
        for j in range(count):
            z[j] = -shift[i, j]
            for t in range(kappa.shape[0]):
                for lane in range(lanes):
                    z[j, lane] += kappa[t, i, j] * gain[t, labels[lane, i], j]
            for lane in range(LANES):
                first[j, lane] += z[j, lane]
            for k in range(j + 1):
                for lane in range(LANES):
                    second[j, k, lane] += z[j, lane] * z[k, lane]


def hotelling(sums: Floats, products: Floats, n: int) -> tuple[Floats, Ints]:
    """Return T^2 = n z' S^-1 z (B,) and the rank of S (B,), z the means and S the covariance.

    With q = n z' M^+ z, M the sum of z_i z_i', T^2 = (n - 1) q / (1 - q): q is the share of the
    constant 1 that the deviations explain, and z lies in the range of M whatever the rank. Where S
    is singular in the direction of z, so that q = 1, T^2 is its limit cut off at 1 - q = 1e-10.
    """
    size = np.sqrt(np.diagonal(products, axis1=1, axis2=2))
    size = np.where(size > 0, size, 1.0)  # T^2 does not depend on the units of the z_j
    values, vectors = np.linalg.eigh(products / (size[:, :, None] * size[:, None, :]))
    kept = values > FULL_RANK * np.maximum(values[:, -1:], FULL_RANK)
    along = np.einsum("bjk,bj->bk", vectors, sums / size)
    q = (np.where(kept, along, 0.0) ** 2 / np.where(kept, values, 1.0)).sum(axis=1) / n
    left = np.maximum(1.0 - q, FULL_SHARE)
    return (n - 1) * q / left, kept.sum(axis=1) - (left == FULL_SHARE)


def check_locations(locations: object) -> int | tuple[object, object] | None:
    """Check a number of test locations, a pair (probs, labels), or None."""
    if locations is None:
        return None
    if isinstance(locations, (tuple, list)) and len(locations) == 2:
        return locations[0], locations[1]
    if isinstance(locations, (int, np.integer)):
        return check_integer(locations, "locations")
    rule = "locations must be a number or a pair (probs, labels)"
    got = f"a {type(locations).__name__}"
    raise invalid(rule, got, "pass J predictions and their J classes")


def check_points(locations: tuple[object, object], classes: AnyArray) -> tuple[Floats, Codes]:
    """Check J test predictions and J classes, as the lens shows predictions.

    Parameters
    ----------
    locations : (probs, labels)
        Of shapes (J, m) or (J,), and (J,).
    classes : ndarray, shape (m,)
        The classes under the lens.

    Returns
    -------
    ndarray, shape (J, m), and ndarray, shape (J,)
        Probabilities and codes.

    Raises
    ------
    InvalidInput
        If one of both breaks a rule.
    """
    m = len(classes)
    probs = check_probs(locations[0], name="probs of locations")
    if probs.shape[1] != m:
        rule = f"probs of locations must have {m} columns, the classes under the lens"
        raise invalid(rule, f"{probs.shape[1]}", "pass locations as the lens shows predictions")
    return probs, check_labels(locations[1], len(probs), m, classes, name="labels of locations")[0]
