"""Jeffreys test of a rating grade, European Central Bank 2019."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from caltest.measures.grades.grade import GradeMeasure, Tails, jeffreys_tails

__all__ = ["Jeffreys"]


@dataclass(frozen=True, kw_only=True)
class Jeffreys(GradeMeasure):
    r"""The number of defaults, judged by the posterior of the default rate under Jeffreys' prior.

    With d defaults of n obligors the posterior is :math:`Beta(d + 1/2, n - d + 1/2)`, and the
    p-value in closed form is its distribution function at PD, the posterior probability that the
    default rate is at most PD. It is never larger than the binomial p-value and near its mid-p
    version.

    References
    ----------
    European Central Bank (2019), Instructions for reporting the validation results of internal
    models, section 2.5.3.1; Brown, Cai, DasGupta (2001), Interval estimation for a binomial
    proportion, section 3.1.3.
    """

    key: ClassVar[str] = "jeffreys"
    title: ClassVar[str] = "number of defaults, Jeffreys posterior"

    @property
    def law(self) -> str:
        return "beta posterior of the default rate from Jeffreys' prior"

    def tails(self, d: int, n: int, pd: float) -> Tails:
        return jeffreys_tails(d, n, pd)
