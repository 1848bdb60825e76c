"""Cramer-von Mises calibration error: the mean square of the cumulative deviations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Unpack

import numpy as np

from caltest.lenses.base import Evaluated
from caltest.measures.base import Measure
from caltest.numerics.loops import njit
from caltest.types import Floats, Ints
from caltest.units import Norm, Observed, PartialSums, Statistic, Units

__all__ = ["CramerVonMises", "cramer_von_mises"]


class SquaredSums(PartialSums):
    """The sums (B, G) over steps of the squared partial sum, times the mass of the step."""

    def of(self, observed: Observed, scale: Floats, shift: Floats) -> Floats:
        step = np.zeros(self.units.ends.size)
        step[self.at] = np.diff(np.cumsum(self.units.mass)[self.at], prepend=0.0)
        return np.asarray(sums_of_squares(observed, scale, shift, step, self.units.start))


@dataclass(frozen=True, kw_only=True)
class CramerVonMises(Measure):
    """The Cramer-von Mises error; see `cramer_von_mises`."""

    key, title, symbol = "cramer-von-mises", "Cramer-von Mises calibration error", "CvM"
    largest: ClassVar[float] = 1.0
    is_squared: ClassVar[bool] = True
    intervals: ClassVar[tuple[str, ...]] = ("convex", "plug-in", "bca")

    def statistic(self, units: Units) -> Statistic:
        units = units.ordered(f"the {self.title}")
        sums, total = SquaredSums(units), units.total

        def gaps(residuals: Floats, mass: Floats) -> Floats:
            upto = sums.all(mass)
            share = np.diff(upto, axis=1, prepend=0.0) / upto[:, -1:]
            return np.asarray(sums.all(residuals) / upto[:, -1:] * np.sqrt(share))

        return Statistic(
            sums=sums,
            value=lambda squares: np.asarray(squares / total**3),
            scale=units.rounding * np.sqrt(units.variance) / total,
            caution="sums are taken where cells end, up to 2^-16 apart",
            norm=Norm(gaps, lambda gaps: np.asarray(np.linalg.norm(gaps, axis=1)), power=2),
        )


def cramer_von_mises(
    probs: object, labels: object = None, **rows: Unpack[Evaluated]
) -> float | Floats:
    r"""Compute the Cramer-von Mises calibration error, the mean square of cumulative deviations.

    With the scores p in ascending order and equal scores as one step,

    .. math:: \frac{1}{n} \sum_i C_i^2, \quad C_i = \frac{1}{n} \sum_{p_j \le p_i} (y_j - p_j).

    Where `ks_error` looks at the largest deviation, it looks at all of them. Starting from the
    other class can give another value.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        A lens that leaves two classes. A family of lenses gives an array.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In squared units of probability, in [0, 1]; its root is at most `ks_error`. Sample weights
        count an observation w_i times. Takes O(n log n).

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.
    NotApplicable
        If there are more than two classes.

    References
    ----------
    Anderson, Darling (1952), Asymptotic theory of certain "goodness of fit" criteria based on
    stochastic processes, Ann. Math. Statist. 23; Arrieta-Ibarra et al. (2022), Metrics of
    calibration for probabilistic predictions, JMLR 23, for the cumulative deviations.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.cramer_von_mises([0.25, 0.5, 0.75], [1, 0, 1])  # (.75^2 + .25^2 + .5^2) / 27
    0.03240...
    """
    return CramerVonMises().evaluate(probs, labels, **rows)


@njit()
def sums_of_squares(
    observed: Observed, scale: Floats, shift: Floats, step: Floats, start: Ints
) -> Floats:
    """Return the sum of step S^2 over each group, (B, G), with S the sums of scale (e - shift)."""
    out = np.zeros((observed.shape[0], start.size - 1))
    for b in range(observed.shape[0]):
        for g in range(start.size - 1):
            carried = 0.0
            for i in range(start[g], start[g + 1]):
                carried += scale[i] * (observed[b, i] - shift[i])
                out[b, g] += step[i] * (carried * carried)
    return out
