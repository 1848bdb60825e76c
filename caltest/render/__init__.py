"""The only formatter: a result becomes a `Sheet`, and a sheet text, Markdown, HTML or LaTeX."""

from caltest.render.comparisons import sheet_of_calibrators, sheet_of_models, sheet_out_of_fold
from caltest.render.formats import csv, html, latex, markdown, text
from caltest.render.sheet import LEGEND, Sheet, equals, number, pvalue, stars

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
    "sheet_of_calibrators",
    "sheet_of_models",
    "sheet_out_of_fold",
    "stars",
    "text",
]
