"""Lenses on predictive distributions: what leaves events or classes of their outcomes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from caltest.checks import check_count, check_finite, check_share
from caltest.errors import invalid, shown
from caltest.forecasts import Forecasts
from caltest.lenses.base import Lens, seen_as
from caltest.predictions import Predictions
from caltest.types import Flags, Floats

__all__ = ["PIT", "Bands", "BelowQuantile", "Exceeds", "Interval"]

USUAL_LEVEL = 0.9  # of the intervals whose coverage is stated with a result


def _event(
    forecasts: Forecasts,
    low: Floats | float,
    high: Floats | float,
    name: str,
    happened: Flags | None = None,
) -> Predictions:
    """Predict the event that the uniform number of the outcome is from low on, below high.

    Where the number is within a step its place there is random. Shares that are stated, unlike the
    test, count the event by the part of the step that it holds.
    """
    n, names = forecasts.n, [f"not {name}", name]
    low, high = np.broadcast_to(low, n), np.broadcast_to(high, n)
    probs = np.column_stack([1.0 - (high - low), high - low])
    found = (forecasts.pit >= low) & (forecasts.pit < high) if happened is None else happened
    seen = seen_as(forecasts, probs, found, names, lambda own: own.between(low, high))
    if happened is None:
        vars(seen)["happened_partly"] = forecasts.held(low, high)
    return seen


def _classes(forecasts: Forecasts, ends: Floats, codes: Any, names: Sequence[str]) -> Predictions:
    """Predict classes of outcomes in ascending order; `ends`, (n, m - 1), has F between them."""
    ends = np.clip(ends, 0.0, 1.0)
    probs = np.diff(ends, axis=1, prepend=0.0, append=1.0)
    return seen_as(forecasts, probs, codes, names, lambda own: own.classes(probs))


class OfForecasts(Lens):
    """A lens on forecasts."""

    of = Forecasts


@dataclass(frozen=True)
class Exceeds(OfForecasts):
    """Whether the outcome is above t, with the probability 1 - F(t).

    Of an ensemble that is the share of members above t: a claim of its own, which members like the
    outcome do not bear out, as the share of few of them varies.

    Parameters
    ----------
    t : float
        The threshold.

    Examples
    --------
    >>> from caltest import Forecasts
    >>> Exceeds(1.0)(Forecasts([0.5, 1.5], mean=1.0, scale=1.0)).labels.tolist()
    [0, 1]
    """

    t: float

    title = "whether the outcome is above T, as exceeds[3.5]"
    key = "exceeds[{t:g}]"
    null = "P(Y > {t:g} | F) = 1 - F({t:g})"

    def __post_init__(self) -> None:
        object.__setattr__(self, "t", check_finite(self.t, "t"))

    @classmethod
    def read(cls, rank: str | None, classes: str | None) -> Lens | None:
        return None if rank or classes is None else cls(_number(classes, "t"))

    def __call__(self, forecasts: Forecasts) -> Predictions:
        """Return 1 - F(t), and 1 where y > t."""
        below = forecasts.law.cdf(np.full(forecasts.n, self.t))
        return _event(forecasts, below, 1.0, f"above {self.t:g}", forecasts.outcomes > self.t)


@dataclass(frozen=True)
class _AtLevel(OfForecasts):
    """A lens of a level, or the family of those of usual levels."""

    level: float | None = None

    usual: ClassVar[tuple[float, ...]]

    def __post_init__(self) -> None:
        if self.level is not None:
            level = check_share(self.level, "level")
            if level in (0.0, 1.0):
                rule, remedy = "level must be between 0 and 1", "use 0.9, for instance"
                raise invalid(rule, shown(level), remedy)
            object.__setattr__(self, "level", level)

    def __str__(self) -> str:
        return self.key if self.level is None else f"{self.key}[{self.level:g}]"

    @property
    def claim(self) -> str:
        return self.null.format(level="a" if self.level is None else f"{self.level:g}")

    @classmethod
    def read(cls, rank: str | None, classes: str | None) -> Lens | None:
        return None if rank else cls(None if classes is None else _number(classes, "level"))

    @property
    def is_family(self) -> bool:
        """Whether `level` is left open."""
        return self.level is None

    def members_of(self, classes: Sequence[object]) -> list[Lens]:
        return [type(self)(level) for level in self.usual] if self.is_family else [self]

    def members(self, predictions: Any) -> list[Lens]:
        """Return a lens for each usual level; levels that few members attain alike are one."""
        found: list[Any] = super().members(predictions)
        if len(found) > 1 and predictions.law.has_atoms:
            attained = [one(predictions).probs.tobytes() for one in found]
            found = [one for k, one in enumerate(found) if attained[k] not in attained[:k]]
        return found

    def _one(self) -> float:
        if self.level is None:
            remedy = "pass it to test_calibration, or call each of its members(forecasts)"
            raise invalid(f"{self.key} must have a level to be called", "none", remedy)
        return self.level


@dataclass(frozen=True)
class BelowQuantile(_AtLevel):
    """Whether the outcome is at most the quantile of a level; without it, of usual levels in turn.

    Where F has steps the probability of the event is that which F attains there; of an ensemble of
    M members it is the nearest j / (M + 1), and the event is that fewer than j are below.

    Parameters
    ----------
    level : float, optional
        In (0, 1).

    Examples
    --------
    >>> from caltest import Forecasts
    >>> seen = BelowQuantile(0.9)(Forecasts([0.5, 2.5], mean=1.0, scale=1.0))
    >>> seen.labels.tolist(), seen.probs[:, 1].tolist()
    ([1, 0], [0.9, 0.9])
    """

    title = "whether the outcome is at most the quantile of a level, as below-quantile[0.9]"
    key = "below-quantile"
    null = "P(Y <= quantile {level} of F | F) = {level}"
    usual = (0.05, 0.25, 0.5, 0.75, 0.95)

    def __call__(self, forecasts: Forecasts) -> Predictions:
        """Return the level that F attains, and 1 where the outcome is up to its quantile."""
        level = self._one()
        attained, name = forecasts.law.attained(level), f"at or below quantile {level:g}"
        return _event(forecasts, 0.0, attained, name)


@dataclass(frozen=True)
class Interval(_AtLevel):
    """Whether the central interval of a level holds the outcome; without it, of usual levels.

    Where the outcome equals members of an ensemble, it is drawn by lot whether it is inside; the
    coverage that is stated counts it in part.

    Parameters
    ----------
    level : float, optional
        In (0, 1): the probability of the interval.

    Examples
    --------
    >>> from caltest import Forecasts
    >>> seen = Interval(0.9)(Forecasts([0.5, 3.5], mean=1.0, scale=1.0))
    >>> seen.labels.tolist(), seen.probs[:, 1].round(12).tolist()
    ([1, 0], [0.9, 0.9])
    """

    title = "whether the central interval of a level holds the outcome, as interval[0.9]"
    key = "interval"
    null = "P(the central interval of {level} of F holds Y | F) = {level}"
    usual = (0.5, 0.8, 0.9, 0.95)

    def __call__(self, forecasts: Forecasts) -> Predictions:
        """Return the probability of the interval, and 1 where it holds the outcome."""
        level = self._one()
        low = forecasts.law.attained(0.5 - level / 2.0, is_lower=True)
        high = forecasts.law.attained(0.5 + level / 2.0)
        return _event(forecasts, low, high, f"inside the {100 * level:g} % interval")


@dataclass(frozen=True)
class PIT(OfForecasts):
    """The probability integral transform in bins of equal width, which are equally probable.

    Parameters
    ----------
    bins : int, default 10
        Their number.

    Examples
    --------
    >>> from caltest import Forecasts
    >>> PIT(4)(Forecasts([0.5, 3.5], mean=1.0, scale=1.0)).labels.tolist()
    [1, 3]
    """

    bins: int = 10

    title = "the probability integral transform in K bins, as pit-20"
    key = "pit-{bins}"
    null = "P(F(Y) in bin k | F) = 1 / {bins} for each of {bins} bins"

    def __post_init__(self) -> None:
        check_count(self.bins, minimum=2)

    @classmethod
    def read(cls, rank: str | None, classes: str | None) -> Lens | None:
        return None if classes else cls() if rank is None else cls(int(rank))

    def __call__(self, forecasts: Forecasts) -> Predictions:
        """Return equal probabilities, and the bin of each outcome."""
        ends = np.arange(1, self.bins) / self.bins
        shares = [f"{100 * k / self.bins:.3g}" for k in range(self.bins + 1)]
        names = [f"{low} to {high} %" for low, high in itertools.pairwise(shares)]
        codes = np.searchsorted(ends, forecasts.pit, side="right")
        return _classes(forecasts, np.tile(ends, (forecasts.n, 1)), codes, names)


@dataclass(frozen=True)
class Bands(OfForecasts):
    """Classes of outcomes between cut points; each holds the outcomes up to its upper end.

    Of an ensemble their probabilities are shares of members, see `Exceeds`.

    Parameters
    ----------
    cuts : sequence of float
        In ascending order.

    Examples
    --------
    >>> from caltest import Forecasts
    >>> seen = Bands([0, 2])(Forecasts([0.5, 3.5], mean=1.0, scale=1.0))
    >>> seen.classes.tolist(), seen.labels.tolist()
    (['up to 0', '0 to 2', 'above 2'], [1, 2])
    """

    cuts: Sequence[float]

    title = "classes of outcomes between cut points, as bands[10|20]"
    key = "bands"
    null = "P(Y in a band | F) is that of F for each of {count} bands"

    def __post_init__(self) -> None:
        cuts = tuple(check_finite(cut, "cuts") for cut in self.cuts)
        if not cuts or any(a >= b for a, b in itertools.pairwise(cuts)):
            raise invalid("cuts must ascend", shown(list(self.cuts)), "pass [10, 20], for instance")
        object.__setattr__(self, "cuts", cuts)

    def __str__(self) -> str:
        return f"bands[{'|'.join(f'{cut:g}' for cut in self.cuts)}]"

    @property
    def claim(self) -> str:
        return self.null.format(count=len(self.cuts) + 1)

    @classmethod
    def read(cls, rank: str | None, classes: str | None) -> Lens | None:
        if rank or classes is None:
            return None
        return cls([_number(cut, "cuts") for cut in classes.split("|")])

    def __call__(self, forecasts: Forecasts) -> Predictions:
        """Return the probabilities of the bands, and the band of each outcome."""
        cuts = np.array(self.cuts)
        ends = forecasts.law.cdf(np.tile(cuts, (forecasts.n, 1)))
        between = [f"{a:g} to {b:g}" for a, b in itertools.pairwise(cuts)]
        names = [f"up to {cuts[0]:g}", *between, f"above {cuts[-1]:g}"]
        return _classes(forecasts, ends, np.searchsorted(cuts, forecasts.outcomes), names)


def _number(text: str, name: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        rule = f"{name} of a lens must be a number"
        raise invalid(rule, shown(text), "write it as in exceeds[3.5] or bands[10|20]")
    return number
