"""The only formatter: a result becomes a `Sheet`, and a sheet text, Markdown, HTML or LaTeX."""

from __future__ import annotations

import csv as csv_module
import html as html_module
import io
import math
import re
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

Pairs = tuple[tuple[str, str], ...]


LEGEND = "Signif. codes:  0 '***' 0.001 '**' 0.01 '*' 0.05 '.' 0.1 ' ' 1"


_CODES = ((0.001, "***"), (0.01, "**"), (0.05, "*"), (0.1, "."))


SMALLEST = "1e-04"  # p-value that is shown as a number, of a limiting distribution


SMALLEST_TAIL = "2.2e-16"  # the same where tails keep their digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What is printed, and not how: every cell is a string already.

    Attributes
    ----------
    title : str
        One line.
    headline : str
        The answer in a sentence or two, before everything else.
    facts : pairs of str
        Named lines, such as ("data", "GaussianNB() (n = 899, m = 10)").
    numbers : pairs of str
        The line of numbers, such as ("SKCE", "0.02134"), ("p-value", "0.001").
    header : tuple of str
        Names of the columns of the grid.
    rows : tuple of tuple of str
        The grid; may be empty.
    n_text : int
        How many leading columns of the grid hold text; the others hold numbers.
    legend : str
        The line under the grid.
    closing : pairs of str
        Named lines at the end, such as ("note", "...").
    listing : bool
        Whether the text aligns the values of `facts` in a column.
    """

    title: str
    headline: str = ""
    facts: Pairs = ()
    numbers: Pairs = ()
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    n_text: int = 1
    legend: str = ""
    closing: Pairs = ()
    listing: bool = False


def number(value: object) -> str:
    """Four significant digits of a float, and any other value as it is.

    Parameters
    ----------
    value : object
        A number, or a setting of a measure.

    Returns
    -------
    str
        The cell.

    Examples
    --------
    >>> number(0.0213389), number(899), number(-0.0)
    ('0.02134', '899', '0')
    """
    return f"{value:z.4g}" if isinstance(value, float) else str(value)


def named(value: object) -> str:
    """Return a name of the user's as it is, and a blank one in quotation marks.

    Examples
    --------
    >>> named("north"), named(2), named("")
    ('north', '2', "''")
    """
    text = str(value)
    return text if text.strip() else repr(text)


def rows_in_words(n: int) -> str:
    """Return a number of rows in words.

    Examples
    --------
    >>> rows_in_words(1), rows_in_words(2000)
    ('1 row', '2,000 rows')
    """
    return "1 row" if n == 1 else f"{n:,} rows"


def rows_of_fits(least: int, folds: int, rows: int) -> str:
    """Return to how many rows a map was fitted, of each fold's others.

    Examples
    --------
    >>> rows_of_fits(480, 5, 600), rows_of_fits(400, 5, 600)
    ('480', '400 or more')
    """
    return f"{least:,}{' or more' if folds > 1 and least * folds < rows * (folds - 1) else ''}"


def pvalue(value: float, smallest: str = SMALLEST) -> str:
    """A p-value as R's `format.pval` shows it: a small one as a bound, never as 0.

    Parameters
    ----------
    value : float
        In [0, 1].
    smallest : str, default "1e-04"
        The bound that is shown for what is below it.

    Returns
    -------
    str
        The cell.

    Examples
    --------
    >>> pvalue(0.0), pvalue(0.0431), pvalue(3.2e-9, smallest="2.2e-16")
    ('< 1e-04', '0.0431', '3.2e-09')
    """
    return f"< {smallest}" if value < float(smallest) else number(float(value))


def digits_of(precision: float) -> int:
    """Decimals of a per cent that show a share so small: one, and more where it would vanish.

    Examples
    --------
    >>> digits_of(0.02), digits_of(0.0005), digits_of(0.00002), digits_of(0.0)
    (1, 2, 3, 1)
    """
    points = 100 * precision
    return min(-math.floor(math.log10(points) + 1e-9), 6) if 0 < points < 0.1 else 1


def digits_of_share(value: float, unsure: float = 0.0) -> int:
    """Decimals of a per cent: the fewest, of one or more, that are within 5 % of a share.

    Or within 2 % of how unsure it is, where that is more.

    Examples
    --------
    >>> [digits_of_share(pd) for pd in (0.0104, 0.004, 0.0043, 0.0003, 0.00035)]
    [1, 1, 2, 2, 3]
    """
    points, near = 100 * value, 100 * max(0.05 * value, 0.02 * unsure)
    return next((d for d in range(1, 6) if abs(round(points, d) - points) <= near), 6)


def digits_of_gap(gap: Any) -> int:
    """Decimals of prediction, observation and interval, of which none vanishes.

    A share below 0.001 % is shown as 0 where the interval is wide.
    """
    unsure = (gap.high - gap.low) / 2
    shares = [share for share in (gap.predicted, gap.observed) if share > 0]
    small = digits_of(min(shares, default=1.0))
    exact = max((digits_of_share(share, unsure) for share in shares), default=1)
    return max(digits_of(unsure), small if small <= 3 else 1, exact if exact <= 3 else 1)


def share(value: float) -> str:
    """A share in per cent with one decimal, or more where it is near 0 or 1.

    Examples
    --------
    >>> share(0.9833), share(0.00021), share(1)
    ('98.3 %', '0.02 %', '100.0 %')
    """
    return f"{100 * value:.{digits_of_share(min(value, 1 - value))}f} %"


def equals(value: str) -> str:
    """What stands behind the name of a number: "= 0.3", or a bound as it is."""
    return value if value.startswith("<") else f"= {value}"


def stars(value: float) -> str:
    """R's significance code of a p-value.

    Parameters
    ----------
    value : float
        In [0, 1].

    Returns
    -------
    str
        "***", "**", "*", "." or nothing.

    Examples
    --------
    >>> stars(0.001), stars(0.03), stars(0.5)
    ('***', '*', '')
    """
    return next((code for bound, code in _CODES if value <= bound), "")


def verdict(rejected: bool) -> str:  # noqa: FBT001 - a value to word, not a switch
    """The word that is printed only where the caller gave a level."""
    return "rejected" if rejected else "not rejected"


# ---- A sheet becomes text, Markdown, HTML or LaTeX; records become CSV --------------------------

WIDTH = 80

_SMALLEST_CELL = 12
_LARGEST_CELL = 24  # where the grid is wider anyhow: the longest name of a test
_FORMULA = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")  # what a formula begins with, wide ones too
# Blanks at which no line ends: "12 %", "3.1 points", "p = 0.02", "B = 99".
_TOGETHER = re.compile(r"(?<=\d) (?=%|points\b)|(?<=\b\w) (?=[=<>] )|(?<=\b\w [=<>]) ")
_NUMBER = re.compile(r"[+-](inf|\d+(\.\d+)?(e[+-]?\d+)?)")
_MARKDOWN = str.maketrans({"&": "&amp;", "<": "&lt;"} | {sign: "\\" + sign for sign in "\\`*|"})
_NAMED = {"\\": "backslash", "~": "asciitilde", "^": "asciicircum", "<": "less", ">": "greater"}
_LATEX = str.maketrans(
    {sign: rf"\text{name}{{}}" for sign, name in _NAMED.items()}
    | {sign: "\\" + sign for sign in "&%$#_{}"}
)


def text(sheet: Sheet) -> str:
    """The sheet as R prints it, after the answer: the title behind a tab, facts, numbers."""
    # Facts as `name:  value`, in a listing with the values in one column.
    column = max((len(name) for name, _ in sheet.facts), default=0) + 3 if sheet.listing else 0
    facts = (f"{name}:  ".ljust(column) + value for name, value in sheet.facts)
    head = [line for fact in facts for line in _wrapped(fact, indent=column or 4)]
    if sheet.numbers:
        head += _wrapped(", ".join(f"{name} {equals(value)}" for name, value in sheet.numbers))
    closing = [line for name, value in sheet.closing for line in _wrapped(f"{name}: {value}")]
    blocks = [head, _text_grid(sheet), closing] if sheet.rows else [head + closing]
    lines = textwrap.wrap(printable(sheet.title), WIDTH - 10, break_on_hyphens=False)
    title = "\n".join("\t" + line for line in lines)
    first = "".join(line + "\n" for line in _wrapped(sheet.headline, indent=0))
    title = f"{first}\n{title}" if title else first.rstrip("\n")
    return "\n\n".join([title, *("\n".join(block) for block in blocks if block)]) + "\n"


def markdown(sheet: Sheet) -> str:
    """The sheet as Markdown: the title in bold, a list or a table of names and values."""
    pairs = markdown_table(("", ""), _pairs(sheet), n_text=2)
    grid = markdown_table(sheet.header, sheet.rows, n_text=sheet.n_text) if sheet.rows else ""
    legend = escape_markdown(sheet.legend)
    title = f"**{escape_markdown(sheet.title)}**" if sheet.title else ""
    first = escape_markdown(sheet.headline)
    return "\n\n".join(filter(None, [first, title, pairs, grid, legend])) + "\n"


def html(sheet: Sheet) -> str:
    """The sheet as an HTML fragment, every cell escaped."""
    pairs = [_html_row(("th", "left", k), ("td", "left", v)) for k, v in _pairs(sheet)]
    caption = f"<caption>{_escape_html(sheet.title)}</caption>" if sheet.title else ""
    first = [f"<p><strong>{_escape_html(sheet.headline)}</strong></p>"] if sheet.headline else []
    parts = ['<div class="caltest">', *first, "<table>", caption, *pairs, "</table>"]
    if sheet.rows:
        sides = ["left" if i < sheet.n_text else "right" for i in range(len(sheet.header))]
        grid = (("th", sheet.header), *(("td", row) for row in sheet.rows))
        rows = (_html_row(*zip(repeat(tag), sides, row, strict=False)) for tag, row in grid)
        parts += ["<table>", *rows, "</table>"]
    if sheet.legend:
        parts += [f"<p>{_escape_html(sheet.legend)}</p>"]
    return "\n".join([*parts, "</div>"]) + "\n"


def latex(sheet: Sheet) -> str:
    """The sheet as a LaTeX table that needs no package; names and values in the last column."""
    rows = sheet.rows or _pairs(sheet)
    n_columns = len(rows[0])
    n_text = sheet.n_text if sheet.rows else n_columns
    body = [_latex_row(row) for row in rows]
    if sheet.rows:
        body = [_latex_row(sheet.header), r"\hline", *body]
    under = [f"{name}: {value}" for name, value in _pairs(sheet)] if sheet.rows else []
    under += [sheet.legend] if sheet.legend else []
    caption = _escape_latex(" ".join(filter(None, [sheet.headline, sheet.title])))
    sides = "l" * n_text + "r" * (n_columns - n_text)
    head = [
        r"\begin{table}",
        rf"\caption{{{caption}}}",
        rf"\begin{{tabular}}{{{sides}}}",
        r"\hline",
    ]
    foot = [r"\hline", r"\end{tabular}", *(rf"\par {_escape_latex(line)}" for line in under)]
    return "\n".join([*head, *body, *foot, r"\end{table}", ""])


def csv(records: Sequence[Mapping[str, object]]) -> str:
    """Records as CSV: a line of names, then one line of values each.

    A name that a spreadsheet would run as a formula, "=1+1", gets an apostrophe before it.
    """
    names = list(dict.fromkeys(name for record in records for name in record))
    rows = ([record.get(name) for name in names] for record in records)
    return _csv_line(names) + "".join(map(_csv_line, rows))


def _csv_line(row: Sequence[object]) -> str:
    buffer = io.StringIO()  # the ending of the standard, so that both of its characters are quoted
    # Text that is a formula to a spreadsheet has an apostrophe before it; numbers stay (OWASP).
    runs = [isinstance(x, str) and x.startswith(_FORMULA) and not _NUMBER.fullmatch(x) for x in row]
    cells = [f"'{value}" if is_run else value for value, is_run in zip(row, runs, strict=True)]
    csv_module.writer(buffer, lineterminator="\r\n").writerow(cells)
    return buffer.getvalue().removesuffix("\r\n") + "\n"


def printable(value: str) -> str:
    """The text with control characters as Python writes them, in one line."""
    if value.isprintable():
        return value
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in value)


def _pairs(sheet: Sheet) -> Pairs:
    return (*sheet.facts, *sheet.numbers, *sheet.closing)


def unbroken(line: str) -> str:
    """Return a line with blanks at which it does not end, such as that of "12 %"."""
    return _TOGETHER.sub("\xa0", printable(line))


def _wrapped(line: str, indent: int = 4) -> list[str]:
    whole: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    lines = textwrap.wrap(unbroken(line), WIDTH, subsequent_indent=" " * indent, **whole)
    return [one.replace("\xa0", " ") for one in lines]


def _text_grid(sheet: Sheet) -> list[str]:
    """The grid in columns at most 80 wide in all, text to the left and numbers to the right."""
    table = [[printable(cell) for cell in row] for row in (sheet.header, *sheet.rows)]
    table = _fitted(table, sheet.n_text)
    widths = [max(map(_width, column)) for column in zip(*table, strict=True)]
    lines = []
    for row in table:
        cells = []
        for i, (cell, width) in enumerate(zip(row, widths, strict=True)):
            space = " " * (width - _width(cell))
            is_left = i < sheet.n_text or set(cell) <= set("*.")
            cells.append(cell + space if is_left else space + cell)
        lines.append("  ".join(cells).rstrip())
    return [*lines, "---", sheet.legend] if sheet.legend else lines


def _fitted(table: list[list[str]], n_text: int) -> list[list[str]]:
    """Shorten the widest columns of text until the grid is at most 80 wide, if it can be."""
    widths = [max(map(_width, column)) for column in zip(*table, strict=True)]
    gaps, least = 2 * (len(widths) - 1), _SMALLEST_CELL
    narrow = [min(width, least) for width in widths[:n_text]] + widths[n_text:]
    least = least if sum(narrow) + gaps <= WIDTH else _LARGEST_CELL
    while sum(widths) + gaps > WIDTH and max(widths[:n_text]) > least:
        widths[widths.index(max(widths[:n_text]))] -= 1
    pairs = (zip(row, widths, strict=True) for row in table)
    return [[_shortened(cell, width) for cell, width in row] for row in pairs]


def _shortened(cell: str, limit: int) -> str:
    """Leave out the middle of a cell, for names often differ at their ends."""
    if len(cell) <= limit:
        return cell
    front = (limit - 1) // 2
    return cell[:front] + "..." + cell[len(cell) - (limit - front - 3) :]


def _width(cell: str) -> int:
    """The number of columns of a terminal that a cell takes."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in cell)
    return len(cell) + wide - sum(map(bool, map(unicodedata.combining, cell)))


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, n_text: int) -> str:
    """A table of escaped cells, the first `n_text` columns to the left, the others to the right."""
    rule = [":--" if i < n_text else "--:" for i in range(len(header))]
    lines = [map(escape_markdown, header), rule, *(map(escape_markdown, row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _html_row(*cells: tuple[str, str, str]) -> str:
    """Return a row of cells, each with its tag and its side."""
    form = '<{0} style="text-align: {1}">{2}</{0}>'
    html = (form.format(tag, side, _escape_html(cell)) for tag, side, cell in cells)
    return f"<tr>{''.join(html)}</tr>"


def _latex_row(row: Sequence[str]) -> str:
    # A row may not begin with [ or *, which \\\\ of the row before would take as its argument.
    return "{}" * row[0].startswith(("[", "*")) + " & ".join(map(_escape_latex, row)) + r" \\"


def _escape_html(value: str) -> str:
    return html_module.escape(printable(value))


def _escape_latex(value: str) -> str:
    return printable(value).translate(_LATEX)


def escape_markdown(value: str) -> str:
    """The text as Markdown shows it, in one line, without markup and HTML of its own."""
    return printable(value).translate(_MARKDOWN).replace("](", "]\\(")
