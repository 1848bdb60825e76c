"""What a check is made of: a setting, tasks that give rows, and claims that compare them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

REPRODUCED = "reproduced"
DIFFERS = "differs"
NOT_DECIDABLE = "not decidable"
NO_DATA = "data not available"
FULL_ONLY = "not run: --full"
NO_VALUE = "paper's value not at hand"
NOT_IN_PAPER = "not in the paper"
VERDICTS = (REPRODUCED, NOT_DECIDABLE, DIFFERS, NO_DATA, FULL_ONLY, NO_VALUE, NOT_IN_PAPER)
COMPARED = frozenset({REPRODUCED, NOT_DECIDABLE, DIFFERS})
EXPLAINED, UNEXPLAINED = f"{DIFFERS}, explained", f"{DIFFERS}, not explained"
AGAIN = "again: "  # starts the place of a cell that another claim compares, so that it counts once

Row = dict[str, Any]
Key = TypeVar("Key")  # of a row of a table: a network, or a data set and a classifier
Entry = TypeVar("Entry")  # of a table: a mean, or a mean with its deviation
LISTED = 40


@dataclass(frozen=True, slots=True)
class Setting:
    """How large a run is and where its files are.

    Attributes
    ----------
    mode : {"smoke", "quick", "full"}
        The size of the run.
    data, reference : Path or None
        Folders of the data sets and of the reference files.
    """

    mode: str = "quick"
    data: Path | None = None
    reference: Path | None = None

    def choose(self, smoke: Any, quick: Any, full: Any) -> Any:
        """Value for the mode of this run."""
        return {"smoke": smoke, "quick": quick, "full": full}[self.mode]

    def data_file(self, name: str) -> Path | None:
        """File of the data folder, None where it is not there."""
        return _existing(self.data, name)

    def reference_file(self, name: str) -> Path | None:
        """File of the reference folder, None where it is not there."""
        return _existing(self.reference, name)


def _existing(folder: Path | None, name: str) -> Path | None:
    path = None if folder is None else folder / name
    return path if path is not None and path.exists() else None


@dataclass(frozen=True, slots=True)
class Task:
    """A unit of work, kept when it ends, so that a run that was stopped goes on from there.

    Attributes
    ----------
    key : str
        Name of the task within its check and mode; it holds all that the rows depend on.
    function : callable
        Function of a module (workers import it) that returns a list of rows: flat dictionaries
        of str, int, float, bool and None.
    arguments : tuple
        Its arguments, picklable.
    """

    key: str
    function: Callable[..., list[Row]]
    arguments: tuple[Any, ...] = ()

    def __call__(self) -> list[Row]:
        """Rows of the task."""
        return self.function(*self.arguments)


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement of a paper beside what caltest finds.

    A number is reproduced when `abs(ours - value) <= tolerance`, and not decidable when more than
    half of the other numbers of its row in the paper would be too. A statement in words is
    reproduced when `holds` is true.

    Attributes
    ----------
    where : str
        Place in the paper: "table 3, row c10_resnet110, column TempS". It starts with
        NOT_IN_PAPER for data that the paper does not have, and with AGAIN for a cell of the paper
        that another claim compares too.
    what : str
        The quantity: "log loss".
    value : float, str or None
        What the paper has; None where its number is not at hand.
    ours : float, str or None
        What caltest finds; None where it was not computed.
    tolerance : float or None
        The largest difference that counts as reproduced.
    reason : str
        Where the tolerance comes from: "rounding of the paper", "3 standard errors of 500 data
        sets".
    holds : bool or None
        Whether a statement in words holds.
    missing : str
        NO_DATA or FULL_ONLY, where `ours` could not be computed.
    note : str
        What is known of a difference, with the experiment that shows it.
    explained : bool
        Whether that experiment gives the paper's number, so that the note is the reason.
    timed : bool
        Whether `ours` depends on the machine; the page then leaves it out.
    others : tuple of float
        The other numbers of the row in the paper, those that are equal to `value` left out: the
        wrong columns. Of a curve, `ours` plus the largest distance to each of the other curves.
    floor : float or None
        Tolerance that would remain with any number of repetitions of ours, where that is smaller.
    """

    where: str
    what: str
    value: float | str | None
    ours: float | str | None = None
    tolerance: float | None = None
    reason: str = ""
    holds: bool | None = None
    missing: str = ""
    note: str = ""
    explained: bool = False
    timed: bool = False
    others: tuple[float, ...] = ()
    floor: float | None = None

    def passing(self, tolerance: float | None) -> int:
        """Return how many of the wrong columns are within a tolerance of ours."""
        if tolerance is None or not isinstance(self.ours, int | float):
            return 0
        return sum(self._close(other, tolerance) for other in self.others)

    def decidable(self, tolerance: float | None) -> bool:
        """Whether at least half of the wrong columns are further away."""
        return 2 * self.passing(tolerance) <= len(self.others)

    def _close(self, value: float, tolerance: float) -> bool:
        # A unit in the last place of a printed decimal is no difference.
        slack = 1e-12 * max(1.0, abs(value))
        return abs(float(self.ours or 0.0) - value) <= tolerance + slack

    @property
    def said(self) -> str:
        """The verdict as tables show it: of what differs also whether the reason is known."""
        if self.verdict != DIFFERS:
            return self.verdict
        return EXPLAINED if self.explained else UNEXPLAINED

    @property
    def verdict(self) -> str:
        """One of VERDICTS."""
        if self.where.startswith(NOT_IN_PAPER):
            return NOT_IN_PAPER
        if self.missing:
            return self.missing
        if self.value is None:
            return NO_VALUE
        if isinstance(self.value, str):
            return REPRODUCED if self.holds else DIFFERS
        if self.tolerance is None or not isinstance(self.ours, int | float):
            raise ValueError(f"{self.where}, {self.what}: a number needs ours and a tolerance")
        if not (math.isfinite(self.ours) and self._close(self.value, self.tolerance)):
            return DIFFERS
        return REPRODUCED if self.decidable(self.tolerance) else NOT_DECIDABLE


@dataclass(frozen=True, slots=True)
class Part:
    """The claims of one table or figure of the paper.

    Attributes
    ----------
    title : str
        "Table 3: log loss of 14 networks".
    claims : list of Claim
        Its claims.
    text : str
        A paragraph for the page: how it was computed, what else is seen.
    fold : bool
        Whether the page lists only the claims that differ, and counts the others.
    """

    title: str
    claims: list[Claim]
    text: str = ""
    fold: bool = False

    @property
    def listed(self) -> list[Claim]:
        """Claims that tables list: of a folded part those that differ.

        Of a long part that is not folded, all that were computed.
        """
        if self.fold:
            return [claim for claim in self.claims if claim.verdict == DIFFERS]
        if len(self.claims) <= LISTED:
            return self.claims
        return [claim for claim in self.claims if claim.verdict not in {FULL_ONLY, NO_DATA}]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run of a check gives.

    Attributes
    ----------
    name : str
        The check.
    setting : Setting
        Its setting.
    parts : list of Part
        Its claims.
    rows : list of Row
        The rows of its tasks.
    tasks : list of Row
        Key of each task and the number of its rows, in the order of the rows.
    seconds : float
        Time of the tasks of this check, summed over processes, kept ones included; of stored rows
        the time is not known.
    """

    name: str
    setting: Setting
    parts: list[Part]
    rows: list[Row] = field(repr=False)
    tasks: list[Row] = field(repr=False)
    seconds: float


def cells(
    table: Mapping[Key, Sequence[Entry]], methods: Sequence[str]
) -> Iterator[tuple[Key, str, Entry]]:
    """Yield row, method and entry of a table as it is printed; rows may lack the last methods."""
    for row, values in table.items():
        for method, value in zip(methods, values, strict=False):
            yield row, method, value


def beside(claims: Sequence[Claim]) -> list[Claim]:
    """Give each number of a table the other numbers of its row in the paper.

    The place of a cell ends with its column: "table 1, KITTI, AdaBoost, Platt".
    """
    rows: dict[tuple[str, str], list[float]] = {}
    for claim in claims:
        if "table" in claim.where and isinstance(claim.value, float):
            rows.setdefault(_row(claim), []).append(claim.value)
    return [
        claim if claim.others else replace(claim, others=apart(claim.value, rows.get(_row(claim))))
        for claim in claims
    ]


def _row(claim: Claim) -> tuple[str, str]:
    return claim.where.rpartition(", ")[0], claim.what.partition(" (")[0]


def apart(value: object, row: Sequence[float] | None) -> tuple[float, ...]:
    """Return the numbers of a row that are not this value."""
    return tuple(other for other in row or () if other != value)


def rounding(digits: int) -> dict[str, Any]:
    """Tolerance of a number printed with so many decimals, and its reason."""
    return {"tolerance": 0.5 * 10.0**-digits, "reason": "rounding of the paper"}


def monte_carlo(
    standard_error: float, *, digits: int | None = None, width: float = 3.0
) -> dict[str, Any]:
    """Tolerance of so many standard errors, and half a unit of the last printed decimal."""
    half = 0.0 if digits is None else 0.5 * 10.0**-digits
    return {
        "tolerance": width * standard_error + half,
        "reason": f"{width:g} standard errors" + (" and rounding" if half else ""),
    }
