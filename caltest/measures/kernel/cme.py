"""Errors at test locations, Widmann et al. 2021: the calibration mean embedding (CME) and UCME.

The first is Hotelling's statistic of the mean deviations, the second their mean square.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Unpack

import numpy as np
import scipy

from caltest.errors import NotApplicable
from caltest.kernels import FittedKernel, Kernel, as_matrix_kernel
from caltest.lenses import Lens
from caltest.measures.base import Measure
from caltest.measures.bound import BoundMeasure
from caltest.measures.cells import BoundCells, Counts
from caltest.measures.kernel.all_pairs import at_mean, fitted_to_cells
from caltest.measures.kernel.locations import (
    AtLocations,
    Choice,
    Locations,
    add_location_moments,
    add_location_sums,
    check_locations,
    find_locations,
    hotelling,
    locations_of_cells,
)
from caltest.measures.kernel.skce import SKCE
from caltest.measures.outcome import Gaps, Outcome
from caltest.measures.residual_sums import ResidualStatistic, RobustQuadratic, Sums
from caltest.numerics.class_sums import times_drawn
from caltest.predictions import Measured, Predictions
from caltest.sources import Cells
from caltest.types import Floats, Labels, SmallInts
from caltest.units.units import row_weights

__all__ = ["CME", "UCME", "cme", "ucme"]


ROWS_PER_LOCATION = (
    1000  # observations for each test location from which on the chi^2 limit is near
)
FIXED = "the interval is for the error at these test locations, held fixed"
SINGULAR = 5e10  # a covariance matrix of a condition up to 1e11 leaves three digits of the share


class Hotelling(BoundMeasure):
    """T^2 of the mean deviations at test locations."""

    n: int

    @abstractmethod
    def moments(self, labels: Counts) -> tuple[Floats, Floats]:
        """Return the sums over rows of z_i and of z_i z_i' for each row of labels."""

    def comparable(self, values: Floats) -> Floats:
        # The log of T^2 / (T^2 + n - 1), the share q that `hotelling` computes: its relative error
        # is that of the inverse, and an infinite T^2 is a share of 1, up to rounding.
        share = values / (values + self.n - 1.0)
        return np.asarray(np.log(np.maximum(share, np.finfo(float).tiny)))

    def values(self, labels: Counts) -> Floats:
        return hotelling(*self.moments(labels), self.n)[0]

    def estimate(self, value: float) -> float:
        return float(np.square(self._observed_moments[0] / self.n).mean())

    @property
    def rank(self) -> int:
        """Rank of the covariance matrix of the observed deviations."""
        return int(hotelling(*self._observed_moments, self.n)[1][0])

    @cached_property
    def _observed_moments(self) -> tuple[Floats, Floats]:
        return self.moments(self.observed[np.newaxis])


class StudentizedEmbedding(Hotelling, AtLocations):
    """T^2 of rows."""

    def __init__(
        self, predictions: Predictions, kernel: FittedKernel, locations: Locations
    ) -> None:
        AtLocations.__init__(self, predictions, kernel, locations)
        _check(predictions.n, self.size, predictions.sample_weight)
        self.n, self.scale = predictions.n, SINGULAR

    def moments(self, labels: Labels) -> tuple[Floats, Floats]:
        sums = np.zeros((len(labels), self.size))
        products = np.zeros((len(labels), self.size, self.size))
        for rows, kappa, expected in self.parts():
            some = np.ascontiguousarray(labels[:, rows])
            add_location_moments(kappa, self.gain, expected, some, sums, products)
        return sums, products


class CellEmbedding(Hotelling, BoundCells):
    """T^2 of cells: the moments of the rows are linear in their numbers of events."""

    def __init__(self, cells: Cells, kernel: FittedKernel, locations: Locations) -> None:
        BoundCells.__init__(self, cells)
        size = len(locations.labels)
        _check(cells.rows, size, cells.weights)
        self.n, self.scale, self.caution = cells.rows, SINGULAR, at_mean(kernel, cells)
        self.notes, self.degenerate = kernel.notes, kernel.degenerate
        self.parameters = {"test locations": locations.origin, **kernel.parameters}
        every = slice(0, len(cells))
        gain = np.zeros((len(cells), size))  # of y - p of a row
        for term in kernel.terms:
            steps = np.subtract(*term.matrix[::-1][:, locations.labels])
            gain += steps * term.cross(locations.probs, every)
        squares = (gain[:, :, None] * gain[:, None, :]).reshape(len(cells), -1)
        self._gain, self._squares = gain, (1.0 - 2.0 * cells.mean)[:, None] * squares
        self._constant = cells.variance @ squares

    def moments(self, labels: Counts) -> tuple[Floats, Floats]:
        excess = labels - self.cells.expected
        products = excess @ self._squares + self._constant
        size = self._gain.shape[1]
        return excess @ self._gain, products.reshape(len(labels), size, size)


def _check(n: int, size: int, weights: object) -> None:
    if n <= size:
        raise NotApplicable(
            f"the CME statistic needs more observations than test locations, and there are "
            f"{n} for {size}",
            "take fewer locations, or test='skce'",
        )
    if weights is not None:
        raise NotApplicable("the CME statistic takes no sample weights", "use test='skce'")


@dataclass(frozen=True, kw_only=True, eq=False)
class EmbeddingMeasure(Measure):
    """A measure of the deviations at test locations.

    Attributes
    ----------
    kernel : Kernel, optional
        By default the exponential one.
    locations : int or (probs, labels), optional
        Test locations, as in `ucme`.
    """

    kernel: Kernel | None = None
    locations: Choice = None

    def __post_init__(self) -> None:
        as_matrix_kernel(self.kernel)
        check_locations(self.locations)

    def located(self, predictions: Predictions) -> tuple[Predictions, FittedKernel, Locations]:
        """Return predictions with the fitted kernel and the test locations."""
        kernel = FittedKernel.of(as_matrix_kernel(self.kernel), predictions)
        return predictions, kernel, find_locations(self.locations, predictions)


@dataclass(frozen=True, kw_only=True, eq=False)
class CME(EmbeddingMeasure):
    """T^2 with its kernel and test locations; see `cme` for the parameters."""

    key: ClassVar[str] = "cme"
    title: ClassVar[str] = "calibration mean embedding, Hotelling's T^2"
    symbol: ClassVar[str] = "T^2"
    estimate_symbol: ClassVar[str] = "UCME^2"
    nulls: ClassVar[tuple[str, ...]] = ("exact", "consistency", "asymptotic")

    def bind(self, predictions: Predictions) -> StudentizedEmbedding:
        return StudentizedEmbedding(*self.located(predictions))

    def bind_cells(self, cells: Cells) -> CellEmbedding:
        kernel = fitted_to_cells(as_matrix_kernel(self.kernel), cells)
        return CellEmbedding(cells, kernel, locations_of_cells(self.locations, cells))

    def residual_statistics(self, predictions: Predictions) -> list[ResidualStatistic]:
        """Return the squared length of the deviations in units of their robust covariance."""
        return [RobustQuadratic(self.bind(predictions).deviations())]

    def few_rows(self, *, weighted: bool = False) -> Measure:
        """Return the biased SKCE, which tests the same embedding without its covariance matrix."""
        return self if weighted else SKCE(estimator="biased", kernel=self.kernel)

    interval_instead: ClassVar[str] = "test='skce', or the measure ucme"

    def limit(self, predictions: Predictions) -> Outcome:
        """Return the chi^2 limit, its degrees of freedom the rank of the covariance matrix."""
        bound = self.bind(predictions)
        statistic, df, n = bound.value(), bound.rank, predictions.n
        if df == 0:
            raise NotApplicable(
                "the chi^2 limit needs deviations that vary, and these do not", "use null='exact'"
            )
        notes = list(bound.notes)
        if df < bound.size:
            notes.append(f"the deviations at {bound.size} test locations span {df} dimensions")
        if n < ROWS_PER_LOCATION * bound.size:
            notes.append(
                f"n = {n} is not much larger than the number of test locations ({bound.size}): the "
                "chi^2 limit rejects calibrated models too often; use null='exact'"
            )
        return Outcome(
            statistic_name="T^2",
            statistic=statistic,
            pvalue=float(scipy.special.chdtrc(df, statistic)),
            estimate=bound.estimate(statistic),
            alternative="greater",
            null_text=f"chi^2 limit with {df} degrees of freedom",
            parameters=bound.parameters,
            notes=tuple(notes),
        )


def cme(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    locations: Choice = None,
    kernel: Kernel | None = None,
    **rows: Unpack[Measured],
) -> float | Floats:
    r"""Compute Hotelling's statistic of the calibration mean embedding.

    With the deviations :math:`z_i` (J,) at the test locations, as in `ucme`, their mean
    :math:`\bar z` and covariance matrix S (ddof = 1), it is

    .. math:: T^2 = n \bar z' S^{-1} \bar z,

    with a pseudo-inverse where S is singular. Where S is singular in the direction of
    :math:`\bar z` its limit is infinity, and it is cut off at :math:`10^{10} (n - 1)`.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    locations : int or (probs, labels), optional
        Test locations, as in `ucme`; fewer than observations.
    kernel : MatrixKernel or ScalarKernel, optional
        A scalar kernel stands for kappa times the identity; by default the exponential kernel of
        the total variation distance with the bandwidth rule "auto": the median distance, for two
        classes weighted by variance.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        At least 0; about J for calibrated models and large n.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are no more observations than test locations, or sample weights.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), Calibration tests beyond classification, ICLR, appendix C.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.kernels.Exponential(bandwidth=1.0)
    >>> locations = [[0.5, 0.5]], [1]  # z = 0.5, 0.5, -0.5: mean 1/6, variance 1/3
    >>> round(ct.measures.cme([0.5, 0.5, 0.5], [1, 1, 0], locations=locations, kernel=kernel), 6)
    0.25
    """
    return CME(locations=locations, kernel=kernel).evaluate(probs, labels, lens, **rows)


class MeanEmbedding(AtLocations):
    """The mean over test locations of the squared mean deviation."""

    def values(self, labels: Labels) -> Floats:
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
class UCME(EmbeddingMeasure):
    """The UCME with its kernel and test locations; see `ucme` for the parameters."""

    key: ClassVar[str] = "ucme"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {}
    title: ClassVar[str] = "unnormalised calibration mean embedding"
    symbol: ClassVar[str] = "UCME^2"

    def bind(self, predictions: Predictions) -> MeanEmbedding:
        return MeanEmbedding(*self.located(predictions))

    @property
    def intervals(self) -> tuple[str, ...]:
        return ("convex", *super().intervals)

    def gaps(self, predictions: Predictions) -> Gaps:
        """Return the mean deviations at the locations, whose mean square is the error."""
        gap, weight = self.bind(predictions).deviations(), row_weights(predictions)

        def vector(rows: SmallInts) -> Floats:
            drawn = times_drawn(rows, predictions.n) * weight
            return np.asarray(drawn @ gap / drawn.sum())

        return Gaps(predictions.n, vector, lambda g: float(np.sqrt(np.square(g).mean())), power=2)

    def residual_statistics(self, predictions: Predictions) -> list[ResidualStatistic]:
        """Return the mean square of the mean deviations at the locations."""
        terms, weight = self.bind(predictions).deviations(), row_weights(predictions)
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
    **rows: Unpack[Measured],
) -> float | Floats:
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
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

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
    return UCME(locations=locations, kernel=kernel).evaluate(probs, labels, lens, **rows)
