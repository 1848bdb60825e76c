"""The Hosmer-Lemeshow statistic, and its version for several classes, Fagerland et al. 2008."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np
import scipy
from numpy.typing import NDArray

from caltest import validation
from caltest.errors import NotApplicable
from caltest.lenses import Lens
from caltest.measures.grades.risk_groups import GroupedMeasure, RiskGroups, RowsAlongScore
from caltest.measures.outcome import Outcome
from caltest.units import RowUnits, Statistic, Units

__all__ = ["HosmerLemeshow", "hosmer_lemeshow"]

Floats = NDArray[np.float64]
SPARSE_GRADES = (
    "expected defaults or survivors are below five in {count} of {size} grades, where the chi^2 "
    "limit is rough"
)
Counts = NDArray[np.int64]
LEAST_EXPECTED = 5.0


@dataclass(frozen=True, kw_only=True)
class HosmerLemeshow(GroupedMeasure):
    """X^2 with its groups and reference class; see `hosmer_lemeshow`."""

    reference: object = None

    key: ClassVar[str] = "hosmer-lemeshow"
    title: ClassVar[str] = "Hosmer-Lemeshow statistic"

    @property
    def symbol(self) -> str:
        return "X^2"

    @property
    def lost(self) -> int:
        return 2

    def statistic(self, units: Units) -> Statistic:
        found = super().statistic(units)
        if not isinstance(found.units, RowsAlongScore):
            return found
        classes = found.units.predictions.classes
        reference = {"reference": classes[self._place(found.units)].item()}
        return replace(found, parameters={**found.parameters, **reference})

    def risk_groups(self, units: Units) -> RiskGroups:
        if units.mean.ndim == 1:
            validation.check_unused("where the lens leaves two classes", reference=self.reference)
            units = units.ordered(f"the {self.title}")
            return RiskGroups.of_event(units, self.groups, pooled=True)
        rows = cast("RowUnits", units)
        score = 1.0 - rows.probs[:, self._place(rows)]
        return RiskGroups.of_classes(RowsAlongScore(rows.predictions, score), self.groups)

    def _place(self, rows: RowUnits) -> int:
        given, classes = self.reference, rows.predictions.classes
        return 0 if given is None else validation.check_class(given, classes, "reference")

    def outcome_of_grades(
        self, pd: Floats, defaults: NDArray[np.int64], n: NDArray[np.int64]
    ) -> Outcome:
        """Test the sum over grades of (d - n PD)^2 / (n PD (1 - PD)) by its chi^2 limit."""
        chi2, df, sparse = grade_deviations(pd, defaults, n)
        if not df:
            raise NotApplicable("the PD of every grade is 0 or 1")
        notes = (SPARSE_GRADES.format(count=sparse, size=pd.size),) if sparse else ()
        return Outcome(
            statistic_name="chi^2",
            statistic=chi2,
            pvalue=float(scipy.special.chdtrc(df, chi2)),
            estimate=chi2,
            alternative="greater",
            null_text=f"chi^2 limit with {df} degree{'s' if df > 1 else ''} of freedom",
            notes=notes,
        )


def hosmer_lemeshow(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    groups: int = 10,
    reference: object = None,
    n_jobs: int | None = None,
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
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

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
    measure = HosmerLemeshow(groups=groups, reference=reference)
    return measure.evaluate(probs, labels, lens, n_jobs)


def grade_deviations(pd: Floats, defaults: Counts, n: Counts) -> tuple[float, int, int]:
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
