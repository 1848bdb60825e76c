"""The sheet that every format prints, and how a single value becomes a cell of it."""

from __future__ import annotations

from dataclasses import dataclass

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
