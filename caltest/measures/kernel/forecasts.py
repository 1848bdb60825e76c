"""The SKCE of predictive distributions, Widmann et al. 2021: kernels of forecasts and outcomes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from caltest import checks
from caltest.forecasts import Forecasts
from caltest.forecasts.laws.base import Law
from caltest.forecasts.laws.numbers import Histogram
from caltest.kernels import Gaussian, ScalarKernel
from caltest.kernels.features import LEFT_OUT, pivoted_features
from caltest.kernels.fitted import FittedScalar
from caltest.measures.base import ForecastMeasure, Measure
from caltest.measures.kernel.pairs import PairMean
from caltest.numerics.harmonics import harmonics
from caltest.numerics.loops import blocks, one_blas_thread
from caltest.types import Floats

__all__ = ["ForecastSKCE", "forecast_skce"]

NODES = 12  # quantiles that stand for a distribution
TAIL = 1e-4  # beyond the quantiles at this level outcomes need not be told apart
WIDTH = 0.1  # of the kernel of the PIT
ONE_SD = float(ndtr(1.0))
REACH = 7.0  # widths beyond which the kernel of what is compared is below 3e-11
MOST_HARMONICS = 64
MOST_FEATURES = 256
NUMBERS = 1 << 26  # of features that are kept: 512 MiB
AT_A_TIME = 1 << 13  # outcomes


def _pit(rows: Forecasts, law: Law) -> tuple[Floats, Law, float]:
    return rows.pit, Histogram([0.0, 1.0], np.ones((law.n, 1))), WIDTH


def _outcomes(rows: Forecasts, law: Law) -> tuple[Floats, Law, float]:
    middle, upper = law.quantile(np.tile([0.5, ONE_SD], (law.n, 1))).T
    spread = upper - middle
    width = float(np.median(spread[spread > 0])) if spread.any() else 1.0
    return rows.law.placed(rows.outcomes, rows.pit), law, width


# What was observed, its law, and the width of its kernel.
COMPARED = {"pit": _pit, "outcomes": _outcomes}


@dataclass(frozen=True, kw_only=True)
class ForecastSKCE(ForecastMeasure):
    """The SKCE of forecasts with its estimator and kernels; see `forecast_skce`."""

    estimator: str = checks.option("unbiased", checks.one_of(("unbiased", "biased")))
    kernel: ScalarKernel | None = checks.option(
        None, checks.optional(lambda value, name: checks.check_instance(value, ScalarKernel, name))
    )
    compare: str = checks.option("pit", checks.one_of(COMPARED))
    width: float | None = checks.option(None, checks.optional(checks.check_positive))

    key, title, symbol = "forecast-skce", "squared kernel calibration error of forecasts", "SKCE"

    def bind(self, predictions: Forecasts) -> ForecastPairs:
        return ForecastPairs(predictions, self)

    def few_rows(self, *, weighted: bool = False) -> Measure:
        """Return the biased estimator: for one row it has the pair of the row with itself."""
        return replace(self, estimator="biased")


class ForecastPairs(PairMean):
    r"""The mean of h over all pairs of forecasts as a function of their outcomes.

    The kernel of the outcomes is a sum of cosines, by the trapezoidal rule for its Fourier integral
    with steps :math:`\omega`, which repeats it with the period :math:`2 \pi / \omega`:

    .. math:: e^{-d^2 / (2 w^2)} \approx a_0 + \sum_{k \ge 1} a_k \cos(k \omega d), \quad
        a_k = \frac{2 \omega w}{\sqrt{2 \pi}} e^{-(k \omega w)^2 / 2},

    so that h_ij is the kernel of the forecasts times the inner product of residuals: cosines and
    sines of the outcomes less their means under the forecasts. The kernel of the forecasts is one
    of features too, :math:`\kappa_{ij} = \phi_i' \phi_j`, and the sum of h over all i and j is the
    squared norm of :math:`\sum_i \phi_i e_i'`.

    References
    ----------
    Harbrecht, Peters, Schneider (2012), On the low-rank approximation by the pivoted Cholesky
    decomposition, Appl. Numer. Math. 62.
    """

    def __init__(self, forecasts: Forecasts, measure: ForecastSKCE) -> None:
        super().__init__(forecasts)
        self.count_rows(forecasts, biased=measure.estimator == "biased")
        law, n = forecasts.law.drawn_from(forecasts.outcomes), forecasts.n
        kernel = replace(measure.kernel or Gaussian(), metric="euclidean")
        # By nodes of Gauss and Hermite the distance of Gaussians is exact.
        z, share = np.polynomial.hermite_e.hermegauss(NODES)
        points = law.quantile(np.tile(ndtr(z), (n, 1))) * np.sqrt(share / share.sum())
        fitted = FittedScalar(kernel, points)
        most = max(1, min(n, MOST_FEATURES, NUMBERS // n))
        features, _, rest = pivoted_features(kernel, fitted.bandwidth, points, most)
        self.features = features * np.broadcast_to(self.weight, n)[:, None]
        self.own = np.square(self.features).sum(axis=1)
        if rest > LEFT_OUT:
            text = f"the SKCE is that of {most} features of the kernel, not of all pairs"
            self.notes = (f"{text}; they leave out {100 * rest:.2g} % of it",)
        self.observed, self.law, width = COMPARED[measure.compare](forecasts, law)
        width = measure.width or width
        low, middle, high = self.law.quantile(np.tile([TAIL, 0.5, 1.0 - TAIL], (n, 1))).T
        self.middle, span = float(np.median(middle)), float(high.max() - low.min())
        count = REACH * (span / width + REACH) / (2.0 * math.pi)
        count = math.ceil(min(count, MOST_HARMONICS))
        self.step = REACH / (count * width)
        order = np.tile(np.arange(1.0, count + 1.0), 2) * self.step * width
        root = math.sqrt(2.0 / math.pi) * self.step * width
        self.amplitude = np.sqrt(root * np.exp(-0.5 * order * order))[:, None]
        self.expected = self.amplitude * self.law.expected_harmonics(self.step, self.middle, count)
        self.parameters = {
            "estimator": measure.estimator,
            "kernel": f"{kernel.title} of the Wasserstein distance",
            "bandwidth": fitted.bandwidth,
            "bandwidth rule": fitted.rule,
            "compared": f"{measure.compare}, Gaussian kernel of width {width:.4g}",
        }

    def drawn(self, redrawn: Floats) -> Floats:
        return self.law.quantile(np.ascontiguousarray(redrawn.T)).T

    def values(self, labels: Floats) -> Floats:
        """Return the mean of h for each row of outcomes (B, n)."""
        size = max(1, AT_A_TIME // labels.shape[1])
        parts = [labels[b : b + size] for b in range(0, len(labels), size)]
        with one_blas_thread():
            return self.finished(np.concatenate([self._sums(part) for part in parts]))

    def _sums(self, outcomes: Floats) -> Floats:
        size, n = outcomes.shape
        count, own = len(self.amplitude) // 2, np.zeros(size)
        total = np.zeros((2 * count * size, self.features.shape[1]))
        for rows in blocks(n, AT_A_TIME):
            residual = harmonics(self.step * (outcomes[:, rows] - self.middle), count)
            residual *= self.amplitude[:, :, None]
            residual -= self.expected[:, None, rows]
            total += residual.reshape(len(total), -1) @ self.features[rows]
            if not self.biased:
                own += np.einsum("kbi,kbi->bi", residual, residual) @ self.own[rows]
        return np.asarray(np.square(total).reshape(2 * count, size, -1).sum(axis=(0, 2)) - own)


def forecast_skce(
    forecasts: object,
    *,
    estimator: str = "unbiased",
    kernel: ScalarKernel | None = None,
    compare: str = "pit",
    width: float | None = None,
    n_jobs: int | None = None,
) -> float:
    r"""Estimate the squared kernel calibration error of forecasts, 0 in the mean if calibrated.

    With forecasts :math:`F_i`, what is compared of their outcomes :math:`v_i`, and independent
    :math:`V_i` of outcomes drawn from the :math:`F_i`, it is the mean over pairs of rows of

    .. math:: h_{ij} = k(F_i, F_j) \, E\left[\kappa(v_i, v_j) - \kappa(V_i, v_j)
        - \kappa(v_i, V_j) + \kappa(V_i, V_j)\right],

    with :math:`\kappa(v, v') = e^{-(v - v')^2 / (2 w^2)}` and a kernel k of the Wasserstein
    distance of order 2, which is that of the quantiles: large where forecasts that are alike err
    alike. What is compared is

    - "pit": the probability integral transform, in which an error of the same kind in all
      forecasts adds up whatever their mean and scale;
    - "outcomes": the outcomes, in their unit, as in the reference; :math:`\kappa` repeats itself
      with a period of the range of the forecasts, or of 57 widths.

    Parameters
    ----------
    forecasts : Forecasts
        The forecasts with their outcomes. Ensembles are compared with members and outcome together,
        which stay the same where the outcome and a member change places. Outcomes between two
        quantiles are placed there at random.
    estimator : {"unbiased", "biased"}
        The mean over pairs of different rows, or over all pairs.
    kernel : ScalarKernel, optional
        k, with its bandwidth; its metric is the Wasserstein distance. By default Gaussian with the
        median distance. Kernels that are not smooth are those of 256 features of many rows.
    compare : {"pit", "outcomes"}
        What is compared of the outcomes.
    width : float, optional
        w > 0: by default 0.1 of the PIT; of outcomes the median distance from the median of a
        forecast to its quantile at the level 0.84, a standard deviation of Gaussians.
    n_jobs : int, optional
        Threads, as in joblib.

    Returns
    -------
    float
        The unbiased estimate may be negative.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there is one row only, for the unbiased estimator.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), Calibration tests beyond classification, ICLR; closed forms
    for Gaussians in their package CalibrationErrors.jl.

    Examples
    --------
    >>> import caltest as ct
    >>> forecasts = ct.Forecasts([0.0, 0.0], mean=0.0, scale=1.0)
    >>> found = ct.measures.forecast_skce(forecasts, compare="outcomes", width=1.0)
    >>> round(found, 4)  # 1 - 2 / sqrt(2) + 1 / sqrt(3)
    0.1631
    """
    measure = ForecastSKCE(estimator=estimator, kernel=kernel, compare=compare, width=width)
    return float(measure.evaluate(forecasts, n_jobs=n_jobs))
