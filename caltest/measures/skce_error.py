"""Standard errors of the unbiased SKCE, labels and predictions random.

`jackknife_error(pairs: AllPairs, n_jobs=None) -> (estimate, standard error)`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.measures.kernel_blocks import BlockPairs
from caltest.measures.kernel_pairs import AllPairs

ALL_PAIRS_UP_TO = 300
PAIRS = 50_000


def jackknife_error(pairs: AllPairs, n_jobs: int | None = None) -> tuple[float, float]:
    r"""Return the unbiased SKCE and its jackknife standard error, predictions random as well.

    With :math:`g_i = \frac{1}{n-1} \sum_{j \ne i} h_{ij}` the estimate is the mean U of the g, and
    the values without one row differ from it by :math:`2 (g_i - U) / (n - 2)`, so that

    .. math:: \widehat{se}^2 = \frac{4 (n - 1)}{n (n - 2)^2} \sum_i (g_i - U)^2.

    Its mean is the variance :math:`4 \zeta_1 / n + 2 \zeta_2 / n^2` of U with the second term about
    doubled: it is too large, not too small, where the model is almost calibrated and the first
    term vanishes. Unweighted rows only; 0 where the row means do not vary.

    References
    ----------
    Arvesen (1969), Jackknifing U-statistics, Ann. Math. Stat. 40; Efron, Stein (1981), The
    jackknife estimate of variance, Ann. Stat. 9, section 4.
    """
    n = pairs.predictions.n
    if n < 3:
        raise NotApplicable(
            f"the jackknife needs at least three observations, and there are {n}; "
            "use the exact null, without tolerance and interval"
        )
    means = pairs.row_sums(n_jobs) / (n - 1)
    estimate = float(means.mean())
    squares = float(np.square(means - estimate).sum())
    return estimate, 2.0 * math.sqrt(squares * (n - 1) / n) / (n - 2)


def second_moment(pairs: AllPairs | BlockPairs) -> float:
    """Return the mean of h_ij^2 over i < j, or over pairs drawn with a fixed seed where n is large.

    It bounds the variance of h, and its root the largest eigenvalue of the covariance of what h is
    the inner product of.
    """
    predictions = pairs.predictions
    delta = -predictions.probs
    delta[np.arange(predictions.n), predictions.labels] += 1.0
    left, right = _some_pairs(predictions.n)
    h = np.zeros(left.size)
    for term in pairs.kernel.terms:
        z = term.project(delta)
        h += term.pairs(left, right) * np.einsum("pk,pk->p", z[left], z[right])
    return float(np.square(h).mean())


def _some_pairs(n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    if n <= ALL_PAIRS_UP_TO:
        return np.triu_indices(n, 1)
    rng = np.random.default_rng(0)
    left = rng.integers(0, n, PAIRS)
    return left, (left + rng.integers(1, n, PAIRS)) % n
