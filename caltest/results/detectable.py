"""What a test could have found with the rows at hand: the smallest errors with a power of 80 %."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from caltest.errors import NotApplicable
from caltest.measures.gap import event_rows
from caltest.numerics.labels import label_dtype
from caltest.numerics.softmax import softmax
from caltest.results.evidence import required
from caltest.types import Flags, Floats, Labels, Singles

if TYPE_CHECKING:
    from caltest.measures.bound import BoundMeasure
    from caltest.results.htest import HTest

Truth = Callable[[Floats, float], Floats]

POWER = 0.8
LEVEL = 0.05
NUMBERS = 8e6  # redrawn labels of a step of the search
FEWEST, MOST = 40, 200  # data sets
STEPS = 9
LEAST_PROB = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Detectable:
    """The smallest error of a kind that a test finds in 80 % of the data sets of these predictions.

    Attributes
    ----------
    kind : str
        "temperature", "slope" or "gap".
    size : float
        Of the temperature and the slope the number, of the gap the difference of the means.
    gap : float
        The share of events less the mean prediction that goes with it.
    """

    kind: str
    size: float
    gap: float


def detectable(test: HTest, n_jobs: int | None = None) -> tuple[Detectable, ...]:
    """Return the smallest errors that a test would have found; empty where none is found.

    The predictions stay as they are, labels are drawn from what would be true, and the test decides
    at its level, or at 5 %, with the null distribution that it has. Of predictions of several
    classes a temperature is sought, of two a slope and a shift of the log odds.

    Raises
    ------
    NotApplicable
        If the result has no predictions, or its null no redrawn labels.
    """
    evidence = required(test.evidence, "what the rows could have shown")
    if test.null != "exact" or test.null_distribution is None or evidence.predictions.n != test.n:
        raise NotApplicable(
            "what the rows could have shown is known of tests with redrawn labels of all rows",
            "use null='exact', or caltest.power",
        )
    seen = evidence.seen
    bound = evidence.measure.bind(seen, n_jobs)
    decide = _decision(bound, test.null_distribution, test.alternative, test.level or LEVEL)
    rng = np.random.default_rng(evidence.seed)
    count = int(np.clip(NUMBERS / (seen.n * seen.m), FEWEST, MOST))
    uniform = rng.random((count, len(bound.label_probs)), dtype=np.float32)

    def power(probs: Floats) -> float:
        labels = _labels(probs if bound.order is None else probs[bound.order], uniform)
        return float(decide(bound.combine(bound.statistics(labels, n_jobs))).mean())

    rows = event_rows(seen)
    weight = np.ones(seen.n) if rows.weight is None else rows.weight
    found = []
    for kind, truth, ends in _kinds(seen.m, float(np.average(rows.probs, weights=weight))):
        size = _smallest(lambda x, truth=truth: power(truth(seen.probs, x)), *ends)  # type: ignore[misc]
        if size is not None:
            true = truth(seen.probs, size)
            chance = true[:, 1] if seen.m == 2 else true[np.arange(seen.n), seen.predicted]
            gap = float(np.average(chance - rows.probs, weights=weight))
            found.append(Detectable(kind=kind, size=abs(gap) if kind == "gap" else size, gap=gap))
    return tuple(found)


def _kinds(m: int, mean: float) -> list[tuple[str, Truth, tuple[float, float]]]:
    """The errors that are sought, and the least and the largest of them."""
    if m > 2:
        return [("temperature", lambda p, T: softmax(_log(p), 1.0 / T), (1.0, 20.0))]
    side = 1.0 if mean < 0.5 else -1.0

    def shifted(p: Floats, a: float) -> Floats:
        return softmax(_log(p), 1.0, np.array([0.0, side * a]))

    return [
        ("gap", shifted, (0.0, 6.0)),
        ("slope", lambda p, b: softmax(_log(p), b), (1.0, 0.0)),
    ]


def _log(p: Floats) -> Floats:
    return np.log(np.maximum(p, LEAST_PROB))


def _smallest(power: Callable[[float], float], calibrated: float, largest: float) -> float | None:
    """Halve the range in which the power rises above 80 %."""
    if power(largest) < POWER:
        return None
    for _ in range(STEPS):
        middle = 0.5 * (calibrated + largest)
        if calibrated >= 1.0 and largest > 1.0:
            middle = float(np.sqrt(calibrated * largest))
        if power(middle) < POWER:
            calibrated = middle
        else:
            largest = middle
    return largest


def _labels(probs: Floats, uniform: Singles) -> Labels:
    """Draw labels (B, n): the same uniform numbers for all truths, so that power rises."""
    labels = np.zeros(uniform.shape, dtype=label_dtype(probs.shape[1]))
    limits = np.cumsum(probs, axis=1)[:, :-1].T
    for limit in limits:
        labels += uniform > limit
    return labels


def _decision(
    bound: BoundMeasure, null: Floats, alternative: str, level: float
) -> Callable[[Floats], Flags]:
    """Return the test at a level, of statistics against those of redrawn labels."""
    ordered = np.sort(bound.comparable(np.asarray(null)))
    sides = 2 if alternative == "two-sided" else 1
    most = max(int(np.floor(level / sides * (ordered.size + 1))), 1)

    def decide(values: Floats) -> Flags:
        values = bound.comparable(values)
        far = values > ordered[-most]
        return np.asarray(far | (values < ordered[most - 1]) if sides == 2 else far)

    return decide
