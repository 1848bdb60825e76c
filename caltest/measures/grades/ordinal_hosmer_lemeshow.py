"""The Hosmer-Lemeshow statistic of ordered classes, Fagerland and Hosmer 2013."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Unpack, cast

import numpy as np

from caltest.lenses import Lens
from caltest.measures.grades.hosmer_lemeshow import GroupedMeasure, RiskGroups
from caltest.predictions import Measured
from caltest.types import Floats
from caltest.units import RowUnits, Units

__all__ = ["OrdinalHosmerLemeshow", "ordinal_hosmer_lemeshow"]

DIGITS = 12  # of the score, so that equal predictions tie whatever the rounding of its sum


@dataclass(frozen=True, kw_only=True)
class OrdinalHosmerLemeshow(GroupedMeasure):
    """C_g with its groups; see `ordinal_hosmer_lemeshow`."""

    key: ClassVar[str] = "ordinal-hosmer-lemeshow"
    title: ClassVar[str] = "ordinal Hosmer-Lemeshow statistic"
    symbol: ClassVar[str] = "C_g"
    forms: ClassVar[tuple[str, ...]] = ("rows", "clusters")

    def lost(self, m: int) -> int:
        return m

    def risk_groups(self, units: Units) -> RiskGroups:
        if units.mean.ndim == 1:
            return RiskGroups.of_event(units.ordered(f"the {self.title}"), self.groups, pooled=True)
        rows = cast("RowUnits", units)
        score = np.asarray(rows.probs @ np.arange(1.0, rows.predictions.m + 1), np.float64)
        return RiskGroups.of_classes(rows, np.around(score, DIGITS), self.groups)


def ordinal_hosmer_lemeshow(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    groups: int = 10,
    **rows: Unpack[Measured],
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
    return OrdinalHosmerLemeshow(groups=groups).evaluate(probs, labels, lens, **rows)
