"""What the results of comparisons share: scores, tests and differences as rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from caltest.checks import check_choice
from caltest.drawing import draw
from caltest.results.codec import settle
from caltest.results.printable import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreDifference:
    """The mean difference of two scores on the same rows, the first minus the second.

    Attributes
    ----------
    name, other : str
        The two that are compared; a negative difference says that `name` is better.
    difference : float
        The mean over rows, in the units of the score.
    stderr, low, high : float or None
        Its standard error and the ends of its interval; None where a score is infinite.
    pvalue, adjusted : float or None
        The larger one of sign flips and of redrawn labels, and adjusted for the number of
        comparisons.
    """

    name: str
    other: str
    difference: float
    stderr: float | None = None
    low: float | None = None
    high: float | None = None
    pvalue: float | None = None
    adjusted: float | None = None

    def __post_init__(self) -> None:
        settle(self)

    def reversed(self) -> ScoreDifference:
        """Return the same comparison with the two in the other order."""
        ends = [None if end is None else -end for end in (self.high, self.low)]
        return replace(
            self,
            name=self.other,
            other=self.name,
            difference=0.0 - self.difference,
            low=ends[0],
            high=ends[1],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TestedPart:
    """A test of calibration of the held-out rows, its p-values combined.

    Parts whose maps agree are tested together, each other part by itself.

    Attributes
    ----------
    test, lens : str
        Keys.
    estimate_name : str
        Symbol of the calibration error.
    estimate : float
        Mean of the estimates of the tests, each by its share of the rows.
    pvalue, adjusted : float
        The combined p-value, before and after the adjustment for the number of tests.
    fold_pvalues : tuple of float
        The p-values that are combined: one where all maps agree, as for the uncalibrated model.
    """

    test: str
    lens: str
    estimate_name: str
    estimate: float
    pvalue: float
    adjusted: float
    fold_pvalues: tuple[float, ...]

    def __post_init__(self) -> None:
        settle(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRow:
    """What rows of both comparisons have.

    Attributes
    ----------
    name : str
        As it prints.
    scores : Mapping
        Proper scores by name, means over rows; they may be optimised.
    measures : Mapping
        Calibration errors by name; to be reported only.
    """

    name: str
    scores: Mapping[str, float] = field(default_factory=dict, hash=False)
    measures: Mapping[str, float] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        settle(self)


class Comparison(Table[Any]):
    """Prints and tables of a comparison."""

    __slots__ = ()
    score: str

    def __getitem__(self, key: str | int | slice) -> Any:
        """Return a row by its name or its place."""
        if not isinstance(key, str):
            return self.rows[key]
        names = [row.name for row in self.rows]
        return self.rows[names.index(check_choice(key, names, "name"))]

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the differences of the scores with their standard errors or intervals.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; by default on a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.
        """
        return draw("score_plots.score_differences", self, ax=ax)
