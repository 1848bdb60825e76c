"""Logistic recalibration fitted to predictions and labels, and its likelihood ratios."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, cast

import numpy as np

from caltest.checks import check_class, check_unused
from caltest.errors import NotApplicable
from caltest.measures.fits import Fit
from caltest.measures.outcome import Outcome, chi2_limit
from caltest.measures.recalibration import binary_fit
from caltest.measures.recalibration.multinomial_loops import class_sums, fit, make_task
from caltest.measures.residual_sums import Flippable, robust_quadratic, robust_z
from caltest.numerics.logistic import clipped_log_odds
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
