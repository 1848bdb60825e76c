"""Figures of matplotlib as SVG that stands inside a page: small, with unique ids and titles."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from caltest.plots.tips import tips_of
from caltest.render.formats import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_NAMESPACE = re.compile(r"^\{[^}]*\}")
_REFERENCE = re.compile(r"#([^)\"']+)")
_DECIMALS = re.compile(r"(\d+\.\d{2})\d+")
FORMULA_SIZE = 13.0
STYLE = "stroke-linejoin:round;stroke-linecap:butt;fill:currentColor"
# Colours of the plots that follow the theme of the page; without these variables they stay.
THEMED = {
    "#000000": "currentColor",
    "#1a1a1a": "currentColor",
    "#ffffff": "var(--figure-ground, #ffffff)",
    "#d9d9d9": "var(--figure-pale, #d9d9d9)",
    "#0072b2": "var(--figure-blue, #0072b2)",
    "#d55e00": "var(--figure-vermilion, #d55e00)",
}
THEMES = {
    "light": "--figure-ground:#ffffff;--figure-pale:#d9d9d9;--figure-blue:#0072b2;"
    "--figure-vermilion:#d55e00",
    "dark": "--figure-ground:#14181d;--figure-pale:#46505a;--figure-blue:#4aa8e0;"
    "--figure-vermilion:#f58a3c",
}
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")


def inline_svg(canvas: Canvas, *, key: str, title: str, description: str) -> str:
    """Draw a figure as an SVG element whose ground and colours are those of the page.

    Text and axes have the colour of the text around, and other colours are CSS variables, whose
    values for light and dark pages are in `THEMES`. Points with texts have them as titles, which
    a browser shows where the pointer rests.

    Parameters
    ----------
    canvas : matplotlib.figure.Figure
        The figure.
    key : str
        What all ids of the element begin with; unique in the page.
    title, description : str
        For readers who do not see it.

    Returns
    -------
    str
        One `<svg>` element without namespaces, comments and metadata, as HTML has it.
    """
    texts = _number_tips(canvas)
    buffer = io.StringIO()
    metadata = {"Date": None, "Creator": None}
    canvas.savefig(buffer, format="svg", metadata=metadata, transparent=True)
    root = _read(buffer.getvalue())
    _clean(root)
    _add_tips(root, texts)
    _theme(root)
    _rename(root, key)
    _describe(root, key, title, description)
    return ET.tostring(root, encoding="unicode")


def _number_tips(canvas: Canvas) -> dict[str, tuple[str, ...]]:
    """Give artists with texts an id each, and return the texts by it."""
    texts: dict[str, tuple[str, ...]] = {}
    for number, (artist, own) in enumerate(tips_of(canvas)):
        artist.set_gid(f"tips-{number}")
        texts[f"tips-{number}"] = own
    return texts


def _add_tips(root: ET.Element, texts: dict[str, tuple[str, ...]]) -> None:
    """Wrap each point that has a text in a group with a title."""
    for element in list(root.iter()):
        own = texts.get(element.get("id", ""))
        if own is None:
            continue
        if len(own) == 1:
            element.insert(0, _title(own[0]))
            continue
        marks = [
            (parent, mark)
            for parent in element.iter()
            if parent.tag != "defs"
            for mark in parent
            if mark.tag in {"use", "path"}
        ]
        for (parent, mark), text in zip(marks, own, strict=True):
            group = ET.Element("g")
            parent[list(parent).index(mark)] = group
            group.extend([_title(text), mark])


def _title(text: str) -> ET.Element:
    element = ET.Element("title")
    element.text = printable(text)
    return element


def _theme(root: ET.Element) -> None:
    """Replace the colours of the plots by those of the page."""
    for element in root.iter():
        style = element.get("style")
        if style is not None and "#" in style:
            element.set("style", _COLOUR.sub(lambda m: THEMED.get(m[0], m[0]), style))


def formula_svg(latex: str, *, key: str) -> str | None:
    """Draw a formula as an SVG element in the colour of the text; None where it cannot be set."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import math_to_image

    from caltest.reporting.notation import plain_formula

    buffer = io.StringIO()
    try:
        prop = FontProperties(size=FORMULA_SIZE)
        math_to_image(f"${_for_mathtext(latex)}$", buffer, prop=prop, format="svg", dpi=72)
    except ValueError:  # LaTeX that mathtext does not know
        return None
    root = _read(buffer.getvalue())
    _clean(root)
    for group in list(root):
        for part in list(group):
            if part.get("id", "").startswith("patch_"):  # the white ground
                group.remove(part)
    _rename(root, key)
    _describe(root, key, plain_formula(latex), "")
    return ET.tostring(root, encoding="unicode").replace("fill: #000000", "fill: currentColor")


def _for_mathtext(latex: str) -> str:
    """Write what mathtext does not know in words that it knows."""
    text = re.sub(r"\\(?:[Bb]ig[lr]?)(?![A-Za-z])", "", latex)
    text = re.sub(r"\\(le|ge|ne)(?![A-Za-z])", r"\\\1q", text)
    return re.sub(r"\\(lVert|rVert)", r"\\Vert", text).strip().rstrip(".,;")


def _read(text: str) -> ET.Element:
    return ET.fromstring(text)  # noqa: S314 - matplotlib wrote it; comments are dropped here


def _clean(root: ET.Element) -> None:
    """Drop namespaces, metadata and style sheets, which would hold for the whole page."""
    for element in root.iter():
        element.tag = _NAMESPACE.sub("", element.tag)
        for name in list(element.attrib):
            value = element.attrib.pop(name)
            element.set(_NAMESPACE.sub("", name), value)
        if "d" in element.attrib:
            element.set("d", _DECIMALS.sub(r"\1", element.get("d", "")))
        for child in list(element):
            if _NAMESPACE.sub("", child.tag) in {"metadata", "style"}:
                element.remove(child)
    for name in ("version", "height"):
        root.attrib.pop(name, None)
    root.set("style", f"{STYLE};width:{root.attrib.pop('width', '100%')}")


def _rename(root: ET.Element, key: str) -> None:
    """Number the ids in order: matplotlib's are random, and the same in several figures."""
    used = {match for element in root.iter() for value in element.attrib.values()
            for match in _REFERENCE.findall(value)}  # fmt: skip
    names: dict[str, str] = {}
    for element in root.iter():
        old = element.attrib.pop("id", None)
        if old is not None and old in used:
            names[old] = f"{key}-{len(names)}"
            element.set("id", names[old])
    for element in root.iter():
        for name, value in element.attrib.items():
            if "#" in value and (name == "href" or "url(" in value):
                element.set(name, _REFERENCE.sub(lambda m: f"#{names.get(m[1], m[1])}", value))


def _describe(root: ET.Element, key: str, title: str, description: str) -> None:
    root.set("role", "img")
    heading = ET.Element("title", {"id": f"{key}-title"})
    heading.text = printable(title)
    root.insert(0, heading)
    root.set("aria-labelledby", f"{key}-title")
    if description:
        text = ET.Element("desc", {"id": f"{key}-desc"})
        text.text = printable(description)
        root.insert(1, text)
        root.set("aria-describedby", f"{key}-desc")
