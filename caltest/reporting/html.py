"""A report as one HTML page that needs nothing else: figures, styles and script stand in it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from caltest import __version__
from caltest.render.formats import printable
from caltest.reporting.content import Content
from caltest.reporting.document import Section
from caltest.reporting.notation import plain_formula
from caltest.reporting.svg import formula_svg

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
    return environment.get_template("report.html.j2").render(
        content=content,
        sections=sections,
        subtitle=subtitle(content),
        version=__version__,
        formula=_formulas(),
        css=Markup(_template_text("report.css")),  # noqa: S704 - a file of this package
        js=Markup(_template_text("report.js")),  # noqa: S704 - a file of this package
    )


def subtitle(content: Content) -> str:
    """Return source, size and author in a line."""
    data = content.data
    author = [f"by {content.author}"] if content.author else []
    day = content.reproduction.time[:10]
    rows = f"{data.n:,} row{'s' * (data.n != 1)}, {data.m:,} classes"
    return " \u00b7 ".join([data.source, rows, *author, day])


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
