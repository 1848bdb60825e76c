"""What p-values of flipped signs are worth where the sums of few clusters are skewed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from caltest.measures.residual_sums import residuals, row_deviations
from caltest.numerics.labels import flipped_signs, resample_keys
from caltest.predictions import Predictions
from caltest.types import Floats, Ints
from caltest.units.units import row_weights

FEWEST, MOST = 199, 999  # simulated sums: as many as resamples within these limits
APART = 200  # clusters of the largest variance; the others are taken together in as many groups
SYMMETRIC = 0.05  # skewness of a sum that changes a size of 5 % by less than 0.1 %
ROUNDING = 1e-9  # relative
NORMAL, MOST_SKEWED = 1e-3, 1e6  # skewness: as good as normal, and as a burst


@dataclass(frozen=True)
class SkewedSum:
    """The sums of clusters that the predictions imply, in one direction of the labels.

    Attributes
    ----------
    noise, burst : (2, C) array
        Variance and third central moment of the sum of each cluster: of what its rows have each by
        itself, and of what they share.
    z : float
        The sum that was observed, of all clusters, over its cluster-robust error.
    doubt : float
        From 0 to 1: how far their skewness is that of bursts, which few clusters may not show.
    seed, n_trials : int
        Of the simulated sums.
    """

    noise: Floats
    burst: Floats
    z: float
    doubt: float
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
        correlation is that of the terms that were observed, and up to two standard errors more:
        where no burst of events happened, they look independent. With :math:`\gamma` the skewness
        of the sum at one standard error more and :math:`\gamma_0` that of independent rows, there
        are twice the doubt :math:`d = \min(1, 2 (\gamma^2 - \gamma_0^2)^{1/2})`. A share
        :math:`1 - d^2` of the mean of the terms is no sign of correlation: it is what a wrong model
        has.
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
            triple = 2.0 * rho**2 / (1.0 + rho)
            parts = (1 - 3 * rho + 2 * triple) * alone + 3 * (rho - triple) * twice
            return one + rho * pairs, parts + triple * whole

        def made(rho: float, doubt: float = 0.0) -> SkewedSum:
            v, t = moments(rho)
            noise = np.stack([one, alone]).astype(np.float64) * (1.0 - rho)
            return cls(noise, np.stack([v, t]) - noise, z, doubt, seed, n_trials)

        total = float(pairs.sum())
        if total <= ROUNDING * float(one.sum()):  # no two rows in a cluster
            return made(0.0)

        def estimated(mean: float, errors: float, doubt: float = 0.0) -> SkewedSum:
            apart = np.square(sums - mean * length).sum() - np.square(own - mean * size).sum()
            rho = float(apart) / total
            v, t = moments(min(max(rho, 0.0), 1.0))
            fourth = np.divide(np.square(t), v, out=np.zeros_like(v), where=v > 0)
            error = float(np.sqrt(np.sum(2.0 * np.square(v) + fourth))) / total
            return made(min(max(rho + errors * error, 0.0), 1.0), doubt)

        added = estimated(0.0, 1.0).skewness ** 2 - made(0.0).skewness ** 2
        doubt = min(1.0, 2.0 * math.sqrt(max(added, 0.0)))
        mean = float(sums.sum() / length.sum())
        return estimated((1.0 - doubt**2) * mean, 2.0 * doubt, doubt)

    @property
    def variance(self) -> Floats:
        """That of the sum of each cluster, (C,)."""
        return np.asarray(self.noise[0] + self.burst[0])

    @property
    def third(self) -> Floats:
        """The third central moment of the sum of each cluster, (C,)."""
        return np.asarray(self.noise[1] + self.burst[1])

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
    def trials(self) -> tuple[Floats, Floats]:
        """The p-values of flipped signs of simulated sums on the observed and on the other side.

        The noise of a cluster has a shifted gamma distribution; what its rows share takes one of
        two values: a burst of events comes or not. Both in ascending order.
        """
        (v, t), (burst, third) = self._grouped()
        rng, shape = np.random.default_rng(self.seed), (self.n_trials, v.size)
        skewness = skewness_of(v, t)
        size = 4.0 / np.square(skewness)
        sums = (rng.standard_gamma(size, shape) - size) * (0.5 * skewness * np.sqrt(v))
        skewness = skewness_of(burst, third)
        rise = 0.5 * (1.0 - skewness / np.sqrt(4.0 + np.square(skewness)))
        high, low = np.sqrt(burst * (1.0 - rise) / rise), -np.sqrt(burst * rise / (1.0 - rise))
        sums += np.where(rng.random(shape) < rise, high, low)
        signs = flipped_signs(np.arange(v.size), resample_keys(self.seed, self.n_trials))
        whole = sums.sum(axis=1)
        extreme = np.abs(sums @ signs.T) >= np.abs(whole)[:, None] * (1.0 - ROUNDING)
        pvalues = (1.0 + extreme.sum(axis=1)) / (1.0 + self.n_trials)
        is_same = whole * self.z >= 0
        return np.sort(pvalues[is_same]), np.sort(pvalues[~is_same])

    def _grouped(self) -> Floats:
        """Return the moments (2, 2, .) of the clusters, of small ones together where many."""
        order = np.argsort(-self.variance, kind="stable")
        group = np.arange(order.size)
        group[APART:] = APART + group[: max(order.size - APART, 0)] % APART
        parts = [np.bincount(group, x[order]) for x in (*self.noise, *self.burst)]
        return np.stack(parts).astype(np.float64).reshape(2, 2, -1)

    def raised(self, pvalue: float, *, is_own: bool) -> float:
        """Return the share of trials with such a p-value, if that is larger.

        With doubt, up to twice the share on the side of the observed sum takes its place: a rate of
        bursts that is wrong moves one side. The p-value of another statistic than the sum is up to
        half as large in skewed tails.
        """
        if self.skewness * np.sign(self.z) > -SYMMETRIC:
            return pvalue  # on the side of the long tail flipped signs are careful
        ratio = 1.0 if is_own else 1.0 + min(1.0, 2.0 * abs(self.skewness))
        most, twice = ratio * pvalue + ROUNDING, self.doubt**2
        same, other = (np.searchsorted(side, most, side="right") for side in self.trials)
        few = (1.0 + twice) * float(1 + same) + (1.0 - twice) * float(other)
        return min(1.0, max(pvalue, few / (1 + self.n_trials)))


def skewness_of(variance: Floats, third: Floats) -> Floats:
    """Return third / variance^(3/2), neither 0, which is as good as normal, nor infinite."""
    scale = np.maximum(variance, 1e-300) ** 1.5
    found = np.divide(third, scale, out=np.zeros_like(third), where=scale > 0)
    found = np.clip(found, -MOST_SKEWED, MOST_SKEWED)
    return np.asarray(np.where(np.abs(found) > NORMAL, found, NORMAL))


def sum_table(predictions: Predictions) -> Floats:
    """Return the terms (n, m) of the residuals in the direction of their sum."""
    total = residuals(predictions).sum(axis=0)
    return np.outer(row_weights(predictions), total / max(float(np.abs(total).max()), 1e-300))
