"""Squared kernel calibration error (SKCE), Widmann et al. 2019."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Unpack

import numpy as np
import scipy

from caltest import checks
from caltest.errors import NotApplicable
from caltest.kernels import Kernel, MatrixKernel, as_matrix_kernel, error_bound
from caltest.kernels.fitted import FittedKernel
from caltest.lenses import Lens
from caltest.measures.base import Measure
from caltest.measures.bound import BoundCells, BoundMeasure, UStatistic
from caltest.measures.chunks import BoundChunks
from caltest.measures.kernel.all_pairs import AllPairs, CellPairs, FeaturePairs, all_pairs
from caltest.measures.kernel.block_pairs import MANY_BLOCKS, BlockPairs
from caltest.measures.kernel.bounds import (
    BLOCKS,
    PAIRS,
    block_bounds,
    cases_of_regions,
    concentration_outcome,
    jackknife_of_sums,
    pair_bounds,
)
from caltest.measures.outcome import Ends, Outcome
from caltest.measures.residual_sums import ResidualStatistic
from caltest.measures.tolerance import (
    BOUNDARY,
    Deviation,
    Tolerance,
    ToleranceTest,
    deviation_limit,
    unseen_chance,
)
from caltest.numerics.event_tails import largest_tail
from caltest.numerics.tails import SMALLEST_TAIL, normal_sf, student_sf
from caltest.predictions import Measured, Predictions
from caltest.sources import Cells
from caltest.sources.chunks import Survey
from caltest.types import Floats

__all__ = ["SKCE", "skce"]

FEW_BLOCKS_NOTE = (
    f"with fewer than {MANY_BLOCKS} blocks the normal limit can reject calibrated models too "
    "often; the exact null does not"
)

FEW_BLOCKS_NOTE_TOLERANCE = f"with fewer than {MANY_BLOCKS} blocks Student's limit is rough"
FEW_ROWS = 100
FEW_ROWS_NOTE = "the Pearson curve is for large n; the exact null holds at every n"
ESTIMATORS = ("unbiased", "biased", "linear", "block")


class KernelMeasure(Measure):
    """The SKCE of some kernel over all pairs, or the root of the biased one."""

    own_intervals: ClassVar[Mapping[str, str]] = PAIRS
    rooted: ClassVar[bool] = False

    @property
    @abstractmethod
    def matrix_kernel(self) -> MatrixKernel:
        """The kernel, matrix-valued."""

    @property
    def is_biased(self) -> bool:
        """Whether the pair of a row with itself counts."""
        return True

    @property
    def nulls(self) -> tuple[str, ...]:
        return ("exact", "consistency", "distribution-free")

    @property
    def witness_kernel(self) -> MatrixKernel:
        return self.matrix_kernel

    @property
    def intervals(self) -> tuple[str, ...]:
        return (*PAIRS, *super().intervals)

    def plot_kind(self, m: int) -> str:
        return "reliability" if m == 2 else "witness"

    def parameters(self, kernel: FittedKernel) -> dict[str, object]:
        """Return the settings that the print shows."""
        return kernel.parameters

    def bind_all_pairs(self, predictions: Predictions) -> AllPairs:
        """Bind the mean over all pairs."""
        kernel = FittedKernel.of(self.matrix_kernel, predictions)
        bound = all_pairs(predictions, kernel, biased=self.is_biased)
        bound.rooted, bound.parameters = self.rooted, self.parameters(kernel)
        return bound

    def bind(self, predictions: Predictions) -> BoundMeasure:
        return self.bind_all_pairs(predictions)

    def bind_cells(self, cells: Cells) -> BoundCells:
        bound = CellPairs(cells, self.matrix_kernel, biased=self.is_biased)
        bound.rooted, bound.parameters = self.rooted, self.parameters(bound.kernel)
        return bound

    def residual_statistics(self, predictions: Predictions) -> Sequence[ResidualStatistic]:
        """Return the mean over all pairs: what flipped signs change are pairs of clusters."""
        return [self.bind_all_pairs(predictions).statistic]

    def own_interval(self, predictions: Predictions, *, level: float) -> Ends:
        """Bound the SKCE by the normal limit of all pairs, and its root by the roots of these."""
        kernel, how = FittedKernel.of(self.matrix_kernel, predictions), self.is_biased
        bounds = partial(pair_bounds, level=level)
        ends = bounds(predictions, kernel, self.symbol, is_biased=how)
        if not self.rooted:
            return ends
        low, high, estimate = map(math.sqrt, (ends.low, ends.high, max(ends.estimate, 0.0)))
        return replace(ends, low=low, high=high, estimate=estimate)

    def concentration_bound(self, predictions: Predictions) -> Outcome:
        """Return the upper bound of the p-value that holds for every model."""
        bound = self.bind(predictions)
        value = bound.value()
        squared = value**2 if self.rooted else max(value, 0.0)
        given = self.symbol, bound, self.matrix_kernel, value
        return concentration_outcome(*given, squared=squared)


@dataclass(frozen=True, kw_only=True)
class SKCE(ToleranceTest, KernelMeasure):
    """The SKCE with its estimator and kernel; see `skce` for the parameters."""

    estimator: str = "unbiased"
    block_size: int = 2
    kernel: Kernel | None = None

    key: ClassVar[str] = "skce"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {
        "skce": {},
        "skce-linear": {"estimator": "linear", "block_size": 2},
        "skce-block": {"estimator": "block"},
    }
    title: ClassVar[str] = "squared kernel calibration error"
    own_intervals: ClassVar[Mapping[str, str]] = {**PAIRS, **BLOCKS}

    def __post_init__(self) -> None:
        checks.check_choice(self.estimator, ESTIMATORS, "estimator")
        checks.check_integer(self.block_size, "block_size", minimum=2)
        as_matrix_kernel(self.kernel)

    symbol: ClassVar[str] = "SKCE"

    @property
    def description(self) -> str:
        return f"{self.title}, {self.estimator} estimator"

    @property
    def matrix_kernel(self) -> MatrixKernel:
        """The kernel, matrix-valued."""
        return as_matrix_kernel(self.kernel)

    @property
    def has_blocks(self) -> bool:
        """Whether the estimator is a mean over blocks of consecutive rows."""
        return self.estimator in {"linear", "block"}

    @property
    def size(self) -> int:
        """Observations in a block; the linear estimator has blocks of two."""
        return 2 if self.estimator == "linear" else self.block_size

    @property
    def nulls(self) -> tuple[str, ...]:
        last = {"unbiased": ("bootstrap", "asymptotic"), "biased": ()}.get(
            self.estimator, ("asymptotic",)
        )
        return ("exact", "consistency", "distribution-free", *last)

    @property
    def is_biased(self) -> bool:
        return self.estimator == "biased"

    def parameters(self, kernel: FittedKernel) -> dict[str, object]:
        return {"estimator": self.estimator, **kernel.parameters}

    def bind(self, predictions: Predictions) -> BoundMeasure:
        bound = self._bind_blocks if self.has_blocks else self.bind_all_pairs
        return bound(predictions)

    def bind_chunks(self, survey: Survey, names: Sequence[str]) -> BoundChunks:
        if self.has_blocks:
            return super().bind_chunks(survey, names)
        return FeaturePairs(self.matrix_kernel, survey, biased=self.is_biased)

    @property
    def needs_rows(self) -> str:
        return "its blocks are of rows that follow each other" if self.has_blocks else ""

    def bind_cells(self, cells: Cells) -> BoundCells:
        return Measure.bind_cells(self, cells) if self.has_blocks else super().bind_cells(cells)

    def limit(self, predictions: Predictions) -> Outcome:
        r"""Return the normal limit of the mean over blocks, with the sample deviation (ddof = 1).

        That of the mean over all pairs is Pearson's curve, by its first three moments under H0,

        .. math:: E T^2 = \frac{2}{n (n - 1)} E h_{12}^2, \quad E T^3 =
            \frac{8 (n - 2) E h_{12} h_{23} h_{31} + 4 E h_{12}^3}{n^2 (n - 1)^2},

        where the expectations are means over the rows. The curve is of type III, as the limit
        :math:`n T \to \sum_i \lambda_i (Z_i^2 - 1)` is for equal eigenvalues.

        References
        ----------
        Widmann et al. (2019), section 5.2 and theorem G.2; Gretton et al. (2012), A kernel
        two-sample test, JMLR 13, section 5.
        """
        if self.is_biased:
            return super().limit(predictions)
        bound: BoundMeasure
        degenerate: tuple[str, ...] = ()
        if self.has_blocks:
            bound = blocks = self._bind_blocks(predictions)
            values = _varying(blocks.block_values(), "the normal limit")
            estimate = float(values.mean())
            z = math.sqrt(values.size) * estimate / float(values.std(ddof=1))
            pvalue, text = normal_sf(z), f"normal limit of the mean over {values.size} blocks"
            few = (FEW_BLOCKS_NOTE,) if values.size < MANY_BLOCKS else ()
        else:
            bound = pairs = self.bind_all_pairs(predictions)
            n, degenerate = predictions.n, pairs.degenerate
            estimate = pairs.value()
            variance = 2.0 * pairs.row_moments()[1] / (n * (n - 1))
            if not variance > 0:
                raise NotApplicable("the Pearson curve needs pairs that vary", "use null='exact'")
            triples, cubes = pairs.third_moments()
            third = (8.0 * (n - 2) * triples + 4.0 * cubes) / (n * (n - 1)) ** 2
            z, skewness = estimate / math.sqrt(variance), max(third / variance**1.5, 0.0)
            pvalue = max(float(scipy.stats.pearson3.sf(z, skewness)), SMALLEST_TAIL)
            text = f"Pearson curve of variance 1 and skewness {skewness:.3g}"
            few = (FEW_ROWS_NOTE,) if n < FEW_ROWS else ()
        return Outcome(
            statistic_name="z",
            statistic=z,
            pvalue=pvalue,
            estimate=estimate,
            alternative="greater",
            null_text=text,
            parameters=bound.parameters,
            notes=(*bound.notes, *few),
            degenerate=degenerate,
        )

    def residual_statistics(self, predictions: Predictions) -> Sequence[ResidualStatistic]:
        if self.has_blocks:
            reason = f"{self.description}: blocks of rows are no clusters of them"
            raise NotApplicable(reason, "use test='skce'")
        return super().residual_statistics(predictions)

    @property
    def tolerance(self) -> ToleranceTest | None:
        return None if self.is_biased else self

    def tolerance_test(self, predictions: Predictions, tolerance: Tolerance) -> Outcome:
        """Return the normal limit of the unbiased estimate, or Student's of the mean over blocks.

        The hypothesis is on the SKCE of the kernel with the bandwidth that is printed.
        """
        if self.estimator == "unbiased":
            every, n = self.bind_all_pairs(predictions), predictions.n
            sums, squares = every.row_moments()
            estimate, error = jackknife_of_sums(sums)
            deviation = Deviation(
                value=estimate,
                variance=error**2,
                degenerate=2.0 * squares / (n * (n - 1)),
                largest=4.0 * math.sqrt(squares) / n,
            )
            at = tolerance.value
            return deviation_limit(every, deviation, tolerance, squared=at, estimate=estimate)
        bound = self._bind_blocks(predictions)
        values = _varying(bound.block_values(), "Student's limit")
        squares, pairs = bound.second_moment(), self.size * (self.size - 1) / 2
        deviation = Deviation(
            value=float(values.mean()),
            variance=float(values.var(ddof=1)) / values.size,
            degenerate=squares / (pairs * values.size),
            largest=2.0 * (self.size - 2) * math.sqrt(squares) / (pairs * values.size),
        )
        t = deviation.z(tolerance.value)
        few = (FEW_BLOCKS_NOTE_TOLERANCE,) if values.size < MANY_BLOCKS else ()
        return Outcome(
            statistic_name="t",
            statistic=t,
            pvalue=student_sf(tolerance.signed(t), values.size - 1),
            estimate=deviation.value,
            alternative=tolerance.alternative,
            null_text=f"Student's limit of the mean over {values.size} blocks, {BOUNDARY}",
            parameters=bound.parameters,
            notes=(*bound.notes, *few),
            degenerate=bound.degenerate,
        )

    def boundary_tail(self, predictions: Predictions, tolerance: Tolerance) -> float:
        """Return the tail of numbers of labels where as few as possible cause the error.

        See `caltest.measures.kernel.bounds`.
        """
        bound = error_bound(self.matrix_kernel, predictions.m)
        share = math.sqrt(tolerance.value / bound) if bound else math.inf
        if share > 1:
            return 0.0
        kernel = FittedKernel.of(self.matrix_kernel, predictions)
        tail = largest_tail(cases_of_regions(predictions, kernel, share))
        return max(tail, unseen_chance(share, predictions.n))

    def concentration_bound(self, predictions: Predictions) -> Outcome:
        """Return the upper bound of the p-value that holds for every model."""
        if self.is_biased:
            return super().concentration_bound(predictions)
        bound = self.bind(predictions)
        value = bound.value()
        size = predictions.n if self.estimator == "unbiased" else self.size
        return concentration_outcome(self.symbol, bound, self.matrix_kernel, value, size=size)

    def degenerate_ustatistic(self, predictions: Predictions) -> UStatistic:
        """Return the unbiased mean over all pairs."""
        if self.estimator != "unbiased":
            return super().degenerate_ustatistic(predictions)
        return self.bind_all_pairs(predictions)

    def few_rows(self, *, weighted: bool = False) -> Measure:
        """Return the biased estimator: for one row it has the pair of the row with itself."""
        return replace(self, estimator="biased")

    @property
    def intervals(self) -> tuple[str, ...]:
        # Blocks pair neighbours, which rows drawn with replacement are not.
        return tuple(BLOCKS) if self.has_blocks else super().intervals

    def own_interval(self, predictions: Predictions, *, level: float) -> Ends:
        """Bound the SKCE by the normal limit of all pairs, or by Student's of the blocks."""
        if not self.has_blocks:
            return super().own_interval(predictions, level=level)
        bound = self._bind_blocks(predictions)
        return block_bounds(bound, self.symbol, level=level)

    def _bind_blocks(self, predictions: Predictions) -> BlockPairs:
        kernel = FittedKernel.of(self.matrix_kernel, predictions)
        bound = BlockPairs(predictions, kernel, size=self.size)
        variant = "linear" if self.estimator == "linear" else f"blocks of {self.size}"
        bound.parameters = {"estimator": variant, **kernel.parameters}
        return bound


def _varying(values: Floats, limit: str) -> Floats:
    if values.size < 2 or np.ptp(values) == 0:
        raise NotApplicable(
            f"{limit} needs block values that vary, and these ({values.size} in all) do not",
            "use null='exact'",
        )
    return values


def skce(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    estimator: str = "unbiased",
    block_size: int = 2,
    kernel: Kernel | None = None,
    **rows: Unpack[Measured],
) -> float | Floats:
    r"""Estimate the squared kernel calibration error, 0 if and only if a model is calibrated.

    With :math:`\delta_i = e_{y_i} - p_i` and :math:`h_{ij} = \delta_i' k(p_i, p_j) \delta_j`, the
    estimators are

    - "biased": the mean of h over all i, j; never negative.
    - "unbiased": the mean of h over i < j.
    - "linear": the mean of h over the pairs (1, 2), (3, 4), ...
    - "block": the mean of the unbiased estimates over consecutive blocks of `block_size`.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    estimator : {"unbiased", "biased", "linear", "block"}
    block_size : int, default 2
        Observations in a block, at least 2; used by "block" only.
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
        In squared units of probability. Binary predictions and one-dimensional lenses take
        O(n log n) with Exponential and Matern kernels; other cases O(n^2 m) and bounded memory.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are fewer than two observations, or fewer than one block.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), Calibration tests in multi-class classification: A unifying
    framework, NeurIPS 32, equation 4 and table 1.

    Examples
    --------
    >>> import caltest as ct
    >>> kernel = ct.kernels.Exponential(bandwidth=1.0)
    >>> ct.measures.skce([[0.6, 0.4], [0.2, 0.8]], [0, 1], kernel=kernel)  # 2 e^-0.4 x 0.4 x -0.2
    -0.107251...
    """
    measure = SKCE(estimator=estimator, block_size=block_size, kernel=kernel)
    return measure.evaluate(probs, labels, lens, **rows)
