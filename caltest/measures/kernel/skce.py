"""Kernel calibration errors: SKCE and KCE, Widmann et al. 2019, and MMCE, Kumar et al. 2018."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Unpack

import numpy as np
import scipy

from caltest import checks, kernels
from caltest.errors import NotApplicable
from caltest.kernels import FittedKernel, Kernel, MatrixKernel, as_matrix_kernel
from caltest.lenses.base import Evaluated
from caltest.measures.base import Measure
from caltest.measures.bound import BoundCells, BoundChunks, BoundMeasure
from caltest.measures.kernel import bounds
from caltest.measures.kernel.bounds import MANY_BLOCKS
from caltest.measures.kernel.pairs import AllPairs, BlockPairs, CellPairs, FeaturePairs, all_pairs
from caltest.measures.outcome import Ends, Outcome, outcome_of
from caltest.measures.residual_sums import Flippable
from caltest.measures.tolerance import BOUNDARY, Deviation, Tolerance, ToleranceTest, unseen_chance
from caltest.numerics.event_tails import largest_tail
from caltest.numerics.tails import SMALLEST_TAIL, normal_sf, student_sf
from caltest.predictions import Predictions
from caltest.sources import Cells
from caltest.sources.chunks import Survey
from caltest.types import Floats
from caltest.units import check_one_dimension

__all__ = ["SKCE", "skce", "KCE", "MMCE", "kce", "mmce"]  # noqa: RUF022

FEW_BLOCKS_NOTE = (
    f"with fewer than {MANY_BLOCKS} blocks the normal limit can reject calibrated models too "
    "often; the exact null does not"
)

FEW_BLOCKS_NOTE_TOLERANCE = f"with fewer than {MANY_BLOCKS} blocks Student's limit is rough"
FEW_ROWS = 100
FEW_ROWS_NOTE = "the Pearson curve is for large n; the exact null holds at every n"
BOUND_NOTE = "the p-value is an upper bound that holds for every model"
LIMIT = ("asymptotic",)
# The nulls that only these have.
ESTIMATORS = {"unbiased": ("bootstrap", *LIMIT), "biased": (), "linear": LIMIT, "block": LIMIT}
WIDTH = 0.4


class KernelMeasure(Measure):
    """The SKCE of some kernel, or the root of the biased one, which is the default."""

    own_intervals: ClassVar[Mapping[str, str]] = bounds.PAIRS
    rooted: ClassVar[bool] = False
    estimator: str = "biased"
    block_size: int = 2
    kernel: Kernel | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        as_matrix_kernel(self.kernel)

    @property
    def witness_kernel(self) -> MatrixKernel:
        return as_matrix_kernel(self.kernel)

    @property
    def is_biased(self) -> bool:
        """Whether the pair of a row with itself counts."""
        return self.estimator == "biased"

    @property
    def size(self) -> int:
        """Observations in a block of consecutive rows; 0 where all pairs count."""
        return {"linear": 2, "block": self.block_size}.get(self.estimator, 0)

    @property
    def nulls(self) -> tuple[str, ...]:
        return ("exact", "consistency", "distribution-free", *ESTIMATORS[self.estimator])

    @property
    def needs_rows(self) -> str:
        return "its blocks are of rows that follow each other" if self.size else ""

    @property
    def lacking(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("bind_chunks", "residual_statistics") if self.size else ()

    @property
    def intervals(self) -> tuple[str, ...]:
        # Blocks pair neighbours, which rows drawn with replacement are not.
        return tuple(bounds.BLOCKS if self.size else [*bounds.PAIRS, *super().intervals])

    def plot_kind(self, m: int) -> str:
        return "reliability" if m == 2 else "witness"

    def parameters(self, kernel: FittedKernel) -> dict[str, object]:
        """Return the settings that the print shows."""
        return kernel.parameters

    def bind_all_pairs(self, predictions: Predictions) -> AllPairs:
        """Bind the mean over all pairs."""
        kernel = FittedKernel.of(self.witness_kernel, predictions)
        bound = all_pairs(predictions, kernel, biased=self.is_biased)
        bound.rooted, bound.parameters = self.rooted, self.parameters(kernel)
        return bound

    def bind_blocks(self, predictions: Predictions) -> BlockPairs:
        """Bind the mean over blocks."""
        kernel = FittedKernel.of(self.witness_kernel, predictions)
        bound = BlockPairs(predictions, kernel, size=self.size)
        bound.parameters = self.parameters(kernel)
        return bound

    def bind(self, predictions: Predictions) -> BoundMeasure:
        return (self.bind_blocks if self.size else self.bind_all_pairs)(predictions)

    def bind_cells(self, cells: Cells, *, alone: bool = False) -> BoundCells:
        if self.size:
            return super().bind_cells(cells)
        bound = CellPairs(cells, self.witness_kernel, biased=self.is_biased)
        bound.rooted, bound.parameters = self.rooted, self.parameters(bound.kernel)
        return bound

    def residual_statistics(self, predictions: Predictions) -> Flippable:
        """Return the mean over all pairs: what flipped signs change are pairs of clusters."""
        if self.size:
            reason = f"{self.description}: blocks of rows are no clusters of them"
            raise NotApplicable(reason, "use test='skce'")
        return [self.bind_all_pairs(predictions).statistic]

    def own_interval(self, predictions: Predictions, *, level: float) -> Ends:
        """Bound the SKCE by the limit of all pairs or of blocks, and its root by their roots."""
        if self.size:
            return bounds.block_bounds(self.bind_blocks(predictions), self.symbol, level)
        kernel = FittedKernel.of(self.witness_kernel, predictions)
        notes = (bounds.BIASED,) if self.is_biased else ()
        pairs = all_pairs(predictions, kernel, biased=False)
        ends = bounds.pair_bounds(pairs, self.symbol, level, *notes)
        if not self.rooted:
            return ends
        low, high, estimate = map(math.sqrt, (ends.low, ends.high, max(ends.estimate, 0.0)))
        return replace(ends, low=low, high=high, estimate=estimate)

    def concentration_bound(self, predictions: Predictions) -> Outcome:
        """Return the upper bound of the p-value that holds for every model."""
        bound, kernel = self.bind(predictions), self.witness_kernel
        n, m, value = predictions.n, predictions.m, bound.value()
        b = kernels.error_bound(kernel, m)
        if b == 0:
            reason = "the kernel is zero, so that the inequality is empty"
            raise NotApplicable(reason, "use another kernel")
        if not self.is_biased:
            size = self.size or n
            pairs = (n // size) * (size // 2)  # without a common row
            square = pairs * max(value, 0.0) ** 2 / b**2
        elif kernel.is_psd(m):
            squared = value**2 if self.rooted else max(value, 0.0)
            square = max(0.0, math.sqrt(n * squared / b) - 1.0) ** 2
        else:
            needs = "the inequality for the biased estimator needs a positive semi-definite kernel"
            reason = f"{needs}, which {kernel} need not be for m = {m}"
            raise NotApplicable(reason, "use null='exact'")
        text = f"concentration inequality with |h| <= {b:.4g}"
        about = bound.described() | {"null_text": text, "notes": (*bound.notes, BOUND_NOTE)}
        about |= {"is_bound": True, "scale": bound.scale}
        pvalue = math.exp(-square / 2.0)
        return outcome_of(self.symbol, value, pvalue, estimate=value, **about)


@dataclass(frozen=True, kw_only=True)
class SKCE(ToleranceTest, KernelMeasure):
    """The SKCE with its estimator and kernel; see `skce` for the parameters."""

    estimator: str = checks.option("unbiased", checks.one_of(ESTIMATORS))
    block_size: int = checks.option(2, partial(checks.check_integer, minimum=2))
    kernel: Kernel | None = None

    key, title, symbol = "skce", "squared kernel calibration error", "SKCE"
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = {
        "skce": {},
        "skce-linear": {"estimator": "linear", "block_size": 2},
        "skce-block": {"estimator": "block"},
    }
    own_intervals: ClassVar[Mapping[str, str]] = {**bounds.PAIRS, **bounds.BLOCKS}

    @property
    def description(self) -> str:
        return f"{self.title}, {self.estimator} estimator"

    @property
    def tolerance(self) -> ToleranceTest | None:
        return None if self.is_biased else self

    def parameters(self, kernel: FittedKernel) -> dict[str, object]:
        variant = f"blocks of {self.size}" if self.estimator == "block" else self.estimator
        return {"estimator": variant, **kernel.parameters}

    def bind_chunks(self, survey: Survey, names: Sequence[str]) -> BoundChunks:
        if self.size:
            return super().bind_chunks(survey, names)
        return FeaturePairs(self.witness_kernel, survey, biased=self.is_biased)

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
        if self.size:
            blocks = self.bind_blocks(predictions)
            values = bounds.varying(blocks, "the normal limit")
            estimate = float(values.mean())
            z = math.sqrt(values.size) * estimate / float(values.std(ddof=1))
            pvalue, text = normal_sf(z), f"normal limit of the mean over {values.size} blocks"
            few = (FEW_BLOCKS_NOTE,) if values.size < MANY_BLOCKS else ()
            notes = (*blocks.notes, *few)
            about = {"parameters": blocks.parameters, "notes": notes}
            return outcome_of("z", z, pvalue, text, estimate, **about)
        pairs, n = self.bind_all_pairs(predictions), predictions.n
        estimate = pairs.value()
        variance = 2.0 * pairs.row_moments()[1] / (n * (n - 1))
        if not variance**1.5 > 0:
            raise NotApplicable("the Pearson curve needs pairs that vary", "use null='exact'")
        triples, cubes = pairs.third_moments()
        third = (8.0 * (n - 2) * triples + 4.0 * cubes) / (n * (n - 1)) ** 2
        z, skewness = estimate / math.sqrt(variance), max(third / variance**1.5, 0.0)
        pvalue = max(float(scipy.stats.pearson3.sf(z, skewness)), SMALLEST_TAIL)
        notes = (*pairs.notes, FEW_ROWS_NOTE) if n < FEW_ROWS else pairs.notes
        text = f"Pearson curve of variance 1 and skewness {skewness:.3g}"
        described = pairs.described() | {"null_text": text, "notes": notes}
        return outcome_of("z", z, pvalue, estimate=estimate, **described)

    def tolerance_test(self, predictions: Predictions, tolerance: Tolerance) -> Outcome:
        """Return the normal limit of the unbiased estimate, or Student's of the mean over blocks.

        The hypothesis is on the SKCE of the kernel with the bandwidth that is printed.
        """
        if not self.size:
            every, n = self.bind_all_pairs(predictions), predictions.n
            sums, squares = every.row_moments()
            estimate, error = bounds.jackknife_error(sums)
            degenerate, largest = 2.0 * squares / (n * (n - 1)), 4.0 * math.sqrt(squares) / n
            deviation = Deviation(estimate, error**2, degenerate, largest)
            return deviation.limit(every, tolerance, tolerance.value, estimate)
        bound = self.bind_blocks(predictions)
        values = bounds.varying(bound, "Student's limit")
        squares, pairs = bound.second_moment(), self.size * (self.size - 1) / 2
        deviation = Deviation(
            value=float(values.mean()),
            variance=float(values.var(ddof=1)) / values.size,
            degenerate=squares / (pairs * values.size),
            largest=2.0 * (self.size - 2) * math.sqrt(squares) / (pairs * values.size),
        )
        t = deviation.z(tolerance.value)
        pvalue = student_sf(tolerance.signed(t), values.size - 1)
        text = f"Student's limit of the mean over {values.size} blocks, {BOUNDARY}"
        few = (FEW_BLOCKS_NOTE_TOLERANCE,) if values.size < MANY_BLOCKS else ()
        about = bound.described() | {"null_text": text, "notes": (*bound.notes, *few)}
        about["alternative"] = tolerance.alternative
        return outcome_of("t", t, pvalue, estimate=deviation.value, **about)

    def boundary_tail(self, predictions: Predictions, tolerance: Tolerance) -> float:
        """Return the tail of numbers of labels where as few as possible cause the error.

        See `caltest.measures.kernel.bounds`.
        """
        bound = kernels.error_bound(self.witness_kernel, predictions.m)
        share = math.sqrt(tolerance.value / bound) if bound else math.inf
        if share > 1:
            return 0.0
        kernel = FittedKernel.of(self.witness_kernel, predictions)
        tail = largest_tail(bounds.cases_of_regions(predictions, kernel, share))
        return max(tail, unseen_chance(share, predictions.n))

    def degenerate_ustatistic(self, predictions: Predictions) -> AllPairs:
        """Return the unbiased mean over all pairs."""
        if self.estimator != "unbiased":
            return super().degenerate_ustatistic(predictions)
        return self.bind_all_pairs(predictions)

    def few_rows(self, *, weighted: bool = False) -> Measure:
        """Return the biased estimator: for one row it has the pair of the row with itself."""
        return replace(self, estimator="biased")


def skce(
    probs: object,
    labels: object = None,
    *,
    estimator: str = "unbiased",
    block_size: int = 2,
    kernel: Kernel | None = None,
    **rows: Unpack[Evaluated],
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
    return measure.evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True)
class KCE(KernelMeasure):
    """The KCE with its kernel; see `kce` for the parameters."""

    kernel: Kernel | None = None

    key, title, symbol = "kce", "kernel calibration error", "KCE"
    rooted: ClassVar[bool] = True


def kce(
    probs: object, labels: object = None, *, kernel: Kernel | None = None, **rows: Unpack[Evaluated]
) -> float | Floats:
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
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

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
    return KCE(kernel=kernel).evaluate(probs, labels, **rows)


@dataclass(frozen=True, kw_only=True)
class MMCE(KernelMeasure):
    """The MMCE with the width of its kernel; see `mmce` for the parameters."""

    width: float = checks.option(WIDTH, checks.check_positive)

    key, title, symbol = "mmce", "maximum mean calibration error", "MMCE"
    largest: ClassVar[float] = 1.0
    rooted: ClassVar[bool] = True

    @property
    def witness_kernel(self) -> MatrixKernel:
        # For two classes delta_i' delta_j = 2 (c_i - r_i)(c_j - r_j), hence the half.
        return kernels.Scaled(kernels.Exponential(self.width), np.eye(2) / 2.0)

    def parameters(self, kernel: FittedKernel) -> dict[str, object]:
        return {"kernel": "exponential", "width": self.width}

    def bind_all_pairs(self, predictions: Predictions) -> AllPairs:
        check_one_dimension(predictions, "the MMCE")
        return super().bind_all_pairs(predictions)


def mmce(
    probs: object, labels: object = None, *, width: float = WIDTH, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Estimate the maximum mean calibration error, a kernel calibration error of the confidence.

    With confidences r and c = 1 where the predicted class is right, it is

    .. math:: \Big(n^{-2} \sum_{i,j} (c_i - r_i)(c_j - r_j) e^{-|r_i - r_j| / w}\Big)^{1/2},

    which is :math:`1/\sqrt{2}` times the KCE of the confidence lens with the exponential kernel of
    bandwidth w (and its KCE with half that kernel). Sorted, it takes O(n log n).

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "confidence"
        Any lens with two classes; r is then the probability of its event. A family gives an array.
    width : float, default 0.4
        w > 0, in units of probability; 0.4 is that of the authors' experiments.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In units of probability, at least 0.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If the lens leaves more than two classes.

    References
    ----------
    Kumar, Sarawagi, Jain (2018), Trainable calibration measures for neural networks from kernel
    mean embeddings, ICML 35, section 3. The training loss of the authors' code is its square.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.mmce([[0.6, 0.4], [0.6, 0.4]], [0, 0])  # right twice with confidence 0.6
    0.4
    """
    rows.setdefault("lens", "confidence")
    return MMCE(width=width).evaluate(probs, labels, **rows)
