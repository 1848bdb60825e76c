r"""The squared exponential (RBF) kernel on the line: its matrices, and what is made of them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from caltest.numerics.loops import njit

Floats = NDArray[np.float64]

DAMPED = 8.6  # exp(-8.6^2 / 2) is half the precision of a double


def rbf_line(x: Floats, y: Floats, variance: float, scale: float) -> Floats:
    """Return variance exp(-(x - y)^2 / (2 scale^2)) for all pairs, (n, M)."""
    difference = (x[:, None] - y) / scale
    return variance * np.exp(-0.5 * difference**2)


def rbf_line_back(
    by_kernel: Floats, kernel: Floats, x: Floats, y: Floats, scale: float
) -> tuple[float, float, Floats]:
    """Return the derivatives by log variance, by log scale and by x, from that by the matrix."""
    weighted = by_kernel * kernel
    difference = (x[:, None] - y) / scale
    by_scale = float(np.sum(weighted * difference**2))
    by_x = -np.sum(weighted * difference, axis=1) / scale
    return float(weighted.sum()), by_scale, by_x


@njit()
def pair_products(z: Floats, sigma: Floats, variance: float, scale: float) -> tuple[Floats, Floats]:
    """Multiply each row of sigma by the kernel matrix of the same row of z, pair by pair.

    Parameters
    ----------
    z : (n, K) array
        Places.
    sigma : (n, K) array
        Coefficients.
    variance, scale : float
        Of the kernel.

    Returns
    -------
    (n, K) array
        B sigma.
    (n,) array
        The derivative of sigma' B sigma by log scale.
    """
    n, K = z.shape
    product, by_scale = variance * sigma, np.zeros(n)
    for i in range(n):
        for j in range(K):
            for k in range(j):
                square = ((z[i, j] - z[i, k]) / scale) ** 2
                b = variance * np.exp(-0.5 * square)
                product[i, j] += b * sigma[i, k]
                product[i, k] += b * sigma[i, j]
                by_scale[i] += 2 * b * square * sigma[i, j] * sigma[i, k]
    return product, by_scale


def fourier(extent: float) -> tuple[Floats, Floats]:
    r"""Return frequencies and weights such that exp(-d^2 / 2) = sum_j w_j cos(omega_j d).

    The spectral density of the kernel by the trapezoidal rule, whose error falls faster than any
    power: it is that of repeating the kernel with a period beyond `extent`. Exact to 1e-15 for
    |d| <= extent.
    """
    step = 2 * math.pi / (extent + DAMPED)
    omega = step * np.arange(int(DAMPED / step) + 2).astype(np.float64)
    weight = 2 * step / math.sqrt(2 * math.pi) * np.exp(-0.5 * omega**2)
    weight[0] /= 2
    return omega, weight


def fourier_size(x: Floats, scale: float) -> int:
    """Return how many features `fourier_features` has."""
    return 2 * int(fourier(float(x[-1] - x[0]) / scale)[0].size) - 1


def fourier_features(x: Floats, variance: float, scale: float) -> tuple[Floats, Floats]:
    r"""Return a low-rank factor of the kernel at places on the line, and its slope.

    The second derivative of exp(-d^2 / 2) is d^2 exp(-d^2 / 2) less itself: so the derivative of
    the kernel by log scale has the same features, each times 1 - omega^2.

    Parameters
    ----------
    x : (G,) array
        Places, ascending.
    variance, scale : float
        Of the kernel.

    Returns
    -------
    (G, F) array
        F, such that F F' is the kernel matrix.
    (F,) array
        s, such that F diag(s) F' is its derivative by log scale.
    """
    omega, weight = fourier(float(x[-1] - x[0]) / scale)
    angle = (x - x[0])[:, None] * (omega / scale)
    size = np.sqrt(variance * weight)
    sines = size[1:] * np.sin(angle[:, 1:])  # that of frequency 0 is 0
    slope = 1 - omega**2
    return np.hstack([size * np.cos(angle), sines]), np.concatenate([slope, slope[1:]])


def fourier_draws(
    x: Floats, variance: float, scale: float, extent: float, normal: Floats
) -> tuple[Floats, Floats]:
    """Draw S functions from the process and return their values and derivatives at x, (n, S).

    Parameters
    ----------
    x : (n,) array
        Places.
    variance, scale : float
        Of the kernel.
    extent : float
        The largest distance of two points that there will be, in length scales.
    normal : (2, J, S) array
        Standard normal numbers, for at least as many frequencies as `fourier(extent)` has.
    """
    omega, weight = fourier(extent)
    size = np.sqrt(variance * weight)
    angle = x[:, None] * (omega / scale)
    cosine, sine = np.cos(angle), np.sin(angle)
    a, b = (size[:, None] * part for part in normal[:, : omega.size])
    rate = (omega / scale)[:, None]
    return cosine @ a + sine @ b, cosine @ (rate * b) - sine @ (rate * a)
