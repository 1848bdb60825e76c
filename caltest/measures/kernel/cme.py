"""Hotelling's statistic of the calibration mean embedding (CME), Widmann et al. 2021."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import scipy
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.kernels import FittedKernel, Kernel, as_matrix_kernel
from caltest.lenses import Lens
from caltest.measures.base import Labels, Measure
from caltest.measures.cells import BoundCells, Counts
from caltest.measures.kernel.cell_pairs import at_mean, fitted_to_cells
from caltest.measures.kernel.locations import (
    AtLocations,
    Choice,
    Locations,
    add_location_moments,
    check_locations,
    find_locations,
    hotelling,
    locations_of_cells,
)
from caltest.measures.kernel.skce import SKCE
from caltest.measures.outcome import Outcome
from caltest.measures.residual_sums import ResidualStatistic, RobustQuadratic
from caltest.predictions import Predictions
from caltest.scale import Cells

__all__ = ["CME", "cme"]

Floats = NDArray[np.float64]

ROWS_PER_LOCATION = (
    1000  # observations for each test location from which on the chi^2 limit is near
)
SINGULAR = 5e10  # a covariance matrix of a condition up to 1e11 leaves three digits of the share


class StudentizedEmbedding(AtLocations):
    """T^2 of the mean deviations at test locations."""

    def __init__(
        self, predictions: Predictions, kernel: FittedKernel, locations: Locations
    ) -> None:
        super().__init__(predictions, kernel, locations)
        _check(predictions.n, self.size)
        _check_weights(predictions.sample_weight)
        self.scale = SINGULAR

    def comparable(self, values: Floats) -> Floats:
        return log_share(values, self.predictions.n)

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        return hotelling(*self._moments(labels), self.predictions.n)[0]

    def estimate(self, value: float) -> float:
        return float(np.square(self._observed_moments[0] / self.predictions.n).mean())

    @property
    def rank(self) -> int:
        """Rank of the covariance matrix of the observed deviations."""
        return int(hotelling(*self._observed_moments, self.predictions.n)[1][0])

    @cached_property
    def _observed_moments(self) -> tuple[Floats, Floats]:
        return self._moments(self.observed[np.newaxis])

    def _moments(self, labels: Labels) -> tuple[Floats, Floats]:
        sums = np.zeros((len(labels), self.size))
        products = np.zeros((len(labels), self.size, self.size))
        for rows, kappa, expected in self.parts():
            some = np.ascontiguousarray(labels[:, rows])
            add_location_moments(kappa, self.gain, expected, some, sums, products)
        return sums, products


class CellEmbedding(BoundCells):
    """T^2 of cells: the moments of the rows are linear in their numbers of events."""

    def __init__(self, cells: Cells, kernel: FittedKernel, locations: Locations) -> None:
        super().__init__(cells)
        size = len(locations.labels)
        _check(cells.rows, size)
        _check_weights(cells.weights)
        self.scale, self.caution = SINGULAR, at_mean(kernel, cells)
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

    def comparable(self, values: Floats) -> Floats:
        return log_share(values, self.cells.rows)

    def values(self, labels: Counts, n_jobs: int | None = None) -> Floats:
        return hotelling(*self._moments(labels), self.cells.rows)[0]

    def estimate(self, value: float) -> float:
        sums, _ = self._moments(self.observed[np.newaxis])
        return float(np.square(sums / self.cells.rows).mean())

    def _moments(self, counts: Counts) -> tuple[Floats, Floats]:
        excess = counts - self.cells.expected
        products = excess @ self._squares + self._constant
        size = self._gain.shape[1]
        return excess @ self._gain, products.reshape(len(counts), size, size)


def log_share(values: Floats, n: int) -> Floats:
    """Return the log of T^2 / (T^2 + n - 1), the share q that `hotelling` computes.

    Its relative error is that of the inverse, and an infinite T^2 is a share of 1, up to rounding.
    """
    return np.asarray(np.log(np.maximum(values / (values + n - 1.0), np.finfo(float).tiny)))


def _check_weights(weights: object) -> None:
    if weights is not None:
        raise NotApplicable("the CME statistic takes no sample weights", "use test='skce'")


def _check(n: int, size: int) -> None:
    if n <= size:
        raise NotApplicable(
            f"the CME statistic needs more observations than test locations, and there are "
            f"{n} for {size}",
            "take fewer locations, or test='skce'",
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class CME(Measure):
    """T^2 with its kernel and test locations; see `cme` for the parameters."""

    kernel: Kernel | None = None
    locations: Choice = None

    key: ClassVar[str] = "cme"
    title: ClassVar[str] = "calibration mean embedding, Hotelling's T^2"

    def __post_init__(self) -> None:
        as_matrix_kernel(self.kernel)
        check_locations(self.locations)

    @property
    def symbol(self) -> str:
        return "T^2"

    @property
    def estimate_symbol(self) -> str:
        return "UCME^2"

    @property
    def nulls(self) -> tuple[str, ...]:
        return ("exact", "consistency", "asymptotic")

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> StudentizedEmbedding:
        kernel = FittedKernel.of(as_matrix_kernel(self.kernel), predictions, n_jobs)
        locations = find_locations(self.locations, predictions)
        return StudentizedEmbedding(predictions, kernel, locations)

    def bind_cells(self, cells: Cells) -> CellEmbedding:
        kernel = fitted_to_cells(as_matrix_kernel(self.kernel), cells)
        return CellEmbedding(cells, kernel, locations_of_cells(self.locations, cells))

    def residual_statistics(
        self, predictions: Predictions, n_jobs: int | None = None
    ) -> list[ResidualStatistic]:
        """Return the squared length of the deviations in units of their robust covariance."""
        return [RobustQuadratic(self.bind(predictions, n_jobs).deviations())]

    def few_rows(self, *, weighted: bool = False) -> Measure:
        """Return the biased SKCE, which tests the same embedding without its covariance matrix."""
        return self if weighted else SKCE(estimator="biased", kernel=self.kernel)

    @property
    def interval_instead(self) -> str:
        return "test='skce', or the measure ucme"

    def limit(self, predictions: Predictions, n_jobs: int | None = None) -> Outcome:
        """Return the chi^2 limit, its degrees of freedom the rank of the covariance matrix."""
        bound = self.bind(predictions, n_jobs)
        statistic, df, n = bound.value(n_jobs), bound.rank, predictions.n
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
    n_jobs: int | None = None,
) -> float | NDArray[np.float64]:
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
    n_jobs : int, optional
        Threads, as in joblib.

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
    return CME(locations=locations, kernel=kernel).evaluate(probs, labels, lens, n_jobs)
