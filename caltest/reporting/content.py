"""The content of a report, as numbers and sentences: every format is made from these values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from caltest.measures import ScoreDecomposition, gap
from caltest.render import Sheet
from caltest.results import HTest, HTestTable, Verdict

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

    from caltest.segments import SegmentsTest


@dataclass(frozen=True, slots=True)
class ClassCount:
    """A class: how often it was observed, expected from the probabilities, and predicted.

    How often it was predicted is None where the rows were counted, not read.
    """

    name: object
    observed: float
    expected: float
    predicted: float | None


@dataclass(frozen=True, slots=True)
class Data:
    """What was tested.

    Attributes
    ----------
    source : str
        A model, a file, or "arrays".
    n, m : int
        Rows and classes.
    weighted : bool
        Whether rows have weights; counts are sums of weights then.
    classes : tuple of ClassCount
        In the order of the columns.
    groups : tuple of (name, rows)
        Empty where there are none.
    warnings : tuple of str
        What a reader should know of the data before the tests.
    """

    source: str
    n: int
    m: int
    weighted: bool
    classes: tuple[ClassCount, ...]
    groups: tuple[tuple[object, int], ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """The verdict, the tests, and what was not tested and why.

    Attributes
    ----------
    verdict : Verdict
        On all rows, the groups and the segments together.
    tests : HTestTable
    left_out : tuple of str
    """

    verdict: Verdict
    tests: HTestTable
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place(gap.Gap):
    """The gap of a group, a class, a range of the predictions, or the range of a class.

    Attributes
    ----------
    kind : str
        "group", "class", "range" or "class range".
    part : str
        The range of a class; of a group that is right on average what is wrong with it.
    """

    part: str = ""


@dataclass(frozen=True, slots=True)
class Differences:
    """Where predictions and labels differ: groups, and classes and ranges of probability.

    Attributes
    ----------
    lens : str
        Whose event the ranges of kind "range" are of.
    places : tuple of Place
        Classes and ranges, the worst first.
    groups : HTestTable or None
        A test of each group.
    group_places : tuple of Place
        In the order of the table.
    notes : tuple of str
        What could not be shown.
    """

    lens: str = "strong"
    places: tuple[Place, ...] = ()
    groups: HTestTable | None = None
    group_places: tuple[Place, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Estimated:
    """A number that describes calibration, with its interval and the p-value of its test.

    Attributes
    ----------
    name : str
        As the page has it.
    value : float
    ideal : float or None
        Its value for a calibrated model, of an error or score on average.
    low, high : float or None
        Its 95 % interval.
    pvalue : float or None
        Of the hypothesis of calibration, not adjusted.
    unit : str
        "points" for what is shown in percentage points, "share" in per cent, "score", "count" or
        empty.
    note : str
        What it says.
    """

    name: str
    value: float
    ideal: float | None = None
    low: float | None = None
    high: float | None = None
    pvalue: float | None = None
    unit: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Within:
    """Whether the error is within a tolerance: two hypotheses on each of some errors.

    Attributes
    ----------
    tolerance : float
        In the unit of probabilities.
    sentences : tuple of str
        What was found.
    rows : tuple of WithinRow
    left_out : tuple of str
        What could not be tested, and why.
    """

    tolerance: float
    sentences: tuple[str, ...]
    rows: tuple[WithinRow, ...]
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WithinRow:
    """An error, and the p-values of both hypotheses on it.

    Attributes
    ----------
    name : str
        The error in words.
    estimate : float
        In the unit of probabilities.
    exceeds, within : float
        The p-value against an error of at most the tolerance, small where it is larger; and that
        against an error of at least the tolerance, small where it is smaller.
    """

    name: str
    estimate: float
    exceeds: float
    within: float


@dataclass(frozen=True, slots=True)
class Score:
    """A score, and the range of 95 % of its values if the model were calibrated."""

    name: str
    value: float
    expected: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a score under a lens."""

    score: str
    lens: str
    parts: ScoreDecomposition


@dataclass(frozen=True, slots=True)
class Scores:
    """How well outcomes are told apart, scores, and their decomposition."""

    discrimination: tuple[Estimated, ...]
    scores: tuple[Score, ...]
    parts: tuple[Parts, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalibrated:
    """Predictions of held-out rows after a calibrator; "identity" is before.

    Attributes
    ----------
    key, title : str
    scores : dict
        Log loss, Brier score and ECE, or the scores of forecasts, of all held-out rows together.
    difference, stderr : float or None
        Of the first of them, from that before, with its standard error; None where it is infinite.
    pvalue, adjusted : float or None
        Of the test of the held-out rows; None where the data leave it undefined.
    fold_pvalues : tuple of float
        The p-values that Fisher's method combines.
    """

    key: str
    title: str
    scores: dict[str, float]
    difference: float | None
    stderr: float | None
    pvalue: float | None
    adjusted: float | None
    fold_pvalues: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecalibrationContent:
    """Calibrators scored and tested on rows that they were not fitted to.

    Attributes
    ----------
    rows : tuple of Recalibrated
        Before, then after each calibrator.
    readings : tuple of str
        A sentence on each.
    helps : str or None
        Which the held-out score prefers, and what is left of the error after it.
    tests : tuple of HTest
        The test before, on all held-out rows.
    method, lens : str
        The test and the lens that all have.
    n_fit, n_held_out, n_folds : int
        Rows of a fit, rows that were tested, and folds.
    correction : str or None
        The adjustment for the number of calibrators.
    seed : int
        Of the folds and of the tests.
    left_out : tuple of str
        What could not be fitted or tested, and why.
    """

    rows: tuple[Recalibrated, ...]
    readings: tuple[str, ...]
    helps: str | None
    tests: tuple[HTest, ...]
    method: str
    lens: str
    n_fit: int
    n_held_out: int
    n_folds: int
    correction: str | None
    seed: int
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MethodText:
    """A test, a null, a lens or a calibrator: what it is, its formulas and sources.

    Attributes
    ----------
    kind : str
        "test", "null", "lens" or "calibrator".
    key, title : str
    text : tuple of (str, str)
        Pairs ("text", a paragraph) and ("formula", LaTeX), in order.
    references : str
        May be empty.
    """

    kind: str
    key: str
    title: str
    text: tuple[tuple[str, str], ...]
    references: str = ""


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What is needed to make the same report again.

    The data file is None, and with it its hash, where the data were in memory.
    """

    versions: Mapping[str, str]
    seed: int
    n_resamples: int
    data_file: str | None
    file_hash: str | None
    data_hash: str
    command: str
    time: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """All the content of a report."""

    title: str
    author: str | None
    level: float | None
    profile: str
    meta: tuple[tuple[str, str], ...]
    adequacy: str
    data: Data
    answer: Conclusion
    within: Within | None
    estimates: tuple[Estimated, ...]
    grades: HTestTable | None
    where: Differences
    segments: SegmentsTest | None
    scores: Scores
    comparison: RecalibrationContent | None
    methods: tuple[MethodText, ...]
    reproduction: Reproduction


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What all tests of a report share."""

    seed: int
    n_resamples: int
    correction: str | None
    level: float | None
    by: bool
    command: bool
    progress: Callable[[str], None]

    @property
    def of_draws(self) -> dict[str, Any]:
        """How labels are redrawn, and the level."""
        return {"n_resamples": self.n_resamples, "rng": self.seed, "level": self.level}


Sketch = tuple[str, str, str, Callable[[], Any]]  # section, title, description and how to draw


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawn figure.

    Attributes
    ----------
    section : str
        Key of the section that it stands in.
    title, description : str
        What it shows, and what is seen in it.
    key : str
        What the ids of its SVG element begin with; unique in the page.
    canvas : matplotlib.figure.Figure
        The drawing.
    """

    section: str
    title: str
    description: str
    key: str
    canvas: Canvas

    @property
    def svg(self) -> str:
        """One `<svg>` element in the colours of the page."""
        from caltest.reporting.html import inline_svg

        return inline_svg(self.canvas, key=self.key, title=self.title, description=self.description)

    @property
    def width(self) -> float:
        """In points."""
        return 72 * float(self.canvas.get_figwidth())


SHOWN = 12  # rows of a table that are not folded
MOST_ROWS = 200  # of the tables of classes and ranges
APPENDIX = ("data", "diagrams", "comparison", "methods", "signatures")


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of a section; `kind` says which of the others it has.

    Attributes
    ----------
    kind : {"headline", "text", "note", "heading", "sheet", "facts", "figure", "formula", "lines"}
    text : str
        Of a paragraph, a note, a heading or a formula.
    sheet : Sheet or None
        A table, or facts as pairs.
    figure : Figure or None
    shown : int
        How many rows of the table are not folded.
    bars : tuple of (low, gap, high)
        Of each row of the table, which a page draws beside it.
    lights : tuple of str
        The colour of each row of the table.
    """

    kind: str
    text: str = ""
    sheet: Sheet | None = None
    figure: Figure | None = None
    shown: int = SHOWN
    bars: tuple[tuple[float, float, float], ...] = ()
    lights: tuple[str, ...] = ()

    @property
    def grid(self) -> tuple[tuple[str, ...], Sequence[tuple[str, ...]], int]:
        """Header, rows and how many leading columns hold text, of a table, facts or lines."""
        sheet = self.sheet or Sheet(title="")
        if self.kind == "lines":
            lines = [(name, "", "", "") for name, _ in sheet.facts]
            return ("name", "role", "date", "signature"), lines, 4
        if not sheet.rows:
            return (), sheet.facts, 2
        if not self.lights:
            return sheet.header, sheet.rows, sheet.n_text
        rows = [(*row, light) for row, light in zip(sheet.rows, self.lights, strict=True)]
        return (*sheet.header, "light"), rows, sheet.n_text


@dataclass(frozen=True, slots=True)
class Section:
    """A section with its key, heading and parts."""

    key: str
    title: str
    blocks: tuple[Block, ...]

    @property
    def is_appendix(self) -> bool:
        """Whether it is behind what a reader signs."""
        return self.key in APPENDIX


Cells = Sequence[str]  # of a row


def paragraph(text: str) -> Block:
    """Return a paragraph."""
    return Block(kind="text", text=text)


def table(
    title: str, header: Cells, rows: Iterable[Cells], *, explained: str = "", **options: Any
) -> Block:
    """Return a table; `explained` is a note below it, behind its name and a colon."""
    name, _, text = explained.partition(": ")
    sheet = Sheet(
        title=title,
        header=tuple(header),
        rows=tuple(map(tuple, rows)),
        n_text=options.pop("n_text", 1),
        closing=options.pop("closing", ((name, text),) if text else ()),
    )
    return Block(kind="sheet", sheet=sheet, **options)


def facts(title: str, pairs: Iterable[tuple[str, str]], kind: str = "facts") -> Block:
    """Return names with their values, a line each, or lines to sign on."""
    return Block(kind=kind, sheet=Sheet(title=title, facts=tuple(pairs)))


def notes(notes: Sequence[str]) -> Iterator[Block]:
    """Yield a note for each text.

    Yields
    ------
    Block
        Of the section.
    """
    return (Block(kind="note", text=note) for note in notes)
