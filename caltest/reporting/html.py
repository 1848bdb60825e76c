"""A report as one HTML page that needs nothing else: figures, styles and script stand in it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from caltest import __version__
from caltest.render.formats import printable
from caltest.reporting.blocks import Section
from caltest.reporting.content import Content
from caltest.reporting.notation import plain_formula
from caltest.reporting.svg import formula_svg
from caltest.reporting.wording import points, span

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def html_page(content: Content, sections: Sequence[Section]) -> str:
    """Write the page; every text of the user's is escaped by the template.

    Parameters
    ----------
    content : Content
        For the title and the author.
    sections : sequence of Section
        In the order in which they stand.

    Returns
    -------
    str
        A whole document.
    """
    from markupsafe import Markup

    environment = _environment()
    css, js = map(_template_text, ("report.css", "report.js"))
    return environment.get_template("report.html.j2").render(
        content=content,
        sections=sections,
        subtitle=subtitle(content),
        version=__version__,
        formula=_formulas(),
        bar=gap_bar,
        tone=TONES.get(content.answer.verdict.answer, "unsure"),
        beside=IN_CARD,
        appendix=next((section.key for section in sections if section.is_appendix), ""),
        policy=POLICY.format(*map(_hash, (css, js))),
        css=Markup(css),  # noqa: S704 - a file of this package
        js=Markup(js),  # noqa: S704 - a file of this package
    )


# What the page may load: nothing, and of styles and scripts its own. A style attribute can run
# nothing; browsers that do not know of it alone go by "style-src".
POLICY = (
    "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; script-src '{1}'; "
    "style-src 'unsafe-inline'; style-src-elem '{0}'; style-src-attr 'unsafe-inline'"
)
IN_CARD = "estimates"  # the section that stands on the card, below the answer
# The colour of the edge of the card; other answers are between these.
TONES = {
    "strong evidence": "bad",
    "some evidence": "bad",
    "not calibrated": "bad",
    "beyond tolerance": "bad",
    "no evidence": "fine",
    "not rejected": "fine",
    "within tolerance": "fine",
    "too low": "bad",
}
WIDTH, HEIGHT = 144.0, 16.0  # of a bar, in its own unit


def gap_bar(bars: Sequence[tuple[float, float, float]], place: int) -> Markup:
    """Draw a gap with its interval on the scale that all rows of a table share.

    Examples
    --------
    >>> "<title>+4.0 points, +1.0 to +7.0</title>" in gap_bar([(0.01, 0.04, 0.07)], 0)
    True
    """
    from markupsafe import Markup

    reach = max(0.01, max(abs(gap) for _, gap, _ in bars) * 1.25, _inner_reach(bars))
    low, gap, high = (
        WIDTH / 2 + max(-1.0, min(1.0, value / reach)) * (WIDTH / 2 - 4) for value in bars[place]
    )
    told = f"{points(bars[place][1])} points, {span(bars[place][0], bars[place][2])}"
    middle, y = WIDTH / 2, HEIGHT / 2
    return Markup(  # noqa: S704 - numbers only
        f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{told}">'
        f"<title>{told}</title>"
        f'<path d="M{middle:g} 0V{HEIGHT:g}" stroke="currentColor" stroke-opacity=".45"/>'
        f'<path d="M{low:.1f} {y:g}H{high:.1f}" stroke="currentColor" stroke-width="2.5" '
        'stroke-opacity=".55"/>'
        f'<circle cx="{gap:.1f}" cy="{y:g}" r="3.5" fill="currentColor"/></svg>'
    )


def _inner_reach(bars: Sequence[tuple[float, float, float]]) -> float:
    """Return how far three quarters of the intervals reach; the ends of longer ones are cut."""
    ends = sorted(max(abs(low), abs(high)) for low, _, high in bars)
    return ends[(3 * (len(ends) - 1)) // 4]


def subtitle(content: Content) -> str:
    """Return source, size and author in a line."""
    data = content.data
    author = [f"by {content.author}"] if content.author else []
    day = content.reproduction.time[:10]
    rows = f"{data.n:,} row{'s' * (data.n != 1)}, {data.m:,} classes"
    return " \u00b7 ".join([data.source, rows, *author, day])


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader

    environment = Environment(
        loader=PackageLoader("caltest.reporting"),
        autoescape=True,
        keep_trailing_newline=True,
    )
    environment.filters["printable"] = lambda value: printable(str(value))
    return environment


def _template_text(name: str) -> str:
    folder = resources.files("caltest.reporting") / "templates"
    return (folder / name).read_text(encoding="utf-8")


class _formulas:  # noqa: N801 - called like a function
    """Draws formulas, each with ids of its own."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, latex: str) -> Markup:
        from markupsafe import Markup, escape

        self.count += 1
        drawn = formula_svg(latex, key=f"formula-{self.count}")
        if drawn is None:
            return Markup("<code>{}</code>").format(plain_formula(latex))
        return Markup(drawn) if drawn else escape(latex)  # noqa: S704 - matplotlib drew it
