"""Measures of forecasts: of their probability integral transform, and proper scores."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from caltest.checks import check_flag, check_integer, check_unused, one_of, option
from caltest.errors import NotApplicable
from caltest.forecasts.container import ALONE, FINEST, LEAST, Forecasts, PitCounts
from caltest.measures.base import ForecastMeasure, declines
from caltest.measures.bound import BoundMeasure
from caltest.measures.residual_sums import Flippable, of_terms, residuals_up_to, robust_z
from caltest.numerics.harmonics import polynomials
from caltest.numerics.labels import resample_keys
from caltest.numerics.pit_cells import DISTANCES, VERY_MANY, PitCells
from caltest.types import Floats, Hashes
from caltest.units import check_unweighted

# In the order in which they are listed.
__all__ = ["PitUniformity", "pit_uniformity", "CRPS", "LogScore", "crps", "log_score"]  # noqa: RUF022

POINTS = 64  # of the PIT, at which scores are expected
COARSE = 128  # steps where signs of clusters are flipped
Ordered = tuple[Floats, Floats]  # (B, n + 2) with both ends; the shares of rows up to them, but 1


class BoundForecasts(BoundMeasure):
    """A measure of forecasts as a function of their uniform numbers.

    Parameters
    ----------
    forecasts : Forecasts or PitCounts
        The rows.
    function : callable
        The measure (B,) of numbers (B, n), of sums (B, cells), or of counts (B, G, cells).
    scale : float
        Size of its terms.
    column : (n,) array, optional
        What very many rows add to the sums of the cells `ALONE`.
    """

    def __init__(
        self,
        forecasts: Forecasts | PitCounts,
        function: Callable[[Any], Floats],
        scale: float = 1.0,
        column: Floats | None = None,
        at: Callable[[Floats], Floats] | None = None,
    ) -> None:
        super().__init__(forecasts)
        self.function, self.scale, self.column, self._at = function, scale, column, at

    def drawn(self, redrawn: Floats) -> Floats:
        return redrawn if self._at is None else self._at(np.ascontiguousarray(redrawn.T)).T

    def values(self, labels: Floats) -> Floats:
        """Return the measure for each row of uniform numbers (B, n)."""
        if self.column is None:
            return self.function(labels)
        return self.function(ALONE.sums(labels, self.column[:, None])[:, :, 0])

    def of_keys(self) -> Callable[[Hashes], Floats] | None:
        if self.column is None:
            return None
        rows, column = self.predictions.uniforms.rows, np.ascontiguousarray(self.column)
        return lambda keys: self.function(ALONE.redrawn_sums(rows, keys, column))


def _cramer_von_mises(ends: Floats, below: Floats) -> Floats:
    high, low = ends[:, 1:] - below, ends[:, :-1] - below
    # high^3 - low^3, without powers
    cubes = (high - low) * (high * high + high * low + low * low)
    return np.asarray(cubes.sum(axis=1) / 3.0)


def _anderson_darling(ends: Floats, below: Floats) -> Floats:
    # The integral of (c - u)^2 / (u (1 - u)) is c^2 log u - (1 - c)^2 log(1 - u) - u.
    inner = ends[:, 1:-1]
    logs = np.square(below[:, :-1]) - np.square(below[:, 1:])
    others = np.square(1.0 - below[:, 1:]) - np.square(1.0 - below[:, :-1])
    return np.asarray((logs * np.log(inner) + others * np.log1p(-inner)).sum(axis=1) - 1.0)


NAMES = {
    "ks": ("Kolmogorov-Smirnov distance", "D"),
    "kuiper": ("Kuiper distance", "V"),
    "cramer-von-mises": ("Cramer-von Mises distance", "W^2"),
    "anderson-darling": ("Anderson-Darling distance", "A^2"),
    "neyman": ("Neyman smooth statistic", "chi^2"),
    "berkowitz": ("Berkowitz statistic", "LR"),
}
# Of ordered numbers, where the distance is an integral: n times this.
INTEGRALS = {"cramer-von-mises": _cramer_von_mises, "anderson-darling": _anderson_darling}


PLAIN: dict[str, object] = {"degree": 4, "serial": False}  # options that one distance has each


@dataclass(frozen=True, kw_only=True)
class PitUniformity(ForecastMeasure):
    """A distance with its options; see `pit_uniformity`."""

    distance: str = option("ks", one_of(NAMES))
    degree: int = option(4, check_integer)
    serial: bool = option(default=False, check=check_flag)

    key: ClassVar[str] = "pit-uniformity"
    # Written out: the command line reads these keys off the file.
    tests: ClassVar[Mapping[str, Mapping[str, object]]] = {
        "pit-ks": {"distance": "ks", **PLAIN},
        "pit-kuiper": {"distance": "kuiper", **PLAIN},
        "pit-cramer-von-mises": {"distance": "cramer-von-mises", **PLAIN},
        "pit-anderson-darling": {"distance": "anderson-darling", **PLAIN},
        "pit-neyman": {"distance": "neyman", "serial": PLAIN["serial"]},
        "pit-berkowitz": {"distance": "berkowitz", "degree": PLAIN["degree"]},
    }
    no_interval = "is above 0 for calibrated forecasts too, by an amount that depends on n"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, distance in (("degree", "neyman"), ("serial", "berkowitz")):
            value = getattr(self, name)
            given = None if distance == self.distance or value == PLAIN[name] else value
            check_unused(f"where distance is {self.distance!r}", **{name: given})

    @property
    def title(self) -> str:  # type: ignore[override]
        """The statistic."""
        return f"{NAMES[self.distance][0]} of the PIT"

    @property
    def symbol(self) -> str:
        return NAMES[self.distance][1]

    def parts(self, uniform: Floats) -> list[Floats]:
        """Return what "neyman" and "berkowitz" are functions of the sums of, (..., n)."""
        if self.distance == "neyman":
            return polynomials(uniform, self.degree)
        z = ndtri(np.clip(uniform, LEAST, 1.0 - LEAST))
        return [z, (z * z - 1.0) / math.sqrt(2.0)]

    def _of_sums(self, mass: float, noise: float, sums: Floats) -> Floats:
        """Return the statistic (B,) of the sums (B, D) of the parts of the rows.

        `mass` and `noise` are the sums of their weights and of the squares of these.
        """
        if self.distance == "neyman":
            return np.asarray(np.square(sums).sum(axis=1) / noise)
        square = math.sqrt(2.0) * sums[:, 1]
        variance = 1.0 + square / mass - np.square(sums[:, 0] / mass)
        return np.asarray(square - mass * np.log(np.maximum(variance, LEAST)))

    def _of_gaps(self, n: int, gaps: Floats, ends: Floats) -> Floats:
        """Return the distance (B,) of gaps (B, K) of the distribution of n rows at ends (K,)."""
        edges, variance = np.concatenate([[0.0], ends, [1.0]]), ends * (1.0 - ends)
        found = DISTANCES[self.distance](gaps, (edges[2:] - edges[:-2]) / 2.0, variance)
        return found * self._unit(n)

    def _of_cells(self, n: int, mass: float, noise: float, cells: PitCells, sums: Floats) -> Floats:
        """Return the statistic (B,) of the sums (B, cells) of weights in cells of n rows."""
        if self.distance not in DISTANCES:
            parts = np.column_stack(self.parts(cells.middles))
            return self._of_sums(mass, noise, sums @ parts)
        gaps = np.cumsum(sums[:, :-1], axis=1) / mass - cells.ends
        return self._of_gaps(n, gaps, cells.ends)

    def bind(self, predictions: Forecasts) -> BoundForecasts:
        n, weight = predictions.n, predictions.weights
        mass, noise = float(weight.sum()), float(np.square(weight).sum())
        if self.distance == "berkowitz" and n < 3:
            raise NotApplicable("Berkowitz' test needs 3 rows", "use test='pit-ks'")
        if self.distance == "berkowitz" and self.serial:
            check_unweighted(predictions, "serial=True", "leave one of them out")
            return BoundForecasts(predictions, _serial)
        if n >= VERY_MANY:
            of_cells = partial(self._of_cells, n, mass, noise, ALONE)
            return BoundForecasts(predictions, of_cells, self._unit(n), weight)

        def of_rows(v: Floats) -> Floats:
            if self.distance not in DISTANCES:
                sums = np.stack([part @ weight for part in self.parts(v)], axis=1)
                return self._of_sums(mass, noise, sums)
            ends, below = _ordered(v, predictions.sample_weight)
            if self.distance in INTEGRALS:
                return n * INTEGRALS[self.distance](ends, below)
            inner = ends[:, 1:-1]
            gaps = np.hstack([below[:, 1:] - inner, below[:, :-1] - inner])
            return DISTANCES[self.distance](gaps)

        return BoundForecasts(predictions, of_rows, self._unit(n))

    def _unit(self, n: int) -> float:
        """Return the factor of a distance of n rows, which is the size of its terms."""
        return float(n) if self.distance in INTEGRALS else 1.0

    def bind_pits(self, counts: PitCounts) -> BoundForecasts:
        if self.serial:
            raise declines(self, "bind_pits")
        n, cells = counts.n, counts.cells
        of_cells: Any = partial(self._of_cells, n, n, n)
        of_counts = lambda seen: of_cells(cells, seen.sum(axis=1))  # noqa: E731 - (B, G, cells)
        bound = BoundForecasts(counts, of_counts, self._unit(n))
        off = abs(float(of_cells(FINEST, counts.finest[None])[0]) - bound.value())
        error = f"{off:.2g} beside cells of width 2^-{FINEST.bits}"
        bound.parameters = {"cells of the PIT": cells.widths.size, "error by cells": error}
        return bound

    def residual_statistics(self, predictions: Forecasts) -> Flippable:
        """Return the distance at steps, or that of sums of functions of the numbers.

        Of "berkowitz" the squared scores of mean and variance.
        """
        v, weight = predictions.pit, predictions.weights
        if self.serial:
            raise declines(self, "residual_statistics")
        if self.distance not in DISTANCES:
            terms, noise = weight[:, None] * np.column_stack(self.parts(v)), np.square(weight).sum()
            found = of_terms(terms, lambda sums: np.square(sums).sum(axis=1) / noise)
            found.deviations = None if self.distance == "neyman" else predictions.deviations[1]
            return [found]
        terms, ends = residuals_up_to(v, weight / weight.sum(), COARSE), np.arange(1, COARSE)
        found = of_terms(terms, lambda gaps: self._of_gaps(predictions.n, gaps, ends / COARSE))
        found.symbol = f"{self.symbol} at {COARSE} steps"
        return [found]


def _ordered(uniform: Floats, weight: Floats | None) -> Ordered:
    """Return the numbers in ascending order between 0 and 1, and the share of rows up to each."""
    size, n = uniform.shape
    ends = np.zeros((size, n + 2))
    ends[:, -1] = 1.0
    if weight is None:
        ends[:, 1:-1] = np.sort(uniform, axis=1)
        below = np.broadcast_to(np.arange(n + 1) / n, (size, n + 1))
    else:
        order = np.argsort(uniform, axis=1)
        ends[:, 1:-1] = np.take_along_axis(uniform, order, axis=1)
        below = np.zeros((size, n + 1))
        np.cumsum(weight[order], axis=1, out=below[:, 1:])
        below /= below[:, -1:]
    ends[:, 1:-1] = np.clip(ends[:, 1:-1], LEAST, 1.0 - LEAST)
    return ends, below


def _serial(uniform: Floats) -> Floats:
    """Return the likelihood ratio of Berkowitz that looks for dependence on the row before too."""
    z = ndtri(np.clip(uniform, LEAST, 1.0 - LEAST))
    now, size = z[:, 1:], float(z.shape[1] - 1)
    rest, before = (each - each.mean(axis=1, keepdims=True) for each in (now, z[:, :-1]))
    shared = np.einsum("bi,bi->b", rest, before)
    variance = np.square(rest).sum(axis=1) / size
    variance -= np.square(shared) / (np.square(before).sum(axis=1) * size)
    return np.asarray(np.square(now).sum(axis=1) - size * (1.0 + np.log(variance)))


def pit_uniformity(
    forecasts: object,
    *,
    distance: str = "ks",
    degree: int = 4,
    serial: bool = False,
    n_jobs: int | None = None,
) -> float:
    r"""Compute how far the probability integral transform is from uniform.

    With :math:`u_i` = F_i(y_i), randomised where F_i has steps, and their distribution function
    :math:`\hat F`,

    - "ks" is :math:`D = \sup_u |\hat F(u) - u|`,
    - "kuiper" :math:`V = \sup_u (\hat F(u) - u) + \sup_u (u - \hat F(u))`,
    - "cramer-von-mises" :math:`W^2 = n \int (\hat F(u) - u)^2 du`,
    - "anderson-darling" :math:`A^2 = n \int (\hat F(u) - u)^2 / (u (1 - u)) du`,
    - "neyman" the sum of the squared means of the first polynomials that are orthonormal, times n,
    - "berkowitz" twice the log likelihood ratio of normal numbers :math:`\Phi^{-1}(u_i)` with free
      mean and variance against the standard normal ones; with `serial` also a free correlation of
      each with the one before.

    Parameters
    ----------
    forecasts : Forecasts
        The forecasts with their outcomes.
    distance : {"ks", "kuiper", "cramer-von-mises", "anderson-darling", "neyman", "berkowitz"}
        The statistic.
    degree : int, default 4
        Of "neyman": the number of polynomials.
    serial : bool, default False
        Of "berkowitz": whether dependence of a row on the one before is looked for.
    n_jobs : int, optional
        Threads, as in joblib.

    Returns
    -------
    float
        The statistic; of 131,072 rows or more, distances are those at the ends of 11,008 cells,
        2^-13 wide and finer towards 0 and 1, and the others have u at their middles.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are too few rows.

    References
    ----------
    Rosenblatt (1952), Remarks on a multivariate transformation, Ann. Math. Statist. 23; Neyman
    (1937), Smooth test for goodness of fit, Skandinavisk Aktuarietidskrift 20; Berkowitz (2001),
    Testing density forecasts with applications to risk management, J. Bus. Econ. Stat. 19;
    Gneiting, Balabdaoui, Raftery (2007), JRSS B 69.

    Examples
    --------
    >>> import caltest as ct
    >>> forecasts = ct.Forecasts([1.0, 2.5, 2.0], mean=[1.1, 2.0, 2.2], scale=0.5)
    >>> round(ct.measures.pit_uniformity(forecasts), 4)
    0.3446
    """
    options = {"distance": distance, "degree": degree, "serial": serial}
    return float(PitUniformity(**options).evaluate(forecasts, n_jobs=n_jobs))  # type: ignore[arg-type]


class MeanForecastScore(ForecastMeasure):
    """The mean over rows of a score of forecasts; its test is two-sided."""

    alternative: ClassVar[str] = "two-sided"
    no_interval: ClassVar[str] = "is a score, whose size is that of the outcomes"
    is_proper_score: ClassVar[bool] = True
    power: ClassVar[int] = 0  # of the standard deviation, with which it grows

    @abstractmethod
    def scores(self, forecasts: Forecasts) -> Floats:
        """Return the scores of the observed outcomes, (n,)."""

    @abstractmethod
    def scores_at(self, forecasts: Forecasts, uniform: Floats) -> Floats:
        """Return those of the outcomes that uniform numbers (n, B) give, (n, B)."""

    def bind(self, predictions: Forecasts) -> BoundMeasure:
        share, observed = predictions.weights / predictions.weights.sum(), self.scores(predictions)
        scale, at = float(np.abs(observed).mean()), partial(self.scores_at, predictions)
        bound = BoundForecasts(predictions, lambda seen: np.asarray(seen @ share), scale, at=at)
        bound.observed, standard = observed, predictions.law.unit_law
        if standard is None or predictions.n < VERY_MANY:
            return bound
        one = Forecasts([0.0], distribution=standard)
        table = self.scores_at(one, ALONE.middles[None])[0]
        column = share * predictions.law.sd**self.power
        # What all scores have besides, and by how much the observed one is another by cells.
        rest = bound.value() - float(column @ table[ALONE.of(predictions.pit)])
        return BoundForecasts(predictions, lambda sums: sums @ table + rest, scale, column)

    def residual_statistics(self, predictions: Forecasts) -> Flippable:
        """Return the sum of the scores, each less its mean, over its cluster-robust error.

        Means and moments are those of quantiles at equal steps of the PIT, begun at random.
        """
        weight, begin = predictions.weights, predictions.uniforms.labels(resample_keys(0, 1)).T
        scores = self.scores_at(predictions, (begin + np.arange(POINTS)) / POINTS)
        mean = scores.mean(axis=1)
        apart, own = scores - mean[:, None], weight * (self.scores(predictions) - mean)
        second, third = (weight**k * (apart**k).mean(axis=1) for k in (2, 3))
        return [robust_z(own, (second, third, own))]


@dataclass(frozen=True)
class CRPS(MeanForecastScore):
    """The continuous ranked probability score; see `crps`."""

    key, title, symbol = "crps", "continuous ranked probability score", "CRPS"
    power: ClassVar[int] = 1

    def scores(self, forecasts: Forecasts) -> Floats:
        return forecasts.law.crps(forecasts.outcomes)

    def scores_at(self, forecasts: Forecasts, uniform: Floats) -> Floats:
        return forecasts.law.crps_at(forecasts.outcomes, uniform)


@dataclass(frozen=True)
class LogScore(MeanForecastScore):
    """Minus the log of the density; see `log_score`."""

    key, title, symbol = "log-score", "logarithmic score of forecasts", "LogS"

    def scores(self, forecasts: Forecasts) -> Floats:
        return forecasts.law.log_score(forecasts.outcomes)

    def scores_at(self, forecasts: Forecasts, uniform: Floats) -> Floats:
        return forecasts.law.log_score(forecasts.law.quantile(uniform))


def crps(forecasts: object, *, n_jobs: int | None = None) -> float:
    r"""Compute the mean continuous ranked probability score.

    :math:`\int (F(x) - 1\{y \le x\})^2 dx = E|Y - y| - E|Y - Y'| / 2` with Y, Y' from F; of an
    ensemble, that of its empirical distribution, and of quantiles of the one that is linear between
    them and ends at the outer ones.

    Parameters
    ----------
    forecasts : Forecasts
        The forecasts with their outcomes.
    n_jobs : int, optional
        Threads, as in joblib.

    Returns
    -------
    float
        In the unit of the outcomes; 0 of forecasts that are certain and right.

    Raises
    ------
    InvalidInput
        If these are no forecasts.

    References
    ----------
    Gneiting, Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102.

    Examples
    --------
    >>> import caltest as ct
    >>> forecasts = ct.Forecasts([1.0, 2.5, 2.0], mean=[1.1, 2.0, 2.2], scale=0.5)
    >>> round(ct.measures.crps(forecasts), 4)
    0.1915
    """
    return float(CRPS().evaluate(forecasts, n_jobs=n_jobs))


def log_score(forecasts: object, *, n_jobs: int | None = None) -> float:
    r"""Compute the mean logarithmic score of forecasts, :math:`-\log f(y)`.

    Parameters
    ----------
    forecasts : Forecasts
        The forecasts with their outcomes.
    n_jobs : int, optional
        Threads, as in joblib.

    Returns
    -------
    float
        Minus the mean log density, or log probability where outcomes are whole numbers.

    Raises
    ------
    InvalidInput
        If these are no forecasts.
    NotApplicable
        If they have no density, as ensembles.

    Examples
    --------
    >>> import caltest as ct
    >>> forecasts = ct.Forecasts([1.0, 2.5, 2.0], mean=[1.1, 2.0, 2.2], scale=0.5)
    >>> round(ct.measures.log_score(forecasts), 4)
    0.4258
    """
    return float(LogScore().evaluate(forecasts, n_jobs=n_jobs))
