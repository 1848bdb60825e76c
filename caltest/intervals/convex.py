"""Intervals for errors that are norms: ECE, classwise ECE, MCE, KS, Kuiper."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.intervals.base import Bounds, Method
from caltest.intervals.gap_vectors import gaps_of, has_gaps
from caltest.intervals.resampling import check_rows, resample, widest_tail
from caltest.measures import Measure
from caltest.measures.ks_error import KSError
from caltest.measures.kuiper_error import KuiperError
from caltest.predictions import Predictions

Floats = NDArray[np.float64]

BINS = "the interval is for the error in these bins, held fixed; finer bins may have a larger error"


def compute(
    measure: Measure,
    predictions: Predictions,
    *,
    level: float,
    n_resamples: int,
    seed: int,
    n_jobs: int | None,
) -> Bounds:
    r"""Bound a norm of mean gaps by what the gaps of resampled rows differ from those observed.

    The plug-in error :math:`\lVert \hat G \rVert` is too large on average, a resampled one more
    so: percentile and BCa intervals miss the error almost always where it is small. With
    resampled gaps G*, mean :math:`\mu` and quantiles q over the resamples and
    :math:`a = (1 - level) / 2`, the ends are

    .. math:: \max\big(0, \lVert \hat G \rVert - q_{1-a}(\lVert G^* - \hat G \rVert)\big), \quad
        \lVert \hat G \rVert + \max(\mu - q_a, q_{1-a} - \mu)(\lVert G^* \rVert):

    by the triangle inequality below, and above by Jensen's, for the norm of a mean is at most the
    mean of the norm. Neither needs the norm to be differentiable, as the bootstrap of a supremum
    does, nor the error to be positive; the price is that the interval is conservative.

    References
    ----------
    Fang, Santos (2019), Inference on directionally differentiable functions, Rev. Econ. Stud. 86:
    the bootstrap of norms fails at 0 and where the largest gap is not unique.
    """
    check_rows(predictions)
    gaps = gaps_of(measure, predictions)
    observed = gaps.vector(np.arange(gaps.n, dtype=np.int32))
    estimate = gaps.norm(observed)

    def evaluate(rows: NDArray[np.int32]) -> Floats:
        drawn = gaps.vector(rows)
        return np.array([gaps.norm(drawn), gaps.norm(drawn - observed)])

    values, deviations = resample(
        evaluate, gaps.n, n_resamples=n_resamples, seed=seed, n_jobs=n_jobs
    ).T
    if not deviations.any():
        raise NotApplicable(
            "the interval needs gaps that vary between rows, and these do not; report the p-value "
            "alone"
        )
    a = (1.0 - level) / 2.0
    low = max(estimate - float(np.quantile(deviations, 1.0 - a)), 0.0)
    high = estimate + widest_tail(values, a)
    notes = () if isinstance(measure, KSError | KuiperError) else (BINS,)
    law = "bootstrap of a norm of gaps"
    return Bounds(low, high, estimate, law, notes)


METHOD = Method("convex", "bootstrap of a norm of gaps", has_gaps, compute, resamples=True)
