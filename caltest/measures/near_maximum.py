"""Where partial sums are about as large as their maximum, and their bootstrap there."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.measures.sorted_rows import sorted_rows
from caltest.measures.tolerance import FEW, FEW_ROWS, Tolerance
from caltest.numerics.partial_sum_bootstrap import resampled_extremes
from caltest.numerics.sorted_scores import step_ends
from caltest.predictions import Predictions

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


class NearMaximum:
    r"""The KS error and the places where the deviation is about as large.

    With :math:`S(t)` the mean of :math:`(y - p) 1[p \le t]` and :math:`\sigma` the largest of its
    standard deviations over t, a place counts where

    .. math:: \pm S(t) \ge KS - \tfrac{1}{2} \sqrt{\log n} \, \sigma / \sqrt{n},

    which shrinks to the extremal set, as :math:`\sqrt{\log n}` grows and
    :math:`\sqrt{\log(n) / n}` vanishes. KS has a derivative in directions only: its error has the
    law of the largest deviation over that set. Up to the tolerance that is what is resampled. Where
    the error is at least the tolerance, KS is at least the deviation at any one of the places, and
    the one that varies most is resampled: the law of the maximum would be too large if the set is.

    References
    ----------
    Fang, Santos (2019), Inference on directionally differentiable functions, Rev. Econ. Stud. 86,
    theorem 3.2; Dette, Kokot, Volgushev (2020), Testing relevant hypotheses in functional time
    series via self-normalization, J. R. Stat. Soc. B 82; Dette, Kokot, Aue (2020), Functional data
    analysis in the Banach space of continuous functions, Ann. Stat. 48, section 3 (estimated
    extremal sets); Berger (1982), Multiparameter hypothesis testing and acceptance sampling,
    Technometrics 24 (intersection-union test).
    """

    def __init__(self, predictions: Predictions, tolerance: Tolerance, title: str) -> None:
        event, labels, _ = sorted_rows(predictions, f"the {title}")
        n = event.size
        self.residuals = labels - event
        if np.ptp(self.residuals) == 0:
            raise NotApplicable(
                "a tolerance needs residuals y - p that vary, and these do not; use more data, or "
                "null='exact' without tolerance"
            )
        ends = step_ends(event)
        sums = np.cumsum(self.residuals) / n
        variance = np.cumsum(np.square(self.residuals)) / n - np.square(sums)
        size = np.where(ends, np.abs(sums), 0.0)
        self.value = float(size.max())
        self.notes = (FEW_ROWS,) if n < FEW else ()
        slack = 0.5 * math.sqrt(math.log(n) * float(variance[ends].max()) / n)
        near = ends & (size >= self.value - slack)
        if tolerance.equivalence:
            place = int(np.argmax(np.where(near, variance, -1.0)))
            near = np.arange(n) == place
        self.up, self.down = near & (sums >= 0), near & (sums < 0)

    def resample(self, counts: NDArray[np.uint8], n_jobs: int | None = None) -> Floats:
        """Return the bootstrap of KS less the error for each row of counts."""
        return np.asarray(resampled_extremes(counts, self.residuals, self.up, self.down))
