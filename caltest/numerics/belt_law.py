r"""The law of a likelihood-ratio statistic after forward selection of a degree.

Given the selected degree it is that of :math:`R + X_1 + ... + X_j` with
:math:`X_i \sim \chi^2_1` given :math:`X_i > k`, and R chi^2 with two degrees of freedom (external)
or one (internal). With g_0 = e^{t/2} P(R > t), the tail is e^{-t/2} g_j(t) / q^j, q = P(X > k),

.. math:: g_j(t) = \sqrt{2 / \pi} \int_{\sqrt k}^{\sqrt{t - (j - 1) k}} g_{j-1}(t - r^2) dr
    + q^{j-1} e^{(j-1) k / 2} \mathrm{erfcx} \sqrt{(t - (j - 1) k) / 2}.

This form of the laws of Nattino et al. has no differences of large terms.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import chdtri, erfcx

Floats = NDArray[np.float64]

POINTS = 48  # of Gauss-Legendre; the integrands are analytic


def selected_sf(t: float, degree: int, first: int, threshold: float) -> float:
    """Return P(statistic > t) given the selected degree.

    Parameters
    ----------
    t : float
        The statistic, at least 0.
    degree, first : int
        The selected degree, and that at which the selection starts: 1 for external data, 2 for the
        development sample.
    threshold : float
        Confidence level of the likelihood-ratio tests of the selection.
    """
    steps = degree - first
    cut = float(chdtri(1, 1.0 - threshold))
    if t <= steps * cut:
        return 1.0
    if math.isinf(t):
        return 0.0
    q = 1.0 - threshold
    scaled = float(_scaled_tail(np.array([t]), steps, first, cut, q)[0])
    return min(1.0, math.exp(-t / 2.0) * scaled / q**steps)


def selected_quantile(level: float, degree: int, first: int, threshold: float) -> float:
    """Return the t with P(statistic <= t) = level."""
    low = (degree - first) * float(chdtri(1, 1.0 - threshold))
    high = low + 10.0
    while selected_sf(high, degree, first, threshold) > 1.0 - level:
        high *= 2.0

    def excess(t: float) -> float:
        return selected_sf(t, degree, first, threshold) - (1.0 - level)

    return float(brentq(excess, low, high, xtol=1e-12, rtol=1e-14))


def _scaled_tail(t: Floats, steps: int, first: int, cut: float, q: float) -> Floats:
    """Return g_steps(t) for t of at least steps times the cut."""
    if steps == 0:
        # exp(t/2) times the tails of chi^2 with 2 and 1 degrees of freedom.
        return np.ones_like(t) if first == 1 else np.asarray(erfcx(np.sqrt(t / 2.0)))
    left = np.maximum(t - (steps - 1) * cut, cut)
    # r = sqrt(t) sin(a) makes sqrt(t - r^2) smooth up to r^2 = t; squares of the distance to the
    # upper end take away the root that the integral inside has there.
    low, high = np.arcsin(np.sqrt(cut / t)), np.arcsin(np.sqrt(np.minimum(left / t, 1.0)))
    x, weight = _gauss()
    angle = high[..., None] - (high - low)[..., None] * np.square(x)
    inner = _scaled_tail(t[..., None] * np.cos(angle) ** 2, steps - 1, first, cut, q)
    terms = inner * np.cos(angle) @ (2.0 * x * weight)
    integral = math.sqrt(2.0 / math.pi) * np.sqrt(t) * (high - low) * terms
    beyond = (q * math.exp(cut / 2.0)) ** (steps - 1) * erfcx(np.sqrt(left / 2.0))
    return np.asarray(integral + beyond)


@cache
def _gauss() -> tuple[Floats, Floats]:
    """Return points and weights on [0, 1]."""
    x, weight = np.polynomial.legendre.leggauss(POINTS)
    return (x + 1.0) / 2.0, weight / 2.0
