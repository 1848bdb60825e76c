"""Conformalised quantiles: offsets by which they hold the coverage that they promise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from caltest.calibrators.forecasts.base import ForecastCalibrator
from caltest.errors import NotApplicable, invalid, shown
from caltest.forecasts import Forecasts
from caltest.forecasts.laws import Law, Quantiles, read
from caltest.types import Floats

CLOSE = 1e-9  # of levels


@dataclass(kw_only=True, eq=False, repr=False)
class ConformalOffset(ForecastCalibrator):
    r"""Conformalised quantile regression: offsets that make quantiles cover as they promise.

    For a pair of levels a and 1 - a with the quantiles :math:`q_i^-, q_i^+` of the calibration set

    .. math:: E_i = \max(q_i^- - y_i, y_i - q_i^+), \qquad [q^- - Q, q^+ + Q],

    with the :math:`\lceil (n + 1)(1 - 2a) \rceil`-th smallest Q of the :math:`E_i`: the interval
    holds a new outcome with probability 1 - 2a at least, whatever the model, if the rows are
    exchangeable. A negative Q makes it narrower; a quantile of level 0.5 stays. Quantiles that
    would cross are moved outwards, which keeps the promise.

    Parameters
    ----------
    levels : sequence of float, optional
        Of the quantiles, in ascending order and in pairs, as 0.05 and 0.95; by default those of the
        forecasts. Other forecasts are turned into quantiles at these levels.

    Attributes
    ----------
    levels_, offsets_ : (q,) array
        Levels, and what is added to their quantiles, in the unit of the outcome.

    References
    ----------
    Romano, Patterson, Candes (2019), Conformalized quantile regression, NeurIPS 32, eq. 6 to 8 and
    theorem 2.

    Examples
    --------
    >>> import numpy as np
    >>> import caltest as ct
    >>> y = np.random.default_rng(1).normal(scale=2.0, size=400)
    >>> forecasts = ct.Forecasts(y, mean=0.0, scale=1.0)
    >>> conformal = ct.calibrators.ConformalOffset(levels=[0.05, 0.5, 0.95]).fit(forecasts)
    >>> conformal.offsets_.round(2).tolist()
    [-1.4, 0.0, 1.4]
    """

    key, title = "conformal-offset", "conformalised quantiles"

    levels: Sequence[float] | None = None

    def _fit(self, forecasts: Forecasts, share: Floats) -> None:
        law, y = forecasts.law, forecasts.outcomes[:, None]
        given = law.given if self.levels is None else read(self.levels, "levels")
        if given is None:
            rule = "levels must be given where forecasts are not quantiles"
            raise invalid(rule, law.title, "pass levels=[0.05, 0.5, 0.95]")
        if np.abs(given + given[::-1] - 1.0).max() > CLOSE:
            rule = "levels must be in pairs around 0.5, as 0.05 and 0.95"
            raise invalid(rule, shown(given.tolist()), "leave out levels without their other one")
        self.levels_, half = given, given.size // 2
        q = self._quantiles(law).values
        beyond = np.maximum(q - y, y - q[:, ::-1])[:, :half]
        promised = 1.0 - 2.0 * given[:half]
        sizes = [conformal_quantile(*each, share) for each in zip(beyond.T, promised, strict=True)]
        self.offsets_ = np.concatenate([np.negative(sizes), [0.0] * (given.size % 2), sizes[::-1]])

    def _quantiles(self, law: Law) -> Quantiles:
        values = law.quantile(np.broadcast_to(self.levels_, (law.n, self.levels_.size)))
        return Quantiles(self.levels_, values)

    def calibrate(self, inputs: Law) -> Law:
        values, q = self._quantiles(inputs).values + self.offsets_, self.offsets_.size
        start = values[:, (q - 1) // 2 : q // 2 + 1].mean(axis=1, keepdims=True)
        lower = np.hstack([start, values[:, : q // 2][:, ::-1]])
        upper = np.maximum.accumulate(np.hstack([start, values[:, -(q // 2) :]]), axis=1)
        lower = np.minimum.accumulate(lower, axis=1)[:, :0:-1]
        return Quantiles(self.levels_, np.hstack([lower, upper[:, 1 - q % 2 :]]))


def conformal_quantile(errors: Floats, level: float, share: Floats) -> float:
    """Return the least error up to which the rows, with one more of mean weight, have `level`."""
    order, n = np.argsort(errors, kind="stable"), errors.size
    up_to = np.cumsum(share[order]) * n / (n + 1.0)
    k = int(np.searchsorted(up_to, level - CLOSE))
    if k == n:
        needed = math.ceil(level / (1.0 - level) - CLOSE)
        reason = f"a promise of {100 * level:.3g} % needs {needed} rows, and there are {n}"
        raise NotApplicable(reason, "take levels nearer to 0.5, or more rows")
    return float(errors[order[k]])
