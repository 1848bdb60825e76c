"""Bounds of the SKCE from all pairs, which more than one estimator needs."""

from __future__ import annotations

import math

import numpy as np

from caltest.errors import NotApplicable
from caltest.kernels import FittedKernel
from caltest.measures.kernel.all_pairs import AllPairs, all_pairs
from caltest.measures.kernel.skce import jackknife_error
from caltest.numerics.tails import normal_isf
from caltest.predictions import Predictions

LAW = "normal limit of the U-statistic, jackknife standard error"
ZERO = (
    "the normal limit holds where the predictions are not calibrated; an interval that reaches 0 "
    "says no more than that"
)


def bounds_of_pairs(
    predictions: Predictions, kernel: FittedKernel, *, level: float, n_jobs: int | None, symbol: str
) -> tuple[float, float, float]:
    r"""Return both ends of the SKCE and its unbiased estimate U.

    Away from 0, :math:`r = \sqrt U` is the length of a mean and closer to normal than U, whose
    error grows with U. So the interval takes the lower end of :math:`U \pm z \, se` and for the
    upper end the root, whose reach is e:

    .. math:: \max(U - z \, se, 0), \quad
        (r + e)^2 = \max(U, 0) + z \, se + \frac{(z \, se)^2}{4 \max(U, z \, se / 2)}.

    Rows with rare and large errors may be too few, or none, and U and its standard error are then
    small together. So c rows with the largest error R that the predictions allow are added to the
    mean for the upper end:

    .. math:: r + \delta + \sqrt{e^2 + z^2 \delta^2 / c}, \quad \delta = c (R - r) / (n + c),
        \quad c + z \sqrt c = -\log a, \quad a = (1 - level) / 2.

    If no row shows an error this is the exact bound: a share s of such rows is missed by all n with
    probability :math:`(1 - s)^n`, which is a for :math:`s = -\log(a) / n`.

    References
    ----------
    Serfling (1980), Approximation theorems of mathematical statistics, section 5.5.1; Arvesen
    (1969), Jackknifing U-statistics; Agresti, Coull (1998), Approximate is better than exact for
    interval estimation of binomial proportions (added rows).
    """
    estimate, error = _jackknife(all_pairs(predictions, kernel, biased=False), n_jobs)
    if error == 0:
        raise NotApplicable(f"the {symbol} is the same without any row; report the p-value alone")
    a = (1.0 - level) / 2.0
    z = normal_isf(a)
    reach = z * error
    high = max(estimate, 0.0) + reach + reach * reach / (4.0 * max(estimate, reach / 2.0))
    root = math.sqrt(max(estimate, 0.0))
    added = ((math.sqrt(z * z - 4.0 * math.log(a)) - z) / 2.0) ** 2
    rest = math.sqrt(largest_error(predictions, kernel)) - root
    shift = max(added * rest / (_size(predictions) + added), 0.0)
    spread = math.hypot(math.sqrt(high) - root, z * shift / math.sqrt(added))
    return max(estimate - reach, 0.0), (root + shift + spread) ** 2, estimate


def largest_error(predictions: Predictions, kernel: FittedKernel) -> float:
    """Return the largest h_ii = delta_i' k(p_i, p_i) delta_i over the rows and their labels."""
    matrix = sum(term.matrix for term in kernel.terms)
    image = predictions.probs @ matrix
    own = np.einsum("ik,ik->i", image, predictions.probs)
    return float((np.diagonal(matrix) - 2.0 * image + own[:, None]).max())


def _size(predictions: Predictions) -> float:
    """Return the number of rows, with weights (sum w)^2 / sum w^2."""
    weight = predictions.sample_weight
    return predictions.n if weight is None else float(weight.sum() ** 2 / np.square(weight).sum())


def _jackknife(pairs: AllPairs, n_jobs: int | None) -> tuple[float, float]:
    if pairs.predictions.sample_weight is None:
        return jackknife_error(pairs, n_jobs)
    return _weighted_jackknife(pairs, n_jobs)


def _weighted_jackknife(pairs: AllPairs, n_jobs: int | None) -> tuple[float, float]:
    """Leave out one row of positive weight at a time; h_ij counts w_i w_j times."""
    weight = pairs.weight
    sums = pairs.row_sums(n_jobs)[weight > 0]
    weight = weight[weight > 0]
    n, total, squares = weight.size, float(weight.sum()), float(np.square(weight).sum())
    if n < 3:
        raise NotApplicable(
            f"the jackknife needs three observations of positive weight, and there are {n}; "
            "report the p-value alone"
        )
    whole = float(sums.sum())
    mass = np.square(total - weight) - (squares - np.square(weight))
    without = (whole - 2.0 * sums) / mass
    variance = (n - 1) / n * float(np.square(without - without.mean()).sum())
    return whole / (total**2 - squares), math.sqrt(variance)
