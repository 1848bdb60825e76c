"""What p-values of flipped signs are worth where the sums of few clusters are skewed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from caltest.measures.label_scores import row_weights
from caltest.measures.residual_sums import residuals, row_deviations
from caltest.numerics.labels import flipped_signs, resample_keys
from caltest.predictions import Predictions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEWEST, MOST = 199, 999  # simulated sums: as many as resamples within these limits
APART = 200  # clusters of the largest variance; the others are taken together in as many groups
SYMMETRIC = 0.05  # skewness of a sum that changes a size of 5 % by less than 0.1 %
ROUNDING = 1e-9  # relative
RAREST = 1e-12  # probability of a burst


@dataclass(frozen=True)
class SkewedSum:
    """The sums of clusters that the predictions imply, in one direction of the labels.

    Attributes
    ----------
    variance, third : (C,) array
        Variance and third central moment of the sum of each cluster.
    z : float
        The sum that was observed, of all clusters, over its cluster-robust error.
    seed, n_trials : int
        Of the simulated sums.
    """

    variance: Floats
    third: Floats
    z: float
    seed: int
    n_trials: int

    @classmethod
    def of(
        cls,
        table: Floats,
        predictions: Predictions,
        *,
        clusters: Ints,
        count: int,
        n_resamples: int,
        seed: int,
    ) -> SkewedSum:
        r"""Return those of the terms (n, m) that each label of a row adds.

        With variances :math:`a_i^2` of the rows by their predictions and a correlation
        :math:`\rho` of the rows of a cluster, a sum has the variance
        :math:`\sum_i a_i^2 + \rho \sum_{i \ne j} a_i a_j`. The third moment is that of a
        beta-binomial number of events, whose triples share :math:`2 \rho^2 / (1 + \rho)`. The
        correlation is that of the terms that were observed, and a standard error more: where no
        burst of events happened, they look independent.
        """
        n_trials = min(max(n_resamples, FEWEST), MOST)
        variance, third, own = row_deviations(table, predictions)
        size = np.sqrt(variance)
        skewness = np.divide(third, size**3, out=np.zeros_like(size), where=size**3 > 0)
        columns = (own, variance, size, third, variance * skewness, size * skewness)
        sums, one, length, alone, twice, shape = (np.bincount(clusters, x, count) for x in columns)
        z = float(sums.sum() / max(np.sqrt(np.square(sums).sum()), 1e-300))
        pairs, whole = np.square(length) - one, np.square(length) * shape
        twice *= length

        def moments(rho: float) -> tuple[Floats, Floats]:
            rho = min(max(rho, 0.0), 1.0)
            shared = 2.0 * rho**2 / (1.0 + rho)
            parts = (1 - 3 * rho + 2 * shared) * alone + 3 * (rho - shared) * twice
            return one + rho * pairs, parts + shared * whole

        total = float(pairs.sum())
        if total <= ROUNDING * float(one.sum()):  # no two rows in a cluster
            return cls(*moments(0.0), z, seed, n_trials)
        rho = float(np.square(sums).sum() - np.square(own).sum()) / total
        v, t = moments(rho)
        fourth = np.divide(np.square(t), v, out=np.zeros_like(v), where=v > 0)
        error = float(np.sqrt(np.sum(2.0 * np.square(v) + fourth))) / total
        return cls(*moments(rho + error), z, seed, n_trials)

    @property
    def skewness(self) -> float:
        """That of the sum of all clusters."""
        total = float(self.variance.sum())
        return float(self.third.sum()) / total**1.5 if total > 0 else 0.0

    @property
    def effective_count(self) -> float:
        """How many clusters of equal variance vary as much in their squares."""
        total = float(self.variance.sum())
        return total**2 / float(np.square(self.variance).sum()) if total > 0 else 0.0

    @cached_property
    def trials(self) -> Floats:
        """The p-values of flipped signs of simulated sums on the side of the observed one.

        The sum of a cluster takes one of two values, so that few events are bursts. In ascending
        order.
        """
        v, t = self._grouped()
        skewness = t / v**1.5
        rise = 0.5 * (1.0 - skewness / np.sqrt(4.0 + np.square(skewness)))
        rise = np.clip(rise, RAREST, 1.0 - RAREST)
        high, low = np.sqrt(v * (1.0 - rise) / rise), -np.sqrt(v * rise / (1.0 - rise))
        rng = np.random.default_rng(self.seed)
        sums = np.where(rng.random((self.n_trials, v.size)) < rise, high, low)
        signs = flipped_signs(np.arange(v.size), resample_keys(self.seed, self.n_trials))
        whole = sums.sum(axis=1)
        extreme = np.abs(sums @ signs.T) >= np.abs(whole)[:, None] * (1.0 - ROUNDING)
        pvalues = (1.0 + extreme.sum(axis=1)) / (1.0 + self.n_trials)
        return np.sort(pvalues[whole * self.z >= 0])

    def _grouped(self) -> tuple[Floats, Floats]:
        """Return the moments of the clusters that vary, of small ones together where many."""
        used = np.flatnonzero(self.variance > 0)
        order = used[np.argsort(-self.variance[used], kind="stable")]
        group = np.arange(order.size)
        group[APART:] = APART + group[: max(order.size - APART, 0)] % APART
        v, t = (np.bincount(group, x[order]) for x in (self.variance, self.third))
        return v.astype(np.float64), t.astype(np.float64)

    def raised(self, pvalue: float) -> float:
        """Return twice the share of trials on one side with such a p-value, if that is larger."""
        if (
            self.skewness * np.sign(self.z) > -SYMMETRIC
        ):  # flipped signs are careful on the long side
            return pvalue
        few = np.searchsorted(self.trials, pvalue + ROUNDING, side="right")
        return min(1.0, max(pvalue, 2.0 * float(1 + few) / (1 + self.n_trials)))


def sum_table(predictions: Predictions) -> Floats:
    """Return the terms (n, m) of the residuals in the direction of their sum."""
    total = residuals(predictions).sum(axis=0)
    return np.outer(row_weights(predictions), total / max(float(np.abs(total).max()), 1e-300))


def brier_table(predictions: Predictions) -> Floats:
    """Return the terms (n, m) of the squared error, up to a constant of the row."""
    return row_weights(predictions)[:, None] * predictions.probs
