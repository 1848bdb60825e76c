"""Spline calibration, Gupta et al. 2021."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.utils.validation import check_is_fitted

from caltest.calibrators.base import CalibrationSet, Calibrator, Coefficient
from caltest.calibrators.ensemble import normalised
from caltest.calibrators.inputs import SMALLEST_PROBABILITY, Inputs
from caltest.calibrators.spline import cumulative_spline
from caltest.checks import as_numbers, check_choice, check_class, check_flag, check_integer, listing
from caltest.errors import invalid, shown
from caltest.lenses.classes import check_rank
from caltest.numerics.loops import frozen, njit
from caltest.numerics.sorted_scores import interpolate
from caltest.types import AnyArray, Codes, Flags, Floats, Ints

HALVINGS = 60
RANK_ROUNDING = np.finfo(np.float64).eps  # a rank has more than those after it
TILT = 4 * RANK_ROUNDING  # between equal classes, so that they still have their order


def put_back_rank(probs: Floats, order: Ints, r: int, g: Floats) -> Floats:
    """Return rows whose r-th largest probability is g, as near to it as the order allows.

    `order` (n, r + 1) holds the classes of the largest probabilities, or all m of them. No
    probability is zero.
    """
    n, m = probs.shape
    every, own = np.arange(n), order[:, r - 1]
    new = np.clip(g, RANK_ROUNDING, 1 / r) if r > 1 else np.maximum(g, 1 / m)
    others = probs.copy()  # not 1 - p: they may be much smaller than its rounding error
    others[every, own] = 0.0
    rows: Floats = others / others.sum(axis=1, keepdims=True) * (1 - new)[:, np.newaxis]
    rows[every, own] = new
    broken = np.zeros(n, dtype=bool)
    if r > 1:
        broken |= rows[every, order[:, r - 2]] < new
    if r < m:
        broken |= rows[every, order[:, r]] > new
    return _in_order(rows, order[:, 0], broken, _fill_around, probs, r, new)


def put_back_sum(probs: Floats, order: Ints, r: int, g: Floats) -> Floats:
    """Return rows whose r largest probabilities sum to g, but at least to r / m."""
    n, m = probs.shape
    every, first = np.arange(n), order[:, :r]
    new = np.maximum(g, r / m)
    inside = np.take_along_axis(probs, first, axis=1)
    rows = probs.copy()
    np.put_along_axis(rows, first, 0.0, axis=1)
    rows *= ((1 - new) / rows.sum(axis=1))[:, np.newaxis]
    inside *= (new / inside.sum(axis=1))[:, np.newaxis]
    np.put_along_axis(rows, first, inside, axis=1)
    broken = rows[every, order[:, r - 1]] < rows[every, order[:, r]]
    return _in_order(rows, order[:, 0], broken, _fill_both, probs, r, new)


def _in_order(
    rows: Floats,
    first: Ints,
    broken: Flags,
    fill: Callable[..., None],
    p: Floats,
    r: int,
    g: Floats,
) -> Floats:
    """Fill the rows whose order is broken anew, and keep the predicted classes; both in place.

    The rows are filled of their probabilities p in falling order.
    """
    if broken.any():
        order = np.argsort(-p[broken], axis=1, kind="stable")
        q = np.take_along_axis(p[broken], order, axis=1)
        sums = np.zeros((2, len(q), q.shape[1] + 1))
        sums[0, :, 1:] = q.cumsum(axis=1)  # those before each place, and from it on
        sums[1, :, :-1] = q[:, ::-1].cumsum(axis=1)[:, ::-1]  # the smallest added first
        filled, mended = np.empty_like(q), np.empty_like(q)
        fill(filled, q, *sums, r, g[broken])
        filled *= 1 - TILT * np.arange(q.shape[1])
        np.put_along_axis(mended, order, filled, axis=1)
        rows[broken] = mended
    # Others may be equal to the predicted class, up to rounding.
    largest = rows.argmax(axis=1)
    moved = np.flatnonzero(largest != first)
    rows[moved, first[moved]] = np.nextafter(rows[moved, largest[moved]], 2.0)
    return rows


@njit()
def _fill_around(
    rows: Floats, probs: Floats, before: Floats, after: Floats, r: int, score: Floats
) -> None:
    """Set the r-th class to g, those before it to max(c p, g), those after it to min(c p, g)."""
    n, m = probs.shape
    for i in range(n):
        g = score[i]
        first, last = r - 1, r  # the classes first to last - 1 are equal to g
        c = _factor(1 - g, before[i, first] + after[i, last])
        while first > 0 and c * probs[i, first - 1] < g:
            first -= 1
            c = _factor(1 - (last - first) * g, before[i, first] + after[i, last])
        while first == r - 1 and last < m and c * probs[i, last] > g:
            last += 1
            c = _factor(1 - (last - first) * g, before[i, first] + after[i, last])
        for k in range(m):
            rows[i, k] = g if first <= k < last else c * probs[i, k]


@njit()
def _fill_both(
    rows: Floats, probs: Floats, before: Floats, after: Floats, r: int, total: Floats
) -> None:
    """Set the first r classes to max(a p, L) and the others to min(c p, L), with the best L.

    The divergence is least where the sum of log(L / (a p)) over the raised classes equals that of
    log(c p / L) over the lowered ones.
    """
    n, m = probs.shape
    for i in range(n):
        q, g = probs[i], total[i]
        low, high = (1 - g) / (m - r), g / r
        for _ in range(HALVINGS):
            level = math.sqrt(low * high)
            a, f = _reach(q, before[i], r, g, level, -1)
            c, e = _reach(q, after[i], r, 1 - g, level, 1)
            balance = 0.0
            for k in range(f, r):
                balance += math.log(level / (a * q[k])) if f > 0 else math.inf
            for k in range(r, e):
                balance -= math.log(c * q[k] / level) if e < m else math.inf
            if balance > 0:
                high = level
            else:
                low = level
        level = math.sqrt(low * high)
        a, f = _reach(q, before[i], r, g, level, -1)
        c, e = _reach(q, after[i], r, 1 - g, level, 1)
        for k in range(m):
            rows[i, k] = level if f <= k < e else (a if k < f else c) * q[k]


@njit()
def _reach(
    q: Floats, sums: Floats, r: int, mass: float, level: float, way: int
) -> tuple[float, int]:
    """Return a factor and an end such that the level up to it, and beyond a q_k, have the mass.

    The classes are those before r, a way of -1, which are raised to the level, or those from r on,
    a way of 1, which are lowered to it.
    """
    end, following = r, r - (way < 0)
    factor = _factor(mass, sums[r])
    while 0 <= following < q.size and way * (factor * q[following] - level) > 0:
        end, following = end + way, following + way
        factor = _factor(mass - abs(end - r) * level, sums[end])
    return factor, end


@njit()
def _factor(mass: float, total: float) -> float:
    return max(mass / total, 0.0) if total > 0 else 0.0


# ---- Spline calibration, Gupta et al. 2021 ------------------------------------------------------

DEFAULT_KNOTS, MOST_KNOTS = 6, 1000
KNOTS_OF_MODE = {"within-top-2": 14}
CURVE_POINTS = 201
MODE = re.compile(r"(top|within-top)-([1-9][0-9]{0,8})")


@dataclass(kw_only=True, eq=False, repr=False)
class SplineCalibrator(Calibrator):
    r"""Spline calibration: the derivative of a cubic spline on the cumulative curve of events.

    With the scores in ascending order and t the fractile, the share of predictions up to a score,
    the shares of events and of scores are

    .. math:: h_i = \frac{1}{n} \sum_{j \le i} 1[\text{event}_j], \quad
        \tilde h_i = \frac{1}{n} \sum_{j \le i} \sigma_j, \quad t_i = i / n,

    and the slope of h at a fractile is the probability of the event at its score. A spline with
    few, evenly spaced knots takes the place of h, so that there is a slope; there are no bins and
    no parametric family:

    .. math:: \text{"difference"}: \min_s \sum_i (s(t_i) - (h_i - \tilde h_i))^2, \quad
        \gamma(\sigma_i) = \sigma_i + s'(t_i); \qquad
        \text{"cumulative"}: \min_s \sum_i (s(t_i) - h_i)^2, \quad \gamma(\sigma_i) = s'(t_i).

    Equal scores form one step, from one fractile to the next, and :math:`s'` is by default its mean
    across the step, :math:`(s(t_i) - s(t_{i-1})) / (t_i - t_{i-1})`. A step stands in the least
    squares with its weight at its end; one that is longer than a third of the distance of two knots
    (ties, few data) counts as equal parts along its chord. Recalibrated scores are clipped to [0,
    1]. Scores between those of the calibration set are interpolated linearly, scores outside get
    the value at the nearest end.

    A recalibrated score g of a rank is put back into its row so that the order of the classes, and
    with it the accuracy, stays as it was: among the rows with that score and that order, the
    result is the one nearest to the row p in the Kullback-Leibler divergence,
    :math:`\sum_k x_k \ln(x_k / p_k)`. So the classes behind the score are scaled to sum to g, the
    others to 1 - g, and where this would break the order the classes concerned become equal. A
    score that no order allows is replaced by the nearest that does: a largest probability is at
    least 1/m, a sum of the r largest at least r/m, and the r-th largest at most 1/r. Zeros count
    as 2.2e-16.

    Parameters
    ----------
    mode : str, default "top-1"
        Which score is recalibrated, as the lenses name it: "top-r", the r-th largest probability
        (r from 1 to m); "within-top-r", the sum of the r largest (1 to m - 1); "class-wise", each
        probability by its own spline; "all-ranks", the probability of each rank, 1 to m, by its
        own. After the last two, rows are normalised and the predicted class may change; a row
        whose new probabilities are all zero stays uncalibrated. Of two classes, "class-wise" fits
        one spline, to the second.
    knots : int, optional
        Number of knots, at least 3, or 4 with cubic run-out. By default 6, as in the paper, and 14
        for "within-top-2". "class-wise" needs more, 30 say, where classes are many: the scores
        that are not near 0 lie in the last 1/m of the fractiles, between few knots.
    runout : {"natural", "parabolic", "cubic"}
        What the second derivative does at both ends: it is zero, it is constant in the outermost
        interval (quadratic run-out), or it is linear across the outermost two.
    target : {"difference", "cumulative"}
        What the spline is fitted to: events minus scores, as in the authors' script and so in the
        tables of the paper, or events alone, as in the text of the paper (section 4.1).
    slope : {"mean", "end"}
        Where the slope of a step is taken: its mean across the step, or s' at the fractile
        :math:`t_i = i / n` where the step ends, as in the text of the paper (section 4.2,
        :math:`\gamma(\sigma) = h'(s^{-1}(\sigma))`). They differ where many scores are equal.
    constrained : bool, default False
        Keep the recalibrated scores of the calibration set in [0, 1] in the fit instead of clipping
        them; for "cumulative" the derivative everywhere. A quadratic programme, solved exactly.
    monotone : bool, default False
        Let the recalibrated score never fall as the score rises; for "cumulative" the spline is
        convex. A quadratic programme too.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.

    Attributes
    ----------
    knots_ : (K,) array
        Fractiles of the knots.
    values_ : (c, K) array
        The splines at the knots: c is m for "all-ranks", and for "class-wise" with m > 2,
        otherwise 1.
    scores_ : list of c arrays
        Distinct scores of the calibration set, ascending.
    fractiles_ : list of c arrays
        Share of the predictions, by weight, up to each score.
    cumulative_ : list of c arrays
        Share of the predictions up to each score whose event happened.
    recalibrated_ : list of c arrays
        What each score is mapped to.

    Warns
    -----
    DegenerateDataWarning
        If there are fewer distinct scores than knots: the curve is straight between them, and with
        one score it maps to the share of events. If the event of a score always or never happened:
        that score stays, since the data do not say how to change it.

    References
    ----------
    Gupta et al. (2021), Calibration of neural networks using splines, ICLR, section 4 and
    proposition 4.1. The authors' script: github.com/kartikgupta-at-anu/spline-calibration.

    Examples
    --------
    >>> import numpy as np
    >>> from caltest.calibrators import SplineCalibrator
    >>> score = np.linspace(0.5, 1, 1000)  # right in 3 of 4 cases, at every confidence
    >>> probs = np.column_stack([1 - score, score])
    >>> spline = SplineCalibrator().fit(probs, np.tile([1, 1, 0, 1], 250))
    >>> spline.predict_proba([[0.0625, 0.9375]]).round(2)
    array([[0.25, 0.75]])
    """

    key, title = "spline", "Spline calibration"

    mode: str = "top-1"
    knots: int | None = None
    runout: str = "natural"
    target: str = "difference"
    slope: str = "mean"
    constrained: bool = False
    monotone: bool = False

    def _fit(self, data: CalibrationSet) -> None:
        kind, r = check_spline_mode(self.mode, data.inputs.m)
        options = self._options()
        pairs = _scores(data.inputs.probs, data.codes, kind, r)
        splines = [cumulative_spline.fit_spline(*pair, data.weight, options) for pair in pairs]
        parts = map(list, zip(*splines, strict=True))
        self.scores_, self.fractiles_, self.cumulative_, self.recalibrated_, values = parts
        constant = [k for k, h in enumerate(self.cumulative_) if h[-1] in {0.0, 1.0}]
        fewest = min(map(len, self.scores_))
        if constant:
            names = listing(self._spline_names()[constant].tolist())
            event = f"the event of {names}" if len(splines) > 1 else "the event"
            text = f"{event} never or always happened in the calibration set"
            self._note(f"{text}: its score is kept")
        elif fewest < options.knots:
            what = f"{fewest} distinct scores for {options.knots} knots"
            self._note(f"{what}: the curve between them is straight")
        self.knots_ = np.linspace(0.0, 1.0, options.knots)
        self.values_ = np.array(values)

    def _options(self) -> cumulative_spline.SplineOptions:
        runout = check_choice(self.runout, cumulative_spline.RUNOUTS, "runout")
        target = check_choice(self.target, cumulative_spline.TARGETS, "target")
        slope = check_choice(self.slope, cumulative_spline.SLOPES, "slope")
        usual = KNOTS_OF_MODE.get(self.mode, DEFAULT_KNOTS)
        knots = usual if self.knots is None else self.knots
        check_integer(knots, "knots", cumulative_spline.FEWEST_KNOTS[runout], most=MOST_KNOTS)
        constrained = check_flag(self.constrained, "constrained")
        monotone = check_flag(self.monotone, "monotone")
        return cumulative_spline.SplineOptions(knots, runout, target, constrained, monotone, slope)

    def _calibrate(self, inputs: Inputs) -> Floats:
        kind, r = check_spline_mode(self.mode, inputs.m)
        probs = inputs.probs
        if kind == "class-wise" and inputs.m == 2:
            event = self._recalibrated(probs[:, 1:])[:, 0]
            return np.column_stack([1 - event, event])
        if kind == "class-wise":
            return normalised(self._recalibrated(probs), probs)
        order = largest_classes(
            frozen(probs), inputs.m if kind == "all-ranks" else min(r + 1, inputs.m)
        )
        ranked = np.take_along_axis(probs, order, axis=1)
        if kind == "all-ranks":
            values = np.empty_like(probs)
            np.put_along_axis(values, order, self._recalibrated(ranked), axis=1)
            return normalised(values, probs)
        score = _rank_score(ranked, kind, r)
        recalibrated = self._recalibrated(score[:, np.newaxis])[:, 0]
        put_back = put_back_rank if kind == "top" else put_back_sum
        return np.asarray(put_back(np.maximum(probs, SMALLEST_PROBABILITY), order, r, recalibrated))

    def _recalibrated(self, scores: Floats) -> Floats:
        """Return what the spline of each column maps its scores to."""
        maps = zip(scores.T, self.scores_, self.recalibrated_, strict=True)
        return np.column_stack([interpolate(*one) for one in maps])

    def _spline_names(self) -> AnyArray:
        """Return what the splines are of: classes, or ranks from 1 to m."""
        return np.arange(1, len(self.classes_) + 1) if self.mode == "all-ranks" else self.classes_

    def coefficients(self) -> Sequence[Coefficient]:
        """Return the values of the splines at their knots; they have no likelihood.

        Returns
        -------
        sequence of Coefficient
            In the order of `values_`.
        """
        check_is_fitted(self)
        names = self._spline_names().tolist()
        if self.mode == "all-ranks":
            names = [f"top-{k}" for k in names]
        several = len(self.values_) > 1
        return [
            Coefficient(f"s({t:.3g}), {names[k]}" if several else f"s({t:.3g})", float(value))
            for k, values in enumerate(self.values_)
            for t, value in zip(self.knots_, values, strict=True)
        ]

    def curve(self, t: object = None, *, k: object = None) -> cumulative_spline.CalibrationCurve:
        """Return the calibration graphs of the calibration set: curves over the fractile.

        Parameters
        ----------
        t : array_like of shape (T,), optional
            Fractiles in [0, 1]; by default 201 even ones.
        k : object, optional
            Name of the class, where mode is "class-wise" and there are more than two classes; the
            rank from 1, where it is "all-ranks".

        Returns
        -------
        CalibrationCurve
            Arrays `fractile`, `score`, `cumulative_score`, `cumulative_event`, `spline` and
            `derivative`.
        """
        check_is_fitted(self)
        classes, several = self._spline_names(), len(self.scores_) > 1
        if several and k is None:
            rule = "k must name a class where each has its own spline"
            raise invalid(rule, "None", f"pass one of {listing(classes.tolist())}")
        if not several and k is not None:
            raise invalid("k must be None where there is one spline", shown(k), "leave it out")
        i = 0 if k is None else check_class(k, classes)
        places = np.linspace(0, 1, CURVE_POINTS)
        if t is not None:
            places = np.atleast_1d(as_numbers(t, "t")).astype(np.float64)
            if places.ndim != 1:
                got = f"shape {places.shape}"
                raise invalid("t must have one dimension", got, "pass t.ravel()")
            bad = ~((places >= 0) & (places <= 1))
            if bad.any():
                at = int(np.argmax(bad))
                got = f"{places[at]:.8g} at position {at}"
                raise invalid("t must lie in [0, 1]", got, "pass shares of the calibration set")
        parts = self.scores_, self.fractiles_, self.cumulative_, self.recalibrated_, self.values_
        fitted = cumulative_spline.FittedSpline(*(part[i] for part in parts))
        return cumulative_spline.curve_of(fitted, self._options(), places)


def _scores(probs: Floats, codes: Codes, kind: str, r: int) -> list[tuple[Floats, Flags]]:
    """List the scores to recalibrate, each with whether its event happened."""
    m = probs.shape[1]
    if kind == "class-wise":
        classes = [1] if m == 2 else range(m)
        return [(probs[:, k], codes == k) for k in classes]
    if kind == "all-ranks":
        order = largest_classes(frozen(probs), m)
        happens = order == codes[:, np.newaxis]
        ranked = np.take_along_axis(probs, order, axis=1)
        return [(np.ascontiguousarray(ranked[:, k]), happens[:, k]) for k in range(m)]
    order = largest_classes(frozen(probs), r)
    score = _rank_score(np.take_along_axis(probs, order, axis=1), kind, r)
    members = order if kind == "within-top" else order[:, r - 1 :]
    return [(score, (members == codes[:, np.newaxis]).any(axis=1))]


def _rank_score(ranked: Floats, kind: str, r: int) -> Floats:
    """Return the r-th largest, or the sum of the r largest."""
    if kind == "within-top":
        return np.asarray(np.minimum(ranked[:, :r].sum(axis=1), 1.0))
    return np.ascontiguousarray(ranked[:, r - 1])


@njit()
def largest_classes(probs: Floats, r: int) -> Ints:
    """Return the r classes of the largest probabilities in falling order, (n, r).

    Equal ones come in class order.
    """
    n, m = probs.shape
    order = np.empty((n, r), np.int64)
    for i in range(n):
        kept = 0
        for j in range(m):
            p = probs[i, j]
            if kept == r and p <= probs[i, order[i, r - 1]]:
                continue
            k = min(kept, r - 1)
            while k > 0 and probs[i, order[i, k - 1]] < p:
                order[i, k] = order[i, k - 1]
                k -= 1
            order[i, k] = j
            kept = min(kept + 1, r)
    return order


def check_spline_mode(mode: object, m: int) -> tuple[str, int]:
    """Check what a spline recalibrates, and return "top", "within-top" and r, or the mode and 0."""
    if isinstance(mode, str) and mode in {"class-wise", "all-ranks"}:
        return mode, 0
    match = MODE.fullmatch(mode) if isinstance(mode, str) else None
    if match is None:
        rule = "mode must be 'top-r' or 'within-top-r', r from 1, 'class-wise' or 'all-ranks'"
        raise invalid(rule, shown(mode), "pass 'top-1', 'top-2', 'within-top-2', ...")
    kind, r = match[1], int(match[2])
    check_rank(r, m if kind == "top" else m - 1, match[0])
    return kind, r
