"""The squared error over bins without bias, with its variance; predictions random as well."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caltest.measures.binned import BinnedError
from caltest.measures.tolerance import Deviation, unseen_chance
from caltest.numerics.bin_jackknife import unbiased_bin_errors


def binned_deviation(bound: BinnedError, *, equivalence: bool) -> Deviation:
    r"""Return the unbiased estimate of the squared error over the bins as they are.

    With :math:`\delta = y - p` it is the mean over the bins, weighted by their rows, of

    .. math:: \frac{1}{n_b (n_b - 1)} \sum_{i \ne j \in b} \delta_i' \delta_j.

    The printed estimate takes away the variance of y; this one that of y - p, so that it is without
    bias where predictions vary within a bin. Its jackknife includes the random sizes of the bins. A
    bin of one row tells nothing: it counts 0 against the hypothesis that the error is small, and
    the square of its residual, at least the error on average, against the one that it is large.

    References
    ----------
    Lee, Huang, Hassani, Dobriban (2023), T-Cal, JMLR 24, equation 7 (the estimator); Efron, Stein
    (1981), The jackknife estimate of variance, Ann. Stat. 9.
    """
    predictions = bound.predictions
    delta = -predictions.probs
    delta[np.arange(predictions.n), predictions.labels] += 1.0
    if predictions.m == 2:
        delta = delta[:, 1:]
    delta, single = np.ascontiguousarray(delta[bound.order]), float(equivalence)
    value, without, degenerate, largest = unbiased_bin_errors(delta, bound.start, single)
    n = predictions.n
    return Deviation(
        value=value,
        variance=(n - 1) ** 2 / n * float(without.var(ddof=1)),
        degenerate=degenerate,
        largest=4.0 * largest / n,
    )


def unseen_in_a_bin(rows: NDArray[np.int64], squared: float, m: int) -> float:
    """Return the largest chance that an error of the tolerance in one of the bins is unseen.

    A share s of labels that ignore the predictions has a squared error of s^2 at most, for more
    than two classes 2 s^2; a bin in which that is too little for the tolerance is passed over.
    """
    largest = 1.0 if m == 2 else 2.0
    shares = np.sqrt(squared * rows.sum() / (largest * rows))
    some = zip(shares, rows, strict=True)
    return max((unseen_chance(float(s), int(n)) for s, n in some if s <= 1), default=0.0)
