"""Logistic recalibration fitted to predictions and labels, and its likelihood ratios."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import scipy
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.measures.base import BoundMeasure, Labels
from caltest.measures.cells import BoundCells, Counts
from caltest.measures.label_scores import rounding_scale, row_weights
from caltest.measures.one_dimension import check_one_dimension
from caltest.measures.outcome import Outcome
from caltest.measures.recalibration.binary_loops import (
    SAME,
    SMALLEST_PROBABILITY,
    cell_recalibrations,
    few_nodes,
    log_odds,
    recalibrations,
    standard_rows,
)
from caltest.measures.recalibration.multinomial_loops import class_sums, fit, make_task
from caltest.predictions import Predictions
from caltest.scale import Cells
from caltest.validation import check_class, check_unused

Floats = NDArray[np.float64]
OUTSIDE = "predictions of 0 and 1 have no log odds"
NO_SLOPE = "the log odds of the predictions are equal, so that no slope can be estimated"
HYPOTHESES = {
    "both": "intercept 0 and slope 1",
    "intercept": "intercept 0 for slope 1",
    "slope": "slope 1 with the intercept free",
}
SLOPES = ("common", "reference")
AT_MEANS = "log odds are those of the mean prediction of each cell"
FITTED = 1e4  # a maximum of large terms that nearly cancel, as of steep fits to rare events


class BoundLikelihood(BoundMeasure):
    """A function of the likelihood of labels, which is 0 where one of them is impossible."""

    def __init__(self, predictions: Predictions) -> None:
        self.extremes = extreme_messages(predictions)
        weight = predictions.sample_weight
        if weight is not None and not weight.all():
            predictions = predictions.without(weight == 0)
        super().__init__(predictions)
        weight = row_weights(predictions)
        # A power of 2 takes no digit from them, and leaves no sum to overflow.
        self.unit = 2.0 ** math.frexp(float(weight.max()))[1] if weight.strides[0] else 1.0
        self.weight: Floats = np.ascontiguousarray(weight / self.unit)
        self.total = float(self.weight.sum()) * self.unit
        self.scale = FITTED * rounding_scale(predictions.n) * self.unit
        self._doubtful = rows_below(predictions.probs, 0.0)

    def likelihood_ratio(self, gains: Floats, labels: Labels) -> Floats:
        """Return twice the gains; infinite where a label has probability 0."""
        ratios = 2.0 * self.unit * gains
        if self._doubtful.size:
            probs = self.predictions.probs[self._doubtful]
            rows = np.arange(self._doubtful.size)
            chosen = probs[rows, labels[:, self._doubtful]]
            ratios[(chosen == 0).any(axis=1)] = math.inf
        return ratios


class BoundRecalibration(BoundLikelihood):
    """Intercepts and slopes of two classes, and what they gain."""

    def __init__(self, predictions: Predictions, measure: str, *, with_slope: bool) -> None:
        check_one_dimension(predictions, measure)
        super().__init__(predictions)
        self._with_slope = with_slope
        probs, inside = self.predictions.probs, has_log_odds(self.predictions.probs)
        self._inside = None if inside.all() else np.flatnonzero(inside)
        self._rows = standard_rows(log_odds(probs[inside]), self.weight[inside])
        self._nodes = few_nodes(self._rows)

    @property
    def has_slope(self) -> bool:
        """Whether the log odds differ."""
        return self._rows.sd > 0

    def recalibrations(self, labels: Labels) -> tuple[Floats, Floats]:
        """Return estimates (B, 3) and gains (B, 2) of the rows that have log odds."""
        if self._inside is not None:
            labels = np.take(labels, self._inside, axis=1)
        if not labels.shape[1]:
            return np.tile([0.0, 0.0, 1.0], (len(labels), 1)), np.zeros((len(labels), 2))
        return recalibrations(labels, self._rows, self._nodes, 1 + self._with_slope)

    def messages(self) -> tuple[str, ...]:
        """Say what the data leave undefined."""
        remarks = list(self.extremes)
        labels = self.predictions.labels
        if self._inside is not None:
            labels = labels[self._inside]
            remarks.append(outside(labels.size, self.predictions.n))
            if not labels.size:
                return tuple(remarks)
        if self._with_slope and not self.has_slope:
            remarks.append(f"{NO_SLOPE}; it is taken as 1")
        if labels.min() == labels.max():
            taken = ", and the slope is taken as 1" if self._with_slope and self.has_slope else ""
            remarks.append(f"all labels are equal: the intercept is infinite{taken}")
        elif self._with_slope and math.isinf(self.recalibrations(self.observed[None])[0][0, 2]):
            remarks.append("the predictions separate the labels: the slope is infinite")
        return tuple(remarks)


class BoundCoefficient(BoundRecalibration):
    """One of the estimates for each row of labels: see `recalibrate` for the columns."""

    def __init__(self, predictions: Predictions, measure: str, column: int) -> None:
        super().__init__(predictions, measure, with_slope=column > 0)
        self._column = column
        self.degenerate = self.messages()

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        return self.recalibrations(labels)[0][:, self._column]


def has_log_odds(probs: Floats) -> NDArray[np.bool_]:
    """Return which predictions of two classes are inside (0, 1)."""
    return np.asarray((probs > 0.0).all(axis=1))


def outside(count: int, rows: int) -> str:
    """Say that predictions of 0 and 1 have no log odds, and which rows are fitted."""
    if not count:
        return f"{OUTSIDE}: there is no other row; intercept 0 and slope 1 are not estimates"
    return f"{OUTSIDE}: intercept and slope are those of {inside_rows(count)}, of {rows:,}"


def inside_rows(count: int) -> str:
    """Name the rows that have log odds."""
    return f"the {count:,} rows with predictions inside (0, 1)"


def extreme_messages(predictions: Predictions) -> tuple[str, ...]:
    """Say where probabilities have no logarithm, and where such a class was observed."""
    probs = predictions.probs
    extreme = rows_below(probs, math.nextafter(SMALLEST_PROBABILITY, 0.0))
    extreme = extreme[row_weights(predictions)[extreme] > 0]
    if not extreme.size:
        return ()
    clipped = extreme
    if predictions.m == 2:
        clipped = extreme[has_log_odds(probs[extreme])]
    remarks = []
    if clipped.size:
        remarks.append(
            f"probabilities below 2.2e-16 count as that in their logarithm, in {clipped.size} of "
            f"{predictions.n} rows, first in row {clipped[0]}"
        )
    observed = probs[extreme, predictions.labels[extreme]]
    rows = extreme[observed == 0]
    if rows.size:
        remarks.append(
            f"the observed class has probability 0 in {rows.size} of {predictions.n} rows, first "
            f"in row {rows[0]}: that alone contradicts the predictions, and the likelihood ratio "
            "is infinite"
        )
    return tuple(remarks)


def rows_below(probs: Floats, limit: float) -> NDArray[np.intp]:
    """Return the rows with a probability of at most a limit; most often there is none."""
    if probs.min() > limit:
        return np.empty(0, np.intp)
    return np.flatnonzero((probs <= limit).any(axis=1))


def raised(probs: Floats) -> Floats:
    """Return probabilities of at least about 2.2e-16 that sum to 1."""
    higher = np.maximum(probs, SMALLEST_PROBABILITY)
    higher /= higher.sum(axis=1, keepdims=True)
    return higher


def varying(features: Floats) -> NDArray[np.bool_]:
    """Return for each column whether it varies."""
    mean, sd = features.mean(axis=0), features.std(axis=0)
    different: NDArray[np.bool_] = sd > SAME * np.maximum(1.0, np.abs(mean))
    return different


class BinaryRatio(BoundRecalibration):
    """The ratio of two classes, of which the one-parameter tests are parts."""

    def __init__(self, predictions: Predictions, tested: str) -> None:
        named = f"the test of {HYPOTHESES[tested]}"
        super().__init__(predictions, named, with_slope=tested != "intercept")
        self._tested = tested
        self.df = {"both": 1 + self.has_slope, "intercept": 1, "slope": int(self.has_slope)}[tested]
        intercept1, intercept, slope = self.recalibrations(self.observed[None])[0][0].tolist()
        self._estimates = {"intercept": intercept1, "slope": slope}
        self.parameters = {"hypothesis": HYPOTHESES[tested]}
        if tested == "both":
            self.parameters |= {"intercept": intercept, "slope": slope}
        self.degenerate = self.messages()

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        _, gains = self.recalibrations(labels)
        gained = gains[:, 0 if self._tested == "intercept" else 1]
        if self._tested == "slope":
            gained = np.maximum(gained - gains[:, 0], 0.0)
        return self.likelihood_ratio(gained, labels)

    def estimate(self, value: float) -> float:
        return float(self._estimates.get(self._tested, value))


class CellRecalibration(BoundCells):
    """Intercepts and slopes of cells at the log odds of their mean predictions."""

    caution = AT_MEANS

    def __init__(self, cells: Cells, *, with_slope: bool) -> None:
        super().__init__(cells)
        self.scale = FITTED * rounding_scale(cells.rows) * max(1.0, cells.heaviest)
        self._with_slope = with_slope
        self._never, self._always = cells.most == 0.0, cells.least == 1.0
        self.inside = ~(self._never | self._always)
        mean = cells.mean[self.inside]
        self._size = cells.n[self.inside].astype(np.float64)
        self._rows = standard_rows(log_odds(np.stack([1.0 - mean, mean], 1)), self._size)
        self._nodes = few_nodes(self._rows)
        self.degenerate = tuple(self._messages())

    @property
    def has_slope(self) -> bool:
        """Whether the log odds differ."""
        return self._rows.sd > 0

    def recalibrations(self, counts: Floats) -> tuple[Floats, Floats]:
        """Return estimates (B, 3) and gains (B, 2) of the cells that have log odds."""
        if not self.inside.all():
            counts = np.ascontiguousarray(counts[:, self.inside])
        if not self._size.size:
            return np.tile([0.0, 0.0, 1.0], (len(counts), 1)), np.zeros((len(counts), 2))
        expected = self.cells.expected[self.inside]
        return cell_recalibrations(
            counts, self._size, expected, self._rows, self._nodes, 1 + self._with_slope
        )

    def _messages(self) -> Iterator[str]:
        cells = self.cells
        count, events = int(cells.counts[self.inside].sum()), int(cells.hits[self.inside].sum())
        if not self.inside.all():
            yield outside(count, cells.rows)
        if self._impossible(self.observed[None])[0]:
            yield (
                "an observed class has probability 0: that alone contradicts the predictions, and "
                "the likelihood ratio is infinite"
            )
        if self._with_slope and not self.has_slope and count:
            yield f"{NO_SLOPE}; it is taken as 1"
        if events in (0, count) and count:
            taken = ", and the slope is taken as 1" if self._with_slope and self.has_slope else ""
            yield f"all labels are equal: the intercept is infinite{taken}"

    def _impossible(self, counts: Floats) -> NDArray[np.bool_]:
        surely = (self.cells.n - counts)[:, self._always]
        return np.asarray((counts[:, self._never] > 0).any(axis=1) | (surely > 0).any(axis=1))


class CellCoefficient(CellRecalibration):
    """One of the estimates: see `recalibrate` for the columns."""

    def __init__(self, cells: Cells, column: int) -> None:
        super().__init__(cells, with_slope=column > 0)
        self._column = column

    @property
    def calibrated(self) -> float:
        return (0.0, 0.0, 1.0)[self._column]

    def values(self, labels: Counts, n_jobs: int | None = None) -> Floats:
        return self.recalibrations(labels)[0][:, self._column]


class CellRatio(CellRecalibration):
    """The likelihood ratio of cells."""

    def __init__(self, cells: Cells, tested: str) -> None:
        super().__init__(cells, with_slope=tested != "intercept")
        self._tested = tested
        intercept1, intercept, slope = self.recalibrations(self.observed[None])[0][0].tolist()
        self._estimates = {"intercept": intercept1, "slope": slope}
        self.parameters = {"hypothesis": HYPOTHESES[tested]}
        if tested == "both":
            self.parameters |= {"intercept": intercept, "slope": slope}

    @property
    def calibrated(self) -> float:
        return 1.0 if self._tested == "slope" else 0.0

    def values(self, labels: Counts, n_jobs: int | None = None) -> Floats:
        _, gains = self.recalibrations(labels)
        gained = gains[:, 0 if self._tested == "intercept" else 1]
        if self._tested == "slope":
            gained = np.maximum(gained - gains[:, 0], 0.0)
        return np.where(self._impossible(labels), math.inf, 2.0 * gained)

    def estimate(self, value: float) -> float:
        return float(self._estimates.get(self._tested, value))


class MultinomialRatio(BoundLikelihood):
    """The ratio of several classes."""

    def __init__(self, predictions: Predictions, slopes: str, reference: int) -> None:
        super().__init__(predictions)
        probs = raised(self.predictions.probs)
        self._task = make_task(probs, self.weight, reference if slopes == "reference" else -1)
        possible = int((self.predictions.probs > 0).any(axis=0).sum())
        slope_of = varying(np.log(probs) - np.log(probs[:, [reference]]))
        free = int(slope_of.sum()) if slopes == "reference" else int(slope_of.any())
        self.df = possible - 1 + free
        self.parameters = {"slopes": slopes}
        if slopes == "reference":
            self.parameters |= {"reference": self.predictions.classes[reference]}
        else:
            self.parameters |= {"slope": self._slope()}
        self.degenerate = self.extremes if free else (*self.extremes, NO_SLOPE)

    def values(self, labels: Labels, n_jobs: int | None = None) -> Floats:
        sums = class_sums(labels, self._task.features, self.weight)
        gains = np.array([fit(self._task, each).gain for each in sums])
        return self.likelihood_ratio(gains, labels)

    def _slope(self) -> float:
        (sums,) = class_sums(self.observed[None], self._task.features, self.weight)
        return 1.0 + float(fit(self._task, sums).beta[self.predictions.labels[0]])


Ratio = BinaryRatio | MultinomialRatio


def bind_ratio(predictions: Predictions, tested: str, slopes: str, reference: object) -> Ratio:
    """Bind the ratio of two classes, or that of several where both parameters are tested."""
    if predictions.m == 2:
        chosen = None if slopes == "common" else slopes
        check_unused("where the lens leaves two classes", slopes=chosen, reference=reference)
    if predictions.m == 2 or tested != "both":
        return BinaryRatio(predictions, tested)
    column = 0 if reference is None else check_class(reference, predictions.classes, "reference")
    return MultinomialRatio(predictions, slopes, column)


def chi2_limit(bound: Ratio, ratio: float, estimate: float) -> Outcome:
    """Return the chi^2 limit of a likelihood ratio."""
    if bound.df == 0:
        raise NotApplicable(NO_SLOPE, "use test='calibration-in-the-large'")
    return Outcome(
        statistic_name="LR",
        statistic=ratio,
        pvalue=float(scipy.special.chdtrc(bound.df, ratio)),
        estimate=estimate,
        alternative="greater",
        null_text=f"chi^2 limit with {bound.df} degree{'s' if bound.df > 1 else ''} of freedom",
        parameters=bound.parameters,
        degenerate=bound.degenerate,
    )
