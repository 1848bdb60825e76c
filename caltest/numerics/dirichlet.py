"""The Dirichlet of greatest likelihood; that of two components is a beta distribution."""

import numpy as np
from scipy.special import digamma, gammaln, polygamma

from caltest.types import Floats

STEPS = 500
ENOUGH = 1e-12  # of the gradient, relative to the mean logarithms


def fit_dirichlet(mean_logs: Floats, largest: float) -> tuple[Floats, float, int]:
    """Maximise the mean log likelihood of a Dirichlet, which is concave, by Newton's method.

    Returned are the parameters (m,), the norm of the gradient, and the Newton steps. The likelihood
    has no maximum where all rows are equal: then the parameters sum to more than `largest`.

    The Hessian is a diagonal matrix less one of rank one (Minka 2000, Estimating a Dirichlet
    distribution, section 1).

    Parameters
    ----------
    mean_logs : (m,) array
        Mean logarithm of each component, all that the likelihood needs of the data.
    largest : float
        Sum of the parameters at which the steps end.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).dirichlet([2.0, 1.0, 0.5], 10_000)
    >>> fit_dirichlet(np.log(rows).mean(axis=0), np.inf)[0].round(1)
    array([2. , 1. , 0.5])
    """

    def value(alpha: Floats) -> float:
        return float(gammaln(alpha).sum() - gammaln(alpha.sum()) - (alpha - 1) @ mean_logs)

    def slope(alpha: Floats) -> Floats:
        return np.asarray(digamma(alpha) - digamma(alpha.sum()) - mean_logs)

    alpha, steps = np.ones_like(mean_logs), 0
    norm, enough = np.inf, ENOUGH * (1 + np.abs(mean_logs).max())
    while steps < STEPS and alpha.sum() <= largest:
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
    return alpha, norm, steps
