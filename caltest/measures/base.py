"""What a measure is: a value, its distribution when labels are redrawn, what else it offers."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.errors import DegenerateDataWarning, NotApplicable
from caltest.lenses import Lens, resolve_lens
from caltest.numerics.labels import Hashes, label_dtype
from caltest.numerics.tails import normal_sf
from caltest.predictions import Predictions, as_measured
from caltest.predictions.redrawing import Redrawing

if TYPE_CHECKING:
    from caltest.kernels import MatrixKernel
    from caltest.measures.gap import Gap
    from caltest.measures.residual_sums import Flipped, ResidualStatistic
    from caltest.measures.tolerance import Tolerance, ToleranceBootstrap
    from caltest.nulls.base import Replicates

__all__ = ["BoundMeasure", "Measure", "Outcome", "Part"]

Floats = NDArray[np.float64]
Labels = NDArray[np.unsignedinteger]
Rows = NDArray[np.int32]
Order = NDArray[np.intp]

ROWS_FOR_LIMIT = 100  # with fewer, limits with a tolerance are rough
REGISTRY: dict[str, type[Measure]] = {}  # filled by the package, in the order of its lines


def keys_offering(capability: str) -> tuple[str, ...]:
    """Return the keys of the named tests whose measure offers something; see `Measure.offers`."""
    offering = [measure for measure in REGISTRY.values() if measure.offers(capability)]
    return tuple(key for measure in offering for key in measure.declared_tests())


def side_of(test: str, alternative: str) -> str:
    """Return what a test looks for, where it looks for one direction of an error only."""
    kinds = (kind for kind in REGISTRY.values() if test in kind.declared_tests())
    kind = next(kinds, None)
    return "" if kind is None else kind.sides.get(alternative, "")


@dataclass(frozen=True, kw_only=True)
class Part:
    """One of the statistics that a measure combines.

    Attributes
    ----------
    key, title : str
        Its name, and what it is in one line.
    lens : str
        What it looks at, relative to the lens of the test.
    finding : str
        What the observed labels show, in words, with direction and unit.
    estimate : float
        The number in the finding.
    estimate_name : str
        What it is.
    values : (B + 1,) array
        The statistic for the observed labels, then for the redrawn ones.
    two_sided : bool
        Whether small values speak against calibration too.
    pvalue, adjusted : float
        By itself, and for all components together.
    place : Gap or None
        Predictions and labels of the rows that the finding is on, where it is on some.
    in_words : bool
        Whether the finding is for a user of the model, not only for a statistician.
    """

    key: str
    title: str
    lens: str
    finding: str
    estimate: float
    estimate_name: str
    values: Floats
    two_sided: bool
    pvalue: float
    adjusted: float
    place: Gap | None = None
    in_words: bool = True


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A statistic and its p-value, from whatever null distribution: what a test computes.

    Attributes
    ----------
    statistic_name : str
        The name of the statistic, as printed.
    statistic, pvalue : float
        A p-value that underflows becomes the least positive number: it is never 0.
    estimate : float
        The measure itself, where the statistic is something else.
    alternative : str
        The values of the statistic that speak against the null hypothesis: "greater", "less" or
        "two-sided".
    null_text : str
        The null distribution in words.
    parameters : Mapping
        Settings of the measure on these predictions.
    notes : tuple of str
        What the reader of the p-value should know.
    degenerate : tuple of str
        What the data left undefined; the caller warns.
    is_bound : bool
        Whether the p-value is an upper bound, from an inequality, of the probability of a statistic
        as extreme as this one.
    distribution : (B,) array, optional
        Resampled statistics, or the first of very many.
    n_resamples : int, optional
        B, where the null and not the caller chose it.
    stopping : str, optional
        The rule by which it did.
    replicates : Replicates, optional
        The observed statistic and the resampled ones, for tests of several rows together.
    parts : tuple of Part
        The statistics that it combines, the loudest first.
    """

    statistic_name: str
    statistic: float
    pvalue: float
    estimate: float
    alternative: str
    null_text: str
    parameters: Mapping[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    degenerate: tuple[str, ...] = ()
    is_bound: bool = False
    distribution: Floats | None = None
    n_resamples: int | None = None
    stopping: str | None = None
    replicates: Replicates | None = None
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "pvalue", positive(self.pvalue))


def two_sided_normal(z: float, estimate: float, parameters: Mapping[str, object]) -> Outcome:
    """Return the two-sided test of a statistic that is about standard normal."""
    return Outcome(
        statistic_name="z",
        statistic=z,
        pvalue=2.0 * normal_sf(abs(z)),
        estimate=estimate,
        alternative="two-sided",
        null_text="normal limit, two-sided",
        parameters=parameters,
    )


@dataclass(frozen=True)
class Ends:
    """A confidence interval for a measure.

    Attributes
    ----------
    low, high : float
        The ends; an infinite one where the data do not limit the measure.
    estimate : float
        The value between them.
    method_text : str
        How they were found, in words.
    notes : tuple of str
        What a reader of the interval should know.
    """

    low: float
    high: float
    estimate: float
    method_text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gaps:
    """A vector of gaps for any resample of rows, and the norm that makes it an error.

    The ECE is the sum of the lengths of the gaps of its bins, the MCE the largest of them, KS the
    largest partial sum. Such an error is a norm of a vector that resampling the rows perturbs.

    Attributes
    ----------
    n : int
        The number of rows to draw.
    vector : callable
        `vector(rows)`: the gaps of the drawn rows.
    norm : callable
        `norm(gaps)`: the error, or its root.
    power : int
        2 where the error is the square of the norm.
    """

    n: int
    vector: Callable[[Rows], Floats]
    norm: Callable[[Floats], float]
    power: int = 1


@dataclass(frozen=True)
class RowScores:
    """Scores of rows, of which a measure is the weighted mean.

    Attributes
    ----------
    weighted : (n,) array
        The score of each row times its weight; 0 where the weight is 0.
    weight : (n,) array
        The sample weights, or ones.
    least : float
        The least value that a score can have.
    """

    weighted: Floats
    weight: Floats
    least: float = 0.0


@dataclass(frozen=True)
class RowTerms:
    """The terms of rows whose sum a statistic is a function of.

    Attributes
    ----------
    table : (n, m) array
        What each label of a row adds to the sum.
    observed : float
        The sum for the labels that were observed; infinite where they are impossible.
    by_likelihood : bool
        Whether sums are as extreme as they are unlikely, on both sides: those of a likelihood
        ratio, whose statistic is the deviance of the sum. Otherwise the statistic is monotone in
        the sum: it increases with it where its test is one-sided.
    """

    table: Floats
    observed: float
    by_likelihood: bool = False

    @classmethod
    def of(
        cls, table: Floats, predictions: Predictions, *, by_likelihood: bool = False
    ) -> RowTerms:
        """Return the terms with the sum for the labels of the predictions."""
        own = np.take_along_axis(table, predictions.labels[:, None], axis=1)
        return cls(table, float(own.sum()), by_likelihood)


class BoundMeasure(ABC):
    """A measure bound to predictions: what remains is a function of the labels.

    Everything that depends on the predictions alone (bins, bandwidth, order) is done once, here.
    A measure that keeps the rows in an order of its own has it in `order`.
    """

    pooled: bool = False  # True: give all resamples in one call, it runs its own threads
    combines: bool = False  # whether the value combines several statistics; see `statistics`
    scale: float = 1.0  # size of the terms of the statistic: ties are measured by it
    parameters: Mapping[str, object] = {}
    notes: tuple[str, ...] = ()
    degenerate: tuple[str, ...] = ()  # what the data left undefined

    def __init__(self, predictions: Predictions) -> None:
        self.predictions = predictions

    @abstractmethod
    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        """Return the measure for each row of `labels` (B, n)."""

    def statistics(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        """Return what the value combines, (K, B); by default the value itself, (B,)."""
        return self.values(labels, n_jobs)

    def combine(self, statistics: Floats) -> Floats:
        """Return the value (B,) of each column of what `statistics` gives."""
        return statistics

    def combined_parts(self, statistics: Floats) -> tuple[Part, ...]:
        """Return the statistics (K, B + 1) as results; the first column is of the observed labels.

        Empty where the value is one statistic.
        """
        return ()

    @property
    def order(self) -> Order | None:
        """The rows of the predictions that are kept, in their order; None for all as they are."""
        return None

    @property
    def observed(self) -> Labels:
        """The labels that were observed, (n,), in the order of the rows."""
        labels = (
            self.predictions.labels if self.order is None else self.predictions.labels[self.order]
        )
        return labels.astype(label_dtype(self.predictions.m))

    @property
    def label_probs(self) -> Floats:
        """The probabilities (n, m) of the labels, in the order of the rows."""
        return self.predictions.probs if self.order is None else self.predictions.probs[self.order]

    def redraw(self, keys: Hashes) -> Labels:
        """Redraw the labels (B, n) from the predictions, in the order of the rows.

        Every measure and every lens sees the same labels in the resample of a key.
        """
        return self._redrawing.labels(keys)

    def comparable(self, values: Floats) -> Floats:
        """Return an increasing function of the values in which ties are ties up to rounding."""
        return values

    def value(self, n_jobs: int | None = None) -> float:
        """Return the measure for the labels that were observed."""
        return float(self.values(self.observed[None], n_jobs)[0])

    def estimate(self, value: float) -> float:
        """Return the calibration error that an observed value stands for; often the same."""
        return value

    @cached_property
    def _redrawing(self) -> Redrawing:
        every = self.predictions.redrawing
        return every if self.order is None else every.taken(self.order)


class UStatistic(BoundMeasure):
    """The mean of a symmetric function h_ij over all pairs of rows, with its sums."""

    @abstractmethod
    def row_sums(self, n_jobs: int | None = None) -> Floats:
        """Return sum_{j != i} h_ij for every i."""

    @abstractmethod
    def weighted_sums(self, counts: Labels | Floats, n_jobs: int | None = None) -> Floats:
        """Return sum_{j<i} c_i c_j h_ij for each row c of `counts` (B, n)."""

    @abstractmethod
    def diagonal(self) -> Floats:
        """Return h_ii for every i."""

    @abstractmethod
    def signed_sums(
        self, clusters: NDArray[np.int64], count: int, n_jobs: int | None = None
    ) -> Flipped:
        """Return sum_{j<i} s_i s_j h_ij as a function of the signs s of `count` clusters."""


class Measure(ABC):
    """A calibration error or score with its options, and what it offers besides its value.

    Subclasses are frozen dataclasses of options. What differs between measures is asked of the
    measure: one that knows more than its value overrides members below, which decline by default.
    It is a test under its own key; a measure that is none has `tests = {}`, and one that several
    tests are named after declares each of them with the options that its name stands for.
    """

    __dataclass_fields__: ClassVar[dict[str, Any]]  # every subclass is a dataclass

    key: ClassVar[str]
    title: ClassVar[str]
    function: ClassVar[str | None] = None  # its name, where it is not that of the key
    tests: ClassVar[Mapping[str, Mapping[str, object]] | None] = None  # key -> options it fixes
    alternative: ClassVar[str] = "greater"  # or "two-sided": which values speak against H0
    largest: ClassVar[float] = math.inf  # value that it can have where there are two classes
    sides: ClassVar[Mapping[str, str]] = {}  # what an alternative means, where it has a direction
    is_proper_score: ClassVar[bool] = False  # whether the true probabilities have the best mean
    own_intervals: ClassVar[Mapping[str, str]] = {}  # keys and titles of what `own_interval` does

    @classmethod
    def offers(cls, capability: str) -> bool:
        """Tell whether the measure overrides a member that declines by default."""
        return getattr(cls, capability) is not getattr(Measure, capability)

    # ---- the value --------------------------------------------------------------------------

    def support(self, m: int) -> tuple[float, float]:
        """Return the range of what the measure estimates for m classes: intervals stay in it."""
        least = 0.0 if self.is_error else -math.inf
        return least, self.largest if m == 2 else math.inf

    @classmethod
    def function_name(cls) -> str:
        """Return the name in `caltest.measures` of the function that computes the measure."""
        return cls.function or cls.key.replace("-", "_")

    @classmethod
    def declared_tests(cls) -> Mapping[str, Mapping[str, object]]:
        """Return the tests that are named after the measure: their keys, and what each fixes."""
        return {cls.key: {}} if cls.tests is None else cls.tests

    @property
    @abstractmethod
    def symbol(self) -> str:
        """The name of the value, as printed."""

    @abstractmethod
    def bind(self, predictions: Predictions, n_jobs: int | None = None) -> BoundMeasure:
        """Do all that depends on the predictions alone."""

    @property
    def estimate_symbol(self) -> str:
        """The name of the calibration error that the value stands for; often the same."""
        return self.symbol

    @property
    def description(self) -> str:
        """The measure with its variant, as messages name it."""
        return self.title

    # ---- its tests --------------------------------------------------------------------------

    @property
    def nulls(self) -> tuple[str, ...]:
        """The nulls that have a meaning for this measure; the first is the default."""
        return ("exact", "consistency")

    def limit(self, predictions: Predictions, n_jobs: int | None = None) -> Outcome:
        """Return the asymptotic test of this measure."""
        raise NotApplicable(f"{self.description} has no limiting distribution", "use null='exact'")

    def closed_form(self, predictions: Predictions, n_jobs: int | None = None) -> Outcome:
        """Return the test of this measure whose null distribution has a formula at every n."""
        raise NotApplicable(
            f"{self.description} has no null distribution in closed form", "use null='exact'"
        )

    def row_terms(self, predictions: Predictions) -> RowTerms:
        """Return the terms of rows, for a statistic that is a function of their sum."""
        raise NotApplicable(f"{self.description} is no sum over rows", "use null='exact'")

    def residual_statistics(
        self, predictions: Predictions, n_jobs: int | None = None
    ) -> Sequence[ResidualStatistic]:
        """Return the statistics of the residuals that test this measure where rows depend."""
        keys = ", ".join(map(repr, keys_offering("residual_statistics")))
        raise NotApplicable(
            f"{self.description} has no test for rows that depend on each other",
            f"use one of the tests {keys}",
        )

    def findings(self, predictions: Predictions) -> tuple[Part, ...]:
        """Return what the labels show of each statistic that the measure combines, in order."""
        return ()

    @property
    def tolerance_method(self) -> str | None:
        """How a tolerance is tested, "limit" or "bootstrap"; None where the measure knows none."""
        return None

    def tolerance_limit(
        self, predictions: Predictions, tolerance: Tolerance, n_jobs: int | None = None
    ) -> Outcome:
        """Return the test of the hypothesis that the error is at most, or at least, a tolerance."""
        keys = ", ".join(map(repr, keys_offering("tolerance_method")))
        raise NotApplicable(
            f"{self.description} has no test with a tolerance",
            f"use test={' or '.join(keys.rsplit(', ', 1))}",
        )

    def is_raised_to_exact(self, n: int) -> bool:
        """Tell whether "at most a tolerance" is rejected only where calibration is, with n rows."""
        return n < ROWS_FOR_LIMIT

    def boundary_tail(
        self, predictions: Predictions, tolerance: Tolerance, n_jobs: int | None = None
    ) -> float:
        """Return how likely labels like these are, at most, where the error is the tolerance.

        By an exact distribution, for the errors whose number of events has one.
        """
        return 0.0

    def tolerance_bootstrap(
        self, predictions: Predictions, tolerance: Tolerance
    ) -> ToleranceBootstrap | None:
        """Return the bootstrap that takes the place of `tolerance_limit`, where there is one."""
        return None

    def concentration_bound(self, predictions: Predictions, n_jobs: int | None = None) -> Outcome:
        """Return the test of this measure by an inequality that holds for every model."""
        raise NotApplicable(f"{self.description} has no concentration bound", "use null='exact'")

    def degenerate_ustatistic(
        self, predictions: Predictions, n_jobs: int | None = None
    ) -> UStatistic:
        """Return this measure as a U-statistic that is degenerate under calibration."""
        raise NotApplicable(f"{self.description} is no U-statistic", "use null='exact'")

    def few_rows(self, *, weighted: bool = False) -> Measure:
        """Return the nearest measure that is defined for few rows, down to one; often itself.

        Parameters
        ----------
        weighted : bool, default False
            Whether rows have sample weights. Where the measure takes none, their number is not
            what keeps it from being defined, and it stays as it is.
        """
        return self

    def outcome_of_counts(self, d: int, n: int, pd: float, notes: tuple[str, ...] = ()) -> Outcome:
        """Test d defaults of n obligors with the probability of default pd; no rows needed."""
        raise NotApplicable(
            f"{self.description} needs the rows of a grade",
            f"use one of the tests {', '.join(map(repr, keys_offering('outcome_of_counts')))}",
        )

    def outcome_of_grades(
        self, pd: Floats, defaults: NDArray[np.int64], n: NDArray[np.int64]
    ) -> Outcome:
        """Test all grades together from the PD, defaults and obligors of each, (G,)."""
        raise NotApplicable(
            f"{self.description} needs the rows of the grades",
            f"use one of the tests {', '.join(map(repr, keys_offering('outcome_of_grades')))}",
        )

    # ---- its confidence intervals -----------------------------------------------------------

    @property
    def intervals(self) -> tuple[str, ...]:
        """The methods of intervals that have a meaning for this measure; the first is the default.

        By default those of an error, which is 0 in the long run for calibrated predictions, or of
        any function of rows. The keys are those of `caltest.intervals.REGISTRY`.
        """
        return ("plug-in", "bca") if self.alternative == "greater" else ("bca",)

    def calibrated_value(self, predictions: Predictions) -> float | None:
        """Return what the estimate of calibrated predictions is about; None where unknown."""
        return 0.0 if self.alternative == "greater" else None

    @property
    def is_one_sided(self) -> bool:
        """Whether no value of the estimate below that of calibration speaks against it."""
        return self.alternative == "greater"

    @property
    def is_error(self) -> bool:
        """Whether the statistic is its own estimate, of an error that is 0 under calibration."""
        return self.alternative == "greater" and not self.offers("calibrated_value")

    @property
    def interval_instead(self) -> str | None:
        """What has an interval in place of a statistic that grows with n; None elsewhere."""
        return None

    def own_interval(
        self, predictions: Predictions, *, level: float, n_jobs: int | None = None
    ) -> Ends:
        """Bound the measure by a method of its own, whose key is in `own_intervals`."""
        raise NotApplicable(
            f"{self.description} has no interval of its own", f"use method={self.intervals[0]!r}"
        )

    def grade_interval(self, d: int, n: int, *, level: float) -> Ends:
        """Bound the default rate of a grade with d defaults of n obligors; no rows needed."""
        raise NotApplicable(f"{self.description} needs rows", "use test_calibration")

    def gaps(self, predictions: Predictions) -> Gaps:
        """Return the gaps of which this error is a norm, for "convex"; weights are positive."""
        raise NotApplicable(
            f"{self.description} is no norm of gaps", f"use method={self.intervals[0]!r}"
        )

    def row_scores(self, predictions: Predictions) -> RowScores | None:
        """Return the scores of which this measure is the mean; None for other measures."""
        return None

    def score_table(self, predictions: Predictions) -> Floats:
        """Return the score (n, m) of each label, times the weights, for "unseen-events"."""
        raise NotApplicable(
            f"{self.description} is no mean over rows", f"use method={self.intervals[0]!r}"
        )

    @property
    def unrooted(self) -> Measure:
        """The unbiased square, where the measure is its root; else itself."""
        return self

    @property
    def is_squared(self) -> bool:
        """Whether the error is the square of a deviation, whose root is steadier."""
        return False

    def unseen_reach(self, predictions: Predictions, a: float) -> float:
        """Return how much larger the error, or the root of a squared one, may be unseen.

        What the upper end adds for events that few rows may lack: each one-sided limit is missed
        with probability a.
        """
        return 0.0

    def interval_notes(self, method: str, n: int) -> tuple[str, ...]:
        """Return what a reader of an interval by that method from n rows should know."""
        return ()

    # ---- where the error lies ---------------------------------------------------------------

    @property
    def witness_kernel(self) -> MatrixKernel | None:
        """The kernel of the function that shows where the error lies; None where there is none."""
        return None

    def plot_kind(self, m: int) -> str:
        """Return the plot that shows best what was tested, for m classes under the lens.

        A kind of `HTest.plot`: a reliability diagram for two classes, for more the null
        distribution, unless the measure has a plot of its own.
        """
        return "reliability" if m == 2 else "null"

    def evaluate(
        self,
        probs: object,
        labels: object = None,
        lens: str | Lens = "strong",
        n_jobs: int | None = None,
    ) -> float | Floats:
        """Return the value under a lens; an array, one value each, under a family of lenses."""
        predictions = as_measured(probs, labels)
        resolved = resolve_lens(lens)
        values = []
        for member in resolved.members(predictions):
            bound = self.bind(member(predictions), n_jobs)
            for message in bound.degenerate:
                # The caller of the caller, `skce(...)`, is the user.
                warnings.warn(message, DegenerateDataWarning, stacklevel=3)
            values.append(bound.value(n_jobs))
        return np.array(values) if resolved.is_family else values[0]


def positive(pvalue: float) -> float:
    """Return the p-value, or the least positive number where it underflows: it is never 0."""
    return max(pvalue, float(np.finfo(float).tiny))
