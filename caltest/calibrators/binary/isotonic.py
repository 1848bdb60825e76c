"""Isotonic calibration, centered or not, and Venn-Abers predictors, which repeat it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from caltest.calibrators.base import BinaryCalibrator
from caltest.calibrators.inputs import Inputs
from caltest.checks import check_choice, check_finite
from caltest.errors import invalid, shown
from caltest.numerics.isotonic import pool_steps
from caltest.numerics.loops import njit
from caltest.numerics.sorted_scores import distinct_scores, in_order, interpolate, step_ends
from caltest.types import Flags, Floats, Ints

INTERPOLATIONS = ("linear", "step")
RESOLUTION = 1e-15  # of scores, as in scikit-learn
Blocks = tuple[Ints, Ints, Floats]  # first and last row, and share of events


@dataclass(kw_only=True, eq=False, repr=False)
class BlocksMap(BinaryCalibrator):
    """Common parent of the maps that join the blocks of isotonic regression by lines."""

    bound: str | float = 0.0

    @abstractmethod
    def _ends(self, score: Floats, weight: Floats, blocks: Blocks) -> tuple[Floats, Floats]:
        """Return the score where each block begins, and where it ends."""

    def _fit_event(self, inputs: Inputs, event: Flags, weight: Floats | None) -> None:
        score, labels, weight = in_order(inputs.event, event, weight)
        score = _merged(score)
        mass, events, last = pool_steps(labels, weight, step_ends(score))
        share = events / mass
        low, high = self._ends(score, weight, (np.append(0, last[:-1] + 1), last, share))
        # Both ends of each block, or the one where they agree, and the map there.
        kept = np.column_stack([np.full(low.size, fill_value=True), low < high])
        bound = _check_bound(self.bound, max(score.size, float(weight.sum())))
        self.x_ = np.column_stack([low, high])[kept]
        self.y_ = np.clip(np.repeat(share, kept.sum(axis=1)), bound, 1 - bound)

    def _event(self, inputs: Inputs) -> Floats:
        return interpolate(inputs.event, self.x_, self.y_)


@dataclass(kw_only=True, eq=False, repr=False)
class IsotonicCalibrator(BlocksMap):
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
        rows of the fit, or the sum of their weights where that is larger: the share that Laplace
        gives to what was not seen in n rows.
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

    key, title = "isotonic", "Isotonic calibration"

    interpolation: str = "linear"

    def _ends(self, score: Floats, weight: Floats, blocks: Blocks) -> tuple[Floats, Floats]:
        check_choice(self.interpolation, INTERPOLATIONS, "interpolation")
        return score[blocks[0]], score[blocks[1]]

    def _event(self, inputs: Inputs) -> Floats:
        if self.interpolation == "linear":
            return super()._event(inputs)
        return self.y_[np.clip(np.searchsorted(self.x_, inputs.event, side="right") - 1, 0, None)]


def _check_bound(value: object, n: float) -> float:
    """Return the bound of a map that is fitted to n rows."""
    if isinstance(value, str):
        check_choice(value, ("auto",), "bound that is no number")
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


# ---- Centered isotonic regression, Oron and Flournoy 2017 ---------------------------------------


class CenteredIsotonicCalibrator(BlocksMap):
    r"""Centered isotonic calibration: isotonic blocks shrunk to points, and lines between them.

    Each block of `IsotonicCalibrator` becomes one point: the weighted mean of its predictions, and
    its share of events,

    .. math:: \bar p_k = \frac{\sum_{i \in k} w_i p_i}{\sum_{i \in k} w_i}, \quad
        g(\bar p_k) = \frac{\sum_{i \in k} w_i y_i}{\sum_{i \in k} w_i},

    and the map is linear in between. So it increases strictly, and the ranking of predictions is
    kept, except outside of the points, where it is constant, and on blocks without events or of
    events alone, which stay whole.

    Parameters
    ----------
    bound : "auto" or float, default 0
        The map stays within [bound, 1 - bound]. 0 is the map itself, whose 0 and 1 make the log
        loss of other data infinite where one row differs; "auto" is 1 / (n + 2), n the number of
        rows of the fit, or the sum of their weights where that is larger: the share that Laplace
        gives to what was not seen in n rows.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.

    Attributes
    ----------
    x_ : (points,) array
        Predictions at the points, ascending.
    y_ : (points,) array
        The map there.

    Notes
    -----
    It is `cirPAVA` of the authors' package cir for R.

    References
    ----------
    Oron and Flournoy (2017), Centered isotonic regression: point and interval estimation for
    dose-response studies, Statistics in Biopharmaceutical Research 9, section 3.

    Examples
    --------
    >>> from caltest.calibrators import CenteredIsotonicCalibrator
    >>> isotonic = CenteredIsotonicCalibrator().fit([0.1, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    >>> isotonic.x_, isotonic.y_
    (array([0.1, 0.5, 0.8]), array([0. , 0.5, 1. ]))
    """

    key, title = "centered-isotonic", "Centered isotonic calibration"

    def _ends(self, score: Floats, weight: Floats, blocks: Blocks) -> tuple[Floats, Floats]:
        first, last, share = blocks
        # Within the block, however the sums are rounded.
        centre = np.add.reduceat(score * weight, first) / np.add.reduceat(weight, first)
        centre = np.clip(centre, score[first], score[last])
        whole = (share == 0) | (share == 1)
        low, high = np.where(whole, [score[first], score[last]], centre)
        return low, high


# ---- Inductive Venn-Abers predictors, Vovk, Petej, Fedorova 2015 --------------------------------

LOSSES = ("log", "brier")


@dataclass(kw_only=True, eq=False, repr=False)
class VennAbers(BinaryCalibrator):
    r"""Inductive Venn-Abers predictor: isotonic regression with the new observation in it.

    For each new score p, isotonic regression is fitted to the calibration set with p added, once
    with label 0 and once with label 1; its values at p are :math:`p_0 \le p_1`. One of the two is
    the prediction of a calibrated model, whatever the distribution of exchangeable observations
    (see `interval`); which one, the unknown label tells. One number of the two is

    .. math:: \hat\mu(p) = \frac{p_1}{1 - p_0 + p_1}

    for the log loss, of which the regret is smallest in the worst case, or
    :math:`p_1 + (p_0^2 - p_1^2) / 2` for the Brier score. It is never 0 or 1, and does not fall.

    Parameters
    ----------
    loss : {"log", "brier"}, default "log"
        Loss for which the two probabilities are merged.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length 2, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 and 1.

    Attributes
    ----------
    cuts0_, values0_ : array
        :math:`p_0` is values0_[k] for scores in [cuts0_[k - 1], cuts0_[k]); it is 0 below all.
    cuts1_, values1_ : array
        :math:`p_1` is values1_[k] for scores in (cuts1_[k - 1], cuts1_[k]]; it is 1 above all.

    Notes
    -----
    Both functions are computed in fit, in O(n log n) for the sort; a prediction takes O(log n).
    Weights count observations of the calibration set, and the new observation counts as one.

    References
    ----------
    Vovk, Petej, Fedorova (2015), Large-scale probabilistic predictors with and without guarantees
    of validity, NeurIPS, sections 3 and 4.

    Examples
    --------
    >>> from caltest.calibrators import VennAbers
    >>> venn = VennAbers().fit([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0, 0, 1, 0, 1, 1])
    >>> venn.interval([0.35])
    array([[0.33333333, 0.66666667]])
    >>> venn.predict_proba([0.35])
    array([[0.5, 0.5]])
    """

    key, title = "venn-abers", "Venn-Abers predictor"

    loss: str = "log"

    def _fit_event(self, inputs: Inputs, event: Flags, weight: Floats | None) -> None:
        check_choice(self.loss, LOSSES, "loss")
        score, mass, events = distinct_scores(inputs.event, event, weight)
        # Up to score j an added label 1 gives high[j]; from score j on a label 0 gives low[j + 1].
        rise, run = _slopes(mass, events)
        high = np.append(np.clip(rise / run, 0.0, 1.0), 1.0)
        rise, run = _slopes(mass[::-1].copy(), (mass - events)[::-1].copy())
        low = np.append(0.0, np.clip((run - rise) / run, 0.0, 1.0)[::-1])
        # Slopes of a minorant ascend, but for rounding.
        self.cuts0_, self.values0_ = _steps(score, np.maximum.accumulate(low))
        self.cuts1_, self.values1_ = _steps(score, np.maximum.accumulate(high))

    def interval(self, X: object) -> Floats:
        """Return the probabilities of the second class for both labels of each new observation.

        If the observations are exchangeable, the one of the two that belongs to the true label is
        calibrated: P(Y = 1 | p_Y) = p_Y.

        Parameters
        ----------
        X : array_like of shape (n, 2) or (n,)
            Probabilities, or logits if `from_logits`, as in `fit`.

        Returns
        -------
        (n, 2) array
            p_0 and p_1, where p_0 <= p_1.
        """
        check_is_fitted(self)
        return self._interval(self._read_inputs(X, reset=False))

    def _interval(self, inputs: Inputs) -> Floats:
        low = self.values0_[np.searchsorted(self.cuts0_, inputs.event, side="right")]
        high = self.values1_[np.searchsorted(self.cuts1_, inputs.event, side="left")]
        return np.column_stack([low, np.maximum(low, high)])

    def _event(self, inputs: Inputs) -> Floats:
        low, high = self._interval(inputs).T
        if self.loss == "log":
            return np.asarray(high / (1 - low + high))
        return np.asarray(high + (low - high) * (low + high) / 2)


def _steps(score: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Leave out the scores at which a step function does not change."""
    changes = values[1:] != values[:-1]
    return score[changes], values[np.append(True, changes)]


@njit()
def _slopes(mass: Floats, events: Floats) -> tuple[Floats, Floats]:
    """Return the rise and the run of the minorant at each score with an event added there."""
    d = mass.size
    # P_{-1} = (-1, -1), P_0 = (0, 0), ..., P_d: the added event comes before all scores.
    x, y = np.empty(d + 2), np.empty(d + 2)
    x[0], y[0], x[1], y[1] = -1.0, -1.0, 0.0, 0.0
    for i in range(d):
        x[i + 2] = x[i + 1] + mass[i]
        y[i + 2] = y[i + 1] + events[i]
    # The corners of the greatest convex minorant, the last point first.
    stack, size = np.empty(x.size, np.int64), 0
    for i in range(x.size):
        while size > 1 and not _turns_left(x, y, stack[size - 2], stack[size - 1], i):
            size -= 1
        stack[size] = i
        size += 1
    corner, top = stack[:size][::-1].copy(), size - 1
    rise, run = np.empty(d), np.empty(d)
    for i in range(d):
        low, high = corner[top], corner[top - 1]
        rise[i], run[i] = y[high] - y[low], x[high] - x[low]
        if run[i] <= 0:  # lost in sums that are 1e16 times larger
            rise[i], run[i] = events[i] + 1.0, mass[i] + 1.0
        # The event moves past score i: P_i is replaced by P_{i+1} - (1, 1).
        x[i + 1], y[i + 1] = x[i] + mass[i], y[i] + events[i]
        if (y[i + 1] - y[low]) * run[i] >= rise[i] * (x[i + 1] - x[low]):  # not below that side
            continue
        top -= 1
        while top > 0 and not _turns_left(x, y, i + 1, corner[top], corner[top - 1]):
            top -= 1
        top += 1
        corner[top] = i + 1
    return rise, run


@njit(inline="always")
def _turns_left(x: Floats, y: Floats, a: int, b: int, c: int) -> bool:
    return bool((y[b] - y[a]) * (x[c] - x[b]) < (y[c] - y[b]) * (x[b] - x[a]))
