"""Distribution-free upper bounds of the p-value, for the SKCE and its square roots."""

from __future__ import annotations

import math

from caltest.errors import NotApplicable
from caltest.measures.kernel.kce import RootSKCE
from caltest.measures.kernel.skce import SKCE
from caltest.nulls.base import Judgement, Null, check_applicable, check_unweighted, positive
from caltest.predictions import Predictions


def judge(
    measure: SKCE | RootSKCE,
    predictions: Predictions,
    *,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Judgement:
    r"""Bound the p-value of an SKCE estimate, or of a root of one, by a concentration inequality.

    With :math:`B = 2^{1 + 1/p - 1/q} K_{p;q} \ge |h_{ij}|`, the smallest that can be computed
    exactly, and t the estimate (0 where it is negative):

    - biased: :math:`\exp(-\max(0, \sqrt{n t / B} - 1)^2 / 2)`;
    - unbiased: :math:`\exp(-\lfloor n/2 \rfloor t^2 / (2 B^2))`;
    - blocks of b: :math:`\lfloor n/b \rfloor \lfloor b/2 \rfloor` in place of
      :math:`\lfloor n/2 \rfloor`;
    - KCE and MMCE: t is their square, the biased SKCE of their kernel.

    Valid at every n, for every model, and very conservative.

    References
    ----------
    Widmann et al. (2019), lemma 2.
    """
    check_applicable(measure, "distribution-free")
    bound = measure.bind(predictions, n_jobs)
    check_unweighted(predictions, "distribution-free")
    estimate = bound.value(n_jobs)
    b = measure.error_bound(predictions.m)
    return Judgement(
        statistic_name=measure.symbol,
        statistic=estimate,
        pvalue=positive(_pvalue(measure, predictions, estimate, b)),
        estimate=estimate,
        law=f"concentration bound with |h| <= {b:.4g}",
        parameters=bound.parameters,
        notes=(*bound.notes, "the p-value is an upper bound that holds for every model"),
        degenerate=bound.degenerate,
    )


def _pvalue(measure: SKCE | RootSKCE, predictions: Predictions, value: float, b: float) -> float:
    n = predictions.n
    t = value**2 if isinstance(measure, RootSKCE) else max(value, 0.0)
    if b == 0:
        raise NotApplicable("the kernel is zero, so there is nothing to bound; use another kernel")
    if isinstance(measure, RootSKCE) or measure.estimator == "biased":
        if not measure.matrix_kernel.is_psd(predictions.m):
            raise NotApplicable(
                "the bound of the biased estimator needs a positive semi-definite kernel, which "
                f"{measure.matrix_kernel} need not be for m = {predictions.m}; use null='exact'"
            )
        return math.exp(-(max(0.0, math.sqrt(n * t / b) - 1.0) ** 2) / 2.0)
    size = n if measure.estimator == "unbiased" else measure.size
    return math.exp(-(n // size) * (size // 2) * t**2 / (2.0 * b**2))


NULL = Null(
    "distribution-free",
    "concentration bound for the SKCE and its roots; valid at every n, very conservative",
    judge,
    resamples=False,
)
