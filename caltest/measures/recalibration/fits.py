"""Logistic recalibration fitted to predictions and labels, and its likelihood ratios."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
import scipy

from caltest.checks import check_class, check_memory, check_unused
from caltest.errors import NotApplicable
from caltest.measures.fits import Fit
from caltest.measures.outcome import Outcome, chi2_limit
from caltest.measures.recalibration import binary_fit
from caltest.measures.residual_sums import Flippable, robust_quadratic, robust_z
from caltest.numerics.class_sums import placed_sums
from caltest.numerics.logistic import clipped_log_odds, exp_minus
from caltest.numerics.loops import njit
from caltest.numerics.newton import climb
from caltest.numerics.softmax import curvature
from caltest.predictions import Predictions
from caltest.predictions.rows import Deviations
from caltest.render import rows_in_words
from caltest.types import Flags, Floats, Labels, Order
from caltest.units import CellUnits, Observed, RowUnits, Units, check_one_dimension, row_weights

OUTSIDE = "predictions of 0 and 1 have no log odds"
NO_SLOPE = "the log odds of the predictions are equal, so that no slope can be estimated"
HYPOTHESES = {
    "both": "intercept 0 and slope 1",
    "intercept": "intercept 0 for slope 1",
    "slope": "slope 1 with the intercept free",
}
SLOPES = ("common", "reference")
BOTH, INTERCEPT_ALONE, INTERCEPT, SLOPE = range(-1, 3)  # columns of estimates; alone: for slope 1
AT_MEANS = "log odds are those of the mean prediction of each cell"
CONTRADICTS = "that alone contradicts the predictions, and the likelihood ratio is infinite"
FITTED = 1e4  # a maximum of large terms that nearly cancel, as of steep fits to rare events
LEAST_PROB = 2.0**-52  # of log odds in scores
TINY = float(np.finfo(np.float64).tiny)
FEWEST_EXPECTED = 10.0  # rows of a class, below which the chi^2 limit is rough
FEW_EXPECTED = (
    "fewer than ten rows of a class are expected, {count:.3g}: the chi^2 limit can reject "
    "calibrated models too often; the exact null does not"
)


class LogOdds(Fit):
    """A fit by likelihood to units with a positive weight.

    Attributes
    ----------
    certain : (k,) array
        The units of which a label has probability 0.
    outside : int
        The number of their rows.
    """

    caution = AT_MEANS

    def __init__(self, units: Units) -> None:
        super().__init__(units)
        # Units of which a label has probability 0, and for each label whether; of cells all rows.
        if isinstance(units, CellUnits):
            table = np.column_stack([units.least == 1.0, units.most == 0.0])
            self.certain: Order = np.flatnonzero(table.any(axis=1))
            self._impossible: Flags = table[self.certain]
        else:
            self.certain = rows_below(units.probs, 0.0)
            self._impossible = units.probs[self.certain] == 0.0
        self.outside = int(units.row_counts[self.certain].sum())

    def inside(self, values: Observed, axis: int = 0) -> Observed:
        """Return the values of the units that have log odds."""
        return np.delete(values, self.certain, axis) if self.certain.size else values

    def contradicted(self, observed: Observed) -> Flags:
        """Return which rows of what is observed (B, U) have probability 0."""
        some = observed[:, self.certain]
        if self._impossible.shape[1] > 2:
            return np.asarray(self._impossible[np.arange(self.certain.size), some].any(axis=1))
        others, event = self._impossible.T
        wrong = ((some > 0) & event) | ((some < self.units.size[self.certain]) & others)
        return np.asarray(wrong.any(axis=1))

    def likelihood_ratio(self, gains: Floats, observed: Observed) -> Floats:
        """Return twice the gains; infinite where a label has probability 0."""
        ratios = 2.0 * gains
        if self.certain.size:
            ratios[self.contradicted(observed)] = math.inf
        return ratios

    @property
    def undefined(self) -> tuple[str, ...]:
        """What the predictions leave undefined."""
        units, remarks = self.units, list[str]()
        if isinstance(units, RowUnits):
            data, rows = units.predictions, rows_in_words(units.predictions.n)
            probs, labels = data.probs, data.labels
            extreme = rows_below(probs, math.nextafter(binary_fit.SMALLEST_PROBABILITY, 0.0))
            extreme = extreme[row_weights(data)[extreme] > 0]
            inside = (probs[extreme] > 0.0).all(axis=1) | (data.m > 2)
            if inside.any():
                remarks.append(
                    "probabilities below 2.2e-16 count as that in their logarithm, in "
                    f"{np.count_nonzero(inside)} of {rows}, first in row {extreme[inside][0]}"
                )
            wrong = extreme[probs[extreme, labels[extreme]] == 0]
            if wrong.size:
                remarks.append(
                    f"the observed class has probability 0 in {wrong.size} of {rows}, first "
                    f"in row {wrong[0]}: {CONTRADICTS}"
                )
        if self.outside and units.mean.ndim == 1:
            remarks.append(outside(units.rows - self.outside, units.rows))
        if isinstance(units, CellUnits) and self.contradicted(units.observed[None])[0]:
            remarks.append(f"an observed class has probability 0: {CONTRADICTS}")
        return tuple(remarks)


class Recalibration(LogOdds):
    """Intercept and slope of the log odds of two classes, and what they gain."""

    def __init__(self, units: Units, *, with_slope: bool) -> None:
        super().__init__(units)
        self._with_slope, self.scale = with_slope, FITTED * self.scale
        self.x = binary_fit.log_odds(self.inside(units.probs))
        mass, size = np.ascontiguousarray(self.inside(units.mass)), self.inside(units.size)
        self._rows = binary_fit.standard_rows(self.x, mass, size)
        self._nodes = binary_fit.few_nodes(self._rows)
        messages = list(self.undefined)
        if units.rows > self.outside:
            if with_slope and not self.has_slope:
                messages.append(f"{NO_SLOPE}; it is taken as 1")
            events = self.inside(units.observed)
            if not events.any() or (events == self._rows.size).all():
                taken = ", and the slope is taken as 1" if with_slope and self.has_slope else ""
                messages.append(f"all labels are equal: the intercept is infinite{taken}")
            elif with_slope and math.isinf(self.estimates[SLOPE]):
                messages.append("the predictions separate the labels: the slope is infinite")
        self.degenerate = tuple(messages)

    @property
    def has_slope(self) -> bool:
        """Whether the log odds differ."""
        return self._rows.sd > 0

    def recalibrations(self, observed: Observed) -> tuple[Floats, Floats]:
        """Return estimates (B, 3) and gains (B, 2) of the units that have log odds."""
        if not self.x.size:
            return np.tile([0.0, 0.0, 1.0], (len(observed), 1)), np.zeros((len(observed), 2))
        some = self.inside(observed, 1)
        return binary_fit.recalibrations(some, self._rows, self._nodes, 1 + self._with_slope)

    @cached_property
    def estimates(self) -> list[float]:
        """The estimates for what was observed."""
        estimates: list[float] = self.recalibrations(self.units.observed[None])[0][0].tolist()
        return estimates


class FittedCoefficient(Recalibration):
    """One of the estimates for each row of what is observed: see `recalibrate` for the columns."""

    def __init__(self, units: Units, column: int) -> None:
        super().__init__(units, with_slope=column > INTERCEPT_ALONE)
        self.column, self.calibrated = column, float(column == SLOPE)

    def values(self, observed: Observed) -> Floats:
        return self.recalibrations(observed)[0][:, self.column]


class BinaryRatio(Recalibration):
    """The likelihood ratio of two classes, of which the one-parameter tests are parts."""

    def __init__(self, units: Units, tested: str) -> None:
        super().__init__(units, with_slope=tested != "intercept")
        self._tested, self.calibrated = tested, float(tested == "slope")
        self.df = {"both": 1 + self.has_slope, "intercept": 1, "slope": int(self.has_slope)}[tested]
        self.parameters = {"hypothesis": HYPOTHESES[tested]}
        if tested == "both":
            _, intercept, slope = self.estimates
            self.parameters |= {"intercept": intercept, "slope": slope}

    def values(self, observed: Observed) -> Floats:
        _, gains = self.recalibrations(observed)
        gained = gains[:, 0 if self._tested == "intercept" else 1]
        if self._tested == "slope":
            gained = np.maximum(gained - gains[:, 0], 0.0)
        return self.likelihood_ratio(gained, observed)

    def estimate(self, value: float) -> float:
        columns = {"intercept": INTERCEPT_ALONE, "slope": SLOPE}
        return value if self._tested == "both" else self.estimates[columns[self._tested]]


class MultinomialRatio(LogOdds):
    """The likelihood ratio of several classes."""

    def __init__(self, units: RowUnits, slopes: str, reference: int) -> None:
        super().__init__(units)
        self.scale, probs = FITTED * self.scale, raised(units.probs)
        self._weight = np.ascontiguousarray(units.scale)
        self._task = make_task(probs, self._weight, reference if slopes == "reference" else -1)
        possible = int((units.probs > 0).any(axis=0).sum())
        features = np.log(probs) - np.log(probs[:, [reference]])
        least = binary_fit.SAME * np.maximum(1.0, np.abs(features.mean(axis=0)))
        slope_of = features.std(axis=0) > least
        free = int(slope_of.sum()) if slopes == "reference" else int(slope_of.any())
        self.df = possible - 1 + free
        self.parameters = {"slopes": slopes}
        if slopes == "reference":
            self.parameters |= {"reference": units.predictions.classes[reference]}
        else:
            (sums,) = self._sums(units.observed[None])
            slopes_of = np.split(fit(self._task, sums)[0], 2)[1]
            self.parameters |= {"slope": 1.0 + float(slopes_of[units.observed[0]])}
        self.degenerate = self.undefined if free else (*self.undefined, NO_SLOPE)

    def values(self, observed: Observed) -> Floats:
        gains = np.array([fit(self._task, each)[1] for each in self._sums(observed)])
        return self.likelihood_ratio(gains, observed)

    def _sums(self, labels: Labels) -> Floats:
        return np.asarray(class_sums(labels, self._task.features, self._weight))


Ratio = BinaryRatio | MultinomialRatio


def outside(count: int, rows: int) -> str:
    """Say that predictions of 0 and 1 have no log odds, and which rows are fitted."""
    if not count:
        return f"{OUTSIDE}: there is no other row; intercept 0 and slope 1 are not estimates"
    return f"{OUTSIDE}: intercept and slope are those of {inside_rows(count)}, of {rows:,}"


def inside_rows(count: int) -> str:
    """Name the rows that have log odds."""
    return f"the {rows_in_words(count)} with predictions inside (0, 1)"


def rows_below(probs: Floats, limit: float) -> Order:
    """Return the rows with a probability of at most a limit; most often there is none."""
    if probs.min() > limit:
        return np.empty(0, np.intp)
    return np.flatnonzero((probs <= limit).any(axis=1))


def raised(probs: Floats) -> Floats:
    """Return probabilities of at least about 2.2e-16 that sum to 1."""
    higher = np.maximum(probs, binary_fit.SMALLEST_PROBABILITY)
    higher /= higher.sum(axis=1, keepdims=True)
    return higher


def ratio_of(units: Units, tested: str, slopes: str, reference: object) -> Ratio:
    """Return the ratio of two classes, or that of several where both parameters are tested."""
    if units.mean.ndim == 1:
        chosen = None if slopes == "common" else slopes
        check_unused("where the lens leaves two classes", slopes=chosen, reference=reference)
        return BinaryRatio(units, tested)
    rows = cast("RowUnits", units)
    classes = rows.predictions.classes
    column = 0 if reference is None else check_class(reference, classes, "reference")
    return MultinomialRatio(rows, slopes, column)


def limit_of(ratio: Ratio, estimate: float) -> Outcome:
    """Return the chi^2 limit of a likelihood ratio."""
    if ratio.df == 0:
        raise NotApplicable(NO_SLOPE, "use test='calibration-in-the-large'")
    expected = ratio.inside(ratio.units.probs).sum(axis=0)
    fewest = float(expected[expected > 0].min(initial=math.inf))
    notes = (FEW_EXPECTED.format(count=fewest),) if fewest < FEWEST_EXPECTED else ()
    given: dict[str, Any] = {"parameters": ratio.parameters, "degenerate": ratio.degenerate}
    return chi2_limit("LR", ratio.value(), ratio.df, estimate, notes=notes, **given)


def score_statistics(predictions: Predictions, measure: str, column: int) -> Flippable:
    r"""Return the score of the intercept, of the slope, or of both, at 0 and 1.

    With log odds x the scores are the sums of :math:`y - p` and :math:`x (y - p)`. One that is
    adjusted for the other has what the other explains under the variances :math:`p (1 - p)` taken
    away: that of the slope is the sum of :math:`(x - \bar x_v) (y - p)`.

    References
    ----------
    Kline, Santos (2012), A score based approach to wild bootstrap inference, J. Econometric
    Methods 1; Cox, Hinkley (1974), Theoretical statistics, section 9.3 (efficient scores).
    """
    check_one_dimension(predictions, measure)
    p, weight = predictions.probs[:, 1], row_weights(predictions)
    x, gap = clipped_log_odds(p, LEAST_PROB), np.ascontiguousarray(predictions.residuals[:, 1])
    basis = np.column_stack([np.ones_like(x), x])

    def deviations(function: Floats) -> Deviations:
        weighted = weight * function
        return predictions.deviations_of(np.column_stack([np.zeros_like(weighted), weighted]))

    if column == BOTH:
        return [robust_quadratic(basis * gap[:, None], lambda times: deviations(basis @ times))]
    function, other = basis.T[::-1] if column == SLOPE else basis.T
    if column != INTERCEPT_ALONE:
        v = weight * p * (1.0 - p)
        size = float(v @ np.square(other))
        function = function - float(v @ (function * other)) / max(size, TINY) * other
    return [robust_z(function * gap, deviations(function))]


# ---- intercepts and slopes of several classes ---------------------------------------------------

STEPS = 200
DECREMENT_TOLERANCE = 1e-13  # of the decrement, relative to the gain: what remains is smaller
FAR = 0.05  # change of a parameter after which an old curvature does not tell the end
FAST = 0.1  # fall of the decrement by a step that is good enough with an old curvature
PIVOT = 1e-6  # of the factor of a curvature with unit diagonal: below there may be none
CUT = 1e-13  # relative curvature that counts as none
LONG = 50.0  # change of a logit in a step that leaves the region where the curvature means anything
BLOCKED = 1e-9  # part of the slope without curvature that is more than rounding
NOISE = 1e-14  # of a slope, relative to the sum of weights
FACTORED = 2**17  # numbers in the table whose factor is the curvature without squares
ABSENT = -1e300  # alpha of a class without a label, whose probability vanishes


Free = tuple[Order, Order]  # entries of (alpha, beta) that are fitted, and those that are one


class Task(NamedTuple):
    """What does not depend on the labels.

    Attributes
    ----------
    probs, features : (n, m) array
        p, all positive, and f.
    weight : (n,) array
    reference : int
        The class that has no slope, or -1 where there is one for all classes.
    expected : (2m,) array
        Sums of w p and of w p f.
    curvature : (2m, 2m) array
        That of the likelihood at (0, 0).
    largest : float
        The largest size of a feature.
    """

    probs: Floats
    features: Floats
    weight: Floats
    reference: int
    expected: Floats
    curvature: Floats
    largest: float


def make_task(probs: Floats, weight: Floats, reference: int) -> Task:
    """Prepare predictions; a reference of -1 asks for one slope.

    Raises
    ------
    NotApplicable
        If there are so many classes that two curvatures take more than 1 GiB.
    """
    m = probs.shape[1]
    check_memory(2 * (2 * m) ** 2, f"a fit of intercepts and slopes to {m} classes")
    features = np.log(probs)
    features -= features.max(axis=1, keepdims=True) if reference < 0 else features[:, [reference]]
    nothing = np.zeros(2 * probs.shape[1])
    expected, _ = expectations(probs, features, weight, nothing, np.ones(probs.shape[1]))
    start = hessian(features, weight, nothing)
    return Task(probs, features, weight, reference, expected, start, float(np.abs(features).max()))


def class_sums(labels: Labels, features: Floats, weight: Floats) -> Floats:
    """Return the sums of w and of w f over the rows of each class, (B, 2m)."""
    m, w = features.shape[1], np.broadcast_to(weight[:, None], features.shape)
    classes = np.broadcast_to(np.arange(m), features.shape)
    return np.hstack([placed_sums(labels, classes, one, m) for one in (w, w * features)])


def fit(task: Task, sums: Floats) -> tuple[Floats, float]:
    """Maximise the likelihood for labels with `sums` (2m,).

    Returned are (alpha, beta), (2m,), and the gain of log likelihood over no change.

    A class without a label is left out of the softmax, as its intercept goes to minus infinity.
    Where labels are separated the parameters grow without bound while the gain tends to its limit.
    Newton's steps keep the curvature of the start while they are fast; where there is a slope
    without a curvature, a region of trust takes over.
    """
    m = task.probs.shape[1]
    present = sums[:m] > 0
    free = _free(task.reference, present)
    theta = np.concatenate([np.where(present, 0.0, ABSENT), np.zeros(m)])
    there, before, curvature = theta, math.inf, task.curvature
    gradient, gain = _gradient(task, theta, sums, present)
    for _ in range(STEPS):
        step, blocked = newton_step(curvature, gradient, free)
        decrement = float(gradient @ step)
        done = decrement <= DECREMENT_TOLERANCE * max(1.0, gain)
        if decrement > FAST * before or (done and np.abs(theta - there).max() > FAR):
            curvature, there = hessian(task.features, task.weight, theta), theta
            step, blocked = newton_step(curvature, gradient, free)
            decrement = float(gradient @ step)
        reach = float(np.abs(step[:m]).max() + np.abs(step[m:]).max() * task.largest)
        trial = _gradient(task, theta + step, sums, present)
        blocked = blocked or reach > LONG or (reach > 1.0 and trial[1] < gain)
        if blocked:
            break
        theta = theta + step
        gradient, gain = trial
        before = decrement
        if decrement <= DECREMENT_TOLERANCE * max(1.0, gain):
            break
    if blocked:
        theta = _climb(task, theta, sums, present, free)
        _, gain = _gradient(task, theta, sums, present)
    return theta, max(gain, 0.0)


def _climb(task: Task, theta: Floats, sums: Floats, present: Flags, free: Free) -> Floats:
    """Return where the likelihood comes to its supremum, from theta on, step by bounded step."""
    # The change of (alpha, beta) by a free parameter; a unit moves a logit by up to 1.
    kept, shared = free
    axes = np.zeros((theta.size, kept.size + bool(shared.size)))
    axes[kept, np.arange(kept.size)] = 1.0
    axes[shared, -1] = 1.0
    axes[theta.size // 2 :] /= max(task.largest, 1e-290)

    def value(x: Floats) -> tuple[Floats, float]:
        gradient, gain = _gradient(task, theta + axes @ x, sums, present)
        return gradient @ axes, gain

    def factor(x: Floats) -> Floats:
        (n, m), point = task.probs.shape, theta + axes @ x
        if n * m * axes.shape[1] > FACTORED:
            H = axes.T @ hessian(task.features, task.weight, point) @ axes
            values, vectors = np.linalg.eigh(H)
            return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
        # From few rows R comes without the squares, whose small differences rounding would hide.
        q = point[:m] + point[m:] * task.features
        q -= q.max(axis=1, keepdims=True)
        q = task.probs * np.exp(q)
        q /= q.sum(axis=1, keepdims=True)
        moved = axes[:m] + task.features[:, :, None] * axes[m:]
        moved = moved - np.einsum("ij,ijk->ik", q, moved)[:, None]
        rows = np.sqrt(q * task.weight[:, None])[:, :, None] * moved
        return np.asarray(np.linalg.qr(rows.reshape(n * m, -1), mode="r"))

    noise = NOISE * float(task.weight.sum())
    return np.asarray(theta + axes @ climb(value, factor, np.zeros(axes.shape[1]), noise))


def _free(reference: int, present: Flags) -> Free:
    """Return what is fitted: no alpha of the reference, or of the first class that there is."""
    m = present.size
    classes = np.flatnonzero(present)
    base = reference if reference >= 0 and present[reference] else classes[0]
    alphas = classes[classes != base]
    if reference < 0:
        return alphas, m + classes
    slopes = m + classes[classes != reference]
    return np.concatenate([alphas, slopes]), np.empty(0, np.intp)


def _gradient(task: Task, theta: Floats, sums: Floats, present: Flags) -> tuple[Floats, float]:
    """Return the gradient (2m,) of the log likelihood and its gain over no change."""
    expected, growth = expectations(
        task.probs, task.features, task.weight, theta, present.astype(np.float64)
    )
    kept = np.concatenate([present, present])
    linear = float((theta * kept) @ (sums - task.expected))
    return np.where(kept, sums - expected, 0.0), linear - growth


@njit(error_model="numpy")
def expectations(
    probs: Floats, features: Floats, weight: Floats, theta: Floats, present: Floats
) -> tuple[Floats, float]:
    """Return the expected sums (2m,) at theta = (alpha, beta), and the sum of w D.

    D = log(sum_j p_j exp(d_j)) - sum_j p_j d_j is of order d^2, d = alpha + beta f; the second sum
    is over the classes that are present.
    """
    n, m = probs.shape
    out = np.zeros(2 * m)
    d, e = np.empty(m), np.empty(m)
    growth = 0.0
    for i in range(n):
        top, mean, total = -math.inf, 0.0, 0.0
        for j in range(m):
            d[j] = theta[j] + theta[m + j] * features[i, j]
            mean += present[j] * probs[i, j] * d[j]
            top = max(top, d[j])
        for j in range(m):
            e[j] = probs[i, j] * exp_minus(top - d[j])
            total += e[j]
        growth += weight[i] * (math.log(total) + top - mean)
        scale = weight[i] / total
        for j in range(m):
            q = e[j] * scale
            out[j] += q
            out[m + j] += q * features[i, j]
    return out, growth


def hessian(features: Floats, weight: Floats, theta: Floats) -> Floats:
    """Return minus the second derivatives of the log likelihood in theta, (2m, 2m).

    log p is f but for a constant of each row: this is vector scaling of f, by 1 + beta and alpha.
    """
    m = features.shape[1]
    second = curvature(features, weight, np.concatenate([1.0 + theta[m:], theta[:m]]))
    return np.roll(second, (m, m), axis=(0, 1))


def newton_step(H: Floats, gradient: Floats, free: Free) -> tuple[Floats, bool]:
    """Return the step (2m,) of Newton's method, and whether there is a slope without curvature."""
    kept, shared = free
    part, slope = H[np.ix_(kept, kept)], gradient[kept]
    if shared.size:
        rows = H[shared]
        cross = rows[:, kept].sum(axis=0)
        corner = rows[:, shared].sum()
        part = np.block([[part, cross[:, None]], [cross, corner]])
        slope = np.append(slope, gradient[shared].sum())
    unit = 1.0 / np.sqrt(np.maximum(np.diag(part), 1e-290))
    solved, blocked = _solve(part * unit * unit[:, None], unit * slope)
    solved *= unit
    step = np.zeros(gradient.size)
    step[kept] = solved[: kept.size]
    step[shared] = solved[kept.size :]
    return step, blocked


def _solve(H: Floats, right: Floats) -> tuple[Floats, bool]:
    """Solve with a Hessian of unit diagonal, by a pseudo-inverse where it is nearly singular.

    Also whether the right side has a part in the directions that are left alone.
    """
    try:
        factor = scipy.linalg.cho_factor(H, lower=True, check_finite=False)
        if np.diag(factor[0]).min(initial=math.inf) > PIVOT:  # nothing is free with one class
            return scipy.linalg.cho_solve(factor, right, check_finite=False), False
    except scipy.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(H)
    kept = values > CUT * values[-1]
    along = vectors.T @ right
    blocked = bool(np.abs(along[~kept]).max(initial=0.0) > BLOCKED * np.abs(along).max())
    return np.asarray(vectors[:, kept] @ (along[kept] / values[kept])), blocked
