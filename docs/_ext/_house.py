"""The picture of the house: folders on floors, from the import contracts; needs no Sphinx.

It is drawn when the page is built, from `pyproject.toml` and the folders of the installed package,
so that it shows what import-linter enforces.
"""

from __future__ import annotations

import ast
import re
import textwrap
import tomllib
from dataclasses import dataclass
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

import caltest

PROJECT = Path(__file__).parents[2] / "pyproject.toml"
PACKAGE = Path(caltest.__file__).parent

WIDTH, LEFT, RIGHT = 10.5, 0.6, 0.75  # inches: the figure, and the margins beside the floors
GAP, PAD, LINE = 0.13, 0.1, 0.19  # between floors, around the text of a room, a line of it
LANE = 0.3  # inches from the floors to the way up beside them
NAME = 1.15  # inches for the name of a room that has a floor to itself
LETTERS = 14.5  # letters of small type to the inch
ROOM, FAMILY, INK, GREY = "#eef3f8", "#ffffff", "#1f2d3d", "#5b6b7b"


@dataclass(frozen=True)
class Room:
    """A folder or a file of the package.

    Attributes
    ----------
    name : str
    purpose : str
        First sentence of its docstring.
    families : tuple of str
        Folders in it.
    """

    name: str
    purpose: str
    families: tuple[str, ...]

    def lines(self, width: float) -> list[str]:
        """Return the purpose as lines that fit into a width in inches."""
        return textwrap.wrap(self.purpose, int(width * LETTERS))


@dataclass(frozen=True)
class Place:
    """Where a room is drawn, in inches from the left and from the top."""

    left: float
    top: float
    width: float
    height: float

    @property
    def right(self) -> float:
        """The right edge."""
        return self.left + self.width

    @property
    def middle(self) -> float:
        """The height of the middle."""
        return self.top + self.height / 2


def contract() -> dict[str, list[str]]:
    """Return the contract on the order of the layers of the whole package."""
    settings = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]
    [layers] = [one for one in settings["contracts"] if one.get("containers") == ["caltest"]]
    return layers


def floors() -> list[list[Room]]:
    """Return the rooms of each floor, the highest first; a name in brackets may be missing."""
    found = [[*map(room, re.findall(r"\w+", layer))] for layer in contract()["layers"]]
    return [rooms for floor in found if (rooms := [one for one in floor if one])]


def room(name: str) -> Room | None:
    """Describe a folder or file of the package; None where there is none of that name."""
    file, folder = PACKAGE / f"{name}.py", PACKAGE / name
    if not (file.exists() or folder.is_dir()):
        return None
    source = file if file.exists() else folder / "__init__.py"
    text = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) or ""
    purpose = re.split(r"(?<=\.)\s", text, maxsplit=1)[0].rstrip(".").replace("`", "")
    families = sorted(one.parent.name for one in folder.glob("*/__init__.py"))
    return Room(name, purpose, tuple(families))


def drawing() -> set[str]:
    """Return the rooms whose results draw themselves by the plots."""
    files = PACKAGE.rglob("*.py")
    return {
        file.relative_to(PACKAGE).parts[0]
        for file in files
        if "from caltest.drawing import" in file.read_text(encoding="utf-8")
    }


def draw() -> Figure:
    """Draw the floors, each above what it may import."""
    places, height = laid_out(floors())
    figure = Figure(figsize=(WIDTH, height), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, WIDTH), ylim=(height, 0))
    axes.axis("off")
    for one, place in places.items():
        _draw_room(axes, one, place)
    _draw_order(axes, height)
    by_name = {one.name: place for one, place in places.items()}
    for start in sorted(drawing() & set(by_name)):
        _draw_exception(axes, by_name[start], by_name["plots"])
    if "plots" in by_name:
        x, y = WIDTH - RIGHT + LANE + 0.06, by_name["plots"].middle
        axes.text(x, y, ".plot()", size=8.5, color=GREY, va="center")
    return figure


def laid_out(stories: list[list[Room]]) -> tuple[dict[Room, Place], float]:
    """Return where each room is, and the height of all floors."""
    places, top = {}, GAP
    for rooms in stories:
        width = (WIDTH - LEFT - RIGHT - GAP * (len(rooms) - 1)) / len(rooms)
        height = 2 * PAD + LINE * max(_lines_of(one, width, len(rooms)) for one in rooms)
        for number, one in enumerate(rooms):
            places[one] = Place(LEFT + number * (width + GAP), top, width, height)
        top += height + GAP
    return places, top


def _lines_of(one: Room, width: float, beside: int) -> int:
    indent = NAME if beside == 1 else 0
    lines = len(one.lines(width - 2 * PAD - indent)) + bool(one.families)
    return lines if beside == 1 else lines + 1


def _draw_room(axes: Axes, one: Room, place: Place) -> None:
    edges = (place.left, place.top), place.width, place.height
    style = "round,pad=0,rounding_size=0.06"
    axes.add_patch(FancyBboxPatch(*edges, boxstyle=style, fc=ROOM, ec=GREY, lw=0.8))
    alone = place.right - place.left > WIDTH - LEFT - RIGHT - GAP
    x, y = place.left + PAD, place.top + PAD + LINE / 2
    axes.text(x, y, one.name, size=10, weight="bold", color=INK, va="center")
    x, y = (x + NAME, y) if alone else (x, y + LINE)
    for line in one.lines(place.right - PAD - x):
        axes.text(x, y, line, size=9, color=GREY, va="center")
        y += LINE
    for family in one.families:
        box = {"boxstyle": "round,pad=0.15", "fc": FAMILY, "ec": GREY, "lw": 0.5}
        axes.text(x + 0.04, y + 0.02, family, size=8.5, color=INK, va="center", bbox=box)
        x += 0.2 + len(family) / LETTERS


def _draw_order(axes: Axes, height: float) -> None:
    ends = (LEFT / 2, GAP), (LEFT / 2, height - GAP)
    axes.add_patch(FancyArrowPatch(*ends, arrowstyle="-|>", mutation_scale=14, color=GREY))
    x, y = LEFT / 2 - 0.14, height / 2
    axes.text(x, y, "imports", size=9, color=GREY, rotation=90, ha="center", va="center")


def _draw_exception(axes: Axes, start: Place, end: Place) -> None:
    """Draw a dashed way in the margin right of the floors, upwards."""
    edge = WIDTH - RIGHT
    lane = edge + LANE
    if start.right > edge - GAP:
        way = [(start.right, start.middle)]
    else:  # down to the gap below the floor, and along it
        foot = start.top + start.height
        way = [(start.right - 0.3, foot), (start.right - 0.3, foot + GAP / 2)]
    x, y = zip(*way, (lane, way[-1][1]), (lane, end.middle), strict=True)
    axes.plot(x, y, color=GREY, lw=1, ls=(0, (3, 2)))
    ends = (lane, end.middle), (end.right, end.middle)
    axes.add_patch(FancyArrowPatch(*ends, arrowstyle="-|>", mutation_scale=10, color=GREY))
