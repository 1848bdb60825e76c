"""Statistics of the residuals e_y - p, for residuals whose signs are flipped cluster by cluster.

What a row adds to a sum is 0 on average if the predictions are calibrated, however the rows of a
cluster depend on each other. A statistic that is a function of such sums can be evaluated for
residuals whose signs are flipped by cluster: that is all the null "cluster" needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.measures.bound import UStatistic
from caltest.measures.outcome import RowTerms
from caltest.numerics.recursion import exponential_pair_sums
from caltest.numerics.sorted_scores import partial_sum_extremes, step_ends
from caltest.predictions import Predictions
from caltest.types import Floats, Ints
from caltest.units.sums import AT_A_TIME, Flipped

MOST = 1 << 27  # sums of all clusters: 1 GiB
NO_RANK = 1e-9  # of the largest eigenvalue of a covariance matrix


def residuals(predictions: Predictions) -> Floats:
    """Return e_y - p, (n, m), times the sample weights."""
    out = -predictions.probs
    out[np.arange(predictions.n), predictions.labels] += 1.0
    weight = predictions.sample_weight
    return out if weight is None else out * weight[:, None]


class ResidualStatistic(ABC):
    """A statistic of the residuals.

    Attributes
    ----------
    key, title : str
        Its name among those that a test combines, else empty.
    symbol : str
        Its name where it is not the value of the measure.
    two_sided : bool
        Whether small values speak against calibration too.
    scale : float
        Size of the terms: ties are measured by it.
    weight : float
        How much it counts among those that a test combines.
    table : (n, m) array, optional
        What each label of a row adds, where the statistic is one sum.
    quadratic : ResidualStatistic, optional
        One that is quadratic in the same sums, where this one is not. Flipped signs keep the mean
        and the variance of what is quadratic; the mean length of a sum of two skewed residuals is
        another where one of them is flipped.
    """

    key: str = ""
    title: str = ""
    symbol: str = ""
    two_sided: bool = False
    scale: float = 1.0
    weight: float = 1.0
    table: Floats | None = None
    quadratic: ResidualStatistic | None = None

    @abstractmethod
    def flipped(self, clusters: Ints, count: int) -> Flipped:
        """Return the statistic as a function of the signs of the clusters.

        Parameters
        ----------
        clusters : (n,) array
            The cluster of each row, 0 to `count` - 1.
        count : int
            The number of clusters.
        """


Flippable = Sequence[ResidualStatistic]


class Reordered(ResidualStatistic):
    """A statistic of rows in another order.

    Parameters
    ----------
    statistic : ResidualStatistic
        Of the rows in the order `order`, (n,).
    """

    def __init__(self, statistic: ResidualStatistic, order: Ints) -> None:
        self.statistic, self.order, self.scale = statistic, order, statistic.scale

    def flipped(self, clusters: Ints, count: int) -> Flipped:
        return self.statistic.flipped(clusters[self.order], count)


@dataclass(eq=False)
class Products(ResidualStatistic):
    """The squared length of the sum over rows of the products of two vectors.

    Attributes
    ----------
    features : (n, J) array
        Of the predictions.
    gaps : (n, m) array
        The residuals.
    """

    features: Floats
    gaps: Floats

    def flipped(self, clusters: Ints, count: int) -> Flipped:
        width = self.features.shape[1] * self.gaps.shape[1]
        if count * width > MOST:
            phi, gaps = self.features.T, self.gaps
            return row_by_row(clusters, lambda s: np.square(phi @ (s[:, None] * gaps)).sum())
        order = np.argsort(clusters, kind="stable")
        rows = np.split(order, np.cumsum(np.bincount(clusters, minlength=count))[:-1])
        sums = np.stack([(self.features[c].T @ self.gaps[c]).ravel() for c in rows])
        if count <= width:
            gram = sums @ sums.T
            return lambda signs: np.einsum("bc,bc->b", signs, signs @ gram)
        return lambda signs: np.square(signs @ sums).sum(axis=1)


@dataclass(eq=False)
class LinePairs(ResidualStatistic):
    """The sum over pairs of rows on a line of an exponential kernel times their residuals.

    Attributes
    ----------
    decay : (n,) array
        What the kernel loses from the row before, in ascending order.
    gaps : (n,) array
        The residuals in that order.
    """

    decay: Floats
    gaps: Floats

    def flipped(self, clusters: Ints, count: int) -> Flipped:
        def sums(signs: Floats) -> Floats:
            out = np.empty(len(signs))
            rows = np.ascontiguousarray(signs[:, clusters])
            exponential_pair_sums(self.decay, self.gaps, np.zeros(1), rows, out)
            return out

        return in_parts(sums, clusters.size)


def row_by_row(clusters: Ints, function: Callable[[Floats], Any]) -> Flipped:
    """Return a function of the signs of the rows, (n,), without sums of clusters."""
    return lambda signs: np.stack([function(sign[clusters]) for sign in signs])


def in_parts(statistic: Flipped, n: int) -> Flipped:
    """Return a statistic of n rows that is evaluated for some signs at a time."""
    step = max(8, AT_A_TIME // n)
    return lambda signs: np.concatenate(
        [statistic(signs[b : b + step]) for b in range(0, len(signs), step)]
    )


def cluster_sums(
    terms: Floats, clusters: Ints, count: int, cells: NDArray[np.integer], size: int
) -> Floats:
    """Return the sums of the terms (n, k) of each cluster in cells, (count, size).

    `cells` (n, k) or (1, k) are the cells of the terms, 0 to `size` - 1.
    """
    at = clusters[:, None] * size + cells.reshape(len(cells), -1).astype(np.int64)
    sums = np.bincount(at.ravel(), terms.ravel(), count * size)
    return np.asarray(sums.reshape(count, size), np.float64)


def check_size(size: int) -> None:
    """Raise NotApplicable where the sums of all clusters would take too much memory."""
    if size > MOST:
        raise NotApplicable(
            "the sums of all clusters take more than 1 GiB",
            "use fewer bins or a lens with fewer classes, such as lens='confidence'",
        )


@dataclass(eq=False)
class RobustZ(ResidualStatistic):
    r"""A sum over its cluster-robust standard error, :math:`\sum_c U_c / (\sum_c U_c^2)^{1/2}`.

    Attributes
    ----------
    terms : (n,) array
        What each row adds to the sum.
    table : (n, m) array
        What each label of a row adds, up to a constant of the row.
    """

    terms: Floats
    table: Floats | None = None
    symbol: str = "cluster-robust z"
    two_sided: bool = True

    def flipped(self, clusters: Ints, count: int) -> Flipped:
        check_finite(self.terms)
        sums = np.bincount(clusters, self.terms, count)
        standard = sums / (float(np.sqrt(np.square(sums).sum())) or 1.0)
        return lambda signs: np.asarray(signs @ standard)


@dataclass(eq=False)
class RobustQuadratic(ResidualStatistic):
    r"""The squared length of sums in units of their cluster-robust covariance.

    With :math:`U_c` the sums of cluster c, :math:`S' (\sum_c U_c U_c')^+ S`; its covariance matrix
    does not depend on the signs.

    Attributes
    ----------
    terms : (n, D) array
        What each row adds to each sum.
    """

    terms: Floats
    symbol: str = "cluster-robust chi^2"

    def flipped(self, clusters: Ints, count: int) -> Flipped:
        check_finite(self.terms)
        width = self.terms.shape[1]
        check_size(count * width)
        sums = cluster_sums(self.terms, clusters, count, np.arange(width)[np.newaxis], width)
        size = np.sqrt(np.square(sums).sum(axis=0))
        sums = sums / np.where(size > 0, size, 1.0)
        values, vectors = np.linalg.eigh(sums.T @ sums)
        kept = values > NO_RANK * max(float(values[-1]), NO_RANK)
        standard = sums @ (vectors[:, kept] / np.sqrt(values[kept]))
        return lambda signs: np.asarray(np.square(signs @ standard).sum(axis=1))


@dataclass(eq=False)
class CellSums(ResidualStatistic):
    """A function of the sums of residuals in cells, such as bins.

    Attributes
    ----------
    cells : (n,) or (n, k) array
        The cell of each residual, 0 to `cell_count` - 1.
    gaps : (n,) or (n, k) array
        The residuals, times the weights.
    cell_count : int
        The number of cells.
    function : callable
        The statistics (B,) of the sums (B, cell_count).
    """

    cells: NDArray[np.integer]
    gaps: Floats
    cell_count: int
    function: Callable[[Floats], Floats]

    def flipped(self, clusters: Ints, count: int) -> Flipped:
        gaps, where = self.gaps.reshape(len(clusters), -1), (self.cells, self.cell_count)
        if count * self.cell_count > MOST:
            one = np.zeros_like(clusters)
            sums_of = row_by_row(
                clusters, lambda s: cluster_sums(s[:, None] * gaps, one, 1, *where)[0]
            )
            return lambda signs: self.function(sums_of(signs))
        sums = cluster_sums(gaps, clusters, count, *where)
        return lambda signs: self.function(signs @ sums)


class Sums(CellSums):
    """A function (B,) of sums (B, D) of terms of the rows, (n, D)."""

    def __init__(self, terms: Floats, function: Callable[[Floats], Floats]) -> None:
        width = terms.shape[1]
        super().__init__(np.arange(width)[np.newaxis], terms, width, function)


@dataclass(eq=False)
class OrderedSums(ResidualStatistic):
    """A function of the largest and the smallest partial sum over sorted scores, 0 among them.

    Attributes
    ----------
    event, gaps : (n,) array
        The scores in ascending order, and their residuals times the weights.
    order : (n,) array
        The rows in that order.
    function : callable
        The statistics (B,) of the largest and the smallest sum, (B,) each.
    """

    event: Floats
    gaps: Floats
    order: Ints
    function: Callable[[Floats, Floats], Floats]

    def flipped(self, clusters: Ints, count: int) -> Flipped:
        at, ends = clusters[self.order], step_ends(self.event)
        given = (self.gaps, np.zeros(at.size), ends, np.array([0, at.size]))

        def extremes(signs: Floats) -> Floats:
            found = partial_sum_extremes(np.ascontiguousarray(signs[:, at]), *given)
            return self.function(*found[..., 0])

        return in_parts(extremes, at.size)


@dataclass(eq=False)
class Pairs(ResidualStatistic):
    """A function of the sum over pairs of rows of a kernel statistic.

    Attributes
    ----------
    pairs : UStatistic
        Its sums over pairs.
    function : callable
        The statistics (B,) of the sums over pairs i < j, (B,).
    """

    pairs: UStatistic
    function: Callable[[Floats], Floats]
    scale: float = 1.0

    def flipped(self, clusters: Ints, count: int) -> Flipped:
        sums = self.pairs.signed_sums(clusters, count)
        return lambda signs: self.function(sums(signs))


def check_finite(terms: Floats) -> None:
    """Raise NotApplicable where a row adds something infinite."""
    if not np.isfinite(terms).all():
        reason = "a row has an infinite score, so that the sum has no cluster-robust error"
        raise NotApplicable(reason, "clip the probabilities, as the log loss does with eps=")


def row_deviations(table: Floats, predictions: Predictions) -> tuple[Floats, Floats, Floats]:
    """Return the deviations of terms (n, m) from their means under calibration, by row.

    Returns
    -------
    tuple of (n,) array
        Variance, third central moment, and the deviation of the label that was observed.
    """
    probs = predictions.probs
    apart = np.where(probs > 0, table, 0.0)
    mean = np.einsum("ik,ik->i", probs, apart)
    own = np.take_along_axis(table, predictions.labels[:, None], axis=1)[:, 0] - mean
    apart -= mean[:, None]
    product = probs * np.square(apart)
    return product.sum(axis=1), np.einsum("ik,ik->i", product, apart), own


def of_row_terms(rows: RowTerms, predictions: Predictions) -> Flippable:
    """Return the statistic of a sum of terms of rows, each less its mean under calibration."""
    return [RobustZ(row_deviations(rows.table, predictions)[2], rows.table)]
