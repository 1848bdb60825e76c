"""Results of planning: power at one or several sizes, and the size that has a power."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from caltest.checks import check_confidence
from caltest.drawing import draw
from caltest.numerics.event_tails import rate_limits
from caltest.planning.truths import Effect
from caltest.render import Pairs, Sheet, number
from caltest.results.base import Frame, Table, plain
from caltest.types import Axes, Floats, Ints

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerRow:
    """How often a test rejected data sets of one size.

    Attributes
    ----------
    test, null : str
        Their keys.
    n : int
        Rows of a data set.
    n_datasets, rejections : int
        Simulated data sets, and those that were rejected.
    estimate_name : str
        The calibration error that the test estimates.
    estimate : float
        Its mean over the data sets in which it is finite, nan where it is in none.
    infinite : int
        Data sets in which it is not finite, such as a slope that separates the labels.
    not_applicable : int
        Data sets for which the test is not defined, counted as not rejected.
    reason : str
        Why.
    """

    test: str
    null: str
    n: int
    n_datasets: int
    rejections: int
    estimate_name: str
    estimate: float
    infinite: int = 0
    not_applicable: int = 0
    reason: str = ""

    @property
    def power(self) -> float:
        """The share of the data sets that were rejected."""
        return self.rejections / self.n_datasets

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return the Clopper-Pearson confidence interval of the power.

        Parameters
        ----------
        confidence : float, default 0.95
            Its coverage: what it covers is the error of the simulation.

        Returns
        -------
        tuple of float
            The ends.
        """
        missed = (1.0 - check_confidence(confidence)) / 2.0
        k, n = np.array([self.rejections, self.n_datasets], dtype=np.float64)
        low, high = rate_limits(k, n, missed)
        return float(low), float(high)

    def record(self) -> dict[str, Any]:
        """Return plain values for a data frame."""
        values: dict[str, Any] = plain(self)
        low, high = self.interval()
        del values["reason"]
        first = {name: values[name] for name in ("test", "null", "n")}
        return first | {"power": self.power, "low": low, "high": high, "rejections": 0} | values


def joined(rows: Sequence[PowerRow]) -> PowerRow:
    """Join what a test found in different data sets of one size."""
    names = ("n_datasets", "rejections", "infinite", "not_applicable")
    sums: Any = {name: sum(getattr(row, name) for row in rows) for name in names}
    finite = [row.n_datasets - row.not_applicable - row.infinite for row in rows]
    total = math.fsum(row.estimate * k for row, k in zip(rows, finite, strict=True) if k)
    mean = total / sum(finite) if any(finite) else math.nan
    reason = next((row.reason for row in rows if row.reason), "")
    return replace(rows[0], **sums, estimate=mean, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a study has in common at every size.

    Attributes
    ----------
    predictions : str
        Where the predictions come from.
    m : int
        Number of classes.
    truth : str
        The distribution of the labels given the predictions.
    effect : Effect
        How far it is from the predictions.
    calibrated : bool
        Whether it is the predictions themselves.
    kind : str
        "size" where rejections are errors, "power" where they are wanted.
    lens, hypothesis : str
        What is tested.
    level : float
        Of the tests.
    n_resamples : int or None
        B of the tests, None where no test resamples.
    seed : int
        Of everything.
    notes : tuple of str
        What a reader of the numbers should know.
    """

    predictions: str
    m: int
    truth: str
    effect: Effect
    calibrated: bool
    kind: Literal["power", "size"]
    lens: str
    hypothesis: str
    level: float
    n_resamples: int | None
    seed: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Power(Table[PowerRow]):
    """Power of tests of calibration, or their size, for data sets of one or several sizes.

    Attributes
    ----------
    rows : tuple of PowerRow
        One for each test and size.
    setting : Setting
        What was simulated.
    """

    schema: ClassVar[str] = "caltest/power/1"

    rows: tuple[PowerRow, ...]
    setting: Setting

    @property
    def n(self) -> Ints:
        """The number of rows of the data sets, one for each row."""
        return np.array([row.n for row in self.rows])

    @property
    def power(self) -> Floats:
        """The share of the data sets that were rejected, one for each row."""
        return np.array([row.power for row in self.rows])

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary of plain values per row."""
        return [row.record() for row in self.rows]

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw power against the number of rows; see `caltest.plots.power_curve`.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        return draw("power.power_curve", self, ax=ax)

    def _sheet(self) -> Sheet:
        tests = "tests" if len({row.test for row in self.rows}) > 1 else "a test"
        kind = self.setting.kind.capitalize()
        return _sheet_of(self, f"{kind} of {tests} of calibration, by simulation")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SampleSize(Frame):
    """The least number of rows with which a test has a power.

    Attributes
    ----------
    n : int
        That number.
    low, high : int or None
        Its 95 % confidence interval with respect to the error of the simulation; None where an end
        lies outside the sizes that were searched.
    searched : tuple of int
        The least and the largest size that could be the answer.
    target : float
        The power that was asked for.
    power : Power
        The power at `n`, from data sets that the search has not seen.
    search : Power
        The sizes that were tried.
    """

    schema: ClassVar[str] = "caltest/sample-size/1"

    n: int
    low: int | None
    high: int | None
    searched: tuple[int, int]
    target: float
    power: Power
    search: Power

    def records(self) -> list[dict[str, Any]]:
        """Return one dictionary of plain values per size that was tried, the last that of `n`."""
        return self.search.records() + self.power.records()

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the power at all sizes that were tried; see `caltest.plots.power_curve`.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        return draw("power.power_curve", self, ax=ax)

    def _sheet(self) -> Sheet:
        least, largest = self.searched
        low = f"below {least}" if self.low is None else self.low
        high = f"above {largest}" if self.high is None else self.high
        title = f"Number of rows for a power of {self.target:g}, by simulation"
        return _sheet_of(self.power, title, (("n", f"{self.n}, {INTERVAL} [{low}, {high}]"),))


INTERVAL = "95 % interval"


def _sheet_of(power: Power, title: str, first: Pairs = ()) -> Sheet:
    several = len({row.test for row in power.rows}) > 1
    names = {row.estimate_name for row in power.rows}
    has_mean = len(names) == 1  # a column of different errors invites a comparison
    header = ("test",) * several + ("n", power.setting.kind, INTERVAL)
    rows = []
    for row in power.rows:
        low, high = row.interval()
        own = (str(row.n), f"{row.power:.3f}", f"[{low:.3f}, {high:.3f}]")
        rows.append((row.test,) * several + own + (number(row.estimate),) * has_mean)
    return Sheet(
        title=title,
        facts=(*first, *_facts(power)),
        header=header + tuple(f"mean {name}" for name in names if has_mean),
        rows=tuple(rows),
        n_text=int(several),
        closing=tuple(_notes(power)),
        listing=True,
    )


def _facts(power: Power) -> Iterator[tuple[str, str]]:
    setting, counts = power.setting, sorted({row.n_datasets for row in power.rows})
    count = " to ".join(map(str, dict.fromkeys((counts[0], counts[-1]))))
    tests = ", ".join(dict.fromkeys(row.test for row in power.rows))
    nulls = ", ".join(dict.fromkeys(row.null for row in power.rows))
    resamples = "" if setting.n_resamples is None else f", B = {setting.n_resamples}"
    each = " at each n" if len({row.n for row in power.rows}) > 1 else ""
    effect = setting.effect
    yield "predictions", setting.predictions + (f", m = {setting.m}" if setting.m else "")
    yield "truth", setting.truth
    if not setting.calibrated and not setting.m:
        yield "true error", f"{number(effect.error)} of F(y) on average"
        yield (
            f"intervals of {100 * effect.predicted:.3g} %",
            f"hold {100 * effect.true:.1f} % of the outcomes",
        )
    elif not setting.calibrated:
        names = ("mean risk", "event rate") if setting.m == 2 else ("mean confidence", "accuracy")
        yield "true error", f"{number(effect.error)} (total variation)"
        yield "excess log loss", number(effect.excess)
        yield names[0], f"{number(effect.predicted)}, true {names[1]} {number(effect.true)}"
    yield "test", f"{tests}, lens: {setting.lens}"
    yield "null hypothesis", setting.hypothesis
    yield "null", f"{nulls}{resamples}"
    yield "level", number(setting.level)
    yield "data sets", f"{count}{each}, seed = {setting.seed}"


def _notes(power: Power) -> Iterator[tuple[str, str]]:
    for note in power.setting.notes:
        yield "note", note
    for row in power.rows:
        of = f"of {row.n_datasets} data sets of n = {row.n:,}"
        if row.not_applicable:
            what = f"{row.test} is not defined for {row.not_applicable}"
            yield "note", f"{what} {of}, not rejected: {row.reason}"
        if row.infinite:
            what = f"{row.estimate_name} is not finite in {row.infinite}"
            yield "note", f"{what} {of}; the mean is over the others"
