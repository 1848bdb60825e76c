"""Figures of matplotlib as SVG that stands inside a page: small, with unique ids and titles."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_NAMESPACE = re.compile(r"^\{[^}]*\}")
_REFERENCE = re.compile(r"#([^)\"']+)")
_DECIMALS = re.compile(r"(\d+\.\d{2})\d+")
FORMULA_SIZE = 13.0
STYLE = "stroke-linejoin:round;stroke-linecap:butt"


def inline_svg(canvas: Canvas, *, key: str, title: str, description: str) -> str:
    """Draw a figure as an SVG element.

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
    buffer = io.StringIO()
    canvas.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    root = _read(buffer.getvalue())
    _clean(root)
    _rename(root, key)
    _describe(root, key, title, description)
    return ET.tostring(root, encoding="unicode")


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
    heading.text = title
    root.insert(0, heading)
    root.set("aria-labelledby", f"{key}-title")
    if description:
        text = ET.Element("desc", {"id": f"{key}-desc"})
        text.text = description
        root.insert(1, text)
        root.set("aria-describedby", f"{key}-desc")
