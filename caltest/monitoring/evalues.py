"""E-values of tests, and what the bets of a monitor found."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from caltest.checks import as_numbers, check_choice, check_weights, suspect_index
from caltest.errors import NotApplicable, invalid, shown
from caltest.measures.gap import Gap
from caltest.monitoring import numbers
from caltest.monitoring.stream import SLOPES, Stream
from caltest.types import Floats, Ints

EValues = ArrayLike | Sequence[object]

SCORES = ("brier", "log")
LARGE = 1e290  # the sum of larger ones may be infinite
TOWARDS_SECOND = 0.75  # Henzi and Ziegel (2022), section 5


def combine_evalues(
    evalues: EValues, *, method: str = "mean", weights: ArrayLike | None = None
) -> float:
    """Combine e-values into one.

    Parameters
    ----------
    evalues : (K,) array_like, or sequence of results
        Numbers that are not negative, infinite where a hypothesis is impossible; or what has an
        `evalue`: results of the tests "e-likelihood-ratio" and "e-hosmer-lemeshow", and monitors.
    method : {"mean", "product"}
        The mean holds however the e-values depend on each other; the product is for independent
        data, or for data of which each follows the others, as days do.
    weights : (K,) array_like, optional
        Of the mean, fixed before the data are seen; by default equal.

    Returns
    -------
    float
        An e-value: min(1, 1 / e) is a p-value.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule; the message names it, its value and the remedy.

    References
    ----------
    Vovk, Wang (2021), E-values: calibration, combination and applications, Annals of Statistics 49.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.combine_evalues([4.0, 0.5, 1.5]), ct.combine_evalues([4.0, 0.5, 1.5], method="product")
    (2.0, 3.0)
    >>> days = [ct.datasets.generative_model("M2", n=50, rng=day) for day in (1, 2)]
    >>> tests = [ct.test_calibration(day, test="e-likelihood-ratio") for day in days]
    >>> ct.combine_evalues(tests, method="product") == tests[0].evalue * tests[1].evalue
    True
    """
    values = _check_evalues(evalues)
    check_choice(method, ("mean", "product"), "method")
    if method == "product":
        if weights is not None:
            raise invalid("a product has no weights", shown(weights), "leave them out")
        if 0.0 in values:  # also 0 times infinity: no evidence
            return 0.0
        # Apart, as a product of some may be too large or small for a float.
        mantissa, exponent = 1.0, 0
        for value in values.tolist():
            mantissa, more = math.frexp(mantissa * value)
            exponent += more
        with np.errstate(over="ignore", under="ignore"):
            return float(np.ldexp(mantissa, min(max(exponent, -5000), 5000)))
    share = (
        np.ones(values.size) if weights is None else check_weights(weights, values.size, "weights")
    )
    share = np.ldexp(share, -math.frexp(share.max())[1])
    kept, step = share > 0, _too_much(values)  # 0 times infinity is 0
    mean = np.average(np.ldexp(values[kept], -step), weights=share[kept])
    return float(np.ldexp(mean, step))


def adjust_evalues(evalues: EValues) -> Floats:
    """Adjust e-values of several hypotheses for their number, by closed testing with means.

    Parameters
    ----------
    evalues : (K,) array_like, or sequence of results
        E-values, which may depend on each other, as for `combine_evalues`.

    Returns
    -------
    (K,) array
        For each hypothesis the least mean of its e-value and some of the others: at most 1 / level
        of true ones exceed it with a probability of at most the level, for all together.

    Raises
    ------
    InvalidInput
        If there are none, or one is negative or not a number.

    References
    ----------
    Vovk, Wang (2021), E-values: calibration, combination and applications, algorithm 1.

    Examples
    --------
    >>> from caltest.monitoring import adjust_evalues
    >>> adjust_evalues([30.0, 0.5, 0.2])
    array([10.23333333,  0.35      ,  0.2       ])
    """
    values = _check_evalues(evalues)
    step = _too_much(values)
    return np.asarray(np.ldexp(_closed(np.ldexp(values, -step), np.add, np.divide), step))


def adjust_log_evalues(logs: Floats) -> Floats:
    """Adjust e-values as `adjust_evalues`, by their logarithms, which may be too large for them."""
    return _closed(logs, np.logaddexp, lambda total, count: total - np.log(count))


def _too_much(values: Floats) -> int:
    """Return by how many doublings the sum may be too large for a float."""
    return values.size.bit_length() if values.max() > LARGE else 0


def _closed(values: Floats, plus: np.ufunc, mean: Callable[[Floats, Ints], Floats]) -> Floats:
    """Return for each value the least mean of it and the least others, however they are added."""
    adjusted = np.empty(values.size)
    order = np.argsort(values, kind="stable")
    sums = np.concatenate([[plus.identity], plus.accumulate(values[order])])
    for rank, i in enumerate(order):
        adjusted[i] = mean(plus(values[i], sums[: rank + 1]), np.arange(1, rank + 2)).min()
    return adjusted


def comparison_evalues(
    first: ArrayLike,
    second: ArrayLike,
    happened: ArrayLike,
    *,
    alternative: ArrayLike | None = None,
    score: str = "brier",
) -> Floats:
    """Return e-values against the hypothesis that the first forecast has no larger score.

    Row by row, the e-value is the likelihood ratio of the alternative against the probability at
    which both forecasts have the same expected score; 1 where that would speak for the first.
    Products over rows, of forecasts made after the outcomes before them, are e-processes.

    Parameters
    ----------
    first, second : (n,) array_like
        Probabilities of an event.
    happened : (n,) array_like
        Whether it happened, 0 or 1.
    alternative : (n,) array_like, optional
        Probabilities that are bet on; by default a quarter of the first and three quarters of the
        second forecast.
    score : {"brier", "log"}
        Which score, the less the better.

    Returns
    -------
    (n,) array
        E-values, each with an expectation of at most 1 if the first forecast is as good.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Henzi, Ziegel (2022), Valid sequential inference on probability forecast performance,
    Biometrika 109, section 3.

    Examples
    --------
    >>> from caltest.monitoring import comparison_evalues
    >>> comparison_evalues([0.5], [0.776420702298459], [1])
    array([1.10827962])
    """
    check_choice(score, SCORES, "score")
    p, q, y = _same_rows(first=first, second=second, happened=happened)
    if not np.isin(y, (0.0, 1.0)).all():
        raise invalid("happened must be 0 or 1", shown(happened), "pass 1 where it happened")
    if alternative is None:
        bet = (1.0 - TOWARDS_SECOND) * p + TOWARDS_SECOND * q
    else:
        bet = _same_rows(first=first, alternative=alternative)[1]
    even = 0.5 * (p + q) if score == "brier" else _even_log_score(p, q)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(y == 1.0, bet / even, (1.0 - bet) / (1.0 - even))
    speaks = np.where(q > p, bet > even, bet < even) & (p != q)
    return np.where(speaks, ratio, 1.0)


def _even_log_score(p: Floats, q: Floats) -> Floats:
    """The probability of the event at which p and q have the same expected log score."""
    with np.errstate(divide="ignore", invalid="ignore"):
        lost, won = np.log1p(-p) - np.log1p(-q), np.log(q) - np.log(p)
        even = lost / (lost + won)
    # Of a certain forecast the limit: q, whose score is finite only where p has none larger, or p.
    certain = np.where((q == 0.0) | (q == 1.0), q, p)
    even = np.where(np.isfinite(even), even, certain)
    return np.clip(even, np.minimum(p, q), np.maximum(p, q))  # rounding may leave what is between


def _same_rows(**columns: ArrayLike) -> list[Floats]:
    suspect_index(**columns)
    arrays: list[Floats] = []
    for name, values in columns.items():
        array = as_numbers(values, name)
        if array.ndim != 1 or (arrays and array.size != arrays[0].size):
            rule = f"{name} must be one number for each row"
            raise invalid(rule, f"shape {array.shape}", "pass columns of the same length")
        odd = array[~((array >= 0) & (array <= 1))]
        if odd.size:
            raise invalid(f"{name} must be in [0, 1]", shown(odd[0]), "pass probabilities")
        arrays.append(array)
    return arrays


def _check_evalues(evalues: EValues) -> Floats:
    given: Any = evalues
    if isinstance(evalues, Iterable) and not isinstance(evalues, str | np.ndarray):
        given = []
        for one in evalues:
            if getattr(one, "restart", False):
                reason = "the sum of a monitor with restart=True is no e-value: its mean grows"
                raise NotApplicable(reason, "use monitors without it")
            given.append(getattr(one, "evalue", one))
            if given[-1] is None and one is not None:
                rule, test = "results must have an e-value", getattr(one, "test", one)
                remedy = "use test='e-likelihood-ratio' or test='e-hosmer-lemeshow'"
                raise invalid(rule, f"a result of the test {test!r}", remedy)
    values = np.atleast_1d(np.asarray(as_numbers(given, "evalues"), dtype=np.float64))
    if values.ndim != 1 or values.size == 0 or not (values >= 0).all():
        raise invalid("evalues must be numbers that are not negative", shown(evalues), "pass some")
    return values


# ---- Confidence sequences, and what a stream says besides its e-value ---------------------------

BEST_AT = 100.0  # sum of squared residuals at which the interval is narrowest


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
    return float(brentq(excess, 0.0, top, xtol=1e-9 * top)) / rows


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
    ends: list[float] = []
    # the part of each range in which the lines are above the bound
    for i, range_ in enumerate(pairwise([0.0, *b.tolist(), math.inf]), start=-1):
        low, high = range_
        for far, near in ((i - 1, i), (i + 2, i + 1)):
            if not 0 <= far < b.size:
                continue
            place, height = float(b[near]), float(value[near])
            slope = float((value[far] - value[near]) / (b[far] - b[near]))
            if slope > 0:
                low = max(low, place + (bound - height) / slope)
            elif slope < 0:
                high = min(high, place + (bound - height) / slope)
            elif height < bound:
                high = -math.inf
        if low <= high:
            ends += [low, high]
    return (min(ends), max(ends)) if ends else None


LEARNED = ("temperature", "recalibration")  # parts that bet on temperatures, among others
SHAPES = {
    "isotonic": "an increasing function of the confidence is nearer to the outcomes",
    "kernel": "rows of similar predictions are off in the same direction",
}


def row_of_class(which: object, classes: Sequence[object]) -> int:
    """Return the place of a class among the gaps of a stream; None is the last class."""
    names = list(classes)
    if which is not None and which not in names:
        raise invalid("which must be a class", shown(which), f"pass one of {names}")
    place = len(names) - 1 if which is None else names.index(which)
    if len(names) > 2:
        return 1 + place
    if place == 0:
        remedy = f"pass {names[1]!r}: the gap of the other is its negative"
        raise invalid("which must be the second of two classes", shown(which), remedy)
    return 1


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
        kind=("event" if row else "confidence") if classes else "interval",
        name=name if classes else f"{100 * numbers.LEVEL:g} %",
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


def in_words(stream: Stream, part: str, classes: Sequence[object]) -> str:
    """Say what the bets of a part have won with."""
    own = stream.won(part)
    if not classes:
        return numbers.in_words(part, own, stream.state["witness"])
    if part == "temperature":
        share = np.exp(own - np.logaddexp.reduce(own))
        temperature = 1.0 / float(np.exp(share @ np.log(SLOPES)))
        side = "too sure" if temperature > 1 else "not sure enough"
        return f"{side}: temperature {temperature:.2f} is nearer to the outcomes"
    if part == "class-frequencies":
        best = int(np.argmax(own))
        name = classes[int(stream.game.offset_class[best])]
        offset = float(stream.game.offset[best])
        word, factor = "rarely" if offset > 0 else "often", f"{math.exp(offset):.2g}"
        return (
            f"class {name} predicted too {word}: its odds times {factor} are nearer to the outcomes"
        )
    if part == "recalibration":
        slope, *offsets = map(float, stream.state["theta"])
        mean = sum(offsets) / len(offsets)
        k = max(range(len(offsets)), key=lambda j: (round(abs(offsets[j] - mean), 12), j))
        shift = offsets[k] - (offsets[0] if len(offsets) == 2 else mean)
        moved = f"slope {slope:.2f} and {shift:+.2f} on the log odds of {classes[k]}"
        return f"{moved} are nearer to the outcomes"
    return SHAPES[part]
