"""Binomial test of a rating grade, Basel Committee on Banking Supervision 2005."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from caltest.measures.grades.grade import GradeMeasure, Tails, binomial_tails

__all__ = ["Binomial"]


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

    key: ClassVar[str] = "binomial"
    title: ClassVar[str] = "number of defaults, binomial distribution"

    @property
    def distribution_text(self) -> str:
        return "binomial distribution"

    def tails(self, d: int, n: int, pd: float) -> Tails:
        return binomial_tails(d, n, pd)
