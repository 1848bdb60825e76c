"""Results of planning: power at one or several sizes, and the size that has a power."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from caltest.checks import check_confidence
from caltest.drawing import draw
from caltest.planning.rates import clopper_pearson
from caltest.planning.truths import Effect
from caltest.render import Pairs, Sheet, number
from caltest.results.codec import plain
from caltest.results.printable import Frame, Table
from caltest.types import Floats, Ints

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
        return clopper_pearson(self.rejections, self.n_datasets, check_confidence(confidence))

    def record(self) -> dict[str, Any]:
        """Return plain values for a data frame."""
        low, high = self.interval()
        return {
            "test": self.test,
            "null": self.null,
            "n": self.n,
            "power": self.power,
            "low": low,
            "high": high,
            "rejections": self.rejections,
            **{name: value for name, value in plain(self).items() if name != "reason"},
        }


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
        kind = self.setting.kind
        several = len({row.test for row in self.rows}) > 1
        header, rows = _grid(self.rows, several=several, what=kind)
        tests = "tests" if several else "a test"
        return Sheet(
            title=f"{kind.capitalize()} of {tests} of calibration, by simulation",
            facts=_facts(self),
            header=header,
            rows=rows,
            n_text=1 if several else 0,
            closing=tuple(_notes(self)),
            listing=True,
        )


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
        header, rows = _grid(self.power.rows, several=False, what="power")
        least, largest = self.searched
        low = f"below {least}" if self.low is None else self.low
        high = f"above {largest}" if self.high is None else self.high
        return Sheet(
            title=f"Number of rows for a power of {self.target:g}, by simulation",
            facts=(("n", f"{self.n}, {INTERVAL} [{low}, {high}]"), *_facts(self.power)),
            header=header,
            rows=rows,
            n_text=0,
            closing=tuple(_notes(self.power)),
            listing=True,
        )


INTERVAL = "95 % interval"


def _facts(power: Power) -> Pairs:
    setting, first = power.setting, power.rows[0]
    tests = ", ".join(dict.fromkeys(row.test for row in power.rows))
    nulls = ", ".join(dict.fromkeys(row.null for row in power.rows))
    resamples = "" if setting.n_resamples is None else f", B = {setting.n_resamples}"
    each = " at each n" if len({row.n for row in power.rows}) > 1 else ""
    effect, deviation = setting.effect, list[tuple[str, str]]()
    if not setting.calibrated:
        names = ("mean risk", "event rate") if setting.m == 2 else ("mean confidence", "accuracy")
        told = f"{number(effect.predicted)}, true {names[1]} {number(effect.true)}"
        deviation += [("true error", f"{number(effect.error)} (total variation)")]
        deviation += [("excess log loss", number(effect.excess)), (names[0], told)]
    facts = [
        ("predictions", f"{setting.predictions}, m = {setting.m}"),
        ("truth", setting.truth),
        *deviation,
        ("test", f"{tests}, lens: {setting.lens}"),
        ("null hypothesis", setting.hypothesis),
        ("null", f"{nulls}{resamples}"),
        ("level", number(setting.level)),
        ("data sets", f"{first.n_datasets}{each}, seed = {setting.seed}"),
    ]
    return tuple(facts)


def _grid(
    rows: Sequence[PowerRow], *, several: bool, what: str
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    header = ("test",) * several + ("n", what, INTERVAL)
    names = {row.estimate_name for row in rows}
    cells = []
    for row in rows:
        low, high = row.interval()
        own = (str(row.n), f"{row.power:.3f}", f"[{low:.3f}, {high:.3f}]")
        cells.append((row.test,) * several + own)
    if len(names) > 1:  # a column of different errors invites a comparison
        return header, tuple(cells)
    estimates = (number(row.estimate) for row in rows)
    with_estimates = tuple((*own, e) for own, e in zip(cells, estimates, strict=True))
    return (*header, f"mean {names.pop()}"), with_estimates


def _notes(power: Power) -> Iterator[tuple[str, str]]:
    for note in power.setting.notes:
        yield "note", note
    for row in power.rows:
        of = f"of {row.n_datasets} data sets of n = {row.n}"
        if row.not_applicable:
            what = f"{row.test} is not defined for {row.not_applicable}"
            yield "note", f"{what} {of}, not rejected: {row.reason}"
        if row.infinite:
            what = f"{row.estimate_name} is not finite in {row.infinite}"
            yield "note", f"{what} {of}; the mean is over the others"
