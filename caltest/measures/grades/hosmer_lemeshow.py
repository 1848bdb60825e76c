"""The Hosmer-Lemeshow statistic, and its versions for several classes and for ordered ones."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Unpack, cast

import numpy as np

from caltest import checks
from caltest.errors import NotApplicable
from caltest.lenses.base import Evaluated
from caltest.measures.base import Measure, OfOrderedClasses
from caltest.measures.outcome import Outcome, chi2_limit
from caltest.measures.residual_sums import check_size, cluster_sums
from caltest.numerics.bins import event_counts
from caltest.numerics.loops import njit
from caltest.numerics.sorted_scores import step_ends
from caltest.predictions import Predictions
from caltest.types import AnyArray, Flags, Floats, Ints, Labels
from caltest.units import CellUnits, Observed, RowUnits, Statistic, Units, UnitSums
from caltest.units.sums import Flipped
from caltest.units.units import check_unweighted

__all__ = [  # noqa: RUF022
    "HosmerLemeshow",
    "PigeonHeyse",
    "hosmer_lemeshow",
    "pigeon_heyse",
    "OrdinalHosmerLemeshow",
    "ordinal_hosmer_lemeshow",
]

CAUTION = "groups end where cells do, up to 2^-16 beyond the quantiles"


EXPECTED_FOR_LIMIT, LEAST_FOR_LIMIT = 5, 1  # expected counts: the usual rules for the chi^2 limit


DEVELOPMENT = (
    "df = {df} is for the sample that the model was fitted to; for other data, internal=False"
)
EXTERNAL = (
    "df = {df} is for data that the model was not fitted to; for its development sample, "
    "internal=True"
)
CONSERVATIVE = (
    "predictions vary within groups, so that under calibration {symbol} has the mean {mean:.4g}, "
    "below df = {df}: the chi^2 limit is conservative; use null='exact'"
)
SPARSE = (
    f"expected counts are below {EXPECTED_FOR_LIMIT} in {{few}} of {{size}} cells{{fewer}}, where "
    "the chi^2 limit is rough; use null='exact' for data that the model was not fitted to, or "
    "fewer groups"
)
SHARE_OF_DF = 0.95  # a mean that is this share of the degrees of freedom costs little


@dataclass(frozen=True, kw_only=True)
class GroupedMeasure(Measure):
    """A sum over groups of squared deviations of counts, with a chi^2 limit."""

    groups: int = checks.option(10, partial(checks.check_integer, minimum=2))
    internal: bool = checks.option(default=False, check=checks.check_flag)

    @property
    def nulls(self) -> tuple[str, ...]:
        # A model is nearer to the labels that it was fitted to than to redrawn ones.
        return ("asymptotic",) if self.internal else ("exact", "consistency", "asymptotic")

    interval_instead: ClassVar[str] = "test='debiased-ece' or 'ece'"

    @property
    def description(self) -> str:
        return f"{self.title} of the development sample" if self.internal else self.title

    @abstractmethod
    def lost(self, m: int) -> int:
        """Return the degrees of freedom that fitting the model of m classes takes."""

    def risk_groups(self, units: Units) -> RiskGroups:
        """Return the groups of units, with what their squared deviations are divided by."""
        if units.mean.ndim > 1:
            rows = cast("RowUnits", units)
            return RiskGroups.of_classes(rows, self.score(rows), self.groups)
        return RiskGroups.of_event(units.ordered(f"the {self.title}"), self.groups, pooled=True)

    def score(self, rows: RowUnits) -> Floats:
        """Return what rows of several classes are sorted by, (n,)."""
        return np.asarray(1.0 - rows.probs[:, 0])

    def takes(self, form: str) -> bool:
        # Residuals of the sample that a model was fitted to are no more symmetric about 0.
        return super().takes(form) and not (self.internal and form == "clusters")

    def statistic(self, units: Units) -> Statistic:
        check_unweighted(units, f"the {self.title}", "use the test 'ece'")
        found = self.risk_groups(units)
        few = f"ties and few rows leave {found.count} of {self.groups} groups"
        return Statistic(
            sums=found,
            value=found.chi2,
            scale=found.units.rounding,
            parameters={"groups": found.count if units.is_alone else self.groups},
            notes=(few,) if units.is_alone and found.count < self.groups else (),
            degenerate=found.degenerate(),
            caution=CAUTION,
        )

    def limit(self, predictions: Predictions) -> Outcome:
        """Return the chi^2 limit; its degrees of freedom depend on what the model was fitted to."""
        found = self.statistic(RowUnits(predictions))
        bound = cast("RiskGroups", found.sums)
        df = bound.freedom - (self.lost(predictions.m) if self.internal else 0)
        if df < 1:
            groups = f"{bound.count} group{'s' if bound.count > 1 else ''}"
            groups += " with certain classes" if found.degenerate else ""
            reason = f"the chi^2 limit has no degrees of freedom with {groups}"
            raise NotApplicable(reason, "use more groups, or internal=False and null='exact'")
        sample = "development" if self.internal else "external"
        parameters = {**found.parameters, "df": df, "sample": sample}
        notes = [*found.notes, (DEVELOPMENT if self.internal else EXTERNAL).format(df=df)]
        if not self.internal and bound.mean < SHARE_OF_DF * df:
            notes.append(CONSERVATIVE.format(symbol=self.symbol, mean=bound.mean, df=df))
        bounds = EXPECTED_FOR_LIMIT, LEAST_FOR_LIMIT
        few, fewer = (np.count_nonzero(bound.expected < least) for least in bounds)
        if few:
            least = f", below {LEAST_FOR_LIMIT} in {fewer}" if fewer else ""
            notes.append(SPARSE.format(few=few, fewer=least, size=bound.expected.size))
        given = self.symbol, float(found.observed[0]), df
        described: dict[str, Any] = {"notes": tuple(notes), "degenerate": found.degenerate}
        return chi2_limit(*given, parameters=parameters, **described)


class RiskGroups(UnitSums):
    """Observed less expected counts of groups along the predicted risk, (B, K c).

    Of two classes those of the event, c = 1; of m classes those of all.

    Parameters
    ----------
    units : Units
        Rows or cells in the order of the groups.
    start : (K + 1,) array
        Where the units of each group begin, and where those of the last end.
    expected : (K, m) array
        The expected counts.
    spread, variance : (K c,) array
        The variance of the counts, and what their squared deviations are divided by.
    """

    def __init__(
        self, units: Units, start: Ints, expected: Floats, spread: Floats, variance: Floats
    ) -> None:
        super().__init__(units)
        self.start, self.expected, self.variance = start, expected, variance
        self.count, self.classes = start.size - 1, variance.size // (start.size - 1)
        possible = variance > 0
        self.mean = float((spread[possible] / variance[possible]).sum())
        # The rank of the deviations under calibration: what df is for external data.
        others = self.count if self.classes > 1 else 0
        self.freedom = int(np.count_nonzero(possible)) - others

    @classmethod
    def of_event(cls, units: Units, wanted: int, *, pooled: bool) -> RiskGroups:
        """Return groups of two classes along P(class 1), with the variance of equal risks or not.

        Of cells, a group ends with the cell in which it would end.
        """
        mixed = (units.least < units.most)[units.start[:-1]]
        start = group_starts(units.ends, units.row_counts, units.start, mixed, wanted)
        p = units.shift
        noise = units.cells.variance if isinstance(units, CellUnits) else p * (1.0 - p)
        # Others are summed for themselves: all less the events would lose those with p next to 1.
        parts = (units.mass - p, p, noise, units.mass)
        others, events, spread, size = (np.add.reduceat(x, start[:-1]) for x in parts)
        expected = np.stack([others, events], axis=1)
        return cls(units, start, expected, spread, others * events / size if pooled else spread)

    @classmethod
    def of_classes(cls, rows: RowUnits, score: Floats, wanted: int) -> RiskGroups:
        """Return groups of several classes along a score of the rows."""
        order = np.argsort(score, kind="stable")
        given = step_ends(score[order]), rows.row_counts, rows.start, np.zeros(1, np.bool_)
        start, units = group_starts(*given, wanted), RowUnits(rows.predictions, order)
        p = units.mean
        expected, spread = (np.add.reduceat(x, start[:-1]) for x in (p, p * (1.0 - p)))
        return cls(units, start, expected, spread.ravel(), expected.ravel())

    def redrawn(self, observed: Observed) -> Floats:
        if self.classes > 1:
            counts = class_counts(observed, self.start, self.classes)
            return np.asarray((counts - self.expected).reshape(len(counts), -1))
        if isinstance(self.units, CellUnits):
            counts = np.add.reduceat(observed, self.start[:-1], axis=1)
        else:
            counts = event_counts(observed, None, self.start)
        return np.asarray(counts - self.expected[:, 1])

    def flipped(self, residuals: Floats, clusters: Ints, count: int) -> Flipped:
        """Return the deviations of residuals whose signs are flipped by cluster."""
        group = np.repeat(np.arange(self.count), np.diff(self.start))
        cells = group[:, None] * self.classes + np.arange(self.classes)
        check_size(count * self.variance.size)
        sums = cluster_sums(residuals, clusters, count, cells, self.variance.size)
        return lambda signs: np.asarray(signs @ sums)

    def chi2(self, deviation: Floats) -> Floats:
        """Return the sums (B, G) of squared deviations over their variance."""
        variance, certain = self.variance, np.where(deviation == 0, 0.0, np.inf)
        with np.errstate(over="ignore"):
            terms = np.square(deviation) / np.where(variance > 0, variance, 1.0)
        terms = np.where(variance > 0, terms, certain)
        first = np.searchsorted(self.start, self.units.start[:-1]) * self.classes
        return np.asarray(np.add.reduceat(terms, first, axis=1))

    def degenerate(self) -> tuple[str, ...]:
        """Say in how many groups a class of rows is not expected."""
        certain = int(np.count_nonzero((self.expected == 0).any(axis=1)))
        message = (
            f"in {certain} of {self.count} groups a class has the expected count 0: it adds 0 "
            "to the statistic, or infinity where it is observed"
        )
        return () if isinstance(self.units, CellUnits) or not certain else (message,)


def group_starts(ends: Flags, rows: AnyArray, start: Ints, mixed: Flags, wanted: int) -> Ints:
    """Return the first unit of each risk group of each group of sorted units, and where all end.

    The risk groups are those of cut(score, unique(quantile(score, type = 7)), include.lowest =
    TRUE) in R. A break lies on a score or between two that are next to each other in order; groups
    are right-closed, so that the lower of the two cuts alike, and nothing is interpolated. Breaks
    that coincide with each other, or with the smallest or largest score, are one.

    Parameters
    ----------
    ends : (U,) array
        Whether each unit is the last of its score.
    rows : (U,) array
        The rows of the units.
    start : (G + 1,) array
        Where the units of each group begin, and where those of the last end.
    mixed : (G,) array
        Whether rows of the first unit have several scores: a break there is above the smallest.
    wanted : int
        The number of risk groups of a group.
    """
    last = np.flatnonzero(ends)
    upto = np.append(0, np.cumsum(rows)[last])
    first, final = (np.searchsorted(last, at)[:, None] for at in (start[:-1], start[1:] - 1))
    before = upto[first]
    count = upto[final + 1] - before
    wanted = min(wanted, int(count.max()))  # as many as there are rows part all scores
    low, rest = np.divmod(np.arange(1, wanted) * (count - 1), wanted)
    below, above = (
        np.searchsorted(upto[1:], before + x, side="right") for x in (low, low + (rest > 0))
    )
    inner = ((below > first) | (above > below) | mixed[:, None]) & (below < final)
    return np.unique(np.concatenate([start, last[below[inner]] + 1]))


@njit()
def class_counts(labels: Labels, start: Ints, m: int) -> Floats:
    """Return how often each class occurs in each group of rows, (B, groups, m)."""
    out = np.zeros((labels.shape[0], start.size - 1, m))
    for b in range(labels.shape[0]):
        for g in range(start.size - 1):
            for i in range(start[g], start[g + 1]):
                out[b, g, labels[b, i]] += 1.0
    return out


SPARSE_GRADES = (
    "expected defaults or survivors are below five in {count} of {size} grades, where the chi^2 "
    "limit is rough"
)


LEAST_EXPECTED = 5.0


@dataclass(frozen=True, kw_only=True)
class HosmerLemeshow(GroupedMeasure):
    """X^2 with its groups and reference class; see `hosmer_lemeshow`."""

    reference: object = None

    key, title, symbol = "hosmer-lemeshow", "Hosmer-Lemeshow statistic", "X^2"

    def lost(self, m: int) -> int:
        return 2 * (m - 1)

    def statistic(self, units: Units) -> Statistic:
        found = super().statistic(units)
        if units.mean.ndim == 1:
            return found
        rows = cast("RowUnits", units)
        reference = {"reference": rows.predictions.classes[self._place(rows)].item()}
        return replace(found, parameters={**found.parameters, **reference})

    def risk_groups(self, units: Units) -> RiskGroups:
        if units.mean.ndim == 1:
            checks.check_unused("where the lens leaves two classes", reference=self.reference)
        return super().risk_groups(units)

    def score(self, rows: RowUnits) -> Floats:
        return np.asarray(1.0 - rows.probs[:, self._place(rows)])

    def _place(self, rows: RowUnits) -> int:
        given, classes = self.reference, rows.predictions.classes
        return 0 if given is None else checks.check_class(given, classes, "reference")

    def outcome_of_grades(self, pd: Floats, defaults: Ints, n: Ints) -> Outcome:
        """Test the sum over grades of (d - n PD)^2 / (n PD (1 - PD)) by its chi^2 limit."""
        chi2, df, sparse = grade_deviations(pd, defaults, n)
        if not df:
            raise NotApplicable("the PD of every grade is 0 or 1")
        notes = (SPARSE_GRADES.format(count=sparse, size=pd.size),) if sparse else ()
        return chi2_limit("chi^2", chi2, df, notes=notes)


def hosmer_lemeshow(
    probs: object,
    labels: object = None,
    *,
    groups: int = 10,
    reference: object = None,
    **rows: Unpack[Evaluated],
) -> float | Floats:
    r"""Compute the Hosmer-Lemeshow statistic over groups along the predicted risk.

    The rows are put into g groups by the quantiles of P(Y = 1), of more than two classes by those
    of 1 - P(reference). The quantiles are of type 7, groups are right-closed, and equal predictions
    are never separated: `cut(p, unique(quantile(p, type = 7)), include.lowest = TRUE)` in R. As
    there, the smallest prediction joins the next group where it is a quantile itself. With the
    observed and expected counts of class k in group g,

    .. math:: X^2 = \sum_g \sum_k \frac{(O_{gk} - E_{gk})^2}{E_{gk}}, \quad
        O_{gk} = \#\{i \in g: y_i = k\}, \quad E_{gk} = \sum_{i \in g} p_{ik}.

    The test "hosmer-lemeshow" has the exact null by default. With `null="asymptotic"` it has the
    chi^2 limit with g (m - 1) degrees of freedom for data that the model was not fitted to, and
    with (g - 2)(m - 1) for the sample it was fitted to, `internal=True`. Taking the one for the
    other rejects calibrated models too often, or too seldom. Expected counts below 5 can make the
    limit reject too often, and predictions that vary within groups, as those of several classes do,
    too seldom; the result has a note then, and the exact null has neither fault.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    groups : int, default 10
        At least 2; ties may leave fewer.
    reference : class, optional
        The class whose probability orders more than two classes; by default the first.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        At least 0; below g (m - 1) on average for calibrated models. Where a class has the expected
        count 0 in a group, with a DegenerateDataWarning, it adds 0, or infinity if it is observed.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are sample weights.

    References
    ----------
    Hosmer, Lemeshow (1980), Goodness of fit tests for the multiple logistic regression model,
    Communications in Statistics A 9; Fagerland, Hosmer, Bofin (2008), Multinomial goodness-of-fit
    tests for logistic regression models, Statistics in Medicine 27, section 3.

    Examples
    --------
    >>> import caltest as ct
    >>> probs, labels = [0.2, 0.3, 0.5, 0.5], [1, 0, 1, 1]  # E = .5 and 1 of 2 rows each
    >>> round(ct.measures.hosmer_lemeshow(probs, labels, groups=2), 4)  # .25 / .375 + 1 / .5
    2.6667
    """
    return HosmerLemeshow(groups=groups, reference=reference).evaluate(probs, labels, **rows)


def grade_deviations(pd: Floats, defaults: Ints, n: Ints) -> tuple[float, int, int]:
    """Return sum_g (d - n PD)^2 / (n PD (1 - PD)), its degrees of freedom and sparse grades.

    A grade with PD 0 or 1 adds nothing where its defaults are as certain, else infinity.
    """
    certain = (pd == 0) | (pd == 1)
    if (defaults[certain] != n[certain] * pd[certain]).any():
        return math.inf, max(1, int(np.count_nonzero(~certain))), 0
    p, d, size = pd[~certain], defaults[~certain], n[~certain]
    terms = (d - size * p) ** 2 / (size * p * (1.0 - p))
    sparse = np.minimum(size * p, size * (1.0 - p)) < LEAST_EXPECTED
    return float(terms.sum()), int(p.size), int(np.count_nonzero(sparse))


@dataclass(frozen=True, kw_only=True)
class PigeonHeyse(GroupedMeasure):
    """J^2 with its groups; see `pigeon_heyse`."""

    key, title, symbol = "pigeon-heyse", "Pigeon-Heyse statistic", "J^2"

    def lost(self, m: int) -> int:
        return 1

    def risk_groups(self, units: Units) -> RiskGroups:
        return RiskGroups.of_event(units.ordered(f"the {self.title}"), self.groups, pooled=False)


def pigeon_heyse(
    probs: object, labels: object = None, *, groups: int = 10, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute the statistic of Pigeon and Heyse over groups along the predicted risk.

    In the groups of `hosmer_lemeshow` let :math:`O_{gk}` and :math:`E_{gk}` be the observed and
    expected counts of class k and :math:`n_g` the number of rows, and

    .. math:: J^2 = \sum_g \sum_{k=0}^{1} \frac{(O_{gk} - E_{gk})^2}{\phi_g E_{gk}}, \quad
        \phi_g = \frac{\sum_{i \in g} p_i (1 - p_i)}{n_g \bar p_g (1 - \bar p_g)}.

    The factor :math:`\phi_g` allows for predictions that vary within a group, so that it is
    :math:`\sum_g (O_{g1} - E_{g1})^2 / \sum_{i \in g} p_i (1 - p_i)`, a sum of squares of variance
    1. Its limit is chi^2 with g degrees of freedom for data that the model was not fitted to, and
    g - 1 for the sample it was fitted to (`internal=True` of the test "pigeon-heyse").

    Parameters
    ----------
    probs, labels : array_like
        As for `hosmer_lemeshow`.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    groups : int, default 10
        At least 2; ties may leave fewer.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        At least 0; about g for calibrated models. Where all predictions of a group are 0 or 1, with
        a DegenerateDataWarning, it adds 0, or infinity if a label is impossible.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes, or sample weights.

    References
    ----------
    Pigeon, Heyse (1999), An improved goodness of fit statistic for probability prediction models,
    Biometrical Journal 41, 71-82.

    Examples
    --------
    >>> import caltest as ct
    >>> probs, labels = [0.25, 0.25, 0.5, 0.5], [1, 0, 1, 1]  # .5^2 / .375 + 1^2 / .5
    >>> round(ct.measures.pigeon_heyse(probs, labels, groups=2), 4)
    2.6667
    """
    return PigeonHeyse(groups=groups).evaluate(probs, labels, **rows)


# ---- of ordered classes, Fagerland and Hosmer 2013 -----------------------------------------------

DIGITS = 12  # of the score, so that equal predictions tie whatever the rounding of its sum


@dataclass(frozen=True, kw_only=True)
class OrdinalHosmerLemeshow(OfOrderedClasses, GroupedMeasure):
    """C_g with its groups; see `ordinal_hosmer_lemeshow`."""

    key, title, symbol = "ordinal-hosmer-lemeshow", "ordinal Hosmer-Lemeshow statistic", "C_g"
    forms: ClassVar[tuple[str, ...]] = ("rows", "clusters")

    def lost(self, m: int) -> int:
        return m

    def score(self, rows: RowUnits) -> Floats:
        mean: Floats = rows.probs @ np.arange(1.0, rows.predictions.m + 1)
        return np.around(mean, DIGITS)


def ordinal_hosmer_lemeshow(
    probs: object, labels: object = None, *, groups: int = 10, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute the Hosmer-Lemeshow statistic over groups along the ordinal score.

    The classes are taken in the order of their columns, and the rows are put into g groups by the
    quantiles of their ordinal score, the mean class number
    :math:`s_i = p_{i1} + 2 p_{i2} + \dots + m p_{im}`; groups are those of `hosmer_lemeshow`, which
    never separates equal scores. With the observed and expected counts of class k in group g,

    .. math:: C_g = \sum_g \sum_k \frac{(O_{gk} - E_{gk})^2}{E_{gk}}.

    The test "ordinal-hosmer-lemeshow" has the exact null by default. With `null="asymptotic"` it
    has the chi^2 limit with g (m - 1) degrees of freedom for data that the model was not fitted to,
    and with (g - 2)(m - 1) + m - 2 for the sample that a proportional-odds model was fitted to,
    `internal=True`. For two classes it is `hosmer_lemeshow`.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    groups : int, default 10
        At least 2; ties may leave fewer.
    **rows
        `sample_weight`, `classes`, `from_logits`, `renormalize` and `ordinal`, as for
        `Predictions`, and `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        At least 0; below g (m - 1) on average for calibrated models. Where a class has the expected
        count 0 in a group, with a DegenerateDataWarning, it adds 0, or infinity if it is observed.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are sample weights.

    References
    ----------
    Fagerland, Hosmer (2013), A goodness-of-fit test for the proportional odds regression model,
    Statistics in Medicine 32, 2235-2249. `logitgof(ord = TRUE)` of the R package generalhoslem has
    groups of equal size, which it cuts through equal scores in the order of the rows.

    Examples
    --------
    >>> import caltest as ct
    >>> probs = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5], [0.125, 0.25, 0.625]]
    >>> ct.measures.ordinal_hosmer_lemeshow(probs, [0, 1, 2, 1], groups=2)  # .6667 + .8889
    1.5555...
    """
    return OrdinalHosmerLemeshow(groups=groups).evaluate(probs, labels, **rows)
