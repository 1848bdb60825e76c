"""One rating grade: binomial, Jeffreys, normal and Vasicek tests."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
import scipy
from numpy.polynomial.legendre import leggauss

from caltest import checks
from caltest.errors import NotApplicable, invalid, shown
from caltest.measures.base import Measure, event_table, event_terms
from caltest.measures.gap import LEVEL, Gap
from caltest.measures.outcome import Ends, Outcome, RowTerms
from caltest.numerics.tails import normal_sf
from caltest.predictions import Predictions
from caltest.types import Floats
from caltest.units import RowUnits, ScoreSums, Statistic, Units, check_one_dimension

__all__ = ["Binomial", "Jeffreys", "Normal", "Vasicek"]

ALTERNATIVES = ("greater", "two-sided")
SIDES = {"greater": "the PD is too low: more defaults than predicted"}
OTHER_SIDE = (
    "there are fewer defaults than predicted (lower tail {tail:.2g}), so that the PD may be too "
    "high; this test does not look for that, alternative='two-sided' does"
)
RARE = 0.05  # a lower tail that is mentioned
CERTAIN = (
    "the PD of the grade is {pd:g}, so that its number of defaults is certain: p is 1 where it is "
    "observed, and the least positive number where it is impossible"
)
RAISED = (
    "{who}, which cannot say that the PD is too {side}: the posterior probability that it is not, "
    "{posterior:.3g}, counts as 1/2, since the prior prevails in it"
)
MIXED = (
    "the predictions of the grade differ, {low:.4g} to {high:.4g}; the test takes their mean for "
    "each, under which the number of defaults varies more"
)
OF_ROWS = ("exact", "consistency", "convolution", "saddlepoint")  # nulls
OWN = {"grade-rate": "rates that the test does not reject"}
LEAST, LARGEST = -50.0, 36.0  # log odds of the rates that are looked at: 2e-22, and 1 - 2e-16
AS_THEY_ARE = "; null='exact' takes them as they are"
Tails = tuple[float, float]
NODES, WEIGHTS = leggauss(16)
FARTHEST = 38.0  # the normal density underflows beyond
STEPS = np.array([0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0])


@dataclass(frozen=True, kw_only=True)
class GradeMeasure(Measure):
    """The number of defaults with the alternative that its test is for."""

    forms: ClassVar[tuple[str, ...]] = ("rows",)
    own_intervals: ClassVar[Mapping[str, str]] = OWN
    sides: ClassVar[Mapping[str, str]] = SIDES

    # An option here, fixed in other measures.
    alternative: str = checks.option("greater", checks.one_of(ALTERNATIVES))  # type: ignore[misc]

    symbol: ClassVar[str] = "defaults"
    distribution_text: ClassVar[str]  # of the number of defaults under the null, in words
    estimate_symbol: ClassVar[str] = "default rate"
    needs_rows: ClassVar[str] = (
        "test='calibration-in-the-large' tests the number of events of cells"
    )
    nulls: ClassVar[tuple[str, ...]] = ("closed-form", *OF_ROWS)

    @abstractmethod
    def tails(self, d: int, n: int, pd: float) -> Tails:
        """Return P(D >= d) and P(D <= d) for n obligors with 0 < pd < 1."""

    def settings(self, pd: float) -> Mapping[str, object]:
        """Return the parameters of the null distribution."""
        return {"PD": pd}

    def statistic(self, units: Units) -> Statistic:
        """Return the number of defaults, class 1 under the lens; with weights their sum."""
        check_one_dimension(cast("RowUnits", units).predictions, self.title)
        total = units.total[0]
        pd = float(units.mean @ units.scale / total)
        return Statistic(
            sums=ScoreSums(units, event_table),
            scale=units.rounding,
            estimate=lambda defaults: defaults / total,
            parameters={"PD": pd, "alternative": self.alternative},
        )

    def row_terms(self, predictions: Predictions) -> RowTerms:
        """Return the defaults of each row, times the weights."""
        return event_terms(predictions, self.title)

    def closed_form(self, predictions: Predictions) -> Outcome:
        """Return the test of the number of defaults in a grade whose PD is the mean prediction."""
        d, n, pd, notes = defaults_in(self, predictions)
        return self.outcome_of_counts(d, n, pd, notes)

    def outcome_of_counts(self, d: int, n: int, pd: float, notes: tuple[str, ...] = ()) -> Outcome:
        """Test d defaults of n obligors with the probability of default pd; no rows needed."""
        certain = pd in {0.0, 1.0}
        tails = certain_tails(d, n, pd) if certain else self.tails(d, n, pd)
        degenerate = (CERTAIN.format(pd=pd),) if certain else ()
        return self.outcome(d, n, pd, tails, notes=notes, degenerate=degenerate)

    def outcome(
        self, d: int, n: int, pd: float, tails: Tails, *, notes: tuple[str, ...], **described: Any
    ) -> Outcome:
        """Return the test of d defaults of n obligors by the tails of a distribution."""
        given: dict[str, Any] = {"statistic_name": "defaults", "statistic": float(d)}
        given["null_text"] = f"{self.distribution_text}, {self.alternative}"
        upper, lower = tails
        rare = self.alternative == "greater" and lower <= RARE
        return Outcome(
            pvalue=upper if self.alternative == "greater" else min(1.0, 2.0 * min(tails)),
            estimate=d / n,
            alternative=self.alternative,
            parameters=self.settings(pd),
            notes=(*notes, OTHER_SIDE.format(tail=lower)) if rare else notes,
            **given | described,
        )

    # The estimate is a rate, and no error that is 0 for calibrated predictions.
    intervals: ClassVar[tuple[str, ...]] = (*OWN, "bca")

    def calibrated_value(self, predictions: Predictions) -> float:
        """Return the PD of the grade."""
        return defaults_in(self, predictions)[2]

    def own_interval(self, predictions: Predictions, *, level: float) -> Ends:
        """Bound the default rate; the PD of the grade has no part in it."""
        d, n, _, _ = defaults_in(self, predictions)
        return self.grade_interval(d, n, level=level)

    def grade_interval(self, d: int, n: int, *, level: float) -> Ends:
        r"""Bound the rate by those PDs whose tails both exceed (1 - level) / 2; no rows needed.

        By inverting its test: Clopper-Pearson for "binomial", the equal-tailed interval of the
        posterior for "jeffreys", Wilson's for "normal", and for "vasicek" the PDs from which a year
        with one common factor brings so many defaults.

        References
        ----------
        Clopper, Pearson (1934), Biometrika 26; Wilson (1927), JASA 22; Brown, Cai, DasGupta (2001),
        Interval estimation for a binomial proportion, Statistical Science 16, sections 3 and 4.
        """
        a = (1.0 - level) / 2.0

        def root(tail: int) -> float:
            def excess(odds: float) -> float:
                return self.tails(d, n, float(scipy.special.expit(odds)))[tail] - a

            odds = scipy.optimize.brentq(excess, LEAST, LARGEST, xtol=1e-13)
            return float(scipy.special.expit(odds))

        low, high = root(0) if d > 0 else 0.0, root(1) if d < n else 1.0
        return Ends(low, high, d / n, f"inverted test, {self.distribution_text}")


def defaults_in(
    measure: GradeMeasure, predictions: Predictions
) -> tuple[int, int, float, tuple[str, ...]]:
    """Return defaults, obligors and PD of a grade, and a note where its predictions differ."""
    check_one_dimension(predictions, measure.title)
    if predictions.is_weighted:
        reason = f"{measure.title}: its null distribution takes no weights"
        raise NotApplicable(reason, "use the test 'binomial' and null='exact'")
    event = predictions.probs[:, 1]
    low, high = float(event.min()), float(event.max())
    # The mean of equal predictions is that prediction, to the last bit.
    pd = low if low == high else float(event.mean())
    mixed = MIXED.format(low=low, high=high) + AS_THEY_ARE * ("exact" in measure.nulls)
    notes = (mixed,) if high > low else ()
    return int(np.count_nonzero(predictions.labels)), predictions.n, pd, notes


def certain_tails(d: int, n: int, pd: float) -> Tails:
    """Where pd is 0 or 1 the number of defaults is certain."""
    certain = n * round(pd)
    return float(d <= certain), float(d >= certain)


def binomial_tails(d: int, n: int, pd: float) -> Tails:
    """Independent defaults; the tails are incomplete beta functions."""
    upper = float(scipy.special.betainc(d, n - d + 1, pd)) if d > 0 else 1.0
    lower = float(scipy.special.betainc(n - d, d + 1, 1.0 - pd)) if d < n else 1.0
    return upper, lower


def normal_score(d: int, n: int, pd: float) -> float:
    """Return the number of defaults in standard deviations from its mean; 0 < pd < 1."""
    return (d - n * pd) / math.sqrt(n * pd * (1.0 - pd))


def factor_tails(d: int, n: int, pd: float, correlation: float) -> Tails:
    """Defaults that are independent given one normal factor, Vasicek 2002; 0 < correlation < 1.

    The binomial tails given the factor z are integrated over its density by Gauss-Legendre
    quadrature in panels, narrow where the conditional rate passes d / n. All terms are positive,
    so that small tails keep their relative precision.
    """
    z, weight = _factor(d, n, pd, correlation)
    mass = weight * np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
    x = (scipy.special.ndtri(pd) + math.sqrt(correlation) * z) / math.sqrt(1.0 - correlation)
    high, low = scipy.special.ndtr(x), scipy.special.ndtr(-x)
    upper = float(mass @ scipy.special.betainc(d, n - d + 1, high)) if d > 0 else 1.0
    lower = float(mass @ scipy.special.betainc(n - d, d + 1, low)) if d < n else 1.0
    return min(upper, 1.0), min(lower, 1.0)


def factor_limit_tails(d: int, n: int, pd: float, correlation: float) -> Tails:
    """The same for n to infinity, where the default rate given the factor is that of the model."""
    with np.errstate(divide="ignore"):  # no default, or nothing but defaults
        rate = scipy.special.ndtri(d / n)
    z = (math.sqrt(1.0 - correlation) * rate - scipy.special.ndtri(pd)) / math.sqrt(correlation)
    return float(scipy.special.ndtr(-z)), float(scipy.special.ndtr(z))


def _factor(d: int, n: int, pd: float, correlation: float) -> tuple[Floats, Floats]:
    """Return nodes and weights for the factor."""
    rate = (d + 0.5) / (n + 1.0)
    x = float(scipy.special.ndtri(rate))
    slope = math.sqrt(correlation / (1.0 - correlation)) * math.exp(-0.5 * x**2)
    slope /= math.sqrt(2.0 * math.pi)
    centre = math.sqrt(1.0 - correlation) * x - float(scipy.special.ndtri(pd))
    centre /= math.sqrt(correlation)
    width = math.sqrt(rate * (1.0 - rate) / (n + 1.0)) / slope
    cuts = np.concatenate([np.linspace(-FARTHEST, FARTHEST, 77), [centre]])
    cuts = np.concatenate([cuts, centre + width * STEPS, centre - width * STEPS])
    cuts = np.unique(np.clip(cuts, -FARTHEST, FARTHEST))
    half = np.diff(cuts) / 2.0
    nodes = (cuts[:-1] + half)[:, None] + half[:, None] * NODES
    return nodes.ravel(), (half[:, None] * WEIGHTS).ravel()


@dataclass(frozen=True, kw_only=True)
class Binomial(GradeMeasure):
    r"""The number of defaults against the binomial distribution of independent defaults.

    With d defaults of n obligors whose mean prediction is PD, the p-value in closed form is
    :math:`P(Bin(n, PD) \ge d)`, or with alternative="two-sided" twice the smaller of both tails.

    References
    ----------
    Basel Committee on Banking Supervision (2005), Studies on the validation of internal rating
    systems, working paper 14, section III; Tasche (2008), Validation of internal rating systems and
    PD estimates, section 5.
    """

    key, title = "binomial", "number of defaults, binomial distribution"
    distribution_text: ClassVar[str] = "binomial distribution"

    def tails(self, d: int, n: int, pd: float) -> Tails:
        return binomial_tails(d, n, pd)


@dataclass(frozen=True, kw_only=True)
class Jeffreys(GradeMeasure):
    r"""The PD against the posterior of the default rate under Jeffreys' prior.

    With d defaults of n obligors the posterior is :math:`Beta(d + 1/2, n - d + 1/2)`, and the
    p-value in closed form is its distribution function at PD, the posterior probability that the
    default rate is at most PD. It is never larger than the binomial p-value and near its mid-p
    version. Without a default it is at least 1/2, as that is: where hardly any default is expected,
    the posterior is the prior, of which little is below PD. The same holds for the other tail where
    all obligors default.

    References
    ----------
    European Central Bank (2019), Instructions for reporting the validation results of internal
    models, section 2.5.3.1; Brown, Cai, DasGupta (2001), Interval estimation for a binomial
    proportion, section 3.1.3.
    """

    key, title = "jeffreys", "number of defaults, Jeffreys posterior"
    distribution_text: ClassVar[str] = "beta posterior of the default rate from Jeffreys' prior"

    def tails(self, d: int, n: int, pd: float) -> Tails:
        upper, lower = self.posterior(d, n, pd)
        return (max(upper, 0.5) if d == 0 else upper), (max(lower, 0.5) if d == n else lower)

    def posterior(self, d: int, n: int, pd: float) -> Tails:
        """Return how probable a default rate of at most PD is, and one of at least PD."""
        upper = float(scipy.special.betainc(d + 0.5, n - d + 0.5, pd))
        return upper, float(scipy.special.betainc(n - d + 0.5, d + 0.5, 1.0 - pd))

    def outcome_of_counts(self, d: int, n: int, pd: float, notes: tuple[str, ...] = ()) -> Outcome:
        """Test d defaults of n obligors with the probability of default pd; no rows needed."""
        upper, lower = self.posterior(d, n, pd)
        if d == 0 < pd and upper < 0.5:
            own = RAISED.format(who="no obligor defaults", side="low", posterior=upper)
            notes = (*notes, own)
        if d == n and pd < 1 and lower < 0.5 and self.alternative == "two-sided":
            own = RAISED.format(who="all obligors default", side="high", posterior=lower)
            notes = (*notes, own)
        return super().outcome_of_counts(d, n, pd, notes)


FEWEST_EXPECTED, FEWEST_OBSERVED = 10.0, 10
FEW_EXPECTED_NOTE = (
    "fewer than ten {kind} are expected, {count:.3g}: the normal limit can reject calibrated "
    "grades too often; the test 'binomial' does not"
)
SHORT = (
    f"with fewer than {FEWEST_OBSERVED} defaults or survivors the normal limit is rough, and the "
    "interval can be too short; that of the test 'binomial' is not"
)


@dataclass(frozen=True, kw_only=True)
class Normal(GradeMeasure):
    r"""The number of defaults against the normal limit of independent defaults.

    .. math:: z = \frac{d - n \, PD}{\sqrt{n \, PD (1 - PD)}}, \quad p = P(Z \ge z),

    without a correction for continuity.

    References
    ----------
    Basel Committee on Banking Supervision (2005), Studies on the validation of internal rating
    systems, working paper 14, section III; Tasche (2008), Validation of internal rating systems and
    PD estimates, section 5.
    """

    key, title = "normal", "number of defaults, normal limit"
    nulls: ClassVar[tuple[str, ...]] = ("asymptotic", *OF_ROWS)

    distribution_text: ClassVar[str] = "normal limit"

    def tails(self, d: int, n: int, pd: float) -> Tails:
        z = normal_score(d, n, pd)
        return normal_sf(z), normal_sf(-z)

    limit = GradeMeasure.closed_form

    def outcome_of_counts(self, d: int, n: int, pd: float, notes: tuple[str, ...] = ()) -> Outcome:
        """Test d defaults of n obligors with the probability of default pd; no rows needed."""
        if pd in {0.0, 1.0}:
            reason = f"the normal limit needs a PD between 0 and 1, and it is {pd:g}"
            raise NotApplicable(reason, "use the test 'binomial'")
        fewest, kind = min((n * pd, "defaults"), (n * (1.0 - pd), "survivors"))
        note = FEW_EXPECTED_NOTE.format(count=fewest, kind=kind)
        sparse = (note,) if fewest < FEWEST_EXPECTED else ()
        described = {"statistic_name": "z", "statistic": normal_score(d, n, pd)}
        return self.outcome(d, n, pd, self.tails(d, n, pd), notes=(*notes, *sparse), **described)

    def grade_interval(self, d: int, n: int, *, level: float) -> Ends:
        """Bound the rate by Wilson's interval, with a note where it is rough; no rows needed."""
        bounds = super().grade_interval(d, n, level=level)
        return replace(bounds, notes=(SHORT,)) if min(d, n - d) < FEWEST_OBSERVED else bounds


# Asset class: correlation at PD = 1, correlation at PD = 0, decay. Basel II, paragraphs 272
# (corporates, sovereigns, banks), 328 (residential mortgages), 329 (qualifying revolving retail),
# 330 (other retail).
ASSET_CLASSES = {
    "corporate": (0.12, 0.24, 50.0),
    "mortgage": (0.15, 0.15, 1.0),
    "revolving": (0.04, 0.04, 1.0),
    "retail": (0.03, 0.16, 35.0),
}
FEW_FOR_FACTOR = (
    "fewer than ten defaults or survivors are expected, {count:.3g}: the limit of an infinite "
    "grade can reject calibrated grades too often; null='closed-form' does not"
)
NO_LIMIT = "an infinite grade has no default rate of {rate:g}: the p-value is that of n = {n}"


@dataclass(frozen=True, kw_only=True)
class Vasicek(GradeMeasure):
    r"""The number of defaults against its distribution where defaults share a normal factor.

    With a standard normal factor Z and the correlation :math:`\rho`, defaults are independent given
    Z, each with probability

    .. math:: \pi(Z) = \Phi\left(\frac{\Phi^{-1}(PD) + \sqrt{\rho} Z}{\sqrt{1 - \rho}}\right),

    so that in closed form :math:`p = E\, P(Bin(n, \pi(Z)) \ge d \mid Z)`, by quadrature, and for
    large n, :math:`p = \Phi\left((\Phi^{-1}(PD) - \sqrt{1 - \rho}\, \Phi^{-1}(d / n)) /
    \sqrt\rho\right)`.

    The correlation is a number, or that of Basel's formula for capital for an asset class, which is
    prudent for capital and therefore lenient here: with "corporate", the default, it falls from
    24 % to 12 % as the PD grows. Estimates from default data are lower.

    References
    ----------
    Vasicek (2002), The distribution of loan portfolio value, Risk 15; Tasche (2003), A traffic
    lights approach to PD validation, section 2; Basel Committee on Banking Supervision (2006),
    International convergence of capital measurement and capital standards, paragraphs 272 and 328
    to 330.
    """

    correlation: float | str = checks.option(
        "corporate", lambda value, _: check_correlation(value, ASSET_CLASSES)
    )

    key, title = "vasicek", "number of defaults, one-factor model of Vasicek"

    nulls: ClassVar[tuple[str, ...]] = ("closed-form", "asymptotic")
    note_of_groups: ClassVar[str] = (
        "the test of all groups takes their factors as independent: those of several years may be, "
        "grades of the same year share one"
    )

    distribution_text: ClassVar[str] = "correlated defaults"

    def correlation_at(self, pd: float) -> float:
        """Return the correlation of a grade."""
        if not isinstance(self.correlation, str):
            return float(self.correlation)
        high, low, decay = ASSET_CLASSES[self.correlation]
        share = math.expm1(-decay * pd) / math.expm1(-decay)
        return high * share + low * (1.0 - share)

    def tails(self, d: int, n: int, pd: float) -> Tails:
        correlation = self.correlation_at(pd)
        if correlation == 0:
            return binomial_tails(d, n, pd)
        return factor_tails(d, n, pd, correlation)

    def sized(self, gap: Gap) -> Gap:
        d = round(gap.observed * gap.n)
        return replace(gap, limits=partial(self.grade_interval, d, gap.n)).at(LEVEL)

    def settings(self, pd: float) -> Mapping[str, object]:
        given = {"asset class": self.correlation} if isinstance(self.correlation, str) else {}
        return {"PD": pd, **given, "correlation": self.correlation_at(pd)}

    def limit(self, predictions: Predictions) -> Outcome:
        """Return the test of the default rate by its limiting distribution in a large grade."""
        d, n, pd, notes = defaults_in(self, predictions)
        correlation = self.correlation_at(pd)
        if pd in {0.0, 1.0} or correlation == 0:
            raise NotApplicable(
                "the limit of an infinite grade needs a PD between 0 and 1 and a positive "
                f"correlation, and they are {pd:g} and {correlation:g}",
                "use null='closed-form'",
            )
        text = "limit of an infinite grade"
        if d in {0, n}:
            tails, caution = self.tails(d, n, pd), NO_LIMIT.format(rate=d / n, n=n)
        else:
            tails = factor_limit_tails(d, n, pd, correlation)
            fewest = min(n * pd, n * (1.0 - pd))
            caution = FEW_FOR_FACTOR.format(count=fewest) if fewest < FEWEST_EXPECTED else ""
        notes = (*notes, caution) if caution else notes
        return self.outcome(d, n, pd, tails, notes=notes, null_text=f"{text}, {self.alternative}")


def check_correlation(
    value: object, classes: Collection[str], name: str = "correlation"
) -> float | str:
    """Check a default correlation: a number in [0, 1), or an asset class that has a formula."""
    if isinstance(value, str) and value in classes:
        return value
    number = isinstance(value, (int, float, np.integer, np.floating))
    if number and not isinstance(value, bool) and 0 <= float(value) < 1:  # type: ignore[arg-type]
        return float(value)  # type: ignore[arg-type]
    rule = f"{name} must lie in [0, 1) or be an asset class ({checks.listing(sorted(classes))})"
    raise invalid(rule, shown(value), "pass 0.12 for 12 %")
