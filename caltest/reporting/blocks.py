"""The blocks of a page, which every format writes: paragraphs, tables, figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from caltest.render import Sheet

if TYPE_CHECKING:
    from caltest.reporting.figures import Figure

SHOWN = 12  # rows of a table that are not folded
MOST_ROWS = 200  # of the tables of classes and ranges
APPENDIX = ("data", "diagrams", "scores", "comparison", "methods", "reproduction")


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


def notes(notes: Sequence[str]) -> Iterator[Block]:
    """Yield a note for each text.

    Yields
    ------
    Block
        Of the section.
    """
    for note in notes:
        yield Block(kind="note", text=note)
