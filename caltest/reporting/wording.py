"""How numbers stand on a page: percentage points with one decimal, short p-values, even columns."""

from __future__ import annotations

import math
from collections.abc import Sequence

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


def evenly(values: Sequence[float | None], digits: int = 3) -> list[str]:
    """Return numbers with the same decimals: as many as the largest needs for its digits.

    Examples
    --------
    >>> evenly([0.71192, 1.1618, None])
    ['0.71', '1.16', '']
    >>> evenly([0.0431, 0.0512, math.inf])
    ['0.0431', '0.0512', 'inf']
    """
    finite = [abs(value) for value in values if value is not None and math.isfinite(value)]
    largest = max(finite, default=0.0)
    order = math.floor(math.log10(largest)) if largest > 0 else 0
    decimals = min(max(0, digits - 1 - order), 6)
    return ["" if value is None else number(value, decimals) for value in values]


def number(value: float, decimals: int) -> str:
    """Return a number with so many decimals; its sign is that of print."""
    if not math.isfinite(value):
        return f"{value:g}".replace("-", MINUS)
    return f"{value:,.{decimals}f}".replace("-", MINUS)


def count(value: float) -> str:
    """Return a number of rows, or a sum of weights or of probabilities.

    Examples
    --------
    >>> count(1250), count(295.14)
    ('1,250', '295.1')
    """
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"
