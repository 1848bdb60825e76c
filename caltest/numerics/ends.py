"""Ends of ranges of probabilities: short decimals that no probability is equal or close to."""

from __future__ import annotations

import numpy as np

from caltest.types import Floats

NEAR = 0.3  # of a part: how far an end may lie from its share, so that it is a round number
DIGITS = 8  # after the point of an end in per cent, at most
SMALL = 1e-6  # per cent, below which an end is written with an exponent
APART = 1e-9  # relative distance of an end from the probabilities beside it


def even_ends(least: Floats, most: Floats, mass: Floats, parts: int) -> Floats:
    """Cut sorted probabilities into at most `parts` of about equal mass, without splitting ties.

    Parameters
    ----------
    least, most : (V,) array
        The ends of what is not divided, in ascending order; twice the same values where these are
        single probabilities.
    mass : (V,) array
        Their masses.
    parts : int
        The number of parts.

    Returns
    -------
    (E,) array
        The ends between them, ascending, E < `parts`.
    """
    below = np.cumsum(mass)[:-1] / mass.sum()
    if not below.size:
        return np.empty(0)
    found = set()
    for share in np.arange(1, parts) / parts:
        first = int(np.searchsorted(below, share - NEAR / parts))
        last = int(np.searchsorted(below, share + NEAR / parts, side="right")) - 1
        if last < first:  # a tie is there: take the nearer of its ends
            first = last = int(np.argmin(np.abs(below - share)))
        end = round_end(least, most, first, last)
        if end is not None:
            found.add(end)
    return np.array(sorted(found))


def round_end(least: Floats, most: Floats, first: int, last: int) -> float | None:
    """Return the shortest decimal, in per cent, after one of the values `first` to `last`.

    It lies between one of them and the next, and is close to neither; None where no decimal of 8
    digits after the point does.
    """
    low, high = most[first : last + 1], least[first + 1 : last + 2]
    middle, centre = 0.5 * (low + high), 0.5 * (low[0] + high[-1])
    for digits in range(2, DIGITS + 2):
        numbers = np.rint(middle * 10.0**digits)
        ends = numbers / 10.0**digits
        margin = APART * np.minimum(ends, 1.0 - ends)
        found = np.flatnonzero((low + margin < ends) & (ends < high - margin))
        if found.size:
            nearest = found[np.argmin(np.abs(ends[found] - centre))]
            return float(f"{numbers[nearest]:.0f}e-{digits}")
    return None


def range_words(before: float | None, first: float, last: float, after: float | None) -> str:
    """Write the range from `first` to `last`, with ends that leave out what is on both sides."""
    ends: list[float | None] = []
    for left_out, kept in ((before, first), (after, last)):
        end = left_out
        if left_out is not None:
            values = np.array(sorted((left_out, kept)))
            end = round_end(values, values, 0, 0)
            if end is None:
                tries = (float(f"{values.mean():.{digits}e}") for digits in range(17))
                end = next((one for one in tries if values[0] < one < values[1]), left_out)
        ends.append(end)
    return between_words(*ends) or "of all rows"


def between_words(above: float | None, below: float | None) -> str:
    """Write the range between two such ends, exactly, in per cent.

    Examples
    --------
    >>> between_words(0.359, None), between_words(0.02, 0.99985)
    ('above 35.9 %', 'between 2 % and 99.985 %')
    """
    words: list[str | None] = [None, None]
    for place, end in enumerate((above, below)):
        if end is not None:
            value = float(f"{100 * end:.15g}")
            is_plain = value >= SMALL
            written = np.format_float_positional if is_plain else np.format_float_scientific
            words[place] = f"{written(value, trim='-')} %"
    low, high = words
    if low is None or high is None:
        return "" if low == high else f"below {high}" if low is None else f"above {low}"
    return f"between {low} and {high}"
