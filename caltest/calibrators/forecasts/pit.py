"""Recalibration of the probability integral transform: distribution functions G(F)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

from caltest.calibrators.forecasts.base import ForecastCalibrator
from caltest.errors import invalid
from caltest.forecasts import Forecasts
from caltest.forecasts.laws import LEAST, Law
from caltest.numerics.newton import backtrack
from caltest.types import Floats

STEPS = 100
DECREMENT = 1e-20  # twice what a step gains: gradients are below 1e-10
MOST_KNOTS = 256


class _OfPIT(ForecastCalibrator):
    """A distribution of PIT values, fitted to those of the calibration set."""

    @property
    @abstractmethod
    def levels_(self) -> Any:
        """The distribution of the PIT values, frozen, of scipy.stats."""

    def calibrate(self, inputs: Law) -> Law:
        return inputs.recalibrated(self.levels_)


@dataclass(kw_only=True, eq=False, repr=False)
class BetaPIT(_OfPIT):
    r"""Beta recalibration: the PIT values of the calibration set have a beta distribution.

    .. math:: F'(y) = I_{F(y)}(a, b), \qquad F(Y) \sim \mathrm{Beta}(a, b),

    with the distribution function :math:`I_u(a, b)` of the beta distribution; a = b = 1 changes
    nothing, a = b < 1 widens, a > b raises. The parameters maximise the likelihood of the PIT
    values, and so that of the outcomes under the densities :math:`f'(y) = f(y)\, u^{a-1}
    (1-u)^{b-1} / B(a, b)`, u = F(y). It is not the map of Kull et al. for classes, whose
    parameters are those of two densities.

    Attributes
    ----------
    a_, b_ : float
        The parameters.
    levels_ : frozen distribution of scipy.stats
        That of the PIT values.

    Notes
    -----
    Of quantiles G moves the levels, which is exact; an ensemble of M members becomes the quantiles
    at the levels G(j / (M + 1)) that its sorted members are. Linear between few members, their
    CRPS is a little less by that alone.

    References
    ----------
    Gneiting, Ranjan (2013), Combining predictive distributions, EJS 7, section 3.3 (the
    beta-transformed linear pool, here of one component).

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> y = np.random.default_rng(1).normal(scale=2.0, size=400)
    >>> beta = ct.calibrators.BetaPIT().fit(ct.Forecasts(y, mean=0.0, scale=1.0))
    >>> round(beta.a_, 2), round(beta.b_, 2)  # too sure: PIT values are near 0 and 1
    (0.36, 0.4)
    """

    key, title = "beta-pit", "beta recalibration of the PIT"

    def _fit(self, forecasts: Forecasts, share: Floats) -> None:
        u = np.clip(forecasts.pit, LEAST, 1.0 - LEAST)
        if np.ptp(u) <= LEAST:
            rule, remedy = "PIT values must vary", "pass outcomes that the model was not given"
            raise invalid(rule, f"all are {u[0]:.8g}", remedy)
        logs = np.array([share @ np.log(u), share @ np.log1p(-u)])
        theta = np.ones(2)

        def loss(given: Floats) -> float:  # convex
            if not (given > 0).all():
                return np.inf
            return float(special.betaln(*given) - (given - 1.0) @ logs)

        for _ in range(STEPS):  # Newton
            gradient = special.psi(theta) - special.psi(theta.sum()) - logs
            both = special.polygamma(1, theta.sum())
            step = -np.linalg.solve(np.diag(special.polygamma(1, theta)) - both, gradient)
            slope = float(gradient @ step)
            moved = backtrack(lambda t: (loss(theta + t * step),), loss(theta), slope)  # noqa: B023
            if moved is None or -slope < DECREMENT:
                break
            theta = theta + moved[0] * step
        self.a_, self.b_ = theta.tolist()

    @property
    def levels_(self) -> Any:
        """The distribution of the PIT values."""
        return stats.beta(self.a_, self.b_)


@dataclass(kw_only=True, eq=False, repr=False)
class IsotonicPIT(_OfPIT):
    r"""Isotonic recalibration: levels become the shares of PIT values that are below them.

    .. math:: F'(y) = G(F(y)), \qquad G(u_{(i)}) = \frac{i}{n + 1},

    for the sorted PIT values :math:`u_{(i)}` of the calibration set, linear between them and from
    (0, 0) to (1, 1): the isotonic regression of Kuleshov et al., whose targets ascend by
    themselves, made continuous and strictly increasing. With weights, of mean 1, i is the sum up to
    the row less half of its own, and 1/2. Beyond 256 rows as many knots are kept, at equal steps
    of the rank.

    Attributes
    ----------
    knots_, shares_ : (k,) array
        Levels, and G there.
    levels_ : scipy.stats.rv_histogram
        The distribution of levels, with the distribution function G.

    Notes
    -----
    Of quantiles and ensembles as `BetaPIT`. The density has a step at each PIT value, so that the
    logarithmic score is poor: take beta recalibration where that counts.

    References
    ----------
    Kuleshov, Fenner, Ermon (2018), Accurate uncertainties for deep learning using calibrated
    regression, ICML, PMLR 80, algorithm 1.

    Examples
    --------
    >>> import caltest as ct
    >>> y = [-2.0, -0.5, 0.3, 1.8]
    >>> isotonic = ct.calibrators.IsotonicPIT().fit(ct.Forecasts(y, mean=0.0, scale=1.0))
    >>> isotonic.transform(ct.Forecasts([-2.0], mean=[0.0], scale=1.0)).pit.round(4).tolist()
    [0.2]
    """

    key, title = "isotonic-pit", "isotonic recalibration of the PIT"

    def _fit(self, forecasts: Forecasts, share: Floats) -> None:
        levels, place = np.unique(forecasts.pit, return_inverse=True)
        own, n = np.bincount(place, share) * forecasts.n, forecasts.n
        values = (np.cumsum(own) - own / 2.0 + 0.5) / (n + 1.0)
        inside = np.flatnonzero((levels > 0.0) & (levels < 1.0))
        if not inside.size:
            rule, remedy = "PIT values must lie between 0 and 1", "pass forecasts of these outcomes"
            raise invalid(rule, "0 or 1 in all rows", remedy)
        count = min(inside.size, MOST_KNOTS)
        kept = inside[np.linspace(0, inside.size - 1, count).round().astype(np.intp)]
        ends = (np.concatenate([[0.0], each[kept], [1.0]]) for each in (levels, values))
        self.knots_, self.shares_ = ends

    @property
    def levels_(self) -> Any:
        """The distribution of levels, with the distribution function G."""
        return stats.rv_histogram((np.diff(self.shares_), self.knots_), density=False)
