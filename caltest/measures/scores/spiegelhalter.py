"""Spiegelhalter's z, the standardised Brier score, Spiegelhalter 1986."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Unpack, cast

import numpy as np

from caltest.errors import NotApplicable
from caltest.lenses import Lens
from caltest.measures.label_scores import LabelScore, sum_unit
from caltest.measures.outcome import Outcome, two_sided_normal
from caltest.numerics.class_sums import binary_residual_sums, deviation_table
from caltest.numerics.sorted_scores import sum_variance
from caltest.predictions import Measured, Predictions
from caltest.types import Floats, Ints
from caltest.units import CellUnits, RowUnits, ScoreSums, Statistic, Units

__all__ = ["SpiegelhalterZ", "spiegelhalter_z"]

CONSTANT = (
    "the Brier score has no variance under calibration, since the positive probabilities of each "
    "row are equal"
)


@dataclass(frozen=True, kw_only=True)
class SpiegelhalterZ(LabelScore):
    """Spiegelhalter's z; see `spiegelhalter_z`."""

    key: ClassVar[str] = "spiegelhalter"
    function: ClassVar[str] = "spiegelhalter_z"
    title: ClassVar[str] = "Spiegelhalter's z"
    symbol: ClassVar[str] = "z"
    interval_instead: ClassVar[str] = "test='brier'"
    nulls: ClassVar[tuple[str, ...]] = ("exact", "consistency", "asymptotic", "saddlepoint")

    def statistic(self, units: Units) -> Statistic:
        sums = ScoreSums(
            units,
            deviations,
            terms=lambda units: np.zeros(len(units.cells)),
            fused=lambda labels, p, w: binary_residual_sums(labels, p, w * (1.0 - 2.0 * p)),
        )
        heaviest = np.array([units.heaviest])
        # The standard deviation of the sum of the deviations of each group, (G,).
        if isinstance(units, CellUnits):
            sd = np.sqrt(units.sums(units.cells.noise * np.square(1.0 - 2.0 * units.mean)))
            unit = units.positive(sd, CONSTANT, "use test='brier'")
        elif (p := units.mean).ndim == 1:
            sd = unit = np.sqrt([sum_variance(p, units.scale * (1.0 - 2.0 * p))])
        else:
            rows = np.einsum("ik,ik->i", units.probs, np.square(sums.table))
            sd = unit = np.sqrt([np.square(units.scale) @ rows])

        def z(deviation: Floats) -> Floats:
            if unit.all():
                return np.asarray(deviation / unit)
            return np.where(deviation == 0, 0.0, np.copysign(np.inf, deviation))

        never = (f"{CONSTANT}; z is 0 where it has its mean, else infinite",)
        return Statistic(
            units=units,
            sums=sums,
            value=z,
            scale=units.rounding * np.array([sum_unit(one, heaviest) for one in sd.tolist()]),
            degenerate=() if unit.all() else never,
            error=lambda: _error(sums, unit),
            blind=sd == 0,
        )

    def score_table(self, predictions: Predictions) -> Floats:
        """Return the deviations of each label, times the weights."""
        return ScoreSums(RowUnits(predictions), deviations).weighted

    def limit(self, predictions: Predictions) -> Outcome:
        """Return the normal limit of z, two-sided."""
        found = self.statistic(RowUnits(predictions))
        if found.degenerate:
            raise NotApplicable(CONSTANT, "use null='exact'")
        z = float(found.observed[0])
        return two_sided_normal(z, z, {})

    def outcome_of_grades(self, pd: Floats, defaults: Ints, n: Ints) -> Outcome:
        """Test z of obligors who have the PD of their grade by its normal limit, two-sided."""
        z = spiegelhalter_score(pd, defaults, n)
        if z is None:
            raise NotApplicable("every PD is 0, 1/2 or 1, so z has no variance")
        return two_sided_normal(z, z, {})


def deviations(probs: Floats) -> Floats:
    """Return half the Brier score of each label less its mean, of probabilities (n, m)."""
    if probs.shape[1] == 2:
        p = probs[:, 1]
        return np.column_stack([-p * (1.0 - 2.0 * p), (1.0 - p) * (1.0 - 2.0 * p)])
    return deviation_table(probs)


def _error(sums: ScoreSums, sd: Floats) -> float:
    """Bound the change of the sum in the units of its deviation, and of that deviation."""
    units, cells = cast("CellUnits", sums.units), cast("CellUnits", sums.units).cells
    slope, twice = np.abs(1.0 - 2.0 * cells.mean), 2.0 * cells.reach
    own = units.sums((cells.events + cells.expected) * twice) / sd
    widest = np.sqrt(units.sums(cells.noise * np.square(slope + twice)))
    least = np.sqrt(units.sums(cells.noise * np.square(np.maximum(slope - twice, 0.0))))
    z = np.abs(sums.redrawn(units.observed[np.newaxis])[0] / sd) + own
    with np.errstate(divide="ignore"):
        narrowing = np.where(widest > 0, sd / least - 1.0, 0.0)
    widening = np.maximum(widest / sd - 1.0, 0.0)
    return float((own * (1.0 + narrowing) + z * np.maximum(widening, narrowing)).max())


def spiegelhalter_z(
    probs: object, labels: object = None, *, lens: str | Lens = "strong", **rows: Unpack[Measured]
) -> float | Floats:
    r"""Compute Spiegelhalter's z, the Brier score standardised by its moments under calibration.

    With fixed predictions and :math:`Y_i \sim Cat(p_i)` the score
    :math:`S = \sum_i \lVert p_i - e_{Y_i} \rVert^2` has

    .. math:: E S = \sum_i (1 - q_i), \quad
        \mathrm{var} S = 4 \sum_i \sum_k p_{ik} (p_{ik} - q_i)^2, \quad q_i = \sum_k p_{ik}^2,

    and :math:`z = (S - E S) / \sqrt{\mathrm{var} S}`. For two classes it is Spiegelhalter's

    .. math:: \frac{\sum_i (y_i - p_i)(1 - 2 p_i)}{\sqrt{\sum_i (1 - 2 p_i)^2 p_i (1 - p_i)}}.

    Overconfident predictions give z > 0, underconfident ones z < 0; its test is two-sided. Under
    the exact null it has the p-value of the Brier score.

    Parameters
    ----------
    probs : (n, m) or (n,) array, or Predictions
        Predicted probabilities, rows on the simplex; (n,) holds P(Y = 1) of a binary model.
    labels : (n,) or one-hot (n, m) array
        Observed classes.
    lens : str or Lens, default "strong"
        The aspect of the predictions that is measured. A family of lenses gives an array.
    **rows
        `sample_weight`, `classes`, `from_logits` and `renormalize`, as for `Predictions`, and
        `n_jobs`, the number of threads as in joblib.

    Returns
    -------
    float
        In standard deviations. Where the variance is 0, with a DegenerateDataWarning, 0 if S has
        its mean and infinite if not. Sample weights multiply the terms of S, and the variance is
        that of the weighted sum.

    Raises
    ------
    InvalidInput
        If an argument breaks its rule.

    References
    ----------
    Spiegelhalter (1986), Probabilistic prediction in patient management and clinical trials,
    Statistics in Medicine 5, section 4.

    Examples
    --------
    >>> import caltest as ct
    >>> ct.measures.spiegelhalter_z([0.9, 0.8, 0.2], [1, 0, 0])  # 0.28 / sqrt(0.1728)
    0.67357...
    """
    return SpiegelhalterZ().evaluate(probs, labels, lens, **rows)


def spiegelhalter_score(pd: Floats, defaults: Ints, n: Ints) -> float | None:
    """Return Spiegelhalter's z of obligors who have the PD of their grade, None without variance.

    z = sum_g (d - n PD) (1 - 2 PD) / sqrt(sum_g n (1 - 2 PD)^2 PD (1 - PD)); infinite where a
    grade of PD 0 or 1 has defaults that are impossible.
    """
    score = float(((defaults - n * pd) * (1.0 - 2.0 * pd)).sum())
    certain = (pd == 0) | (pd == 1)
    if (defaults[certain] != n[certain] * pd[certain]).any():
        return math.inf
    variance = float((n * (1.0 - 2.0 * pd) ** 2 * pd * (1.0 - pd)).sum())
    return score / math.sqrt(variance) if variance > 0 else None
