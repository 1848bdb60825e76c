"""The only formatter: a result becomes a `Sheet`, and a sheet text, Markdown, HTML or LaTeX."""

from caltest.render.sheet import (
    LEGEND,
    Sheet,
    csv,
    equals,
    html,
    latex,
    markdown,
    number,
    pvalue,
    stars,
    text,
)

__all__ = [
    "LEGEND",
    "Sheet",
    "csv",
    "equals",
    "html",
    "latex",
    "markdown",
    "number",
    "pvalue",
    "stars",
    "text",
]
