"""The SKCE of very many rows of several classes, by features of the kernel: sums over rows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from caltest.errors import NotApplicable
from caltest.kernels import MatrixKernel
from caltest.kernels.features import Features
from caltest.measures.chunks import BoundChunks, FeatureTotals, MakeFeatures
from caltest.measures.outcome import Part
from caltest.scale.chunks import Survey

Floats = NDArray[np.float64]
LEFT_OUT = "left out by features"
NO_BANDWIDTH = "all predictions are equal, so their distances give no bandwidth; it is set to 1.0"


class FeaturePairs(BoundChunks):
    """The unbiased or the biased mean of h over all pairs, by features.

    Parameters
    ----------
    kernel : MatrixKernel
        A scalar kernel times the identity.
    survey : Survey
        What is known of the rows.
    biased : bool
        Whether pairs of a row with itself count.
    """

    def __init__(self, kernel: MatrixKernel, survey: Survey, *, biased: bool) -> None:
        sample = survey.sample
        self.n, self.biased, self.sample = survey.n, biased, sample
        m = sample.probs.shape[1]
        if self.n < 2 and not biased:
            raise NotApplicable(
                "the unbiased SKCE needs at least two observations, and there are fewer",
                "use estimator='biased'",
            )
        terms = kernel.terms(m)
        if len(terms) > 1 or len(terms[0].factors) > 1 or not terms[0].is_identity:
            reason = f"{kernel} has no features: only a scalar kernel times the identity has"
            raise NotApplicable(reason, "use engine='rows', or another kernel")
        scalar = terms[0].factors[0]
        if callable(scalar.metric):
            raise NotApplicable("a callable metric has no features", "use engine='rows'")
        self.features = Features.of(scalar, sample.probs)
        self.make = MakeFeatures(self.features, m)
        if self.features.is_degenerate:
            self.degenerate = (NO_BANDWIDTH,)
        rule = self.features.rule
        if isinstance(scalar.bandwidth, str):
            rule = f"{rule} of {len(sample.probs):,} different predictions"
        self.parameters = {
            "estimator": "biased" if biased else "unbiased",
            "kernel": str(kernel),
            "bandwidth": self.features.bandwidth,
            "bandwidth rule": rule,
            "features": len(self.features.landmarks),
        }

    @property
    def normaliser(self) -> float:
        """The number of pairs."""
        return float(self.n) * (self.n if self.biased else self.n - 1)

    def values(self, totals: FeatureTotals, n_resamples: int) -> tuple[Floats, tuple[Part, ...]]:
        whole, own = (sums[: 1 + n_resamples] for sums in totals.pair_sums())
        return np.asarray((whole if self.biased else whole - own) / self.normaliser), ()

    def error(self) -> dict[str, object]:
        r"""Estimate the part of the SKCE that the features leave out, from the sample.

        It is the unbiased SKCE of the rest of the kernel, over pairs of rows with different
        predictions; its standard error is that of pairs whose labels are calibrated.
        """
        sample = self.sample
        n = sample.counts.sum(axis=1)
        pairs = float(n.sum() ** 2 - n @ n)
        if pairs == 0:
            return {LEFT_OUT: "none"}
        rest = self.features.between(sample.probs, sample.probs)
        rest -= self.features.products(sample.probs)
        np.fill_diagonal(rest, 0.0)
        residuals = sample.counts - n[:, None] * sample.probs
        left_out = float(np.vdot(rest @ residuals, residuals)) / pairs
        # The covariance of the labels of a row is diag(p) - p p'.
        squares = np.square(sample.probs)
        inner, mixed = sample.probs @ sample.probs.T, sample.probs @ squares.T
        trace = inner - mixed - mixed.T + np.square(inner)
        spread = 2.0 * float(n @ (np.square(rest) * trace) @ n)
        return {LEFT_OUT: f"{left_out:.2g} (SE {math.sqrt(spread) / pairs:.1g})"}
