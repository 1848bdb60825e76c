"""The variance of a logistic recalibration of n rows, for large n: bread and meat."""

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

Floats = NDArray[np.float64]

STEPS = 100
STEP = 1e-10  # change of the coefficients at the end


def recalibration_variance(
    X: Floats, offset: Floats, q: Floats, weights: Floats
) -> tuple[Floats, Floats]:
    """Return the limit of a logistic fit and n times the covariance of its coefficients.

    Labels have P(Y = 1) = q, and the fit has log odds offset + X beta; it need not be true. The
    covariance is A^-1 B A^-1 with A = E[mu (1 - mu) x x'] and B = E[(Y - mu)^2 x x'] (Huber 1967;
    White 1982); where the fit is true, A = B is the information.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the columns of X are dependent, or there is no finite limit.
    """
    w = weights / weights.sum()
    beta = np.zeros(X.shape[1])
    for _ in range(STEPS):
        mu = expit(offset + X @ beta)
        A = (X * (w * mu * (1 - mu))[:, None]).T @ X
        step = np.linalg.solve(A, X.T @ (w * (q - mu)))
        beta = beta + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() <= STEP:
            break
    else:
        raise np.linalg.LinAlgError("no finite limit")
    mu = expit(offset + X @ beta)
    A = (X * (w * mu * (1 - mu))[:, None]).T @ X
    B = (X * (w * (q * (1 - q) + (q - mu) ** 2))[:, None]).T @ X
    inverse = np.linalg.inv(A)
    return beta, inverse @ B @ inverse
