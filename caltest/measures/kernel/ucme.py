"""Unnormalised calibration mean embedding (UCME), Widmann et al. 2021."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.kernels import FittedKernel, Kernel, as_matrix_kernel
from caltest.lenses import Lens
from caltest.measures.base import Labels, Measure, Rows
from caltest.measures.kernel.locations import (
    AtLocations,
    Choice,
    add_location_sums,
    check_locations,
    find_locations,
)
from caltest.measures.label_scores import row_weights
from caltest.measures.outcome import Gaps
from caltest.measures.residual_sums import ResidualStatistic, Sums
from caltest.numerics.resampled_sums import cell_sums
from caltest.predictions import Predictions

__all__ = ["UCME", "ucme"]

Floats = NDArray[np.float64]

FIXED = "the interval is for the error at these test locations, held fixed"


class MeanEmbedding(AtLocations):
    """The mean over test locations of the squared mean deviation."""

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        weight = self.predictions.sample_weight
        sums = np.zeros((len(labels), self.size))
        for rows, kappa, expected in self.parts():
            w = np.ones(len(expected)) if weight is None else weight[rows]
            some = np.ascontiguousarray(labels[:, rows])
            add_location_sums(kappa * w[:, np.newaxis], self.gain, some, sums)
            sums -= w @ expected
        total = self.predictions.n if weight is None else weight.sum()
        return np.asarray(np.square(sums / total).mean(axis=1))


@dataclass(frozen=True, kw_only=True, eq=False)
class UCME(Measure):
    """The UCME with its kernel and test locations; see `ucme` for the parameters."""

    kernel: Kernel | None = None
    locations: Choice = None

    key: ClassVar[str] = "ucme"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    title: ClassVar[str] = "unnormalised calibration mean embedding"

    def __post_init__(self) -> None:
        as_matrix_kernel(self.kernel)
        check_locations(self.locations)

    @property
    def symbol(self) -> str:
        return "UCME^2"

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> MeanEmbedding:
        kernel = FittedKernel.of(as_matrix_kernel(self.kernel), predictions, n_jobs)
        return MeanEmbedding(predictions, kernel, find_locations(self.locations, predictions))

    @property
    def intervals(self) -> tuple[str, ...]:
        return ("convex", *super().intervals)

    def gaps(self, predictions: Predictions) -> Gaps:
        """Return the mean deviations at the locations, whose mean square is the error."""
        gap = self.bind(predictions).deviations()
        weight = np.ones(1) if predictions.sample_weight is None else predictions.sample_weight
        whole = np.zeros((predictions.n, 1), dtype=np.int64), np.zeros(1, dtype=np.int64)
        gap = np.ascontiguousarray(gap * weight[:, None])[:, None]

        def vector(rows: Rows) -> Floats:
            mass, sums = cell_sums(rows, *whole, gap, weight, 1)
            return np.asarray(sums[0] / mass[0])

        def norm(gaps: Floats) -> float:
            return float(np.sqrt(np.square(gaps).mean()))

        return Gaps(predictions.n, vector, norm, power=2)

    def residual_statistics(
        self, predictions: Predictions, n_jobs: int | None = None
    ) -> list[ResidualStatistic]:
        """Return the mean square of the mean deviations at the locations."""
        terms, weight = self.bind(predictions, n_jobs).deviations(), row_weights(predictions)
        total = float(weight.sum())
        return [Sums(terms * weight[:, None], lambda s: np.square(s / total).mean(axis=1))]

    def interval_notes(self, method: str, n: int) -> tuple[str, ...]:
        return (FIXED,) if method == "convex" else ()


def ucme(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    locations: Choice = None,
    kernel: Kernel | None = None,
    n_jobs: int | None = None,
) -> float | NDArray[np.float64]:
    r"""Estimate the squared unnormalised calibration mean embedding at J test locations.

    With test locations :math:`(t_j, c_j)`, predictions each with a class, it is

    .. math:: J^{-1} \sum_j \Big(n^{-1} \sum_i z_{ij}\Big)^2, \quad
              z_{ij} = \sum_k (1[y_i = k] - p_{ik}) \, k(t_j, p_i)_{c_j k},

    where the scalar kernel of the paper is :math:`k(t, p)_{c k}`. It takes O(n J m).

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    locations : int or (probs, labels), optional
        A number J of locations or, as the lens shows predictions, (J, m) probabilities with J
        classes. By default J is the least of 10, 3 (m - 1) and n / 10. A number takes predictions
        from the data, at equally spaced ranks in a random direction (for two classes, quantiles of
        P(Y = 1)), each with a class drawn from it; the seed is fixed, and neither the labels of the
        data nor the order of the rows have a part in it.
    kernel : MatrixKernel or ScalarKernel, optional
        A scalar kernel stands for kappa times the identity; by default the exponential kernel of
        the total variation distance with the bandwidth rule "auto": the median distance, for two
        classes weighted by variance.
    n_jobs : int, optional
        Threads, as in joblib.

    Returns
    -------
    float
        In squared units of probability, at least 0.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), Calibration tests beyond classification, ICLR, appendix C.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.kernels.Exponential(bandwidth=1.0)
    >>> locations = [[0.6, 0.4]], [0]
    >>> ct.measures.ucme([[0.6, 0.4]], [0], locations=locations, kernel=kernel)  # (1 - 0.6)^2
    0.16...
    """
    return UCME(locations=locations, kernel=kernel).evaluate(probs, labels, lens, n_jobs)
