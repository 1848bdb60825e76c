"""Where partial sums may be as large as a tolerance, and their bootstrap there."""

from __future__ import annotations

import math

import numpy as np

from caltest.errors import NotApplicable
from caltest.measures.tolerance import Tolerance, ToleranceBootstrap, few_rows_notes
from caltest.numerics.loops import njit
from caltest.numerics.sorted_scores import step_ends
from caltest.predictions import Predictions
from caltest.types import Events, Floats
from caltest.units.units import check_one_dimension, sorted_columns

LANES = 8  # independent sums side by side hide the latency of each


class NearMaximum(ToleranceBootstrap):
    r"""The KS error and the places where the deviation may be as large as the tolerance.

    With :math:`S(t)` the mean of :math:`(y - p) 1[p \le t]`, KS has a derivative in directions
    only: its error has the distribution of the largest deviation over the places where
    :math:`\pm S` is largest, and there may be many.

    Up to the tolerance, the least favourable of the errors that agree with the data are resampled:
    the partial sums as they are, plus or minus a standard error, but within the tolerance, and with
    the errors G of the bootstrap

    .. math:: KS^* = \max_t \max_{\pm} \{ \min(\tau, \pm S(t) + \sigma(t) / \sqrt n) \pm G(t) \}.

    So all places count that may be as far off as the tolerance, on either side, not only those near
    the largest sum. It increases with the tolerance in each resample.

    Where the error is at least the tolerance, KS is at least the deviation at any one of the places
    with :math:`\pm S(t) \ge KS - \tfrac{1}{2} \sqrt{\log n} \, \sigma / \sqrt{n}`, :math:`\sigma`
    the largest standard deviation, and the one that varies most is resampled: the distribution of
    the maximum would be too wide.

    References
    ----------
    Andrews, Soares (2010), Inference for parameters defined by moment inequalities using
    generalized moment selection, Econometrica 78; Fang, Santos (2019), Inference on directionally
    differentiable functions, Rev. Econ. Stud. 86, theorem 3.2; Dette, Kokot, Aue (2020), Functional
    data analysis in the Banach space of continuous functions, Ann. Stat. 48, section 3; Berger
    (1982), Multiparameter hypothesis testing and acceptance sampling, Technometrics 24
    (intersection-union test).
    """

    def __init__(self, predictions: Predictions, tolerance: Tolerance, title: str) -> None:
        check_one_dimension(predictions, f"the {title}")
        event, labels, _ = sorted_columns(predictions)
        n = event.size
        self.residuals = labels - event
        if np.ptp(self.residuals) == 0:
            reason = "a tolerance needs residuals y - p that vary, and these do not"
            raise NotApplicable(reason, "use more data, or null='exact' without tolerance")
        ends = step_ends(event)
        sums = np.cumsum(self.residuals) / n
        variance = np.cumsum(np.square(self.residuals)) / n - np.square(sums)
        size = np.where(ends, np.abs(sums), 0.0)
        self.n, self.value, self.notes = n, float(size.max()), few_rows_notes(n)
        slack = 0.5 * math.sqrt(math.log(n) * float(variance[ends].max()) / n)
        if tolerance.equivalence:
            near = ends & (size >= self.value - slack)
            one = np.arange(n) == np.argmax(np.where(near, variance, -1.0))
            places = "that of the partial sums near the largest which varies most"
            sides = one & (sums >= 0), one & (sums < 0)
            self.up, self.down = (np.where(side, 0.0, -np.inf) for side in sides)
        else:
            places = "the partial sums, those beyond the tolerance moved to it"
            most = np.sqrt(np.maximum(variance, 0.0) / n) - tolerance.value
            sides = np.minimum(sums + most, 0.0), np.minimum(most - sums, 0.0)
            self.up, self.down = (np.where(ends, side, -np.inf) for side in sides)
        self.null_text = f"Poisson bootstrap of {places}"

    def draw(self, rng: np.random.Generator, size: int) -> Events:
        return draw_poisson(rng, size, self.n)

    def resample(self, counts: Events) -> Floats:
        """Return the bootstrap of KS less the error for each row of counts."""
        return np.asarray(resampled_extremes(counts, self.residuals, self.up, self.down))


# The quantiles of Poisson(1) at the middles of 2^16 intervals.
_SHARES = np.cumsum(np.exp(-1.0) / np.cumprod(np.maximum(np.arange(13.0), 1.0)))
_POISSON = np.searchsorted(_SHARES, (np.arange(1 << 16) + 0.5) / (1 << 16)).astype(np.uint8)


def draw_poisson(rng: np.random.Generator, size: int, n: int) -> Events:
    """Draw `size` rows of n Poisson counts of mean 1, to a resolution of 2^-16."""
    return _POISSON[rng.integers(0, 1 << 16, (size, n), dtype=np.uint16)]


@njit()
def resampled_extremes(counts: Events, residuals: Floats, up: Floats, down: Floats) -> Floats:
    """Return the largest up + G and down - G with G(k) = sum_{i<=k} (c_i - mean c) r_i / n.

    For each row c of `counts` (B, n). Places that do not count are -inf, but one must.
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
            if up[i] > -np.inf:
                for lane in range(lanes):
                    top[lane] = max(top[lane], n * up[i] + carried[lane])
            if down[i] > -np.inf:
                for lane in range(lanes):
                    top[lane] = max(top[lane], n * down[i] - carried[lane])
        for lane in range(lanes):
            out[start + lane] = top[lane] / n
    return out


@njit()
def _total(counts: Events) -> np.int64:
    total = np.int64(0)
    for count in counts:
        total += np.int64(count)
    return total
