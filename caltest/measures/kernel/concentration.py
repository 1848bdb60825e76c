"""Concentration inequalities for the SKCE and its roots, Widmann et al. 2019, lemma 2."""

from __future__ import annotations

import math

from caltest.errors import NotApplicable
from caltest.kernels import MatrixKernel, error_bound
from caltest.measures.base import BoundMeasure
from caltest.measures.outcome import Outcome


def biased_outcome(
    symbol: str, bound: BoundMeasure, kernel: MatrixKernel, value: float, squared: float
) -> Outcome:
    """Bound the p-value of the biased SKCE, `squared`; `value` is that, or its root."""
    n, m = bound.predictions.n, bound.predictions.m
    b = _largest(kernel, m)
    if not kernel.is_psd(m):
        raise NotApplicable(
            "the inequality for the biased estimator needs a positive semi-definite kernel, which "
            f"{kernel} need not be for m = {m}",
            "use null='exact'",
        )
    pvalue = math.exp(-(max(0.0, math.sqrt(n * squared / b) - 1.0) ** 2) / 2.0)
    return _outcome(symbol, bound, value, pvalue, b)


def unbiased_outcome(
    symbol: str, bound: BoundMeasure, kernel: MatrixKernel, value: float, size: int
) -> Outcome:
    """Bound the p-value of the mean of unbiased estimates over blocks of `size` rows."""
    n, t = bound.predictions.n, max(value, 0.0)
    b = _largest(kernel, bound.predictions.m)
    pvalue = math.exp(-(n // size) * (size // 2) * t**2 / (2.0 * b**2))
    return _outcome(symbol, bound, value, pvalue, b)


def _largest(kernel: MatrixKernel, m: int) -> float:
    b = error_bound(kernel, m)
    if b == 0:
        raise NotApplicable(
            "the kernel is zero, so that the inequality is empty", "use another kernel"
        )
    return b


def _outcome(symbol: str, bound: BoundMeasure, value: float, pvalue: float, b: float) -> Outcome:
    return Outcome(
        statistic_name=symbol,
        statistic=value,
        pvalue=pvalue,
        estimate=value,
        alternative="greater",
        null_text=f"concentration inequality with |h| <= {b:.4g}",
        parameters=bound.parameters,
        notes=(*bound.notes, "the p-value is an upper bound that holds for every model"),
        degenerate=bound.degenerate,
        is_bound=True,
    )
