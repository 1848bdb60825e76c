"""Where partial sums are about as large as their maximum, and their bootstrap there."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.measures.one_dimension import sorted_rows
from caltest.measures.tolerance import FEW_ROWS_NOTE, ROWS_FOR_LIMIT, Tolerance, ToleranceBootstrap
from caltest.numerics.loops import njit
from caltest.numerics.sorted_scores import step_ends
from caltest.predictions import Predictions

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Counts = NDArray[np.uint8]
LANES = 8  # independent sums side by side hide the latency of each


class NearMaximum(ToleranceBootstrap):
    r"""The KS error and the places where the deviation is about as large.

    With :math:`S(t)` the mean of :math:`(y - p) 1[p \le t]` and :math:`\sigma` the largest of its
    standard deviations over t, a place counts where

    .. math:: \pm S(t) \ge KS - \tfrac{1}{2} \sqrt{\log n} \, \sigma / \sqrt{n},

    which shrinks to the extremal set, as :math:`\sqrt{\log n}` grows and
    :math:`\sqrt{\log(n) / n}` vanishes. KS has a derivative in directions only: its error has the
    distribution of the largest deviation over that set. Up to the tolerance that is what is
    resampled. Where the error is at least the tolerance, KS is at least the deviation at any one of
    the places, and the one that varies most is resampled: the distribution of the maximum would be
    too wide if the set is.

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
        self.tolerance = tolerance
        n = event.size
        self.residuals = labels - event
        if np.ptp(self.residuals) == 0:
            raise NotApplicable(
                "a tolerance needs residuals y - p that vary, and these do not",
                "use more data, or null='exact' without tolerance",
            )
        ends = step_ends(event)
        sums = np.cumsum(self.residuals) / n
        variance = np.cumsum(np.square(self.residuals)) / n - np.square(sums)
        size = np.where(ends, np.abs(sums), 0.0)
        self.n = n
        self.value = float(size.max())
        self.notes = (FEW_ROWS_NOTE,) if n < ROWS_FOR_LIMIT else ()
        slack = 0.5 * math.sqrt(math.log(n) * float(variance[ends].max()) / n)
        least = self.value - slack
        self.up, self.down = ends & (sums >= least), ends & (-sums >= least)
        if tolerance.equivalence:
            one = np.arange(n) == np.argmax(np.where(self.up | self.down, variance, -1.0))
            self.up, self.down = one & (sums >= 0), one & (sums < 0)

    @property
    def null_text(self) -> str:
        places = "that of the partial sums near the largest which varies most"
        if not self.tolerance.equivalence:
            places = "the partial sums near the largest"
        return f"Poisson bootstrap of {places}"

    def draw(self, rng: np.random.Generator, size: int) -> NDArray[np.uint8]:
        return draw_poisson(rng, size, self.n)

    def resample(self, counts: NDArray[np.uint8], n_jobs: int | None = None) -> Floats:
        """Return the bootstrap of KS less the error for each row of counts."""
        return np.asarray(resampled_extremes(counts, self.residuals, self.up, self.down))


def _poisson_table() -> Counts:
    """Tabulate the quantiles of Poisson(1) at the middles of 2^16 intervals."""
    cumulative = np.cumsum(np.exp(-1.0) / np.cumprod(np.maximum(np.arange(13.0), 1.0)))
    middles = (np.arange(1 << 16) + 0.5) / (1 << 16)
    return np.searchsorted(cumulative, middles).astype(np.uint8)


_POISSON = _poisson_table()


def draw_poisson(rng: np.random.Generator, size: int, n: int) -> Counts:
    """Draw `size` rows of n Poisson counts of mean 1, to a resolution of 2^-16."""
    return _POISSON[rng.integers(0, 1 << 16, (size, n), dtype=np.uint16)]


@njit()
def resampled_extremes(counts: Counts, residuals: Floats, up: Bools, down: Bools) -> Floats:
    """Return max(max_{up} G, max_{down} -G) with G(k) = sum_{i<=k} (c_i - mean c) r_i / n.

    For each row c of `counts` (B, n). Neither set need have a place, but one must.
    """
    size, n = counts.shape
    out = np.empty(size)
    for start in range(0, size, LANES):
        lanes = min(LANES, size - start)
        mean, carried, top = np.zeros(LANES), np.zeros(LANES), np.empty(LANES)
        for lane in range(lanes):
            top[lane] = -np.inf
            mean[lane] = _total(counts[start + lane]) / n
        for i in range(n):
            for lane in range(lanes):
                carried[lane] += residuals[i] * (counts[start + lane, i] - mean[lane])
            if up[i]:
                for lane in range(lanes):
                    top[lane] = max(top[lane], carried[lane])
            if down[i]:
                for lane in range(lanes):
                    top[lane] = max(top[lane], -carried[lane])
        for lane in range(lanes):
            out[start + lane] = top[lane] / n
    return out


@njit()
def _total(counts: Counts) -> np.int64:
    total = np.int64(0)
    for count in counts:
        total += np.int64(count)
    return total
