"""Dirichlet distributions of the predictions of each class, fitted by maximum likelihood."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, polygamma

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

    def value(alpha: Floats) -> float:
        return float(gammaln(alpha).sum() - gammaln(alpha.sum()) - (alpha - 1) @ mean_logs)

    def slope(alpha: Floats) -> Floats:
        return np.asarray(digamma(alpha) - digamma(alpha.sum()) - mean_logs)

    alpha, steps = np.ones_like(mean_logs), 0
    norm, enough = np.inf, ENOUGH * (1 + np.abs(mean_logs).max())
    while steps < STEPS and alpha.sum() <= LARGEST:
        gradient = slope(alpha)
        norm = float(np.linalg.norm(gradient))
        if norm <= enough:
            break
        inverse = 1 / polygamma(1, alpha)
        move = gradient + (inverse @ gradient) / (1 / polygamma(1, alpha.sum()) - inverse.sum())
        move *= inverse
        while (trial := alpha - move).min() <= 0 or (
            value(trial) > value(alpha) and np.linalg.norm(slope(trial)) > norm
        ):
            move /= 2
        alpha, steps = trial, steps + 1
    return FittedDirichlet(alpha, norm, steps, bool(alpha.sum() <= LARGEST))
