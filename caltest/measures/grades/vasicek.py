"""Test of a rating grade with correlated defaults: the one-factor model of Vasicek 2002."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from caltest.errors import NotApplicable, invalid, shown
from caltest.measures.grades.grade import (
    GradeMeasure,
    Tails,
    binomial_tails,
    defaults_in,
    factor_limit_tails,
    factor_tails,
    other_side,
    pvalue_of,
)
from caltest.measures.outcome import Outcome
from caltest.predictions import Predictions
from caltest.validation.arrays import listing

__all__ = ["Vasicek"]

# Asset class: correlation at PD = 1, correlation at PD = 0, decay. Basel II, paragraphs 272
# (corporates, sovereigns, banks), 328 (residential mortgages), 329 (qualifying revolving retail),
# 330 (other retail).
ASSET_CLASSES = {
    "corporate": (0.12, 0.24, 50.0),
    "mortgage": (0.15, 0.15, 1.0),
    "revolving": (0.04, 0.04, 1.0),
    "retail": (0.03, 0.16, 35.0),
}


def asset_correlation(pd: float, asset_class: str) -> float:
    """Return the correlation that Basel's formula for capital takes for a PD and an asset class."""
    high, low, decay = ASSET_CLASSES[asset_class]
    share = math.expm1(-decay * pd) / math.expm1(-decay)
    return high * share + low * (1.0 - share)


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

    correlation: float | str = "corporate"

    key: ClassVar[str] = "vasicek"
    title: ClassVar[str] = "number of defaults, one-factor model of Vasicek"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_correlation(self.correlation, ASSET_CLASSES)

    @property
    def nulls(self) -> tuple[str, ...]:
        return ("closed-form", "asymptotic")

    @property
    def distribution_text(self) -> str:
        return "correlated defaults"

    def correlation_at(self, pd: float) -> float:
        """Return the correlation of a grade."""
        if isinstance(self.correlation, str):
            return asset_correlation(pd, self.correlation)
        return float(self.correlation)

    def tails(self, d: int, n: int, pd: float) -> Tails:
        correlation = self.correlation_at(pd)
        if correlation == 0:
            return binomial_tails(d, n, pd)
        return factor_tails(d, n, pd, correlation)

    def settings(self, pd: float) -> Mapping[str, object]:
        given = {"asset class": self.correlation} if isinstance(self.correlation, str) else {}
        return {"PD": pd, **given, "correlation": self.correlation_at(pd)}

    def limit(self, predictions: Predictions, n_jobs: int | None = None) -> Outcome:
        """Return the test of the default rate by its limiting distribution in a large grade."""
        d, n, pd, notes = defaults_in(self, predictions)
        correlation = self.correlation_at(pd)
        if pd in {0.0, 1.0} or correlation == 0:
            raise NotApplicable(
                "the limit of an infinite grade needs a PD between 0 and 1 and a positive "
                "correlation, and they are "
                f"{pd:g} and {correlation:g}",
                "use null='closed-form'",
            )
        tails = factor_limit_tails(d, n, pd, correlation)
        return Outcome(
            statistic_name="defaults",
            statistic=float(d),
            pvalue=pvalue_of(tails, self.alternative),
            estimate=d / n,
            alternative=self.alternative,
            null_text=f"limit of an infinite grade, {self.alternative}",
            parameters=self.settings(pd),
            notes=(*notes, *other_side(tails, self.alternative)),
        )


def check_correlation(
    value: object, classes: Collection[str], name: str = "correlation"
) -> float | str:
    """Check a default correlation: a number in [0, 1), or an asset class that has a formula."""
    if isinstance(value, str) and value in classes:
        return value
    number = isinstance(value, (int, float, np.integer, np.floating))
    if number and not isinstance(value, bool) and 0 <= float(value) < 1:  # type: ignore[arg-type]
        return float(value)  # type: ignore[arg-type]
    rule = f"{name} must lie in [0, 1) or be an asset class ({listing(sorted(classes))})"
    raise invalid(rule, shown(value), "pass 0.12 for 12 %")
