"""Isotonic calibration, Zadrozny and Elkan 2002: the best non-decreasing map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from caltest.calibrators.base import BinaryCalibrator
from caltest.calibrators.inputs import Inputs
from caltest.checks import check_choice, check_finite
from caltest.errors import invalid, shown
from caltest.numerics.isotonic import pool_steps
from caltest.numerics.loops import njit
from caltest.numerics.ordered import in_order, interpolate
from caltest.numerics.sorted_scores import step_ends
from caltest.types import Flags, Floats

__all__ = ["IsotonicCalibrator"]

INTERPOLATIONS = ("linear", "step")
RESOLUTION = 1e-15  # of scores, as in scikit-learn


@dataclass(kw_only=True, eq=False, repr=False)
class IsotonicCalibrator(BinaryCalibrator):
    r"""Isotonic calibration: the non-decreasing map that fits the labels best.

    .. math:: \min_{g \text{ non-decreasing}} \sum_i w_i (y_i - g(p_i))^2,

    found by pooling adjacent violators; predictions that differ by less than 1e-15 are one from the
    start. The same map is best for the log loss. It is constant on blocks of predictions, whose
    observed share of events it gives back; so it is calibrated on its own data, and 0 and 1 are
    common at both ends.

    Parameters
    ----------
    interpolation : {"linear", "step"}, default "linear"
        The map between the blocks: linear from the highest prediction of one to the lowest of the
        next, as in scikit-learn, or the value of the lower one. Outside of the data it is constant.
    bound : "auto" or float, default 0
        The map stays within [bound, 1 - bound]. 0 is the map itself, whose 0 and 1 make the log
        loss of other data infinite where one row differs; "auto" is 1 / (n + 2), n the number of
        rows of the fit: the share that Laplace gives to what was not seen in n rows.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.

    Attributes
    ----------
    x_ : (thresholds,) array
        Lowest and highest prediction of each block, ascending.
    y_ : (thresholds,) array
        The map there.

    Notes
    -----
    It is the fit of scikit-learn's `IsotonicRegression` to float64, which takes scores closer than
    1e-15 to the first of them as equal, since they may differ by rounding alone.
    Takes O(n log n), nearly all of it to sort.

    References
    ----------
    Zadrozny and Elkan (2002), Transforming classifier scores into accurate multiclass probability
    estimates, KDD; Ayer et al. (1955), An empirical distribution function for sampling
    with incomplete information, Annals of Mathematical Statistics 26.

    Examples
    --------
    >>> from caltest.calibrators import IsotonicCalibrator
    >>> isotonic = IsotonicCalibrator().fit([0.1, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    >>> isotonic.x_, isotonic.y_
    (array([0.1, 0.4, 0.6, 0.8]), array([0. , 0.5, 0.5, 1. ]))
    >>> isotonic.predict_proba([0.5, 0.7])[:, 1].round(4)
    array([0.5 , 0.75])
    """

    key: ClassVar[str] = "isotonic"
    title: ClassVar[str] = "Isotonic calibration"

    interpolation: str = "linear"
    bound: str | float = 0.0

    def _fit_event(self, inputs: Inputs, event: Flags, weight: Floats | None) -> None:
        check_choice(self.interpolation, INTERPOLATIONS, "interpolation")
        score, labels, weight = in_order(inputs.event, event, weight)
        score = _merged(score)
        mass, events, last = pool_steps(labels, weight, step_ends(score))
        first = np.append(0, last[:-1] + 1)
        ends = np.column_stack([score[first], score[last]])
        kept = np.column_stack([np.full(len(ends), fill_value=True), ends[:, 0] < ends[:, 1]])
        self.x_: Floats = ends[kept]
        bound = _check_bound(self.bound, score.size)
        self.y_: Floats = np.clip(np.repeat(events / mass, kept.sum(axis=1)), bound, 1 - bound)

    def _event(self, inputs: Inputs) -> Floats:
        if self.interpolation == "linear":
            values: Floats = interpolate(inputs.event, self.x_, self.y_)
            return values
        place = np.searchsorted(self.x_, inputs.event, side="right") - 1
        return self.y_[np.clip(place, 0, None)]


def _check_bound(value: object, n: int) -> float:
    """Return the bound of a map that is fitted to n rows."""
    if isinstance(value, str):
        check_choice(value, ("auto",), "bound")
        return 1 / (n + 2)
    if 0 <= check_finite(value, "bound") < 0.5:
        return check_finite(value, "bound")
    raise invalid('bound must be "auto" or lie in [0, 0.5)', shown(value), "pass 1e-6")


@njit()
def _merged(ordered: Floats) -> Floats:
    """Return sorted scores, those that are closer than the resolution as the first of them."""
    merged = ordered.copy()
    for i in range(1, ordered.size):
        if ordered[i] - merged[i - 1] < RESOLUTION:
            merged[i] = merged[i - 1]
    return merged
