"""How numbers stand on a page: percentage points with one decimal, short p-values, even columns."""

from __future__ import annotations

import math
from collections.abc import Iterable

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


def share(value: float) -> str:
    """Return a share in per cent with one decimal.

    Examples
    --------
    >>> share(0.9833)
    '98.3 %'
    """
    return f"{100 * value:.1f} %"


def points(value: float) -> str:
    """Return a gap in percentage points, with its sign.

    Examples
    --------
    >>> points(0.0412), points(-0.0996), points(0.0001)
    ('+4.1', '\u221210.0', '0.0')
    """
    text = f"{100 * value:+z.1f}"
    if text in {"+0.0", "-0.0"}:
        return "0.0"
    return text.replace("-", MINUS)


def span(low: float, high: float) -> str:
    """Return an interval in percentage points.

    Examples
    --------
    >>> span(0.012, 0.069)
    '+1.2 to +6.9'
    """
    return f"{points(low)} to {points(high)}"


def short_pvalue(value: float) -> str:
    """Return a p-value with two significant digits at most, never as 0.

    Examples
    --------
    >>> short_pvalue(0.0431), short_pvalue(0.3), short_pvalue(3e-9), short_pvalue(0.996)
    ('0.043', '0.3', '< 0.0001', '1')
    """
    if value < LEAST:
        return "< 0.0001"
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
    text = short_pvalue(value)
    return text if text.startswith("<") else f"= {text}"


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
    if not math.isfinite(value):
        return f"{value:g}".replace("-", MINUS)
    return f"{value:z,.{decimals}f}".replace("-", MINUS)


def count(value: float) -> str:
    """Return a number of rows, or a sum of weights or of probabilities.

    Examples
    --------
    >>> count(1250), count(295.14)
    ('1,250', '295.1')
    """
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"
