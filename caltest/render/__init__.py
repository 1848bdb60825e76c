"""The only formatter: a result becomes a `Sheet`, and a sheet text, Markdown, HTML or LaTeX."""

from caltest.render.answers import sheet_of_interval, sheet_of_witness
from caltest.render.cells import LEGEND, Sheet, number, pvalue, stars
from caltest.render.formats import csv, html, latex, markdown, text
from caltest.render.sheets import sheet_of_summary, sheet_of_table, sheet_of_test

__all__ = [
    "LEGEND",
    "Sheet",
    "csv",
    "html",
    "latex",
    "markdown",
    "number",
    "pvalue",
    "sheet_of_interval",
    "sheet_of_summary",
    "sheet_of_table",
    "sheet_of_test",
    "sheet_of_witness",
    "stars",
    "text",
]
