"""Numbers of events in cells of rows with nearly the same prediction, redrawn from these.

The number of a cell is a sum of unequal Bernoullis. A small one is drawn from the binomial
distribution with the mean of the cell, by inversion; it differs from the sum by no more than
`binomial_distance`. A large one is a normal quantile, corrected for skewness and kurtosis and
rounded. The uniform number of a cell in a resample is a hash of both, as that of a row is.

Where many numbers of a cell are drawn, the distribution function near its mean is tabulated first,
by the very sums of inversion; how many of its entries are below a uniform number is counted for
several at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy

from caltest.numerics.labels import BITS, hashed
from caltest.numerics.loops import njit
from caltest.types import AnyArray, Flags, Floats, Hashes, Ints

LARGE = 100.0  # variance from which on a number is drawn as a normal one
AT_A_TIME = 8  # cells whose numbers are written next to each other
TABULATED_FROM = 8  # numbers of a cell
WIDEST = 512  # entries of a table
MANY = 24  # from which on they are compared by their first bits
RARE = 2.0**-12  # probabilities below which a table ends: what is beyond is inverted
STEP = 2.0**-BITS
FIRST = 2.0**16  # of a uniform number, to compare many at a time
ROUNDING = 1.0 / 12.0  # variance that rounding to whole numbers adds, Sheppard


class CellLaw(NamedTuple):
    """What the numbers of events of C cells are drawn from, each (C,).

    Attributes
    ----------
    size : array
        Rows.
    flipped : array
        Whether rows without the event are drawn, which are fewer.
    large, whole : array
        Whether it is drawn as a normal number, and whether that is rounded.
    start : array
        Where inversion starts: the mean, rounded down.
    below, at : array
        The binomial probability of up to `start`, and of `start`.
    odds : array
        Of a row.
    mean, sd : array
        Of the normal number.
    first, second, third : array
        Its coefficients of z^2 - 1, z^3 - 3 z and 2 z^3 - 5 z.
    """

    size: Floats
    flipped: Flags
    large: Flags
    whole: Flags
    start: Floats
    below: Floats
    at: Floats
    odds: Floats
    mean: Floats
    sd: Floats
    first: Floats
    second: Floats
    third: Floats


def cell_law(
    size: Ints,
    expected: Floats,
    variance: Floats,
    large: float = LARGE,
    *,
    cumulants: tuple[Floats, Floats] | None = None,
) -> CellLaw:
    r"""Prepare the redrawing of the numbers of events of C cells.

    Parameters
    ----------
    size : (C,) array
        Rows of each cell, at least one.
    expected, variance : (C,) array
        Mean and variance of its number of events: sums of p and of p (1 - p).
    large : float
        Variance from which on the quantile of Cornish and Fisher takes the place of inversion,

        .. math:: z + \frac{g (z^2 - 1)}{6} + \frac{k (z^3 - 3 z)}{24}
            - \frac{g^2 (2 z^3 - 5 z)}{36},

        with skewness g and excess kurtosis k.
    cumulants : tuple of (C,) array, optional
        Skewness and excess kurtosis of what takes the place of a number of events, which is normal
        and not rounded; NaN where they are those of equal probabilities.
    """
    n = size.astype(np.float64)
    flipped = expected > 0.5 * n
    mean = np.where(flipped, n - expected, expected)
    p = np.clip(mean / n, 0.0, 0.5)
    start = np.floor(mean)
    is_whole = np.ones(n.size, np.bool_) if cumulants is None else np.isnan(cumulants[0])
    is_large = (variance > large) | ~is_whole
    below, at = np.ones(n.size), np.ones(n.size)
    some = start[~is_large], size[~is_large], p[~is_large]
    below[~is_large] = scipy.special.bdtr(*some)
    before = scipy.special.bdtr(np.maximum(some[0] - 1.0, 0.0), *some[1:])
    at[~is_large] = below[~is_large] - np.where(some[0] > 0.0, before, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        skewness = (1.0 - 2.0 * p) / np.sqrt(variance)
        kurtosis = (1.0 - 6.0 * p * (1.0 - p)) / variance
    if cumulants is not None:
        own = np.where(flipped, -cumulants[0], cumulants[0])
        skewness = np.where(np.isnan(own), skewness, own)
        kurtosis = np.where(np.isnan(own), kurtosis, cumulants[1])
    return CellLaw(
        size=n,
        flipped=flipped,
        large=is_large,
        whole=is_whole,
        start=start,
        below=below,
        at=at,
        odds=p / (1.0 - p),
        mean=mean,
        sd=np.sqrt(np.where(is_large, variance - ROUNDING * is_whole, 0.0)),
        first=np.where(is_large, skewness, 0.0) / 6.0,
        second=np.where(is_large, kurtosis, 0.0) / 24.0,
        third=np.where(is_large, np.square(skewness), 0.0) / 36.0,
    )


def binomial_distance(size: Ints, expected: Floats, variance: Floats) -> Floats:
    r"""Bound the total variation distance of each number of events from a binomial one.

    With :math:`\bar p` the mean of the n probabilities and :math:`\bar q = 1 - \bar p`,

    .. math:: \frac{1 - \bar p^{n + 1} - \bar q^{n + 1}}{(n + 1) \bar p \bar q}
        \sum_i (p_i - \bar p)^2.

    References
    ----------
    Ehm (1991), Binomial approximation to the Poisson binomial distribution, Statistics &
    Probability Letters 11, theorem 1.
    """
    n = size.astype(np.float64)
    p = np.clip(expected / n, 0.0, 1.0)
    pooled = n * p * (1.0 - p)
    spread = np.maximum(pooled - variance, 0.0)
    spread[spread <= 1e-12 * pooled] = 0.0  # rounding
    either = 1.0 - p ** (n + 1.0) - (1.0 - p) ** (n + 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = either * spread * n / ((n + 1.0) * pooled)
    return np.where(spread > 0, np.minimum(bound, 1.0), 0.0)


def draw_counts(law: CellLaw, cells: Hashes, keys: Hashes) -> Floats:
    """Draw numbers of events (B, C), one row for each key."""
    out = np.empty((keys.size, cells.size))
    _draw(law, cells, keys, None, out)
    return out


def draw_weights(
    law: CellLaw, cells: Hashes, keys: Hashes, weighing: tuple[AnyArray, ...], size: int
) -> Floats:
    """Draw sums of the weights of events (B, size), one row for each key.

    `weighing` are arrays (C,): where the weight of a number x is added, c, f, m and s of
    c + f (x - m) within [0, s]; it is 0 for no event, and s for all rows.
    """
    out = np.zeros((keys.size, size))
    _draw(law, cells, keys, weighing, out)
    return out


@njit()
def _draw(  # noqa: C901, PLR0912 - calls instead of loops take twice as long
    law: CellLaw, cells: Hashes, keys: Hashes, weighing: tuple[AnyArray, ...] | None, out: Floats
) -> None:
    table, uniform, count = np.empty(WIDEST), np.empty(keys.size), np.empty(keys.size)
    drawn, bits = np.empty((keys.size, AT_A_TIME)), np.empty((2, keys.size), np.uint16)
    for first in range(0, cells.size, AT_A_TIME):
        width = min(AT_A_TIME, cells.size - first)
        for i in range(width):
            c = first + i
            for b in range(keys.size):
                uniform[b] = (np.float64(hashed(keys[b] + cells[c])) + 0.5) * STEP
            if law.large[c]:
                _normal(uniform, law, c, count)
            else:
                _binomial(uniform, law, c, table, bits, count)
            if law.flipped[c]:
                for b in range(keys.size):
                    count[b] = law.size[c] - count[b]
            if weighing is not None:
                centre, factor = weighing[1][c], weighing[2][c]
                mean, most = weighing[3][c], weighing[4][c]
                for b in range(keys.size):
                    x = count[b]
                    own = min(max(centre + factor * (x - mean), 0.0), most)
                    count[b] = 0.0 if x <= 0.0 else own if x < law.size[c] else most
            for b in range(keys.size):
                drawn[b, i] = count[b]
        for b in range(keys.size):
            for i in range(width):
                if weighing is None:
                    out[b, first + i] = drawn[b, i]
                else:
                    out[b, weighing[0][first + i]] += drawn[b, i]


@njit()
def _normal(uniform: Floats, law: CellLaw, c: int, count: Floats) -> None:
    n, mean, sd = law.size[c], law.mean[c], law.sd[c]
    skew, peak, square = law.first[c], law.second[c], law.third[c]
    for b in range(uniform.size):
        count[b] = central_quantile(uniform[b])
    for b in range(uniform.size):
        if abs(uniform[b] - 0.5) > CENTRAL:
            count[b] = normal_quantile(uniform[b])
    for b in range(uniform.size):
        x = mean + sd * corrected(count[b], skew, peak, square)
        count[b] = min(max(math.floor(x + 0.5) if law.whole[c] else x, 0.0), n)


@njit(inline="always")
def corrected(z: float, skew: float, peak: float, square: float) -> float:
    """Return the quantile of Cornish and Fisher for a normal one; see `CellLaw`."""
    x = z + skew * (z * z - 1.0)
    return x + z * (peak * (z * z - 3.0) - square * (2.0 * z * z - 5.0))


@njit(forceinline=True)
def _binomial(
    uniform: Floats, law: CellLaw, c: int, table: Floats, bits: AnyArray, count: Floats
) -> None:
    n, start, below, at, odds = law.size[c], law.start[c], law.below[c], law.at[c], law.odds[c]
    lowest, highest = -1.0, -1.0
    if uniform.size >= TABULATED_FROM:
        entries, least = _tabulate(n, start, below, at, odds, table)
        count[:] = least
        if entries < MANY:
            for j in range(entries):
                entry = table[j]
                for b in range(uniform.size):
                    count[b] += np.float64(uniform[b] > entry)
        else:
            _add_below(uniform, table[:entries], bits, count)
        # Beyond an end of the table that is not 0 or n, the sums go on.
        lowest = least if least > 0.0 else -1.0
        highest = least + entries if least + entries < n else n + 1.0
    else:
        count[:] = lowest
    for b in range(uniform.size):
        if count[b] == lowest or count[b] == highest:
            count[b] = _inverted(uniform[b], n, start, below, at, odds)


@njit()
def _add_below(uniform: Floats, table: Floats, bits: AnyArray, count: Floats) -> None:
    """Add how many entries of a table are below each number.

    First by their first bits, of which a vector of the processor holds many, then exactly.
    """
    for b in range(uniform.size):
        bits[0, b] = np.uint16(np.int32(uniform[b] * FIRST))
        bits[1, b] = 0
    for entry in table:
        bound = np.uint16(np.int32(min(max(entry, 0.0) * FIRST, FIRST - 1.0)))
        for b in range(uniform.size):
            bits[1, b] += np.uint16(bits[0, b] > bound)
    for b in range(uniform.size):
        k = np.int64(bits[1, b])
        while k < table.size and uniform[b] > table[k]:
            k += 1
        count[b] += k


@njit()
def _tabulate(
    n: float, start: float, below: float, at: float, odds: float, table: Floats
) -> tuple[int, float]:
    """Tabulate the distribution function of a count near its mean, by the sums of `_inverted`.

    Returns
    -------
    entries : int
        How many are in the table, in ascending order.
    least : float
        The count of the first.
    """
    middle = table.size // 2
    table[middle] = below
    first = last = middle
    k, sums, term = start, below, at
    while k > 0.0 and term > RARE and first > 0:
        sums -= term
        term *= k / ((n - k + 1.0) * odds)
        k -= 1.0
        first -= 1
        table[first] = sums
    least = k
    k, sums, term = start, below, at
    while k < n and last + 1 < table.size:
        term *= (n - k) / (k + 1.0) * odds
        if term <= RARE:
            break
        k += 1.0
        sums += term
        last += 1
        table[last] = sums
    entries = last - first + 1
    for j in range(entries):
        table[j] = table[first + j]
    return entries, least


@njit()
def _inverted(u: float, n: float, k: float, below: float, at: float, odds: float) -> float:
    """Return the least count whose binomial distribution function reaches u, from k on.

    `below` and `at` are the probabilities of up to k, and of k.
    """
    if u > below:
        while u > below and k < n:
            at *= (n - k) / (k + 1.0) * odds
            k += 1.0
            if at <= 0.0:
                break
            below += at
        return k
    while k > 0.0 and u <= below - at:
        below -= at
        at *= k / ((n - k + 1.0) * odds)
        k -= 1.0
    return k


CENTRAL = 0.425
# Of AS 241: coefficients of numerator and denominator, highest powers first.
CENTRE = (
    (2509.0809287301226727, 5226.495278852545925),
    (33430.575583588128105, 28729.085735721942674),
    (67265.770927008700853, 39307.89580009271061),
    (45921.953931549871457, 21213.794301586595867),
    (13731.693765509461125, 5394.1960214247511077),
    (1971.5909503065514427, 687.1870074920579083),
    (133.14166789178437745, 42.313330701600911252),
    (3.387132872796366608, 1.0),
)
TAIL = (
    (7.7454501427834140764e-4, 1.05075007164441684324e-9),
    (0.0227238449892691845833, 5.475938084995344946e-4),
    (0.24178072517745061177, 0.0151986665636164571966),
    (1.27045825245236838258, 0.14810397642748007459),
    (3.64784832476320460504, 0.68976733498510000455),
    (5.7694972214606914055, 1.6763848301838038494),
    (4.6303378461565452959, 2.05319162663775882187),
    (1.42343711074968357734, 1.0),
)
FAR_TAIL = (
    (2.01033439929228813265e-7, 2.04426310338993978564e-15),
    (2.71155556874348757815e-5, 1.4215117583164458887e-7),
    (0.0012426609473880784386, 1.8463183175100546818e-5),
    (0.026532189526576123093, 7.868691311456132591e-4),
    (0.29656057182850489123, 0.0148753612908506148525),
    (1.7848265399172913358, 0.13692988092273580531),
    (5.4637849111641143699, 0.59983220655588793769),
    (6.6579046435011037772, 1.0),
)


@njit()
def normal_quantile(u: float) -> float:
    """Return the quantile of the normal distribution, to 16 digits (Wichura 1988, AS 241)."""
    q = u - 0.5
    if abs(q) <= CENTRAL:
        return central_quantile(u)
    r = math.sqrt(-math.log(u if q < 0.0 else 1.0 - u))
    found = _ratio(TAIL, r - 1.6) if r <= 5.0 else _ratio(FAR_TAIL, r - 5.0)
    return -found if q < 0.0 else found


@njit(inline="always")
def central_quantile(u: float) -> float:
    """Return the quantile where u is within `CENTRAL` of a half."""
    q = u - 0.5
    return q * _ratio(CENTRE, 0.180625 - q * q)


@njit(inline="always")
def _ratio(coefficients: tuple[tuple[float, float], ...], r: float) -> float:
    """Return the ratio of two polynomials, by Horner's rule."""
    above = under = 0.0
    for upper, lower in coefficients:
        above, under = above * r + upper, under * r + lower
    return above / under
