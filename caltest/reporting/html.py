"""A report as one HTML page that needs nothing else: figures, styles and script stand in it."""

from __future__ import annotations

import base64
import hashlib
import io
import re
from collections.abc import Sequence
from functools import cache
from importlib import resources
from itertools import count
from typing import TYPE_CHECKING, Any, cast
from xml.etree import ElementTree as ET

from caltest import __version__
from caltest.errors import NotApplicable
from caltest.plots.base import tips_of
from caltest.render import digits_of, escape_markdown, markdown_table, printable, unbroken
from caltest.reporting.content import Content, Section
from caltest.reporting.methods import plain_formula
from caltest.reporting.reading import points, span

if TYPE_CHECKING:
    from jinja2 import Template
    from matplotlib.figure import Figure as Canvas

    from caltest.results.verdict import Verdict


def html_page(content: Content, sections: Sequence[Section], *, paper: str = "") -> str:
    """Write the page; every text of the user's is escaped by the template.

    Parameters
    ----------
    content : Content
        For the title and the author.
    sections : sequence of Section
        In the order in which they stand.
    paper : str, optional
        Its size when it is printed, such as "A4"; by default that of the printer.

    Returns
    -------
    str
        A whole document.
    """
    answer, numbers = content.answer.verdict.answer, count(1)
    folder = resources.files("caltest.reporting") / "templates"
    css, js = ((folder / name).read_text("utf-8") for name in ("report.css", "report.js"))
    css += f"@page {{ size: {paper}; }}\n" if paper else ""
    return _template("report.html.j2").render(
        content=content,
        sections=sections,
        subtitle=subtitle(content),
        version=__version__,
        formula=lambda latex: formula_svg(latex, key=f"formula-{next(numbers)}"),
        tone="bad" if answer in BAD else "fine" if answer in FINE else "unsure",
        policy=POLICY.format(*map(_hash, (css, js))),
        css=css,
        js=js,
    )


# What the page may load: nothing, and of styles and scripts its own. A style attribute can run
# nothing; browsers that do not know of it alone go by "style-src".
POLICY = (
    "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; script-src '{1}'; "
    "style-src 'unsafe-inline'; style-src-elem '{0}'; style-src-attr 'unsafe-inline'"
)
# Answers with a colour of the edge of the card; others are between these.
BAD = {"strong evidence", "some evidence", "not calibrated", "beyond tolerance", "too low"}
FINE = {"no evidence", "not rejected", "within tolerance"}
ENDLESS = re.compile(r"\S{60,}")
_FROM_RIGHT = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc"  # Hebrew, Arabic, Syriac, ...
RIGHT_TO_LEFT = re.compile(f"[{_FROM_RIGHT}](?:[{_FROM_RIGHT}\\s]*[{_FROM_RIGHT}])?")


def reach_of(bars: Sequence[tuple[float, float, float]]) -> float:
    """Return the end of the scale that the bars of a table share; longer intervals are cut.

    Examples
    --------
    >>> reach_of([(0.01, 0.04, 0.07), (-0.3, 0.02, 0.34)])
    0.07
    """
    gaps = [1.25 * abs(gap) for _, gap, _ in bars]
    ends = sorted(max(abs(low), abs(high)) for low, _, high in bars)
    return max([0.01, *gaps, *ends[: (3 * len(ends) + 1) // 4]])  # of three quarters of them


def subtitle(content: Content) -> str:
    """Return source, size and author in a line."""
    data = content.data
    author = [f"by {content.author}"] if content.author else []
    rows = f"{data.n:,} row{'s' * (data.n != 1)}" + (f", {data.m:,} classes" if data.m else "")
    return " \u00b7 ".join([data.source, rows, *author, content.reproduction.time[:10]])


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _laid_out(line: str) -> str:
    """Return a line for HTML whose endless words have ends, and words from right to left edges."""
    text = ENDLESS.sub(lambda word: "\u200b".join(re.findall(".{1,20}", word[0])), unbroken(line))
    return RIGHT_TO_LEFT.sub("\u2068\\g<0>\u2069", text)


@cache
def _template(name: str) -> Template:
    from jinja2 import Environment, PackageLoader

    made = Environment(
        loader=PackageLoader("caltest.reporting"), autoescape=True, keep_trailing_newline=True
    )
    made.filters |= {"printable": lambda value: printable(str(value)), "markdown": escape_markdown}
    made.filters["unbroken"] = _laid_out
    made.globals |= {"reach_of": reach_of, "points": points, "span": span, "plain": plain_formula}
    made.globals["digits_of"] = digits_of
    return made.get_template(name, globals={"markdown_table": markdown_table})


def markdown_page(content: Content, sections: Sequence[Section]) -> str:
    """Write the document; every text of the user's is escaped."""
    fields = {"content": content, "sections": sections, "subtitle": subtitle(content)}
    return _template("report.md.j2").render(**fields)


_OF_PAGE = re.compile(r"<(metadata|style)\b.*?</\1>\s*", re.DOTALL)  # would hold for all of it
_PATH = re.compile(r'(?<= d=")[^"]*')
_REFERENCE = re.compile(r"#([^)\"']+)")
_DECIMALS = re.compile(r"(\d+\.\d{2})\d+")
FORMULA_SIZE = 13.0
STYLE = "stroke-linejoin:round;stroke-linecap:butt;fill:currentColor"
# Colours of the plots that follow the theme of the page, on light ones and on dark ones; without
# these variables they stay.
COLOURS = {"ground": ("#ffffff", "#14181d"), "pale": ("#d9d9d9", "#46505a")}
COLOURS |= {"blue": ("#0072b2", "#4aa8e0"), "vermilion": ("#d55e00", "#f58a3c")}
THEMED = dict.fromkeys(("#000000", "#1a1a1a"), "currentColor")
THEMED |= {light: f"var(--figure-{name}, {light})" for name, (light, _) in COLOURS.items()}
THEMES = {
    theme: ";".join(f"--figure-{name}:{pair[k]}" for name, pair in COLOURS.items())
    for k, theme in enumerate(("light", "dark"))
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
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    texts: dict[str, tuple[str, ...]] = {}
    for number, (artist, own) in enumerate(tips_of(canvas)):
        artist.set_gid(f"tips-{number}")
        texts[f"tips-{number}"] = own
    buffer = io.StringIO()
    # `savefig` would draw twice, first for the layout alone, which each drawing makes by itself.
    grounds = canvas.patch, *(ax.patch for ax in canvas.axes)
    colours = [(one, one.get_facecolor(), one.get_edgecolor()) for one in grounds]
    for ground, *_ in colours:
        ground.set(facecolor="none", edgecolor="none")
    drawing: Any = FigureCanvasSVG(canvas)
    drawing.print_svg(buffer, metadata={"Date": None, "Creator": None})
    for ground, face, edge in colours:
        ground.set(facecolor=face, edgecolor=edge)
    text = _OF_PAGE.sub("", re.sub(r' xmlns(:\w+)?="[^"]*"', "", buffer.getvalue()))
    text = _PATH.sub(lambda path: _DECIMALS.sub(r"\1", path[0]), text.replace(" xlink:", " "))
    root = ET.fromstring(text)  # noqa: S314 - matplotlib wrote it
    for name in ("version", "height"):
        root.attrib.pop(name, None)
    root.set("style", f"{STYLE};width:{root.attrib.pop('width', '100%')}")
    _add_tips(root, texts)
    for element in root.iter():
        style = element.get("style", "")
        if "#" in style:  # a colour of the plots becomes that of the page
            element.set("style", _COLOUR.sub(lambda m: THEMED.get(m[0], m[0]), style))
    _rename(root, key)
    _describe(root, key, title, description)
    return ET.tostring(root, encoding="unicode")


def with_diagram(verdict: Verdict) -> str:
    """Write a verdict as a notebook shows it: the sentences, and beside them the diagram."""
    text = verdict.to_html()
    try:
        ax = verdict.plot()
    except (NotApplicable, ImportError):  # nothing to draw, or nothing to draw with
        return text
    key = f"verdict-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
    canvas, title = cast("Canvas", ax.figure), str(ax.get_label()) or "Reliability diagram"
    picture = inline_svg(canvas, key=key, title=title, description=verdict.headline)
    return _template("verdict.html.j2").render(text=text, picture=picture, themes=THEMES)


def _add_tips(root: ET.Element, texts: dict[str, tuple[str, ...]]) -> None:
    """Wrap each point that has a text in a group with a title."""
    for element in list(root.iter()):
        own = texts.get(element.get("id", ""), ())
        if len(own) == 1:
            element.insert(0, _labelled("title", own[0]))
            continue
        places = (parent for parent in element.iter() if own and parent.tag != "defs")
        pairs = ((parent, mark) for parent in places for mark in parent)
        marks = [pair for pair in pairs if pair[1].tag in {"use", "path"}]
        for (parent, mark), text in zip(marks, own, strict=True):
            group = ET.Element("g")
            parent[list(parent).index(mark)] = group
            group.extend([_labelled("title", text), mark])


def _labelled(tag: str, text: str, **attributes: str) -> ET.Element:
    element = ET.Element(tag, attributes)
    element.text = printable(text)
    return element


def formula_svg(latex: str, *, key: str) -> str | None:
    """Draw a formula as an SVG element in the colour of the text; None where it cannot be set."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    prop, text = FontProperties(size=FORMULA_SIZE), f"${_for_mathtext(latex)}$"
    try:
        width, height, depth = text_to_path.get_text_width_height_descent(text, prop, ismath=True)
    except ValueError:  # LaTeX that mathtext does not know
        return None
    scale = FORMULA_SIZE / text_to_path.FONT_SCALE
    box = {"viewBox": f"0 0 {width:.2f} {height:.2f}", "style": f"{STYLE};width:{width:.2f}pt"}
    root = ET.Element("svg", box)
    place = f"matrix({scale:g} 0 0 {-scale:g} 0 {height - depth:.2f})"
    points, codes = text_to_path.get_text_path(prop, text, ismath=True)
    parts, last = [], 0
    for (x, y), code in zip(points, codes, strict=True):
        # The points of one curve have its code each; its letter holds for those that follow.
        letter = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}[int(code)]
        parts.append(letter if code != last or code == 1 else "")
        parts.append("" if code == 79 else f"{x:.0f} {y:.0f} ")
        last = int(code)
    if parts:
        ET.SubElement(root, "path", {"transform": place, "d": "".join(parts).strip()})
    _describe(root, key, plain_formula(latex), "")
    return ET.tostring(root, encoding="unicode")


def formula_image(latex: str) -> tuple[io.BytesIO, float] | None:
    """Draw a formula as PNG, with its width in points; None where it cannot be set."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import math_to_image

    buffer, prop, text = io.BytesIO(), FontProperties(size=FORMULA_SIZE), _for_mathtext(latex)
    try:
        math_to_image(f"${text}$", buffer, prop=prop, format="png", dpi=300)
    except ValueError:  # LaTeX that mathtext does not know
        return None
    return buffer, int.from_bytes(buffer.getvalue()[16:20]) * 72 / 300  # pixels, of PNG's header


def _for_mathtext(latex: str) -> str:
    """Write what mathtext does not know in words that it knows."""
    text = re.sub(r"\\(?:[Bb]ig[lr]?)(?![A-Za-z])", "", latex)
    text = re.sub(r"\\(le|ge|ne)(?![A-Za-z])", r"\\\1q", text)
    return re.sub(r"\\(lVert|rVert)", r"\\Vert", text).strip().rstrip(".,;")


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
    root.insert(0, _labelled("title", title, id=f"{key}-title"))
    root.set("aria-labelledby", f"{key}-title")
    if description:
        root.insert(1, _labelled("desc", description, id=f"{key}-desc"))
        root.set("aria-describedby", f"{key}-desc")
