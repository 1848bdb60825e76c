"""How far the truth of a planned study is from the predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caltest.planning.distributions import PredictionDistribution
from caltest.planning.truths import Truth

Floats = NDArray[np.float64]

DRAWS = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    r"""Size of a deviation from calibration, over the distribution of the predictions.

    Attributes
    ----------
    error : float
        :math:`E[\frac12 \sum_k |P(Y = k \mid p) - p_k|]`, the true calibration error in total
        variation; for two classes the mean absolute error of a risk.
    excess : float
        Expected Kullback-Leibler divergence of the predictions from the truth: the log loss that a
        perfect recalibration would save.
    predicted, true : float
        For two classes the mean risk as predicted and the true event rate; for more the mean
        confidence and the true accuracy.
    draws : int or None
        Predictions drawn to compute it; None where all rows were taken.
    """

    error: float
    excess: float
    predicted: float
    true: float
    draws: int | None


def effect_of(
    distribution: PredictionDistribution, truth: Truth, rng: np.random.Generator
) -> Effect:
    """Compute the size of the deviation, from all rows where rows are resampled."""
    p = distribution.draw(rng, DRAWS) if distribution.pool is None else distribution.pool
    q = truth.of(p)
    top = np.ones(len(p), dtype=np.intp) if distribution.m == 2 else p.argmax(axis=1)
    rows = np.arange(len(p))

    def mean(values: Floats) -> float:
        return float(np.average(values, weights=distribution.weights))

    return Effect(
        error=mean(np.abs(p - q).sum(axis=1) / 2),
        excess=mean(_divergence(q, p)),
        predicted=mean(p[rows, top]),
        true=mean(q[rows, top]),
        draws=DRAWS if distribution.pool is None else None,
    )


def _divergence(q: Floats, p: Floats) -> Floats:
    from scipy.special import rel_entr

    return np.asarray(np.maximum(rel_entr(q, p).sum(axis=1), 0.0))
