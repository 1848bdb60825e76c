"""How far out a statistic is, on one scale for all of a portfolio."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
import scipy

from caltest.measures.bound import BoundMeasure
from caltest.measures.combined.component import Component, combine, most_extreme_first
from caltest.measures.outcome import Part
from caltest.numerics.joint import BY_RANK, ROUNDING, tie_tolerance
from caltest.numerics.labels import resample_keys
from caltest.numerics.loops import map_threads
from caltest.types import Floats, Hashes

REFERENCES = 299  # redrawn labels that the scales of the components are estimated from, at least
PARTS = 20  # at most, of label vectors of which each has scales by the others
# Seed of the references, which nobody passes as rng=: a resample that is among them would not be
# exchangeable with the labels that were observed.
REFERENCE_SEED = 0x5EED_0F7A_115C_A1E5_C0AB_1EED
AT_A_TIME = 1 << 20  # labels
BATCH, FEW = 64, 1 << 15  # resamples, and labels that are not worth several batches
SCALE = 1e5  # of C, in units of a sum of ones: components far out multiply that of theirs
OUTSIDE = 10.0  # added to the score of a value that is none of the constant reference values


@cache
def reference_keys(size: int = REFERENCES) -> Hashes:
    """Return the keys of the labels that scales are estimated from."""
    return resample_keys(REFERENCE_SEED, size)


class TailScale:
    r"""-log p of any value of a statistic, estimated from reference values under calibration.

    Up to the tenth largest reference value, p is the share of values at least as large, the value
    itself among them. Beyond it, log p falls by as much as that of the upper tail of a shifted
    gamma distribution with the mean, variance and skewness of the reference values, by the
    approximation of Wilson and Hilferty (1931). What is an exact p-value of the whole portfolio
    does not depend on how good this estimate is: it decides which component is heard.

    Parameters
    ----------
    reference : (R,) array
        The statistic for R redrawn labels.
    two_sided : bool
        Whether small values are far out too.
    """

    def __init__(self, reference: Floats, *, two_sided: bool) -> None:
        self.lower = TailScale(-reference, two_sided=False) if two_sided else None
        self.ordered = np.sort(reference)
        self.mean, self.sd = float(reference.mean()), float(reference.std())
        self.is_constant = self.sd <= 1e-12 * max(1.0, abs(self.mean))
        if self.is_constant:
            return
        standard = (reference - self.mean) / self.sd
        self.skewness = float(np.mean(standard**3))
        self.tenth = float(self.ordered[-min(BY_RANK, reference.size)])

    def scores(self, values: Floats) -> Floats:
        """Return -log p of each value, at least 0."""
        found = self.log_share(values)
        if self.lower is not None:
            found = np.log(2.0) + np.minimum(found, self.lower.log_share(-values))
        return np.asarray(-np.minimum(0.0, found))

    def log_share(self, values: Floats) -> Floats:
        """Return log p of each value, where large values are far out."""
        size = self.ordered.size
        ties = self._ties(values)
        below = np.searchsorted(self.ordered, values - ties)
        out = np.log((1.0 + size - below) / (1.0 + size))
        if self.is_constant:
            return np.asarray(np.where(below == size, out - OUTSIDE, out))
        far = values > self.tenth + ties
        beyond = self._gamma_log_tail(values[far]) - self._gamma_log_tail(np.array([self.tenth]))
        at_tenth = np.log((1.0 + min(BY_RANK, size)) / (1.0 + size))
        out[far] = np.minimum(at_tenth + beyond, at_tenth)
        return np.asarray(out)

    def _ties(self, values: Floats) -> Floats:
        """Return how far from each value others are ties: what sums of many rows may round to."""
        far = np.where(np.isfinite(values), np.abs(values - self.mean), 0.0)
        spread = ROUNDING * np.maximum(self.sd, far)
        return np.where(np.isfinite(values), np.maximum(spread, tie_tolerance(values, 1.0)), 0.0)

    def _gamma_log_tail(self, x: Floats) -> Floats:
        t = (x - self.mean) / self.sd
        if abs(self.skewness) > 1e-6:
            c = self.skewness
            t = 6.0 / c * (np.cbrt(1.0 + 0.5 * c * t) - 1.0) + c / 6.0
        return np.asarray(scipy.special.log_ndtr(-t))


def scales_of(portfolio: Sequence[Component], reference: Floats) -> list[TailScale]:
    """Return the scale of each component by its reference values, (K, R)."""
    pairs = zip(portfolio, reference, strict=True)
    return [TailScale(values, two_sided=component.two_sided) for component, values in pairs]


def scores_of(scales: Sequence[TailScale], statistics: Floats) -> Floats:
    """Return how far out each component is, -log p, (K, B)."""
    pairs = zip(scales, statistics, strict=True)
    return np.stack([scale.scores(values) for scale, values in pairs])


def parts_of(size: int) -> int:
    """Return into how many equal parts a test cuts that many label vectors for scales; 0: none.

    All but those of one part are `REFERENCES` at least.
    """
    fitting = (k for k in range(PARTS, 1, -1) if size % k == 0 and size - size // k >= REFERENCES)
    return next(fitting, 0)


def scored(
    portfolio: Sequence[Component], seen: Floats, references: Floats
) -> tuple[list[TailScale], Floats]:
    """Return the scales of the observed statistics, and how far out all that are seen are.

    Without reference values, the scales of each of `parts_of` equal parts are estimated from the
    others. As label vectors may change their places within parts, and parts theirs, the observed
    one is as likely as any other to be the farthest out where predictions are calibrated, and p is
    exact.

    Parameters
    ----------
    portfolio : sequence of Component
        The components.
    seen : (K, 1 + B) array
        Their statistics for the observed labels, and for those of the resamples.
    references : (K, R) array
        Those for labels that scales alone are estimated from, or none (R = 0).
    """
    if references.size:
        scales = scales_of(portfolio, references)
        return scales, scores_of(scales, seen)
    parts = np.split(np.arange(seen.shape[1]), parts_of(seen.shape[1]))
    by_part = [scales_of(portfolio, np.delete(seen, part, axis=1)) for part in parts]
    found = [scores_of(own, seen[:, part]) for own, part in zip(by_part, parts, strict=True)]
    return by_part[0], np.concatenate(found, axis=1)


def parameters_of(portfolio: Sequence[object]) -> dict[str, object]:
    """Return what the print shows of a portfolio."""
    combined_by = "log weighted mean of 1 / p over the components"
    return {"components": len(portfolio), "combined by": combined_by}


class Combining(BoundMeasure):
    """A portfolio of components, and the scale of each."""

    combines = True
    portfolio: Sequence[Component]
    scales: Sequence[TailScale]

    def prepare(
        self,
        portfolio: Iterable[Component],
        redrawn: Callable[[Hashes], Any],
        size: int,
        references: int = REFERENCES,
    ) -> None:
        """Take a portfolio, and estimate the scales of its components.

        Parameters
        ----------
        portfolio : iterable of Component
            What is combined.
        redrawn : callable
            Labels for keys, those that the scales are estimated from.
        size : int
            The size of one vector of labels.
        references : int
            How many of these.
        """
        self.portfolio = list(portfolio)
        self.parameters = parameters_of(self.portfolio)
        keys = reference_keys(references)
        redrawn(keys[:1])  # what is made once, before the threads
        step = max(min(BATCH, max(8, AT_A_TIME // size)), FEW // size)
        together = max(step, self.keys_together)

        def batch(first: int) -> Floats:
            drawn = redrawn(keys[first : first + together])
            parts = (drawn[i : i + step] for i in range(0, len(drawn), step))
            return np.concatenate([self.statistics(part) for part in parts], axis=1)

        tasks = [(first,) for first in range(0, references, together)]
        reference = np.concatenate(list(map_threads(batch, tasks)), axis=1)
        self.scales = scales_of(self.portfolio, reference)

    def statistics(self, labels: Any) -> Floats:
        """Return the components (K, B) for each row of `labels` (B, n)."""
        sources = {component.source for component in self.portfolio}
        read = {source: source.read(labels) for source in sources}
        return np.stack([one.values(read[one.source]) for one in self.portfolio])

    def values(self, labels: Any) -> Floats:
        return self.combine(self.statistics(labels))

    def distance(self, exact: Sequence[Floats]) -> float:
        """Return how far the combination is from that of these observed statistics."""
        both = np.column_stack([np.stack(exact), self.statistics(self.observed[None])])
        of_rows, of_cells = self.combine(both)
        return float(abs(of_rows - of_cells))

    def combine(self, statistics: Floats) -> Floats:
        """Return the statistic of the portfolio, (B,)."""
        return combine(self.portfolio, scores_of(self.scales, statistics))

    def with_parts(self, statistics: Floats) -> tuple[Floats, tuple[Part, ...]]:
        """Return that, and the components, the most extreme first; column 0 is of the labels."""
        scores = scores_of(self.scales, statistics)
        parts = most_extreme_first(self.portfolio, scores, statistics)
        return combine(self.portfolio, scores), parts
