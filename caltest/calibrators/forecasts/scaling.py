"""Variance scaling: distributions stretched about their means."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from caltest.calibrators.forecasts.base import ForecastCalibrator
from caltest.checks import check_choice, check_flag
from caltest.errors import invalid
from caltest.forecasts import Forecasts
from caltest.forecasts.laws import Law
from caltest.types import Floats

SMALLEST = 1e-6  # factor, of the one that moments give
TINY = float(np.finfo(np.float64).tiny)
EXACT = {"ftol": 0.0, "gtol": 1e-12, "maxiter": 500}


@dataclass(kw_only=True, eq=False, repr=False)
class VarianceScaling(ForecastCalibrator):
    r"""Variance scaling: distributions stretched about their means, all by one factor.

    .. math:: Y' = m + d + s (Y - m), \qquad m = E Y

    A Gaussian stays one, with the standard deviation :math:`s \sigma`; quantiles and members of an
    ensemble are moved. With `by="crps"` the mean CRPS of the calibration set is least, which is a
    convex problem for any law; with `by="moments"` the errors have variance 1 in the unit of the
    standard deviations,

    .. math:: s^2 = \sum_i w_i \frac{(y_i - m_i - d)^2}{\sigma_i^2}, \qquad
        d = \frac{\sum_i w_i (y_i - m_i) / \sigma_i^2}{\sum_i w_i / \sigma_i^2},

    which is maximum likelihood of Gaussians. Of ensembles with the variances :math:`v_i` (of M - 1
    degrees of freedom) it is the ratio of error and spread, :math:`s^2 = \sum_i w_i (y_i - m_i -
    d)^2 / \sum_i w_i v_i (1 + 1 / M)`, 1 where members are like the outcome, and d the mean error.

    Parameters
    ----------
    by : {"crps", "moments"}, optional
        What is fitted, by default the CRPS, of ensembles moments. By the CRPS of few members one
        that is wider than the right one is best. Of quantiles, whose spread is not that of
        outcomes, it is the sum of their quantile losses.
    offset : bool, default False
        Whether the means are moved too, by d in the unit of the outcome; else d = 0.

    Attributes
    ----------
    factor_, offset_ : float
        s and d.

    References
    ----------
    Laves, Ihler, Fast, Kahrs, Ortmaier (2020), Well-calibrated regression uncertainty in medical
    imaging with deep learning, MIDL, PMLR 121, eq. 9; Levi, Gispan, Giladi, Fetaya (2022),
    Evaluating and calibrating uncertainty prediction in regression tasks, Sensors 22, section 4;
    Fortin, Abaza, Anctil, Turcotte (2014), Why should ensemble spread match the RMSE of the
    ensemble mean?, Journal of Hydrometeorology 15, eq. 15.

    Examples
    --------
    >>> import caltest as ct
    >>> forecasts = ct.Forecasts([1.0, 2.5, 2.0], mean=[1.1, 2.0, 2.2], scale=0.5)
    >>> scaling = ct.calibrators.VarianceScaling(by="moments").fit(forecasts)
    >>> round(scaling.factor_, 4), scaling.transform(forecasts).scale.round(4).tolist()
    (0.6325, [0.3162, 0.3162, 0.3162])
    """

    key, title = "variance-scaling", "variance scaling of forecasts"

    by: str | None = None
    offset: bool = False

    def _fit(self, forecasts: Forecasts, share: Floats) -> None:
        check_flag(self.offset, "offset")
        law, y = forecasts.law, forecasts.outcomes
        law.stretched(1.0, 0.0)  # raises where it has no meaning
        by = law.scaled_by[0] if self.by is None else check_choice(self.by, law.scaled_by, "by")
        error, variance = y - law.mean, np.maximum(law.error_variance, TINY)
        # The spread of an ensemble is an estimate itself: its ratio is one of sums.
        precision = share if law.has_atoms else share / variance
        d = float(precision @ error / precision.sum()) if self.offset else 0.0
        with np.errstate(over="ignore"):  # of constant members
            s = math.sqrt(float(precision @ (error - d) ** 2 / (precision @ variance)))
        if not 0 < s < math.inf:
            rule = "the errors of forecasts must vary, and their standard deviations be finite"
            raise invalid(rule, f"a ratio of {s:g}", "pass outcomes that the model was not given")
        if by == "crps":
            s, d = self._least(law, y, share, s, d)
        self.factor_, self.offset_ = s, d

    def _least(self, law: Law, y: Floats, share: Floats, s: float, d: float) -> tuple[float, float]:
        """Minimise s CRPS(F, m + (y - m - d) / s), which is convex in (s, d) as a perspective."""
        unit = np.array([s, s * float(share @ law.sd)])  # of both, so that slopes compare

        def loss(theta: Floats) -> tuple[float, Floats]:
            factor, offset = theta * unit
            z = law.about_mean(y - offset, 1.0 / factor)
            score, slope = law.fitting_score(z)
            slopes = np.array([share @ (score - slope * (z - law.mean)), -(share @ slope)])
            return factor * float(share @ score) / unit[1], slopes * unit / unit[1]

        bounds = [(SMALLEST, None), (None, None) if self.offset else (0.0, 0.0)]
        start, how = [1.0, d / unit[1]], {"jac": True, "method": "L-BFGS-B", "bounds": bounds}
        factor, offset = minimize(loss, start, options=EXACT, **how).x * unit
        return float(factor), float(offset)

    def calibrate(self, inputs: Law) -> Law:
        return inputs.stretched(self.factor_, self.offset_)
