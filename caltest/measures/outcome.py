"""What a measure answers with: outcomes of tests, ends of intervals, terms of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy

from caltest.numerics.joint import cleared
from caltest.numerics.tails import normal_sf
from caltest.predictions import Predictions
from caltest.types import Floats, SmallInts

if TYPE_CHECKING:
    from caltest.nulls.base import Replicates

__all__ = ["Outcome", "Part"]


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
    in_words: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", cleared(self.values, 1.0))


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
        The statistics that it combines, the most extreme first.
    scale : float
        What rounding errors of the statistic are relative to: what differs from 0 by them is 0.
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
    scale: float = 1.0

    def __post_init__(self) -> None:
        scale, others = float(np.max(self.scale)), self.distribution
        if others is None and self.replicates is not None:
            others = self.replicates.values
        if others is not None:  # where all that could be is tiny, rounding errors are as well
            scale = min(scale, float(np.abs(others[np.isfinite(others)]).max(initial=0.0)))
        statistic = float(cleared(self.statistic, scale))
        known: dict[str, Any] = {"pvalue": positive(self.pvalue), "statistic": statistic}
        known["scale"] = scale
        if statistic == 0.0:
            known["estimate"] = float(cleared(self.estimate, 1.0))
        if self.distribution is not None:
            known["distribution"] = cleared(self.distribution, scale)
        for name, value in known.items():
            object.__setattr__(self, name, value)

    @property
    def usual(self) -> tuple[float, ...]:
        """Mean and limits of 95 % of the resampled values of an error or score; else empty.

        One limit is infinite where values on one side only speak against the null hypothesis. Where
        all values that are possible are known, mean and limits are those of their distribution.
        """
        law = None if self.replicates is None else self.replicates.law
        values, weights = self.distribution, None
        method: Literal["linear", "inverted_cdf"] = "linear"
        if law is not None and law.statistics is not None and law.weights is not None:
            values, weights, method = law.statistics[1:], law.weights[1:], "inverted_cdf"
        if values is None or self.statistic != self.estimate or not np.isfinite(values).all():
            return ()
        ends = {"greater": (0.0, 0.95), "less": (0.05, 1.0)}.get(self.alternative, (0.025, 0.975))
        low, high = np.quantile(values, ends, weights=weights, method=method).tolist()
        return (
            float(np.average(values, weights=weights)),
            -np.inf if self.alternative == "greater" else low,
            np.inf if self.alternative == "less" else high,
        )


def two_sided_normal(z: float, estimate: float, parameters: Mapping[str, object]) -> Outcome:
    """Return the two-sided test of a statistic that is about standard normal."""
    pvalue, about = 2.0 * normal_sf(abs(z)), {"alternative": "two-sided", "parameters": parameters}
    return outcome_of("z", z, pvalue, "normal limit, two-sided", estimate, **about)


def outcome_of(
    name: str, value: float, pvalue: float, null_text: str, estimate: float, **described: Any
) -> Outcome:
    """Return an outcome; by default large values speak against calibration."""
    return Outcome(
        statistic_name=name,
        statistic=value,
        pvalue=pvalue,
        estimate=estimate,
        null_text=null_text,
        **({"alternative": "greater"} | described),
    )


def chi2_limit(
    name: str, statistic: float, df: int, estimate: float | None = None, **described: Any
) -> Outcome:
    """Return the test of a statistic that is about chi^2, by default its own estimate."""
    text = f"chi^2 limit with {df} degree{'s' if df > 1 else ''} of freedom"
    pvalue = float(scipy.special.chdtrc(df, statistic))
    size = statistic if estimate is None else estimate
    return outcome_of(name, statistic, pvalue, text, size, **described)


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
    vector: Callable[[SmallInts], Floats]
    norm: Callable[[Floats], float]
    power: int = 1


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


def positive(pvalue: float) -> float:
    """Return the p-value, or the least positive number where it underflows: it is never 0."""
    return max(pvalue, float(np.finfo(float).tiny))
