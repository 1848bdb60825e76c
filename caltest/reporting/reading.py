"""Sentences that a reader without statistics can follow, and a statistician can sign.

A p-value is stated as what it is: how often data like these would show a deviation like this one,
were the probabilities right. There is no verdict unless the caller gave a level.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from caltest import render

MEANING = (
    "Probabilities are right in the sense of this report where, among all cases that are given "
    "70 %, 70 in 100 come true. A small p-value says that labels like these would be rare if they "
    "were right. A large one does not show that they are right: there may be too few data to tell."
)
MEANING_OF_FORECASTS = (
    "Forecasts are right in the sense of this report where, among all cases, an outcome is below "
    "its predicted 70 % quantile in 70 of 100, and so for every level, whatever was predicted. A "
    "small p-value says that outcomes like these would be rare if they were right. A large one "
    "does not show that they are right: there may be too few data to tell."
)

_ROUND = ((0.0995, 100), (0.000995, 1000))


def frequency(pvalue: float) -> str:
    """Tell a probability as a count.

    Examples
    --------
    >>> frequency(0.042), frequency(0.31), frequency(3e-9)
    ('about 42 in 1,000', 'about 31 in 100', 'fewer than 1 in 10,000')
    >>> frequency(0.00042)
    'about 4.2 in 10,000'
    """
    for bound, base in _ROUND:
        if pvalue >= bound:
            return f"about {round(base * pvalue):,} in {base:,}"
    if pvalue < 1e-4:
        return "fewer than 1 in 10,000"
    return f"about {1e4 * pvalue:.2g} in 10,000"


def sentence(error: Exception) -> str:
    """Return a message as a sentence with one full stop.

    Examples
    --------
    >>> sentence(ValueError("bins must be at least 1"))
    'bins must be at least 1.'
    """
    return f"{str(error).rstrip('.')}."


MINUS = "\u2212"
DASH = "\u2013"
LEAST = 1e-4  # p-value that is shown as a number


def percent(share: float) -> str:
    """Return a share as a per cent without a unit or needless zeros.

    Examples
    --------
    >>> percent(0.2), percent(0.999)
    ('20', '99.9')
    """
    return f"{100 * share:.10g}"


def points(value: float, digits: int = 1) -> str:
    """Return a gap in percentage points, with its sign.

    Examples
    --------
    >>> points(0.0412), points(-0.0996), points(0.0001)
    ('+4.1', '\u221210.0', '0.0')
    """
    text = f"{100 * value:+z.{digits}f}"
    return text.replace("-", MINUS).removeprefix("+" if float(text) == 0 else "")


def span(low: float, high: float, digits: int = 1) -> str:
    """Return an interval in percentage points.

    Examples
    --------
    >>> span(0.012, 0.069)
    '+1.2 to +6.9'
    """
    return f"{points(low, digits)} to {points(high, digits)}"


def short_pvalue(value: float | None) -> str:
    """Return a p-value with two significant digits at most, never as 0; nothing for none.

    Examples
    --------
    >>> short_pvalue(0.0431), short_pvalue(0.3), short_pvalue(3e-9), short_pvalue(0.996)
    ('0.043', '0.3', '< 0.0001', '1')
    """
    if value is None or value < LEAST:
        return "" if value is None else "< 0.0001"
    if value < 0.001:
        return f"{value:.5f}".rstrip("0") if value >= 0.00095 else f"{value:.4f}"
    return f"{value:.2g}"


def equals(value: float) -> str:
    """Return a p-value with its sign, for the middle of a sentence.

    Examples
    --------
    >>> equals(0.0431), equals(3e-9)
    ('= 0.043', '< 0.0001')
    """
    return render.equals(short_pvalue(value))


def decimals_of(score: float) -> int:
    """Four decimals, or as many as leave three digits of a small score, as those of rare events.

    Examples
    --------
    >>> decimals_of(0.1875), decimals_of(0.00024), decimals_of(0.0)
    (4, 6, 4)
    """
    return 2 - math.floor(math.log10(score)) if 0 < score < 0.01 else 4


def decimal(values: Iterable[float | None], decimals: int = 4) -> list[str]:
    """Return numbers with the same decimals, and nothing where there is none.

    Examples
    --------
    >>> decimal([0.71192, -1.1618, -0.001, None, math.inf], 2)
    ['0.71', '\u22121.16', '0.00', '', 'inf']
    """
    return ["" if value is None else number(value, decimals) for value in values]


def significant(value: float) -> str:
    """Return a number with three significant digits, without an exponent unless it is tiny.

    Examples
    --------
    >>> significant(11384.2), significant(0.0431), significant(-3.08), significant(0)
    ('11,384', '0.0431', '\u22123.08', '0')
    """
    if value == 0 or not math.isfinite(value) or abs(value) < LEAST:
        return f"{value:z.3g}".replace("-", MINUS)
    return number(value, max(0, 2 - math.floor(math.log10(abs(value)))))


def number(value: float, decimals: int) -> str:
    """Return a number with so many decimals; its sign is that of print."""
    return f"{value:z,.{decimals}f}".replace("-", MINUS)


def count(value: float) -> str:
    """Return a number of rows, or a sum of weights or of probabilities.

    Examples
    --------
    >>> count(1250), count(295.14)
    ('1,250', '295.1')
    """
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"
