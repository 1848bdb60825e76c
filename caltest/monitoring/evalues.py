"""Combining e-values, and e-values of the comparison of two forecasts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from caltest.checks import as_numbers, check_choice, check_weights
from caltest.errors import invalid, shown
from caltest.types import Floats

EValues = ArrayLike | Sequence[object]

SCORES = ("brier", "log")
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
        with np.errstate(invalid="ignore", over="ignore"):
            product = float(np.prod(values))
        return 0.0 if np.isnan(product) else product  # 0 times infinity: no evidence
    share = None if weights is None else check_weights(weights, values.size)
    return float(np.average(values, weights=share))


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
    adjusted = np.empty(values.size)
    order = np.argsort(values, kind="stable")
    for rank, i in enumerate(order):
        sums = values[i] + np.concatenate([[0.0], np.cumsum(values[order[:rank]])])
        adjusted[i] = (sums / np.arange(1, rank + 2)).min()
    return adjusted


def adjust_log_evalues(logs: Floats) -> Floats:
    """Adjust e-values as `adjust_evalues`, by their logarithms, which may be too large for them."""
    adjusted = np.empty(logs.size)
    order = np.argsort(logs, kind="stable")
    sums = np.concatenate([[-np.inf], np.logaddexp.accumulate(logs[order])])
    for rank, i in enumerate(order):
        means = np.logaddexp(logs[i], sums[: rank + 1]) - np.log(np.arange(1, rank + 2))
        adjusted[i] = means.min()
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
    return np.where(np.isfinite(even), even, 0.5 * (p + q))


def _same_rows(**columns: ArrayLike) -> list[Floats]:
    arrays: list[Floats] = []
    for name, values in columns.items():
        array = as_numbers(values, name)
        if array.ndim != 1 or (arrays and array.size != arrays[0].size):
            raise invalid(
                f"{name} must be one number for each row",
                f"shape {array.shape}",
                "pass columns of the same length",
            )
        if not ((array >= 0) & (array <= 1)).all():
            raise invalid(
                f"{name} must be in [0, 1]",
                shown(array[~((array >= 0) & (array <= 1))][0]),
                "pass probabilities",
            )
        arrays.append(array)
    return arrays


def _check_evalues(evalues: EValues) -> Floats:
    given: ArrayLike = evalues  # type: ignore[assignment]
    if isinstance(evalues, Iterable) and not isinstance(evalues, str | np.ndarray):
        given = [_evalue_of(one) for one in evalues]
    values = np.atleast_1d(np.asarray(as_numbers(given, "evalues"), dtype=np.float64))
    if values.ndim != 1 or values.size == 0 or not (values >= 0).all():
        raise invalid("evalues must be numbers that are not negative", shown(evalues), "pass some")
    return values


def _evalue_of(one: object) -> Any:
    """Return the e-value of a result; numbers stay."""
    if not hasattr(one, "evalue"):
        return one
    if one.evalue is None:
        raise invalid(
            "results must have an e-value",
            f"a result of the test {getattr(one, 'test', one)!r}",
            "use test='e-likelihood-ratio' or test='e-hosmer-lemeshow'",
        )
    return one.evalue
