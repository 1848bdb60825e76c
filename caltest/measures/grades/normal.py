"""Normal test of a rating grade, without correlation of defaults."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from caltest.errors import NotApplicable
from caltest.measures.grades.grade import (
    GradeMeasure,
    Tails,
    defaults_in,
    normal_score,
    other_side,
    pvalue_of,
)
from caltest.measures.outcome import Ends, Outcome
from caltest.numerics.tails import normal_sf
from caltest.predictions import Predictions

__all__ = ["Normal"]

FEWEST_EXPECTED = 10.0
FEWEST_OBSERVED = 10

FEW_EXPECTED_NOTE = (
    "fewer than ten {kind} are expected, {count:.3g}: the normal limit can reject calibrated "
    "grades "
    "too often; the test 'binomial' does not"
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

    key: ClassVar[str] = "normal"
    title: ClassVar[str] = "number of defaults, normal limit"

    @property
    def nulls(self) -> tuple[str, ...]:
        return ("asymptotic", "exact", "consistency", "convolution", "saddlepoint")

    @property
    def distribution_text(self) -> str:
        return "normal limit"

    def tails(self, d: int, n: int, pd: float) -> Tails:
        z = normal_score(d, n, pd)
        return normal_sf(z), normal_sf(-z)

    def limit(self, predictions: Predictions, n_jobs: int | None = None) -> Outcome:
        """Return the normal test of a grade whose PD is the mean prediction."""
        d, n, pd, notes = defaults_in(self, predictions)
        return self.outcome_of_counts(d, n, pd, notes)

    def outcome_of_counts(self, d: int, n: int, pd: float, notes: tuple[str, ...] = ()) -> Outcome:
        """Test d defaults of n obligors with the probability of default pd; no rows needed."""
        if pd in {0.0, 1.0}:
            raise NotApplicable(
                f"the normal limit needs a PD between 0 and 1, and it is {pd:g}",
                "use the test 'binomial'",
            )
        fewest, kind = min((n * pd, "defaults"), (n * (1.0 - pd), "survivors"))
        sparse = (
            (FEW_EXPECTED_NOTE.format(count=fewest, kind=kind),) if fewest < FEWEST_EXPECTED else ()
        )
        tails = self.tails(d, n, pd)
        return Outcome(
            statistic_name="z",
            statistic=normal_score(d, n, pd),
            pvalue=pvalue_of(tails, self.alternative),
            estimate=d / n,
            alternative=self.alternative,
            null_text=f"{self.distribution_text}, {self.alternative}",
            parameters=self.settings(pd),
            notes=(*notes, *sparse, *other_side(tails, self.alternative)),
        )

    def grade_interval(self, d: int, n: int, *, level: float) -> Ends:
        """Bound the rate by Wilson's interval, with a note where it is rough; no rows needed."""
        bounds = super().grade_interval(d, n, level=level)
        return replace(bounds, notes=(SHORT,)) if min(d, n - d) < FEWEST_OBSERVED else bounds
