"""The kernel calibration error (KCE), and what errors share that are roots of a biased SKCE."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.kernels import FittedKernel, Kernel, MatrixKernel, as_matrix_kernel
from caltest.lenses import Lens
from caltest.measures.base import BoundMeasure, Measure, Order
from caltest.measures.kernel.all_pairs import AllPairs, all_pairs
from caltest.measures.kernel.cell_pairs import CellRoot
from caltest.measures.kernel.concentration import biased_outcome
from caltest.measures.kernel.intervals import PAIRS, pair_bounds, root_bounds
from caltest.measures.outcome import Ends, Outcome
from caltest.measures.residual_sums import Pairs, ResidualStatistic
from caltest.predictions import Predictions
from caltest.scale import Cells

__all__ = ["KCE", "kce"]

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
    def order(self) -> Order | None:
        return self.pairs.order

    @property
    def observed(self) -> Labels:
        return self.pairs.observed

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        return np.sqrt(np.maximum(self.pairs.values(labels, n_jobs), 0.0))

    def comparable(self, values: Floats) -> Floats:
        # A root makes 1e-8 of a rounding error of 1e-16.
        return np.square(values)

    def value(self, n_jobs: int | None = None) -> float:
        return float(np.sqrt(max(self.pairs.value(n_jobs), 0.0)))


class RootSKCE(Measure):
    """A measure whose square is the biased SKCE of some kernel."""

    own_intervals: ClassVar[Mapping[str, str]] = PAIRS

    @property
    @abstractmethod
    def matrix_kernel(self) -> MatrixKernel:
        """The kernel, matrix-valued."""

    @property
    def nulls(self) -> tuple[str, ...]:
        return ("exact", "consistency", "distribution-free")

    @property
    def witness_kernel(self) -> MatrixKernel:
        return self.matrix_kernel

    @property
    def intervals(self) -> tuple[str, ...]:
        return (*PAIRS, *super().intervals)

    def own_interval(
        self, predictions: Predictions, *, level: float, n_jobs: int | None = None
    ) -> Ends:
        """Bound the error by the root of the interval of its square."""
        kernel = FittedKernel.of(self.matrix_kernel, predictions, n_jobs)
        bounds = pair_bounds(
            predictions, kernel, self.symbol, is_biased=True, level=level, n_jobs=n_jobs
        )
        return root_bounds(bounds)

    def plot_kind(self, m: int) -> str:
        return "reliability" if m == 2 else "witness"

    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundMeasure:
        kernel = FittedKernel.of(self.matrix_kernel, predictions, n_jobs)
        return RootPairs(all_pairs(predictions, kernel, biased=True), self.parameters(kernel))

    def bind_cells(self, cells: Cells) -> CellRoot:
        bound = CellRoot(cells, self.matrix_kernel)
        bound.parameters = self.parameters(bound.kernel)
        return bound

    def residual_statistics(
        self, predictions: Predictions, n_jobs: int | None = None
    ) -> list[ResidualStatistic]:
        """Return the root of the mean over all pairs."""
        kernel = FittedKernel.of(self.matrix_kernel, predictions, n_jobs)
        square = all_pairs(predictions, kernel, biased=True).statistic
        return [Pairs(square.pairs, lambda s: np.sqrt(np.maximum(square.function(s), 0.0)))]

    def concentration_bound(self, predictions: Predictions, n_jobs: int | None = None) -> Outcome:
        """Return the upper bound of the p-value of the square that holds for every model."""
        bound = self.bind(predictions, n_jobs)
        value = bound.value(n_jobs)
        return biased_outcome(self.symbol, bound, self.matrix_kernel, value, value**2)

    def parameters(self, kernel: FittedKernel) -> dict[str, object]:
        """Return the settings that the print shows."""
        return kernel.parameters


@dataclass(frozen=True, kw_only=True)
class KCE(RootSKCE):
    """The KCE with its kernel; see `kce` for the parameters."""

    kernel: Kernel | None = None

    key: ClassVar[str] = "kce"
    title: ClassVar[str] = "kernel calibration error"

    def __post_init__(self) -> None:
        as_matrix_kernel(self.kernel)

    @property
    def symbol(self) -> str:
        return "KCE"

    @property
    def matrix_kernel(self) -> MatrixKernel:
        return as_matrix_kernel(self.kernel)


def kce(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    kernel: Kernel | None = None,
    n_jobs: int | None = None,
) -> float | NDArray[np.float64]:
    r"""Estimate the kernel calibration error by the square root of the biased SKCE.

    With :math:`\delta_i = e_{y_i} - p_i` it is

    .. math:: \Big(n^{-2} \sum_{i,j} \delta_i' k(p_i, p_j) \delta_j\Big)^{1/2}.

    The other estimators of the SKCE can be negative and have no square root.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    kernel : MatrixKernel or ScalarKernel, optional
        A scalar kernel stands for kappa times the identity; by default the exponential kernel of
        the total variation distance with the bandwidth rule "auto": the median distance, for two
        classes weighted by variance.
    n_jobs : int, optional
        Threads, as in joblib.

    Returns
    -------
    float
        In units of probability, at least 0; its expectation is positive for calibrated models too.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), Calibration tests in multi-class classification: A unifying
    framework, NeurIPS 32, definition 3 and table 1.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.kernels.Exponential(bandwidth=1.0)
    >>> ct.measures.kce([[0.6, 0.4], [0.6, 0.4]], [0, 0], kernel=kernel)  # sqrt(2) x 0.4
    0.565685...
    """
    return KCE(kernel=kernel).evaluate(probs, labels, lens, n_jobs)
