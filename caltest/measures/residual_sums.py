"""Statistics of the residuals e_y - p, for residuals whose signs are flipped cluster by cluster.

What a row adds to a sum is 0 on average if the predictions are calibrated, however the rows of a
cluster depend on each other. A statistic that is a function of such sums can be evaluated for
residuals whose signs are flipped by cluster: that is all the null "cluster" needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.measures.outcome import RowTerms
from caltest.predictions import Predictions
from caltest.predictions.rows import Deviations
from caltest.types import Floats, Ints
from caltest.units import Flipped

AT_A_TIME = 1 << 22  # numbers in a temporary array
MOST = 1 << 27  # sums of all clusters: 1 GiB
NO_RANK = 1e-9  # of the largest eigenvalue of a covariance matrix


@dataclass(eq=False)
class ResidualStatistic:
    """A statistic of the residuals.

    Attributes
    ----------
    flipped : callable
        Gives, for the cluster of each row (n,), 0 to `count` - 1, and the number `count`, the
        statistic as a function of the signs of the clusters.
    scale : float
        Size of the terms: ties are measured by it.
    key, title : str
        Its name among those that a test combines, else empty.
    symbol : str
        Its name where it is not the value of the measure.
    two_sided : bool
        Whether small values speak against calibration too.
    weight : float
        How much it counts among those that a test combines.
    deviations : tuple, optional
        Those of what each row adds, where the statistic is one sum; see `Rows.deviations`.
    along : callable, optional
        Gives those of the sum that is farthest out, of the same clusters, where the statistic is of
        several sums.
    quadratic : ResidualStatistic, optional
        One that is quadratic in the same sums, where this one is not. Flipped signs keep the mean
        and the variance of what is quadratic; the mean length of a sum of two skewed residuals is
        another where one of them is flipped.
    """

    flipped: Callable[[Ints, int], Flipped]
    scale: float = 1.0
    key: str = ""
    title: str = ""
    symbol: str = ""
    two_sided: bool = False
    weight: float = 1.0
    deviations: Deviations | None = None
    along: Callable[[Ints, int], Deviations] | None = None
    quadratic: ResidualStatistic | None = None


Flippable = Sequence[ResidualStatistic]


def product_length(features: Floats, gaps: Floats) -> ResidualStatistic:
    """Return the squared length of the sum over rows of the products of two vectors.

    Of `features` (n, J) of the predictions, and `gaps` (n, m), the residuals.
    """

    def flipped(clusters: Ints, count: int) -> Flipped:
        width = features.shape[1] * gaps.shape[1]
        if count * width > MOST:
            phi = features.T
            return row_by_row(clusters, lambda s: np.square(phi @ (s[:, None] * gaps)).sum())
        order = np.argsort(clusters, kind="stable")
        rows = np.split(order, np.cumsum(np.bincount(clusters, minlength=count))[:-1])
        sums = np.stack([(features[c].T @ gaps[c]).ravel() for c in rows])
        if count <= width:
            gram = sums @ sums.T
            return lambda signs: np.einsum("bc,bc->b", signs, signs @ gram)
        return lambda signs: np.square(signs @ sums).sum(axis=1)

    return ResidualStatistic(flipped)


def row_by_row(clusters: Ints, function: Callable[[Floats], Any]) -> Flipped:
    """Return a function of the signs of the rows, (n,), without sums of clusters."""
    return lambda signs: np.stack([function(sign[clusters]) for sign in signs])


def of_rows(statistic: Flipped, clusters: Ints) -> Flipped:
    """Return a statistic of the signs of all rows, (B, n), as one of those of their clusters."""
    return in_parts(lambda signs: statistic(signs.take(clusters, axis=1)), clusters.size)


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


def robust_z(terms: Floats, deviations: Deviations | None = None) -> ResidualStatistic:
    r"""Return a sum over its cluster-robust error, :math:`\sum_c U_c / (\sum_c U_c^2)^{1/2}`.

    `terms` (n,) are what each row adds to the sum; for `deviations` see `ResidualStatistic`.
    """

    def flipped(clusters: Ints, count: int) -> Flipped:
        check_finite(terms)
        sums = np.bincount(clusters, terms, count)
        standard = sums / (float(np.sqrt(np.square(sums).sum())) or 1.0)
        return lambda signs: np.asarray(signs @ standard)

    found = ResidualStatistic(flipped, symbol="cluster-robust z", two_sided=True)
    found.deviations = deviations
    return found


def robust_quadratic(
    terms: Floats, deviations: Callable[[Floats], Deviations]
) -> ResidualStatistic:
    r"""Return the squared length of sums in units of their cluster-robust covariance.

    With :math:`U_c` the sums of cluster c of the terms of the rows, (n, D), :math:`S' V^+ S`, where
    :math:`V = \sum_c U_c U_c'` does not depend on the signs. It is the square of the robust z of
    the sum of the terms times :math:`V^+ S`; `deviations` gives those of the sum of the terms times
    some numbers (D,).
    """

    def standardized(clusters: Ints, count: int) -> tuple[Floats, Floats, Floats]:
        check_finite(terms)
        width = terms.shape[1]
        check_size(count * width)
        sums = cluster_sums(terms, clusters, count, np.arange(width)[np.newaxis], width)
        size = np.sqrt(np.square(sums).sum(axis=0))
        size = np.where(size > 0, size, 1.0)
        sums = sums / size
        values, vectors = np.linalg.eigh(sums.T @ sums)
        kept = values > NO_RANK * max(float(values[-1]), NO_RANK)
        root = vectors[:, kept] / np.sqrt(values[kept])
        return sums @ root, root, size

    def flipped(clusters: Ints, count: int) -> Flipped:
        standard = standardized(clusters, count)[0]
        return lambda signs: np.asarray(np.square(signs @ standard).sum(axis=1))

    def along(clusters: Ints, count: int) -> Deviations:
        standard, root, size = standardized(clusters, count)
        return deviations(root @ standard.sum(axis=0) / size)

    return ResidualStatistic(flipped, symbol="cluster-robust chi^2", along=along)


def of_cells(
    cells: NDArray[np.integer], gaps: Floats, size: int, function: Callable[[Floats], Floats]
) -> ResidualStatistic:
    """Return a function (B,) of the sums (B, size) of residuals in cells, such as bins.

    `cells`, (n,) or (n, k), are the cells of the residuals `gaps`, times the weights.
    """

    def flipped(clusters: Ints, count: int) -> Flipped:
        own = gaps.reshape(len(clusters), -1)
        if count * size > MOST:
            one = np.zeros_like(clusters)
            sums_of = row_by_row(
                clusters, lambda s: cluster_sums(s[:, None] * own, one, 1, cells, size)[0]
            )
            return lambda signs: function(sums_of(signs))
        sums = cluster_sums(own, clusters, count, cells, size)
        return lambda signs: function(signs @ sums)

    return ResidualStatistic(flipped)


def of_terms(terms: Floats, function: Callable[[Floats], Floats]) -> ResidualStatistic:
    """Return a function (B,) of sums (B, D) of terms of the rows, (n, D)."""
    width = terms.shape[1]
    return of_cells(np.arange(width)[np.newaxis], terms, width, function)


def residuals_up_to(places: Floats, weight: Floats, steps: int) -> Floats:
    """Return what rows with uniform numbers add up to the inner ends of steps, (n, steps - 1)."""
    check_size(places.size * steps)
    ends = np.arange(1, steps) / steps
    return weight[:, None] * ((places[:, None] < ends) - ends)


def check_finite(terms: Floats) -> None:
    """Raise NotApplicable where a row adds something infinite."""
    if not np.isfinite(terms).all():
        reason = "a row has an infinite score, so that the sum has no cluster-robust error"
        raise NotApplicable(reason, "clip the probabilities, as the log loss does with eps=")


def of_row_terms(rows: RowTerms, predictions: Predictions) -> Flippable:
    """Return the statistic of a sum of terms of rows, each less its mean under calibration."""
    found = predictions.deviations_of(rows.table)
    return [robust_z(found[2], found)]
