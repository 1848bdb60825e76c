r"""The three forms of a Dirichlet calibration map, Kull et al. 2019, section 3 and theorem 1.

- linear: softmax(W ln q + b); W and b are determined up to one constant per column.
- canonical: softmax(A ln(k q) + ln c), with A >= 0, a zero in every column of A, and c on the
  simplex. It is unique, and c is what the uniform prediction is mapped to.
- generative: predictions of class i are Dirichlet(alpha_i), and the classes have the shares
  pi; the map is the posterior probability. Adding constants to columns of alpha changes pi and not
  the map, so every map has parameters alpha > 0; here alpha = A + 1.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, softmax

from caltest.types import Floats

Pair = tuple[Floats, Floats]


def linear_to_canonical(W: Floats, b: Floats) -> Pair:
    """Turn (W, b) into (A, c), proof of theorem 1.

    Parameters
    ----------
    W : (k, k) array
        Weights of ln q.
    b : (k,) array
        Intercepts.

    Returns
    -------
    (k, k) array, (k,) array
        A, whose columns have the minimum 0, and c, which sums to 1.

    Examples
    --------
    >>> import numpy as np
    >>> A, c = linear_to_canonical(np.array([[2.0, -1.0], [1.0, 0.5]]), np.zeros(2))
    >>> A.tolist(), c.round(3).tolist()
    ([[1.0, 0.0], [0.0, 1.5]], [0.586, 0.414])
    """
    return W - W.min(axis=0), softmax(b - W.sum(axis=1) * np.log(len(b)))


def linear_to_generative(W: Floats, b: Floats, least: Floats | float = 1.0) -> Pair:
    """Turn (W, b) into (alpha, pi) with the smallest alpha that is at least 1.

    Parameters
    ----------
    W : (k, k) array
        Weights of ln q.
    b : (k,) array
        Intercepts.
    least : float or (k,) array, default 1.0
        The least alpha in each column.

    Returns
    -------
    (k, k) array, (k,) array
        alpha, in row i the Dirichlet parameters of class i, and pi, the shares of the classes. A
        share below 1e-308 becomes 0.

    Examples
    --------
    >>> import numpy as np
    >>> alpha, pi = linear_to_generative(np.eye(2), np.zeros(2))
    >>> alpha.tolist(), pi.tolist()
    ([[2.0, 1.0], [1.0, 2.0]], [0.5, 0.5])
    """
    low = W.min(axis=0)
    alpha = W - low + least
    return alpha, softmax(b + _log_beta(alpha))


def generative_to_linear(alpha: Floats, pi: Floats) -> Pair:
    """Turn (alpha, pi) into (W, b) with W = alpha - 1.

    Parameters
    ----------
    alpha : (k, k) array
        In row i the Dirichlet parameters of class i, above 0.
    pi : (k,) array
        Shares of the classes; zeros become intercepts of minus infinity.

    Returns
    -------
    (k, k) array, (k,) array
        W and b.

    Examples
    --------
    >>> import numpy as np
    >>> W, b = generative_to_linear(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([0.5, 0.5]))
    >>> W.tolist(), np.exp(b).round(12).tolist()
    ([[1.0, 0.0], [0.0, 1.0]], [1.0, 1.0])
    """
    with np.errstate(divide="ignore"):
        return alpha - 1, np.log(pi) - _log_beta(alpha)


def interpretation_points(k: int, epsilon: float) -> Floats:
    """Return the predictions at which the canonical form can be read, Kull et al., section 3.

    Near the middle of a facet, where class j has the probability epsilon and the others are equal,
    the map is proportional to epsilon ** a_ij up to a bounded factor, so that column j of A alone
    decides; the centre is mapped to c.

    Parameters
    ----------
    k : int
        Number of classes.
    epsilon : float
        How near.

    Returns
    -------
    (k + 1, k) array
        The points of the k facets, and the centre.
    """
    points = np.full((k + 1, k), (1 - epsilon) / (k - 1))
    np.fill_diagonal(points, epsilon)
    points[k] = 1 / k
    return points


def _log_beta(alpha: Floats) -> Floats:
    """Return ln B(alpha_i) of each row, the constant of a Dirichlet density."""
    return np.asarray(gammaln(alpha).sum(axis=1) - gammaln(alpha.sum(axis=1)))
