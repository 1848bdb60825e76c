"""Kernel calibration: the labels of rows with similar predictions, averaged by beta kernels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from caltest.calibrators.base import CalibrationSet, Calibrator, Coefficient
from caltest.calibrators.inputs import SMALLEST_PROBABILITY, Inputs
from caltest.checks import check_finite, check_positive
from caltest.errors import invalid, shown
from caltest.numerics.loops import njit
from caltest.types import Codes, Floats, Order

BANDWIDTHS = np.logspace(-5, 1, 19).tolist()
MOST_LEFT_OUT = 500  # rows
MOST_NUMBERS = 1 << 18  # of a block of kernels, which stay in the cache
NEGLIGIBLE = -40.0  # logarithm of a share of the largest kernel


@dataclass(kw_only=True, eq=False, repr=False)
class KernelCalibrator(Calibrator):
    r"""Kernel calibration: the mean label of rows, by beta or Dirichlet kernels of predictions.

    .. math:: \hat\mu(q) = \frac{w_0 \Gamma(m) q + \sum_i w_i k(q, p_i) e_{y_i}}
        {w_0 \Gamma(m) + \sum_i w_i k(q, p_i)}, \qquad
        k(q, p) = \frac{\Gamma(1/b + m)}{\prod_k \Gamma(p_k / b + 1)} \prod_k q_k^{p_k / b},

    the regression of Nadaraya and Watson with the density at q of the Dirichlet distribution of
    mode p and bandwidth b, for two classes a beta distribution. It assumes no form, and may change
    the order of predictions. The first terms are a row of weight :math:`w_0` that is spread evenly
    over the simplex and has the label q: where no row is near, the prediction stays what it is, and
    no class of the model gets the probability 0.

    Parameters
    ----------
    bandwidth : float, optional
        b, above 0. By default that of 19 values from 1e-5 to 10 with the least leave-one-out log
        loss, of at most 500 rows evenly spaced. (The authors' package ece-kde takes that, up to 1,
        with the greatest leave-one-out density of the predictions, CalArena a power of n.)
    prior : float, default 1.0
        :math:`w_0`, at least 0; 0 is the estimator of the paper.
    clip : float, default 2.2e-16
        In (0, 0.1]; smaller probabilities are raised to it before their logarithm is taken. Logits
        are not clipped.
    from_logits : bool, default False
        Whether the inputs are logits (of shape (n,): log odds) instead of probabilities.
    classes : sequence of length m, optional
        Names of the columns. By default the sorted labels where each class occurs, and otherwise
        0 to m - 1.

    Attributes
    ----------
    bandwidth_ : float
        b.
    probs_ : (n, m) array
        Predictions of the rows of the fit that have a weight.
    codes_, row_weights_ : (n,) arrays
        The columns of their labels, and their weights.

    Notes
    -----
    A prediction costs n kernels: with m = 10, a fit to 10^4 rows and 10^4 predictions take about a
    second. Sample weights count rows: a row of weight 2 that is left out leaves one behind.

    References
    ----------
    Popordanoska, Sayer, Blaschko (2022), A consistent and differentiable Lp canonical calibration
    error estimator, NeurIPS 35, equations 8 and 9; as a calibration map in Berta, Holzmueller,
    Jordan, Bach (2026), CalArena, arXiv 2605.30188.

    Examples
    --------
    >>> import caltest as ct
    >>> data = ct.datasets.generative_model("M2", n=300, m=3, rng=1)
    >>> calibrator = ct.calibrators.KernelCalibrator().fit(data)
    >>> calibrator.predict_proba([[0.2, 0.3, 0.5]]).round(2)
    array([[0.59, 0.12, 0.29]])
    """

    key: ClassVar[str] = "kernel"
    title: ClassVar[str] = "Kernel calibration"

    bandwidth: float | None = None
    prior: float = 1.0
    clip: float = SMALLEST_PROBABILITY

    def _fit(self, data: CalibrationSet) -> None:
        if check_finite(self.prior, "prior") < 0:
            raise invalid("prior must not be negative", shown(self.prior), "pass 0 or more")
        weight = np.ones(data.inputs.n) if data.weight is None else data.weight
        rows = data.rows(weight > 0)
        self.probs_, self.codes_ = rows.inputs.probs, rows.codes
        self.row_weights_ = weight[weight > 0]
        if self.bandwidth is not None:
            self.bandwidth_ = check_positive(self.bandwidth, "bandwidth")
            return
        n = len(self.codes_)
        own = np.linspace(0, n - 1, min(n, MOST_LEFT_OUT)).astype(np.intp)
        left, losses = rows.rows(own), []
        for bandwidth in BANDWIDTHS:
            probs = self._regression(left.inputs, bandwidth, own)
            seen = np.maximum(probs[np.arange(own.size), left.codes], SMALLEST_PROBABILITY)
            losses.append(-self.row_weights_[own] @ np.log(seen))
        self.bandwidth_ = BANDWIDTHS[int(np.argmin(losses))]

    def _regression(self, inputs: Inputs, b: float, own: Order | None = None) -> Floats:
        """Return the regression at predictions, without their own rows if these are given."""
        alpha, m = self.probs_ / b, inputs.m
        beta = gammaln(alpha + 1).sum(axis=1) - math.lgamma(1 / b + m)
        logs = inputs.clipped(self.clip).log_probs
        own = np.full(inputs.n, -1) if own is None else own
        prior = math.log(self.prior) + math.lgamma(m) if self.prior else -math.inf
        codes = np.arange(m)[self.codes_]  # raises where a map that was read has other ones
        probs, size = np.empty((inputs.n, m)), max(1, MOST_NUMBERS // len(alpha))
        for start in range(0, inputs.n, size):
            at = slice(start, start + size)
            kernels = logs[at] @ alpha.T - beta
            data = kernels, own[at], codes, self.row_weights_, inputs.probs[at]
            _average(*data, prior, probs[at])
        return probs

    def _calibrate(self, inputs: Inputs) -> Floats:
        return self._regression(inputs, self.bandwidth_)

    def coefficients(self) -> Sequence[Coefficient]:
        return (Coefficient("bandwidth", self.bandwidth_),)


@njit()
def _average(
    kernels: Floats,
    own: Order,
    codes: Codes,
    weight: Floats,
    probs: Floats,
    prior: float,
    average: Floats,
) -> None:
    """Write the mean labels by the logarithms of kernels, with `probs` by that of the prior.

    Of a row's own kernel one unit of weight is left out. Where nothing counts, `probs` remain.
    """
    for i in range(len(kernels)):
        top = prior
        for j in range(len(codes)):
            if kernels[i, j] > top and (j != own[i] or weight[j] > 1):
                top = kernels[i, j]
        first = np.exp(prior - top) if top > -np.inf else 1.0
        average[i] = first * probs[i]
        for j in range(len(codes)):
            if kernels[i, j] - top > NEGLIGIBLE:
                left = weight[j] - 1 if j == own[i] else weight[j]
                if left > 0:
                    average[i, codes[j]] += left * np.exp(kernels[i, j] - top)
        average[i] /= average[i].sum()
