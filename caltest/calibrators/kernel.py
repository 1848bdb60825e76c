"""Kernel calibration: the labels of rows with similar predictions, averaged by beta kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln
from sklearn.base import clone

from caltest.calibrators.base import CalibrationSet, Calibrator, Coefficient
from caltest.calibrators.inputs import SMALLEST_PROBABILITY, Inputs
from caltest.checks import check_finite, check_positive
from caltest.errors import invalid, shown
from caltest.numerics.loops import blocks, njit
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
        loss, of at most 500 rows evenly spaced. The authors' package ece-kde takes that, up to 1,
        with the greatest leave-one-out density of the predictions, CalArena a power of n.
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
    array([[0.58, 0.11, 0.31]])
    """

    key, title = "kernel", "Kernel calibration"

    bandwidth: float | None = None
    prior: float = 1.0
    clip: float = SMALLEST_PROBABILITY

    def _fit(self, data: CalibrationSet) -> None:
        if check_finite(self.prior, "prior") < 0:
            raise invalid("prior must not be negative", shown(self.prior), "pass 0 or more")
        rows = data.counted
        self.row_weights_ = np.ones(rows.n) if rows.weight is None else rows.weight
        self.probs_, self.codes_ = rows.inputs.probs, rows.codes
        own = np.linspace(0, rows.inputs.n - 1, min(rows.inputs.n, MOST_LEFT_OUT)).astype(np.intp)
        left = rows.rows(own)

        def loss(b: float) -> float:
            seen = self._regression(left.inputs, b, own)[np.arange(own.size), left.codes]
            return -float(self.row_weights_[own] @ np.log(np.maximum(seen, SMALLEST_PROBABILITY)))

        given = None if self.bandwidth is None else check_positive(self.bandwidth, "bandwidth")
        self.bandwidth_ = given or min(BANDWIDTHS, key=loss)

    def settled(self) -> Calibrator:
        found: Calibrator = clone(self).set_params(bandwidth=self.bandwidth_)
        return found

    def _regression(self, inputs: Inputs, b: float, own: Order | None = None) -> Floats:
        """Return the regression at predictions, less a unit of weight of their own rows."""
        alpha, w, m = self.probs_ / b, self.row_weights_, inputs.m
        codes = np.arange(m)[self.codes_]  # raises where a map that was read has other ones
        logs, probs = inputs.clipped(self.clip).log_probs, inputs.probs.copy()
        with np.errstate(divide="ignore", invalid="ignore"):  # by a map that was read
            shift = np.log(w) - gammaln(alpha + 1).sum(axis=1) + gammaln(1 / b + m)
            prior, fewer = np.log(self.prior) + gammaln(m), np.log1p(-1 / np.maximum(w, 1))
        for at in blocks(inputs.n, max(1, MOST_NUMBERS // len(alpha))):
            kernels = logs[at] @ alpha.T + shift
            if own is not None:
                kernels[np.arange(len(kernels)), own[at]] += fewer[own[at]]
            _average(kernels, codes, prior, probs[at])
        return probs

    def _calibrate(self, inputs: Inputs) -> Floats:
        return self._regression(inputs, self.bandwidth_)

    def coefficients(self) -> Sequence[Coefficient]:
        return (Coefficient("bandwidth", self.bandwidth_),)


@njit()
def _average(kernels: Floats, codes: Codes, prior: float, mean: Floats) -> None:
    """Make mean labels, by the logarithms of kernels, of predictions, by that of the prior.

    Where nothing counts, predictions remain.
    """
    for i in range(len(kernels)):
        top = max(prior, kernels[i].max())
        if top > -np.inf:
            mean[i] *= np.exp(prior - top)
        for j in range(len(codes)):
            if kernels[i, j] - top > NEGLIGIBLE:
                mean[i, codes[j]] += np.exp(kernels[i, j] - top)
        mass = mean[i].sum()
        for k in range(mean.shape[1]):
            mean[i, k] /= mass
