"""Proper scores, which may be optimised, and calibration errors, which are only reported."""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from caltest import checks, htests, measures
from caltest.errors import DegenerateDataWarning, NotApplicable, invalid, shown
from caltest.forecasts import Forecasts
from caltest.lenses import Interval
from caltest.predictions import Predictions, Rows
from caltest.types import Codes, Floats

MOST_CLASSES = 50  # of a decomposition, an isotonic fit each
SHOWN = ("log-loss", "brier", "crps", "log-score")  # beside the score that is optimised
LOGS = ("log-loss", "log-score")
LARGEST_LOG = -math.log(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True)
class ProperScore:
    """A strictly proper score: its expectation is least for the true probabilities alone.

    Attributes
    ----------
    key : str
        As callers name it.
    title : str
        As it prints.
    formula : callable
        Of the probabilities (n, k) of k labels of each row, and of all its classes (n, m): the
        score of the row with each of the labels, (n, k); less is better. Of forecasts it is one of
        their law and of outcomes (n,) or (n, k).
    parts_up_to : int
        The most classes for which it is decomposed; 0 where it is not.
    largest : callable
        m -> the largest value that it can have; the least is 0.
    of : type
        The rows that it is a score of.
    """

    key: str
    title: str
    formula: Callable[[Any, Floats], Floats]
    parts_up_to: int = 0
    largest: Callable[[int], float] = lambda _m: math.inf

    of: ClassVar[type[Rows]] = Predictions

    def of_rows(self, predictions: Any) -> Floats:
        """Return the score of each row, (n,)."""
        observed = np.take_along_axis(predictions.probs, predictions.labels[:, None], axis=1)
        with np.errstate(divide="ignore"):
            return self.formula(observed, predictions.probs)[:, 0]

    def of_classes(self, probs: Floats) -> Floats:
        """Return the finite score of each row if each class were its label, (n, m)."""
        return self.formula(np.maximum(probs, np.finfo(np.float64).tiny), probs)

    def between(self, first: Any, second: Any) -> tuple[Floats, Floats, Floats]:
        """Return what may be observed in each row, as two models of the same rows have it.

        Probabilities of the first and of the second, and the difference of their scores, each
        (n, K) for K outcomes.
        """
        difference = self.of_classes(first.probs) - self.of_classes(second.probs)
        return first.probs, second.probs, difference

    def in_range(self, low: float, high: float, m: int) -> tuple[float, float]:
        """Cut an interval of a difference off where no difference of the score can be."""
        most = self.largest(m)
        return max(low, -most), min(high, most)


class ForecastScore(ProperScore):
    """A proper score of forecasts of numbers."""

    of = Forecasts

    def of_rows(self, predictions: Any) -> Floats:
        return self.formula(predictions.law, predictions.outcomes)

    def between(self, first: Any, second: Any) -> tuple[Floats, Floats, Floats]:
        """As of classes: K points of either law, whose weights give expectations under it.

        Raises
        ------
        NotApplicable
            If a probability is to be compared with a density, whose size is that of the unit.
        """
        if self.key == "log-score" and first.law.has_atoms != second.law.has_atoms:
            titles = f"{first.law.title} and {second.law.title}"
            reason = f"the log scores of {titles} are of a probability and of a density"
            raise NotApplicable(reason, "use the CRPS")
        (x, p), (y, q) = first.law.nodes(), second.law.nodes()
        scores = [self.formula(one.law, np.hstack([x, y])) for one in (first, second)]
        a, b = (np.where(np.isinf(each), LARGEST_LOG, each) for each in scores)
        return np.hstack([p, 0.0 * q]), np.hstack([0.0 * p, q]), a - b


def _brier(labels: Floats, probs: Floats) -> Floats:
    scores = 1.0 - 2.0 * labels + np.einsum("ij,ij->i", probs, probs)[:, None]
    return np.asarray(scores / 2 if probs.shape[1] == 2 else scores)


def _spherical(labels: Floats, probs: Floats) -> Floats:
    return np.asarray(1.0 - labels / np.linalg.norm(probs, axis=1, keepdims=True))


_ALL = (
    ProperScore("log-loss", "log loss", lambda labels, _: -np.log(labels), 2),
    ProperScore("brier", "Brier score", _brier, MOST_CLASSES, lambda m: 1.0 if m == 2 else 2.0),
    ProperScore("spherical", "1 - spherical score", _spherical, largest=lambda _m: 1.0),
    ForecastScore("crps", "CRPS", lambda law, y: law.crps(y)),
    ForecastScore("log-score", "log score", lambda law, y: law.log_score(y)),
)
EVERY: Mapping[str, ProperScore] = {score.key: score for score in _ALL}
SCORES = {key: score for key, score in EVERY.items() if score.of is Predictions}
COVERAGE = "in 90 %"
COLUMNS = {"ECE", "KS", "class-wise ECE", COVERAGE, *(score.title for score in EVERY.values())}


def check_score(score: object, rows: Rows | None = None) -> ProperScore:
    """Return the proper score of a key, of classes where no rows are given, by default the first.

    Calibration errors are refused with the reason.
    """
    own = SCORES if rows is None else {k: s for k, s in EVERY.items() if isinstance(rows, s.of)}
    score = next(iter(own)) if score is None else score
    word = str(score).lower().replace("_", "-")
    if word in {*measures.REGISTRY, *htests.REGISTRY, "accuracy"} - EVERY.keys():
        rule = f"score must be a proper score, one of {checks.listing(own)}"
        remedy = (
            "pass one of these: ECE, KS, SKCE and their like are not proper, a constant or useless "
            "map can bring them to 0, and accuracy ignores probabilities; report them, but do not "
            "select by them"
        )
        raise invalid(rule, shown(score), remedy)
    return own[checks.check_choice(score, own, "score")]


def row_scores(rows: Rows, score: ProperScore) -> dict[str, Floats]:
    """Return the scores of each row, the optimised one first, by the names that print."""
    found = {score.title: score.of_rows(rows)}
    others = (EVERY[key] for key in SHOWN if key != score.key)
    for other in (one for one in others if isinstance(rows, one.of)):
        with contextlib.suppress(NotApplicable):  # an ensemble has no density
            found[other.title] = other.of_rows(rows)
    return found


def ruled_out(found: Mapping[str, Floats], weight: Floats) -> int:
    """Count the rows in which what was observed had no chance: the log loss, or score, is infinite.

    It is beyond the ends of a stretched law, and in an empty bin of a histogram.
    """
    logs = [found[name] for name in (EVERY[key].title for key in LOGS) if name in found]
    return sum(int(np.isinf(one[weight > 0]).sum()) for one in logs)


def mean_score(scores: Floats, weight: Floats) -> float:
    """Return the weighted mean; rows of weight 0 do not count, whatever their score."""
    kept = weight > 0
    return float(weight[kept] @ scores[kept] / weight[kept].sum())


def units_of(predictions: Rows, weight: Floats) -> Codes:
    """Return the cluster of each row of positive weight, numbered; a row by itself is one too."""
    kept = np.flatnonzero(weight > 0)
    if predictions.clusters is None or not predictions.has_dependence:
        return np.arange(kept.size)
    return np.asarray(np.unique(predictions.clusters[kept], return_inverse=True)[1])


def sums_of_units(values: Floats, units: Codes) -> Floats:
    """Sum the rows (n, k) of each cluster."""
    if units.size == units.max(initial=-1) + 1:
        return values
    sums = np.zeros((int(units.max()) + 1, values.shape[1]))
    np.add.at(sums, units, values)
    return sums


def mean_and_error(differences: Floats, weight: Floats, units: Codes) -> tuple[float, float | None]:
    r"""Return the weighted mean of differences and its standard error, None where one is infinite.

    .. math:: \bar d = \sum_i w_i d_i / W, \quad
        s^2 = \frac{C}{C - 1} \sum_c \Big(\sum_{i \in c} w_i (d_i - \bar d)\Big)^2 / W^2, \quad
        W = \sum_i w_i,

    with C clusters of rows, or n rows.
    """
    kept = weight > 0
    d, w = differences[kept], weight[kept]
    with np.errstate(invalid="ignore"):
        mean = float(w @ d / w.sum())
    count = int(units.max(initial=-1)) + 1
    if not math.isfinite(mean) or count < 2:
        return mean, None
    total = float(np.square(sums_of_units((w * (d - mean))[:, None], units)).sum())
    return mean, math.sqrt(total * count / (count - 1)) / float(w.sum())


def lens_of_measures(m: int) -> str:
    """Return the lens of the reported errors: they are those of one dimension."""
    return ("strong" if m == 2 else "confidence") if m else ""


def reported(predictions: Any, others: Mapping[str, object]) -> dict[str, float]:
    """Return the calibration errors that are reported, and those of the caller."""
    lens = lens_of_measures(predictions.m)
    usual: dict[str, Any] = {"ECE": partial(measures.ece, lens=lens)}
    usual["KS"] = partial(measures.ks_error, lens=lens)
    if not predictions.m:
        usual = {COVERAGE: _coverage, "KS": measures.pit_uniformity}
    if predictions.m > 2:
        usual["class-wise ECE"] = measures.classwise_ece
    functions = usual | dict(others)
    with warnings.catch_warnings(action="ignore", category=DegenerateDataWarning):
        found = {name: function(predictions) for name, function in functions.items()}
    return {name: checks.as_number(value, f"measures[{name!r}]") for name, value in found.items()}


def _coverage(forecasts: Forecasts) -> float:
    return mean_score(Interval(0.9)(forecasts).labels.astype(np.float64), forecasts.weights)
