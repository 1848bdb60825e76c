"""Dirichlet distributions of the predictions of each class, fitted by maximum likelihood."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from caltest.numerics.newton import backtrack
from caltest.types import Floats

STEPS = 500
LARGEST = 1e6  # sum of the parameters; predictions that vary less are taken as equal
ENOUGH = 1e-12  # of the gradient, relative to the mean logarithms


class FittedDirichlet(NamedTuple):
    """The parameters (m,), the norm of the gradient, Newton steps, and whether there is an end."""

    alpha: Floats
    norm: float
    steps: int
    bounded: bool


def fit_dirichlet(mean_logs: Floats) -> FittedDirichlet:
    """Maximise the mean log likelihood of a Dirichlet, which is concave, by Newton's method.

    It has no maximum where all rows are equal: then the parameters sum to more than `LARGEST`.

    The Hessian is a diagonal matrix less one of rank one (Minka 2000, Estimating a Dirichlet
    distribution, section 1).

    Parameters
    ----------
    mean_logs : (m,) array
        Mean logarithm of each component, all that the likelihood needs of the data.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).dirichlet([2.0, 1.0, 0.5], 10_000)
    >>> fit_dirichlet(np.log(rows).mean(axis=0)).alpha.round(1)
    array([2. , 1. , 0.5])
    """

    def slope(alpha: Floats) -> Floats:
        return np.asarray(digamma(alpha) - digamma(alpha.sum()) - mean_logs)

    def point(alpha: Floats) -> tuple[float, Floats]:
        if alpha.min() <= 0:
            return np.inf, alpha
        return float(gammaln(alpha).sum() - gammaln(alpha.sum()) - (alpha - 1) @ mean_logs), alpha

    def along(part: float) -> tuple[float, Floats]:
        return point(alpha - part * move)

    def is_flatter(trial: tuple[float, Floats]) -> bool:
        return trial[1].min() > 0 and float(np.linalg.norm(slope(trial[1]))) < norm

    alpha = np.ones_like(mean_logs)
    enough = ENOUGH * (1 + float(np.abs(mean_logs).max()))
    step = 0
    while step < STEPS:
        gradient = slope(alpha)
        norm = float(np.linalg.norm(gradient))
        if norm <= enough or alpha.sum() > LARGEST:
            break
        inverse = 1 / polygamma(1, alpha)
        rest = 1 / polygamma(1, alpha.sum()) - inverse.sum()
        move = inverse * (gradient + (inverse @ gradient) / rest)
        found = backtrack(along, point(alpha)[0], -float(gradient @ move), is_flatter)
        if found is None:
            break
        alpha, step = found[1][1], step + 1
    return FittedDirichlet(alpha, norm, step, bool(alpha.sum() <= LARGEST))
