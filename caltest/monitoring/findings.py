"""Confidence sequences, and what a stream says besides its e-value."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from caltest.errors import NotApplicable, invalid, shown
from caltest.measures.gap import Gap
from caltest.monitoring import sheets
from caltest.monitoring.stream import SLOPES, Stream
from caltest.types import Floats

BEST_AT = 100.0  # sum of squared residuals at which the interval is narrowest


ROOT = 1e-9


def mean_half_width(squares: float, rows: float, level: float) -> float:
    r"""Return the half width of the confidence sequence of a mean residual.

    The residuals :math:`p_t - y_t` have a range of 1 given :math:`p_t`. The sum of their deviations
    from their conditional means, which may change from row to row, stays within u(V) at all times,
    with V the sum of the squared residuals less a prediction of them: u is the gamma-exponential
    mixture boundary of Howard et al. (2021), proposition 9 with theorem 4, for `level` / 2 on each
    side.

    Parameters
    ----------
    squares, rows : float
        V and the number of rows.
    level : float
        Of the error, such as 0.05.

    Returns
    -------
    float
        Infinite without rows.

    References
    ----------
    Howard, Ramdas, McAuliffe, Sekhon (2021), Time-uniform, nonparametric, nonasymptotic confidence
    sequences, Annals of Statistics 49.
    """
    from scipy.optimize import brentq

    if rows <= 0:
        return math.inf
    target = math.log(2.0) - math.log(level)

    def excess(s: float) -> float:
        return float(log_mixture(s, squares, level)) - target

    top = 1.0
    while excess(top) < 0:
        top *= 2.0
    return float(brentq(excess, 0.0, top, xtol=ROOT * top)) / rows


def log_mixture(sums: ArrayLike, squares: ArrayLike, level: float) -> Floats:
    r"""Return the logarithm of the e-process of a sum of deviations from their means.

    The mixture of :math:`\exp(\lambda s - \psi(\lambda) v)` over :math:`\lambda` in [0, 1), with
    :math:`\psi(\lambda) = -\log(1 - \lambda) - \lambda`. The confidence sequence of a mean misses
    the truth at a time exactly where that of the sum, or of its negative, is above 2 / level.

    Parameters
    ----------
    sums, squares : array_like
        Sum of the deviations so far, and V as for `mean_half_width`; they broadcast.
    level : float
        Of both sides together, for which the mixture is made.

    Returns
    -------
    array
        It increases with the sum.
    """
    from scipy.special import gammainc, gammaln

    target = math.log(2.0) - math.log(level)
    rho = BEST_AT / (2.0 * target + math.log1p(2.0 * target))
    s, v = np.asarray(sums, dtype=np.float64), np.asarray(squares, dtype=np.float64)
    a, x = v + rho, s + v + rho
    scale = rho * math.log(rho) - gammaln(rho) - math.log(gammainc(rho, rho))
    inner = np.log(np.maximum(gammainc(a, x), 1e-300))
    return np.asarray(scale + gammaln(a) + inner - a * np.log(x) + s + v)


def exponents_left(
    exponents: Floats, log_wealth: Floats, log_numerator: float, level: float
) -> tuple[float, float] | None:
    r"""Return the ends of the confidence sequence of an exponent b, labels drawn from p^b.

    Divided by the likelihood of b, an e-process against b = 1 is one against b, so that those stay
    whose wealth is above that of the alternative less log(1 / level). Between two of the grid the
    log likelihood, which is concave, is below the lines through their neighbours.

    Parameters
    ----------
    exponents : (G,) array
        The grid, ascending; 1 need not be in it.
    log_wealth : (G,) array
        Log likelihood ratio of each against 1.
    log_numerator : float
        Logarithm of the e-value of an alternative that is not known before.
    level : float
        Of the error.

    Returns
    -------
    (float, float) or None
        The ends, 0 and infinity where the grid does not bound them; None where none is left.
    """
    order = np.argsort(np.append(exponents, 1.0))
    b, value = np.append(exponents, 1.0)[order], np.append(log_wealth, 0.0)[order]
    bound = log_numerator + math.log(level)
    ends = [
        place
        for i in range(-1, b.size)
        for place in _part_above(_lines(b, value, i), _cell(b, i), bound)
    ]
    return (min(ends), max(ends)) if ends else None


def _cell(b: Floats, i: int) -> tuple[float, float]:
    """Return the ends of the i-th range between the places of the grid."""
    return (float(b[i]) if i >= 0 else 0.0), (float(b[i + 1]) if i + 1 < b.size else math.inf)


def _lines(b: Floats, value: Floats, i: int) -> list[tuple[float, float, float]]:
    """Return place, value and slope of the lines that are above a concave function in a range."""
    pairs = [(i - 1, i)] if i >= 1 else []
    pairs += [(i + 2, i + 1)] if i + 2 < b.size else []
    return [
        (float(b[near]), float(value[near]), float((value[far] - value[near]) / (b[far] - b[near])))
        for far, near in pairs
    ]


def _part_above(
    lines: list[tuple[float, float, float]], cell: tuple[float, float], bound: float
) -> tuple[float, ...]:
    """Return the ends of the part of a range in which all lines are above the bound."""
    low, high = cell
    for place, value, slope in lines:
        if slope == 0.0:
            if value < bound:
                return ()
            continue
        reached = place + (bound - value) / slope
        low, high = (max(low, reached), high) if slope > 0 else (low, min(high, reached))
    return (low, high) if low <= high else ()


LEARNED = ("temperature", "recalibration")  # parts that bet on temperatures, among others


def row_of_class(which: object, classes: Sequence[object]) -> int:
    """Return the place of a class among the gaps of a stream; None is the last class."""
    names = list(classes)
    if which is None:
        return 1 if len(names) == 2 else len(names)
    if which not in names:
        raise invalid("which must be a class", shown(which), f"pass one of {names}")
    if len(names) == 2:
        if names.index(which) == 0:
            raise invalid(
                "which must be the second of two classes",
                shown(which),
                f"pass {names[1]!r}: the gap of the other is its negative",
            )
        return 1
    return 1 + names.index(which)


def gap_of(stream: Stream, row: int, level: float, classes: Sequence[object]) -> Gap:
    """Return mean prediction and share, with the confidence sequence of their gap.

    Row 0 is the predicted class being right; see `row_of_class` for the others.
    """
    rows, chance, happened, variance, squares = stream.state["gaps"][row].tolist()
    half = mean_half_width(squares, rows, level)
    predicted, observed = chance / rows, happened / rows
    gap = observed - predicted
    name = str(classes[1] if len(classes) == 2 else classes[row - 1]) if row else "right"
    return Gap(
        kind="event" if row else "confidence",
        name=name,
        n=int(rows),
        predicted=predicted,
        observed=observed,
        low=max(gap - half, -predicted),
        high=min(gap + half, 1.0 - predicted),
        deviation=math.sqrt(variance) / rows,
    )


def temperatures_of(stream: Stream, level: float) -> tuple[float, float]:
    """Return the ends of the confidence sequence of the temperature."""
    logs = dict(zip(stream.bets.parts, stream.log_parts.tolist(), strict=True))
    learned = [logs[part] for part in LEARNED if part in logs]
    numerator = float(np.logaddexp.reduce(learned)) - math.log(len(learned))
    left = exponents_left(SLOPES, stream.log_wealth[: SLOPES.size], numerator, level)
    if left is None:
        raise NotApplicable("no temperature fits the outcomes", "see verdict() for what is wrong")
    low, high = left
    return (1.0 / high if high > 0 else math.inf), (1.0 / low if low > 0 else math.inf)


def findings_of(
    stream: Stream, level: float, classes: Sequence[object]
) -> list[tuple[str, float, int, str]]:
    """Return the parts whose e-value is 1 / level: name, log e-value, since row, in words."""
    found = [
        (part, value, int(stream.state["low_row"][j]), _in_words(stream, part, classes))
        for j, (part, value) in enumerate(
            zip(stream.bets.parts, stream.log_parts.tolist(), strict=True)
        )
        if value >= -math.log(level)
    ]
    return sorted(found, key=lambda one: -one[1])


def _in_words(stream: Stream, part: str, classes: Sequence[object]) -> str:
    """Say what the bets of a part have won with."""
    bets, place = stream.bets, stream.bets.parts.index(part)
    start = int(np.sum(bets.sizes[:place]))
    own = stream.log_wealth[start : start + int(bets.sizes[place])]
    if part == "temperature":
        share = np.exp(own - np.logaddexp.reduce(own))
        return sheets.temperature_in_words(1.0 / float(np.exp(share @ np.log(SLOPES))))
    if part == "class-frequencies":
        best = int(np.argmax(own))
        name = str(classes[int(bets.offset_class[best])])
        return sheets.offset_in_words(name, float(bets.offset[best]))
    if part == "recalibration":
        return sheets.recalibration_in_words(stream.state["theta"], classes)
    return sheets.shape_in_words(part)
