"""Distribution-free upper bounds on the p-value, for the SKCE and its square roots."""

from __future__ import annotations

from caltest.measures.base import Measure
from caltest.measures.outcome import Outcome
from caltest.nulls.base import Null, check_applicable, check_unweighted
from caltest.predictions import Predictions


def distribution_free_test(
    measure: Measure,
    predictions: Predictions,
    *,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Outcome:
    r"""Upper bound on the p-value of an SKCE estimate, or of a root of one, by an inequality.

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
    outcome = measure.concentration_bound(predictions, n_jobs)
    check_unweighted(predictions, "distribution-free")
    return outcome


NULL = Null(
    "distribution-free",
    "concentration inequality for the SKCE and its roots; valid at every n, very conservative",
    distribution_free_test,
    resamples=False,
)
