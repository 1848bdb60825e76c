"""Hypotheses with a tolerance, and the normal limit that tests an estimate by them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from caltest.errors import NotApplicable
from caltest.measures.base import Measure, declines
from caltest.measures.bound import BoundMeasure
from caltest.measures.outcome import Outcome, outcome_of
from caltest.numerics.tails import normal_sf
from caltest.predictions import Predictions
from caltest.types import Events, Flags, Floats

ROWS_FOR_LIMIT = 100  # with fewer, limits with a tolerance are rough
FEW_EVENTS = 10  # with fewer, those seen do not show how much the estimate varies
CLASSES = 4  # of many, whose numbers of labels are looked at, on each side
BOUNDARY = "below the tolerance with the standard error at the tolerance"
FEW_ROWS_NOTE = (
    f"the limiting distribution holds for large n; with fewer than {ROWS_FOR_LIMIT} observations "
    "it is rough"
)


@dataclass(frozen=True)
class Tolerance:
    """H0 that an error is at most a tolerance, or at least where `equivalence` is to be shown."""

    value: float
    equivalence: bool = False

    @property
    def title(self) -> str:
        """The kind of test."""
        return "equivalence" if self.equivalence else "tolerance"

    def claim(self, error: str) -> str:
        """Word the null hypothesis on an error."""
        return f"the {error} is at {'least' if self.equivalence else 'most'} {self.value:g}"

    @property
    def alternative(self) -> str:
        """The values of the estimate that speak against the null hypothesis."""
        return "less" if self.equivalence else "greater"

    def signed(self, statistic: float) -> float:
        """Return the statistic with the sign with which large values speak against H0."""
        return -statistic if self.equivalence else statistic


@dataclass(frozen=True, eq=False)
class ToleranceBootstrap:
    """The Poisson bootstrap of an error under a hypothesis with a tolerance.

    Attributes
    ----------
    value : float
        The estimate of the error.
    n : int
        The number of rows that are resampled.
    resample : callable
        Of how often each row counts, (B, n): the bootstrap of the estimate less the error, (B,).
    null_text : str
        The null distribution in words.
    """

    value: float
    n: int
    resample: Callable[[Events], Floats]
    null_text: str


# The quantiles of Poisson(1) at the middles of 2^16 intervals.
_SHARES = np.cumsum(np.exp(-1.0) / np.cumprod(np.maximum(np.arange(13.0), 1.0)))
_POISSON = np.searchsorted(_SHARES, (np.arange(1 << 16) + 0.5) / (1 << 16)).astype(np.uint8)


def draw_poisson(rng: np.random.Generator, size: int, n: int) -> Events:
    """Draw `size` rows of n Poisson counts of mean 1, to a resolution of 2^-16."""
    return _POISSON[rng.integers(0, 1 << 16, (size, n), dtype=np.uint16)]


class ToleranceTest(ABC):
    """What a measure offers that has tests with a tolerance, which is then its `tolerance`."""

    tolerance_method: ClassVar[str] = "limit"  # or "bootstrap"

    @property
    def tolerance(self) -> ToleranceTest | None:
        """The measure itself, or None for a variant that has no such tests."""
        return self

    @abstractmethod
    def tolerance_test(
        self, predictions: Predictions, tolerance: Tolerance
    ) -> Outcome | ToleranceBootstrap:
        """Return the test that the error is at most, or at least, a tolerance: a limit or draws."""

    @abstractmethod
    def boundary_tail(self, predictions: Predictions, tolerance: Tolerance) -> float:
        """Return how likely labels like these are, at most, where the error is the tolerance.

        By an exact distribution, for the errors whose number of events has one.
        """


def tolerance_of(measure: Measure) -> ToleranceTest:
    """Return the tests with a tolerance of a measure.

    Raises
    ------
    NotApplicable
        If it has none.
    """
    if measure.tolerance is None:
        raise declines(measure, "tolerance")
    return measure.tolerance


def has_few_events(predictions: Predictions) -> bool:
    """Tell whether few rows have the predicted label, or few have another one."""
    hits = int(np.count_nonzero(predictions.labels == predictions.predicted))
    return min(hits, predictions.n - hits) < FEW_EVENTS


def few_rows_notes(n: int) -> tuple[str, ...]:
    """Say where n rows are few for a limiting distribution."""
    return (FEW_ROWS_NOTE,) if n < ROWS_FOR_LIMIT else ()


def unseen_chance(share: float, n: int) -> float:
    r"""Return the chance that n rows show nothing of an error in a share of the labels.

    Where a share s of the labels ignores the predictions and the others follow them, n rows look
    calibrated with probability :math:`(1 - s)^n`. If such a model has an error of the tolerance, no
    p-value of a valid test for equivalence can be smaller. Limiting distributions do not know it:
    without a single event among rare ones the estimate hardly varies.
    """
    return float((1.0 - min(share, 1.0)) ** n)


def designated_labels(predictions: Predictions, excess: float) -> Iterator[tuple[Floats, Flags]]:
    r"""Yield the probability of one kind of label in each row, and which rows have it.

    An error redirects labels: the probabilities q are off by some of their mass. If all of it goes
    into one class, or out of it, :math:`q_{ik} \ge p_{ik}` in every row, or :math:`\le`, and the
    number of labels of that class tells. So does the number of correct predictions, where the
    predicted class loses in every row, or gains. Of many classes some are left out whose numbers
    are far from those that an excess would give.
    """
    probs, labels = predictions.probs, predictions.labels
    predicted = probs.argmax(axis=1)
    if predictions.m > 2 or np.ptp(predicted) > 0:
        yield probs.max(axis=1), labels == predicted
    classes: Iterable[int] = (1,)
    if predictions.m > 2:  # those whose number of labels is likeliest so far off, on each side
        means = probs.sum(axis=0)
        gaps = np.bincount(labels, minlength=predictions.m) - means
        spread = np.sqrt(means - np.einsum("ik,ik->k", probs, probs) + excess)
        nearest = [np.argsort((excess - gaps) / spread), np.argsort((excess + gaps) / spread)]
        classes = sorted({int(k) for order in nearest for k in order[:CLASSES]})
    for k in classes:
        yield probs[:, k], labels == k


@dataclass(frozen=True)
class Deviation:
    """An unbiased estimate of a squared error, with what its standard error is made of.

    Attributes
    ----------
    value : float
        The estimate.
    variance : float
        Its variance, estimated by the jackknife or from blocks.
    degenerate : float
        The part of its variance that is left where the error is 0.
    largest : float
        The largest of the other part for an error of 1, over all directions of the error.
    """

    value: float
    variance: float
    degenerate: float
    largest: float

    def z(self, tolerance: float) -> float:
        r"""Return the estimate less the tolerance, in standard errors.

        The variance of an estimate of a squared error :math:`\theta` is about
        :math:`\theta c + d`, where d does not depend on it and c on the direction of the error
        only. Above the tolerance the estimated variance V will do. Below it V would be too small:
        estimate and variance are small together, and on the boundary the variance is larger. There
        c is V over the estimate, at most its largest value:

        .. math:: \widehat{se}^2 = \max(V, \tau \min(V / \hat\theta_+, c_{max}) + d).

        For an estimate below 0 the distance :math:`(\tau - \hat\theta) / \sqrt{\tau c + d}` is
        smallest at :math:`\tau = -\hat\theta - 2 d / c`, and errors of that size are in the
        hypothesis of every smaller tolerance: smaller ones have the same distance.
        """
        far = _in_errors(self.value - tolerance, self.variance)
        if self.value >= tolerance:
            return far
        ratio = min(self.largest, self.variance / self.value) if self.value > 0 else self.largest
        nearest = tolerance
        if self.value < 0 < ratio:
            nearest = max(tolerance, -self.value - 2.0 * self.degenerate / ratio)
        boundary = nearest * ratio + self.degenerate
        return max(far, _in_errors(self.value - nearest, boundary))

    def limit(
        self, bound: BoundMeasure, tolerance: Tolerance, squared: float, estimate: float
    ) -> Outcome:
        """Return the normal limit; `squared` is the tolerance in the units of the self."""
        if self.variance == 0:
            same = "the estimate does not change when a row is left out"
            remedy = "use more data, or null='exact' without tolerance"
            raise NotApplicable(f"{same}, so that it has no standard error", remedy)
        z = self.z(squared)
        pvalue, text = normal_sf(tolerance.signed(z)), f"normal limit, {BOUNDARY}"
        about: dict[str, Any] = {"parameters": bound.parameters, "degenerate": bound.degenerate}
        about["notes"] = (*bound.notes, *few_rows_notes(bound.predictions.n))
        return outcome_of(
            "z", z, pvalue, text, estimate, alternative=tolerance.alternative, **about
        )


def _in_errors(distance: float, variance: float) -> float:
    """Return a distance in standard errors, infinite ones where they underflow."""
    return distance / math.sqrt(variance) if variance > 0 else math.copysign(math.inf, distance)
