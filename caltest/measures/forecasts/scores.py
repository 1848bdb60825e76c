"""Proper scores of forecasts, against their distribution when outcomes are redrawn."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from caltest.forecasts import Forecasts
from caltest.measures.base import ForecastMeasure
from caltest.measures.bound import BoundMeasure
from caltest.measures.forecasts.uniformity import BoundForecasts
from caltest.measures.residual_sums import Flippable, robust_z
from caltest.numerics.labels import resample_keys
from caltest.numerics.pit_cells import CELLS, VERY_MANY, PitCells
from caltest.types import Floats

POINTS = 64  # of the PIT, at which scores are expected
__all__ = ["CRPS", "LogScore", "crps", "log_score"]


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

    def bind(self, predictions: Forecasts) -> BoundMeasure:  # type: ignore[override]
        bound, standard = BoundScores(predictions, self), predictions.law.unit_law
        if standard is None or predictions.n < VERY_MANY:
            return bound
        one = Forecasts([0.0], distribution=standard)
        table = self.scores_at(one, CELLS[None])[0]
        cells = PitCells((bound.share * predictions.law.sd**self.power)[:, None])
        # What all scores have besides, and by how much the observed one is another by cells.
        rest = bound.value() - float(cells.of(predictions.pit[None])[0, :, 0] @ table)
        return BoundForecasts(predictions, lambda sums: sums @ table + rest, bound.scale, cells)

    def residual_statistics(self, predictions: Forecasts) -> Flippable:  # type: ignore[override]
        """Return the sum of the scores, each less its mean, over its cluster-robust error.

        Means and moments are those of quantiles at equal steps of the PIT, begun at random.
        """
        weight, begin = predictions.weights, predictions.uniforms.labels(resample_keys(0, 1)).T
        scores = self.scores_at(predictions, (begin + np.arange(POINTS)) / POINTS)
        mean = scores.mean(axis=1)
        apart, own = scores - mean[:, None], weight * (self.scores(predictions) - mean)
        second, third = (weight**k * (apart**k).mean(axis=1) for k in (2, 3))
        return [robust_z(own, (second, third, own))]


class BoundScores(BoundMeasure):
    """A mean score as a function of the scores of the rows, (B, n)."""

    def __init__(self, forecasts: Forecasts, score: MeanForecastScore) -> None:
        super().__init__(forecasts)
        self.forecasts, self.score = forecasts, score
        self.share = forecasts.weights / forecasts.weights.sum()
        self.seen = score.scores(forecasts)
        self.scale = float(np.abs(self.seen).mean())

    def drawn(self, redrawn: Floats) -> Floats:  # type: ignore[override]
        return self.score.scores_at(self.forecasts, np.ascontiguousarray(redrawn.T)).T

    def values(self, labels: Floats) -> Floats:  # type: ignore[override]
        """Return the mean of each row of scores (B, n)."""
        return np.asarray(labels @ self.share)


@dataclass(frozen=True)
class CRPS(MeanForecastScore):
    """The continuous ranked probability score; see `crps`."""

    key: ClassVar[str] = "crps"
    title: ClassVar[str] = "continuous ranked probability score"
    symbol: ClassVar[str] = "CRPS"
    power: ClassVar[int] = 1

    def scores(self, forecasts: Forecasts) -> Floats:
        return forecasts.law.crps(forecasts.law.held(forecasts.outcomes))

    def scores_at(self, forecasts: Forecasts, uniform: Floats) -> Floats:
        return forecasts.law.crps_at(forecasts.outcomes, uniform)


@dataclass(frozen=True)
class LogScore(MeanForecastScore):
    """Minus the log of the density; see `log_score`."""

    key: ClassVar[str] = "log-score"
    title: ClassVar[str] = "logarithmic score of forecasts"
    symbol: ClassVar[str] = "LogS"

    def scores(self, forecasts: Forecasts) -> Floats:
        return forecasts.law.log_score(forecasts.outcomes)

    def scores_at(self, forecasts: Forecasts, uniform: Floats) -> Floats:
        return forecasts.law.log_score(forecasts.law.quantile(uniform))


def crps(forecasts: object, *, n_jobs: int | None = None) -> float:
    r"""Compute the mean continuous ranked probability score.

    :math:`\int (F(x) - 1\{y \le x\})^2 dx = E|Y - y| - E|Y - Y'| / 2` with Y, Y' from F; of an
    ensemble, that of its empirical distribution.

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
