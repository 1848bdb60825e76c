"""The statistic of Pigeon & Heyse 1999: Hosmer-Lemeshow with the variance within groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from caltest.lenses import Lens
from caltest.measures.grades.risk_groups import GroupedMeasure, RiskGroups
from caltest.units import Units

__all__ = ["PigeonHeyse", "pigeon_heyse"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class PigeonHeyse(GroupedMeasure):
    """J^2 with its groups; see `pigeon_heyse`."""

    key: ClassVar[str] = "pigeon-heyse"
    title: ClassVar[str] = "Pigeon-Heyse statistic"

    @property
    def symbol(self) -> str:
        return "J^2"

    @property
    def lost(self) -> int:
        return 1

    def risk_groups(self, units: Units) -> RiskGroups:
        units = units.ordered(f"the {self.title}")
        return RiskGroups.of_event(units, self.groups, pooled=False)


def pigeon_heyse(
    probs: object,
    labels: object = None,
    *,
    lens: str | Lens = "strong",
    groups: int = 10,
    n_jobs: int | None = None,
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
    n_jobs : int, optional
        Threads, as in joblib; one value takes one.

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
    return PigeonHeyse(groups=groups).evaluate(probs, labels, lens, n_jobs)
