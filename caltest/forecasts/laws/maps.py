"""Laws that calibration maps make of others."""

from __future__ import annotations

import math
from functools import cached_property
from operator import attrgetter
from typing import Any

import numpy as np
from scipy import special

from caltest.errors import NotApplicable
from caltest.forecasts.laws.base import LEAST, LOWEST, Law
from caltest.forecasts.laws.numbers import Knots
from caltest.types import Floats

# Levels of F, and of G(F), between which expectations take laws as linear: at most 0.005 apart, and
# log odds 0.2.
FINE = np.union1d(special.expit(np.linspace(-36.0, 36.0, 361)), np.arange(1, 200) / 200.0)


class Stretched(Law):
    """Laws of m + d + s (Y - m), with the means m of Y.

    Parameters
    ----------
    base : Law
        The law of Y; no single outcome has positive probability.
    factor, offset : float
        s > 0, and d in the unit of the outcome.
    """

    by_row = "base", "mean", "sd"

    def __init__(self, base: Law, factor: float, offset: float) -> None:
        if base.has_atoms or not np.isfinite(base.mean).all():
            reason = f"{base.title} has outcomes with a probability, or a mean that is not finite"
            raise NotApplicable(f"{reason}: it cannot be stretched", "recalibrate the PIT instead")
        self.base, self.factor, self.offset = base, factor, offset
        self.n, self.title = base.n, f"stretched {base.title}"
        self.mean, self.sd = base.mean + offset, factor * base.sd

    def _inside(self, y: Floats) -> Floats:
        return self.base.about_mean(y - self.offset, 1.0 / self.factor)

    def _moved(self, x: Floats) -> Floats:
        return self.base.about_mean(x, self.factor, self.offset)

    def cdf(self, y: Floats) -> Floats:
        return self.base.cdf(self._inside(y))

    def quantile(self, u: Floats) -> Floats:
        return self._moved(self.base.quantile(u))

    def upper_quantile(self, v: Floats) -> Floats:
        return self._moved(self.base.upper_quantile(v))

    def centred(self, y: Floats) -> Floats:
        return self.factor * self.base.centred(self._inside(y))

    @cached_property
    def half_difference(self) -> Floats:
        return self.factor * self.base.half_difference

    def log_score(self, y: Floats) -> Floats:
        return self.base.log_score(self._inside(y)) + math.log(self.factor)

    def support(self) -> tuple[Floats, Floats]:
        low, high = self.base.support()
        return self._moved(low), self._moved(high)


class RecalibratedLaw(Law):
    """Laws with the distribution functions G(F).

    Parameters
    ----------
    base : Law
        The law with the distribution functions F.
    levels : frozen distribution of scipy.stats
        That of levels in (0, 1), with the distribution function G.
    """

    by_row = ("base",)

    def __init__(self, base: Law, levels: Any) -> None:
        self.base, self.levels = base, levels
        self.n, self.has_atoms, self.title = base.n, base.has_atoms, f"recalibrated {base.title}"

    def cdf(self, y: Floats) -> Floats:
        return np.asarray(self.levels.cdf(self.base.cdf(y)))

    def cdf_left(self, y: Floats) -> Floats:
        return np.asarray(self.levels.cdf(self.base.cdf_left(y)))

    def quantile(self, u: Floats) -> Floats:
        return self.base.quantile(np.clip(self.levels.ppf(u), LOWEST, 1.0 - LEAST))

    @cached_property
    def _knots(self) -> Knots:
        """The same law, linear between many points: G need not be smooth, nor F."""
        if self.has_atoms:  # steps stand at two points that are equal
            points = np.repeat(np.sort(self.base.nodes()[0], axis=1), 2, axis=1)
            levels = self.cdf_left(points)
            levels[:, 1::2] = self.cdf(points[:, 1::2])
        else:
            u = np.union1d(FINE, np.clip(self.levels.ppf(FINE), LOWEST, 1.0 - LEAST))
            points = self.base.quantile(np.broadcast_to(u, (self.n, u.size)))
            levels = np.tile(self.levels.cdf(u), (self.n, 1))
        levels[:, 0], levels[:, -1] = 0.0, 1.0
        return Knots(points, levels)

    mean = cached_property(attrgetter("_knots.mean"))
    sd = cached_property(attrgetter("_knots.sd"))
    half_difference = cached_property(attrgetter("_knots.half_difference"))

    def centred(self, y: Floats) -> Floats:
        return self._knots.centred(y)

    def nodes(self) -> tuple[Floats, Floats]:
        return self._knots.nodes()

    def log_score(self, y: Floats) -> Floats:
        score = self.base.log_score(y)
        if not self.has_atoms:
            u = np.clip(self.base.cdf(y), LOWEST, 1.0 - LEAST)
            return np.asarray(score - self.levels.logpdf(u))
        with np.errstate(divide="ignore"):
            return np.asarray(-np.log(self.cdf(y) - self.cdf_left(y)))

    def support(self) -> tuple[Floats, Floats]:
        return self.base.support()
